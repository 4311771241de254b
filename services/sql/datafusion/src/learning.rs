//! The queries of one iteration of logistic regression and of K-means.

use std::ops::RangeInclusive;

use crate::{Error, Result, iteration::State};

/// The query of an iteration of logistic regression by gradient ascent: the weights of the next
/// state, `w + rate / rows sum (label - sigmoid(w x)) x`, for labels 0 and 1. The sigmoid is its
/// least-squares polynomial of degree 3 over [-8, 8] (Kim et al., JMIR 2018). It takes five levels,
/// and one more to clear padding.
///
/// `state` has a weight for every feature, in every slot of a vector. `rows` is the number of rows
/// of the table. Names are columns of the table, and enter the query as they are.
pub fn logistic_regression(
    table: &str,
    features: &[&str],
    label: &str,
    (rate, rows): (f64, usize),
    state: &State,
) -> String {
    let weighted = features.iter().zip(&state.vectors);
    let weighted = weighted.map(|(x, w)| format!("he_mul({x}, he_object('{w}'))"));
    let sum = sum_of(weighted);
    let sigmoid = format!("he_polynomial({sum}, '{}')", "0.5,0.15012,0,-0.001593");
    let columns = features.join(", ");
    let factor = rate / rows as f64;
    let next = features.iter().zip(&state.vectors).enumerate().map(|(i, (x, w))| {
        let gradient = format!("he_scale({}, {factor:?})", total(&format!("he_mul(error, {x})")));
        format!("he_add(he_object('{w}'), {gradient}) AS w{i}")
    });
    format!(
        "SELECT {} FROM (SELECT {columns}, he_sub({label}, {sigmoid}) AS error FROM {table})",
        list(next)
    )
}

/// Clusters smaller than this part of the mean size count as that large, so that the table of
/// reciprocals keeps its precision for the others.
const SMALLEST: f64 = 1.0 / 4.0;

/// The part of a declared range by which a coordinate of a centre may leave it: errors of look-ups.
const MARGIN: f64 = 1.0 / 8.0;

/// The part of the number of rows by which the size of a cluster may leave `0..=rows`: errors of
/// indicators.
const SIZE_MARGIN: f64 = 1.0 / 64.0;

/// Sizes of clusters with an entry in the table of reciprocals.
const SIZES: usize = 512;

/// The error of indicators of 0 and 1 that look-ups return. The bound of the library counts a wrong
/// entry as an error. Here the entry is wrong only where two centres are equally near, within the
/// precision of a look-up, and either is then right.
const ERROR: f64 = 1.0 / 4096.0;

