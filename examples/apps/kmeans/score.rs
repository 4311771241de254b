//! Agreement of clusters with known classes, as scikit-learn scores it.

/// The contingency table: points of each class (column) in each cluster (row).
fn contingency(clusters: &[usize], classes: &[usize]) -> Vec<Vec<usize>> {
    let count = |labels: &[usize]| labels.iter().max().map_or(0, |most| most + 1);
    let mut table = vec![vec![0; count(classes)]; count(clusters)];
    clusters.iter().zip(classes).for_each(|(&cluster, &class)| table[cluster][class] += 1);
    table
}

/// The largest fraction of points that are right when every cluster is named after a class of its
/// own.
pub fn matched(clusters: &[usize], classes: &[usize]) -> f64 {
    let table = contingency(clusters, classes);
    let columns = table.first().map_or(0, Vec::len);
    // best[set]: the largest number of right points when the clusters so far are named after the
    // classes of a set.
    let mut best = vec![Some(0); 1 << columns];
    for row in &table {
        let before = best.clone();
        for (set, most) in best.iter_mut().enumerate() {
            // A cluster may also have no class.
            let taken = (0..columns).filter(|class| set >> class & 1 == 1);
            let with = taken.filter_map(|class| Some(before[set ^ (1 << class)]? + row[class]));
            *most = with.chain(before[set]).max();
        }
    }
    let right = best.into_iter().flatten().max().unwrap_or(0);
    right as f64 / clusters.len().max(1) as f64
}

/// The adjusted Rand index (Hubert and Arabie, 1985): 1 for equal partitions, 0 on average for
/// random ones.
pub fn adjusted_rand(clusters: &[usize], classes: &[usize]) -> f64 {
    let table = contingency(clusters, classes);
    let pairs = |n: usize| (n * n.saturating_sub(1) / 2) as f64;
    let together: f64 = table.iter().flatten().map(|&n| pairs(n)).sum();
    let rows: f64 = table.iter().map(|row| pairs(row.iter().sum())).sum();
    let columns = table.first().map_or(0, Vec::len);
    let column = |c: usize| pairs(table.iter().map(|row| row[c]).sum());
    let columns: f64 = (0..columns).map(column).sum();
    let expected = rows * columns / pairs(clusters.len()).max(1.0);
    let most = (rows + columns) / 2.0;
    if most == expected { 1.0 } else { (together - expected) / (most - expected) }
}