/// The query of an iteration of K-means: the centres of the next state, each the mean of the rows
/// that are nearest to a centre of `state` (PEGASUS, section V-C).
///
/// `state` has a vector for each coordinate of each centre, centre by centre, with the coordinate
/// in every slot and within the range of its feature. `features` are the columns with their
/// declared ranges, and `rows` is the number of rows of the table: bounds follow from these alone.
/// Clusters smaller than a quarter of the mean size count as that large. The coordinates of an
/// empty cluster are zero, so ranges should contain zero. A row that is as far from one centre as
/// from another may count for either, or for none.
///
/// Needs look-ups, products and sums. Look-ups return levels, so the number of iterations has no
/// limit: they must return five, of which an iteration takes three, and a look-up two.
///
/// # Errors
/// [`Error::Plan`] for a state without a whole number of centres, or with fewer than two.
pub fn k_means(
    table: &str,
    features: &[(&str, RangeInclusive<f64>)],
    rows: usize,
    state: &State,
) -> Result<String> {
    let (dimension, vectors) = (features.len(), state.vectors.len());
    if dimension == 0 || vectors % dimension != 0 || vectors / dimension < 2 {
        let reason = format!("{vectors} vectors of {dimension} features: need 2 centres or more");
        return Err(Error::plan("k_means", reason));
    }
    let clusters = vectors / dimension;
    let centre = |j: usize, f: usize| format!("he_object('{}')", state.vectors[j * dimension + f]);
    let columns = list(features.iter().map(|(x, _)| x.to_string()));
    // A centre that the smallest size pulls to zero lies between zero and the range.
    let ranges: Vec<[f64; 2]> = features
        .iter()
        .map(|(_, range)| {
            let (lo, hi) = (range.start().min(0.0), range.end().max(0.0));
            let margin = MARGIN * (hi - lo);
            [lo - margin, hi + margin]
        })
        .collect();

    // Step 1: for every pair of centres, 1 where the first one is nearer, else 0. The squares of a
    // row are in both distances, so
    //   |x - c_j|^2 - |x - c_i|^2 = sum_f (c_jf - c_if) (c_jf + c_if - 2 x_f).
    let reach: f64 = ranges.iter().map(|[lo, hi]| (hi - lo).powi(2)).sum();
    let nearer = |i: usize, j: usize| {
        let terms = features.iter().enumerate().map(|(f, (x, _))| {
            let (from, to) = (centre(i, f), centre(j, f));
            let moved = format!("he_sub(he_add({to}, {from}), he_add({x}, {x}))");
            format!("he_mul(he_sub({to}, {from}), {moved})")
        });
        let difference = format!("he_assume_range({}, {:?}, {reach:?})", sum_of(terms), -reach);
        let sign = format!("he_map({difference}, '0;1', {:?}, {reach:?})", -reach);
        format!("he_assume_error({sign}, {ERROR:?}) AS n{i}_{j}")
    };
    let pairs = (0..clusters).flat_map(|i| (i + 1..clusters).map(move |j| (i, j)));
    let pairs = list(pairs.map(|(i, j)| nearer(i, j)));

    // Step 2: 1 where a centre is nearer than all others. With w other centres farther away,
    //   sum_(j > i) n_ij - sum_(j < i) n_ji = w - i.
    let most = clusters - 1;
    let nearest = |i: usize| {
        let after = (i + 1..clusters).map(|j| format!("n{i}_{j}"));
        let before: Vec<String> = (0..i).map(|j| format!("n{j}_{i}")).collect();
        // The first centre has only terms to add, the last one only terms to subtract.
        let (counted, table, lo, hi) = match before.is_empty() {
            true => (sum_of(after), format!("{}1", "0;".repeat(most)), 0, most as i64),
            false => {
                let sum = sum_of(before.into_iter());
                let sum = after.fold(sum, |sum, term| format!("he_sub({sum}, {term})"));
                (sum, format!("1{}", ";0".repeat(most)), i as i64 - most as i64, i as i64)
            }
        };
        // Errors of the indicators may leave the domain by a little.
        let counted = format!("he_assume_range({counted}, {lo}.0, {hi}.0)");
        let bit = format!("he_map({counted}, '{table}', {lo}.0, {hi}.0)");
        format!("he_assume_error({bit}, {ERROR:?}) AS b{i}")
    };
    let indicators = list((0..clusters).map(nearest));

    // Step 3: sizes and sums of the clusters.
    let most = rows as f64;
    // Each row's indicator comes from a look-up of its own: the errors are independent.
    let error = ERROR * most.sqrt();
    let sizes = (0..clusters).map(|i| {
        let size = total(&format!("b{i}"));
        format!("he_assume_error({size}, {error:?}) AS m{i}")
    });
    let sums = (0..clusters).flat_map(|i| {
        features
            .iter()
            .enumerate()
            .map(move |(f, (x, _))| format!("{} AS s{i}_{f}", total(&format!("he_mul(b{i}, {x})"))))
    });
    let sums = list(sizes.chain(sums));

    // Step 4: means. The table is 1 / max(m, smallest). An index error of d in the size m makes the
    // mean wrong by the factor m / max(m - d, smallest), at most 1 + d / smallest. The bound on the
    // error where the table is steepest, d / smallest^2 <= MARGIN / smallest, keeps it within the
    // margin of the range.
    let smallest = (SMALLEST * most / clusters as f64).max(1.0);
    let bits = (smallest / MARGIN).log2();
    let (lo, hi) = (-SIZE_MARGIN * most, (1.0 + SIZE_MARGIN) * most);
    let size = |place: usize| lo + (hi - lo) * place as f64 / SIZES as f64;
    let entries = (0..=SIZES).map(|place| format!("{:.6e}", 1.0 / size(place).max(smallest)));
    let entries = entries.collect::<Vec<_>>().join(";");
    let reciprocal = |i: usize| {
        let size = format!("he_assume_range(m{i}, {lo:?}, {hi:?})");
        format!("he_map({size}, '{entries}', {lo:?}, {hi:?}, {bits:?}) AS r{i}")
    };
    let sum_names = (0..clusters).flat_map(|i| (0..dimension).map(move |f| format!("s{i}_{f}")));
    let reciprocals = list((0..clusters).map(reciprocal).chain(sum_names));
    let means = (0..clusters).flat_map(|i| {
        ranges.iter().enumerate().map(move |(f, [lo, hi])| {
            format!("he_assume_range(he_mul(s{i}_{f}, r{i}), {lo:?}, {hi:?}) AS c{i}_{f}")
        })
    });
    Ok(format!(
        "SELECT {} FROM (SELECT {reciprocals} FROM (SELECT {sums} FROM (SELECT {columns}, \
         {indicators} FROM (SELECT {columns}, {pairs} FROM {table}))))",
        list(means)
    ))
}

/// The sum of the values of a column, in every slot.
fn total(column: &str) -> String {
    format!("he_sum_slots(he_sum({column}))")
}

/// The sum of vectors.
fn sum_of(terms: impl Iterator<Item = String>) -> String {
    terms.reduce(|sum, term| format!("he_add({sum}, {term})")).unwrap_or_default()
}

/// Expressions with commas between them.
fn list(expressions: impl Iterator<Item = String>) -> String {
    expressions.collect::<Vec<_>>().join(", ")
}
