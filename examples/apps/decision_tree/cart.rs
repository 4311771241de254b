//! Classification trees, trained in the clear (Breiman, Friedman, Olshen and Stone, 1984).
//!
//! A tree grows by the split that lowers the total Gini impurity of its rows the most, until it is
//! pure or a limit is reached. Splits are judged as if every value were read with noise of a given
//! standard deviation, as look-ups do: a row whose value lies next to the threshold counts on both
//! sides, so that thresholds prefer gaps. Without noise this is ordinary CART.

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Test {
    pub feature: usize,
    /// Rows whose feature is larger go right.
    pub threshold: f64,
}

/// A node of a tree.
#[derive(Debug, Clone, PartialEq)]
pub enum Node {
    Inner {
        test: Test,
        /// Indices of the children among the nodes.
        left: usize,
        right: usize,
    },
    Leaf {
        class: usize,
    },
}

/// A tree; node 0 is its root.
#[derive(Debug, Clone, PartialEq)]
pub struct Tree {
    pub nodes: Vec<Node>,
}

/// The limits of a tree, and the noise with which values will be read.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Limits {
    /// Largest number of tests from the root to a leaf.
    pub depth: usize,
    /// Largest number of inner nodes.
    pub inner: usize,
    /// Standard deviation of the noise of a value in use.
    pub noise: f64,
}

/// Standard deviations beyond which noise is neglected.
const TAIL: f64 = 5.0;

/// A leaf that may still be split.
struct Open {
    node: usize,
    depth: usize,
    rows: Vec<usize>,
    /// The best split, and by how much it lowers the impurity.
    split: Option<(f64, Test)>,
}

impl Tree {
    /// Grows a tree on rows of features with a class each, the most useful split first.
    ///
    /// # Panics
    /// If there are no rows, or not as many classes.
    pub fn train(rows: &[Vec<f64>], classes: &[usize], limits: Limits) -> Self {
        assert!(!rows.is_empty() && rows.len() == classes.len(), "one class per row");
        let count = classes.iter().max().map_or(0, |most| most + 1);
        let trainer = Trainer { rows, classes, count, limits };
        let mut tree = Self { nodes: vec![] };
        let all = (0..rows.len()).collect();
        let mut open = vec![trainer.open(&mut tree, 0, all)];
        for _ in 0..limits.inner {
            let gain = |open: &Open| open.split.map_or(0.0, |(gain, _)| gain);
            let best = (0..open.len()).max_by(|&a, &b| gain(&open[a]).total_cmp(&gain(&open[b])));
            let Some(best) = best.filter(|&best| open[best].split.is_some()) else { break };
            let Open { node, depth, rows: inside, split } = open.swap_remove(best);
            let Some((_, test)) = split else { break };
            let larger = |&row: &usize| rows[row][test.feature] > test.threshold;
            let (right, left) = inside.into_iter().partition(larger);
            let left = trainer.open(&mut tree, depth + 1, left);
            let right = trainer.open(&mut tree, depth + 1, right);
            tree.nodes[node] = Node::Inner { test, left: left.node, right: right.node };
            open.extend([left, right]);
        }
        let mut pruned = Self { nodes: vec![] };
        tree.prune_to(&mut pruned, 0);
        pruned
    }

    pub fn classify(&self, row: &[f64]) -> usize {
        let mut node = 0;
        loop {
            node = match self.nodes[node] {
                Node::Leaf { class } => return class,
                Node::Inner { test, left, right } => {
                    if row[test.feature] > test.threshold {
                        right
                    } else {
                        left
                    }
                }
            }
        }
    }

    pub fn inner(&self) -> usize {
        self.nodes.iter().filter(|node| matches!(node, Node::Inner { .. })).count()
    }

    /// Tests from a node to the deepest leaf below it.
    pub fn depth(&self, node: usize) -> usize {
        match self.nodes[node] {
            Node::Leaf { .. } => 0,
            Node::Inner { left, right, .. } => 1 + self.depth(left).max(self.depth(right)),
        }
    }

    /// Copies a node and those below it, without tests whose outcome does not matter.
    fn prune_to(&self, tree: &mut Self, node: usize) -> usize {
        let place = tree.nodes.len();
        tree.nodes.push(self.nodes[node].clone());
        let Node::Inner { test, left, right } = self.nodes[node] else { return place };
        let (left, right) = (self.prune_to(tree, left), self.prune_to(tree, right));
        if tree.nodes[left] == tree.nodes[right] && matches!(tree.nodes[left], Node::Leaf { .. }) {
            tree.nodes[place] = tree.nodes[left].clone();
            tree.nodes.truncate(place + 1);
        } else {
            tree.nodes[place] = Node::Inner { test, left, right };
        }
        place
    }
}

/// The rows in the form in which training uses them.
struct Trainer<'a> {
    rows: &'a [Vec<f64>],
    classes: &'a [usize],
    /// The number of classes.
    count: usize,
    limits: Limits,
}

impl Trainer<'_> {
    /// A new leaf of the tree with its most frequent class, and the best way to split it.
    fn open(&self, tree: &mut Tree, depth: usize, rows: Vec<usize>) -> Open {
        let mut counts = vec![0.0; self.count];
        rows.iter().for_each(|&row| counts[self.classes[row]] += 1.0);
        let class = (0..self.count).fold(0, |a, b| if counts[b] > counts[a] { b } else { a });
        let node = tree.nodes.len();
        tree.nodes.push(Node::Leaf { class });
        let split = if depth < self.limits.depth { self.best_split(&rows, &counts) } else { None };
        Open { node, depth, rows, split }
    }

    fn best_split(&self, rows: &[usize], counts: &[f64]) -> Option<(f64, Test)> {
        let whole = impurity(counts);
        let mut best: Option<(f64, Test)> = None;
        for feature in 0..self.rows[rows[0]].len() {
            for (threshold, left) in self.splits(rows, feature) {
                let right: Vec<f64> = counts.iter().zip(&left).map(|(all, l)| all - l).collect();
                let gain = whole - impurity(&left) - impurity(&right);
                if gain > best.map_or(1e-9, |(gain, _)| gain) {
                    best = Some((gain, Test { feature, threshold }));
                }
            }
        }
        best
    }

    /// The thresholds between the values of a feature, each with the rows of every class that noise
    /// lets pass to its left.
    fn splits(&self, rows: &[usize], feature: usize) -> Vec<(f64, Vec<f64>)> {
        // Rows of equal value together.
        let mut sorted: Vec<(f64, usize)> =
            rows.iter().map(|&row| (self.rows[row][feature], self.classes[row])).collect();
        sorted.sort_by(|a, b| a.0.total_cmp(&b.0));
        let groups = sorted.chunk_by(|a, b| a.0 >= b.0).map(|equal| {
            let mut counts = vec![0.0; self.count];
            equal.iter().for_each(|&(_, class)| counts[class] += 1.0);
            (equal[0].0, counts)
        });
        let groups: Vec<(f64, Vec<f64>)> = groups.collect();
        let mut left = vec![0.0; self.count];
        let mut splits = Vec::with_capacity(groups.len());
        for pair in 1..groups.len() {
            let (below, above) = (&groups[pair - 1], &groups[pair]);
            add(&mut left, 1.0, &below.1);
            let threshold = below.0 + (above.0 - below.0) / 2.0;
            let mut soft = left.clone();
            let near = |(value, _): &&(f64, Vec<f64>)| {
                (threshold - value).abs() < TAIL * self.limits.noise
            };
            for (value, counts) in groups[..pair].iter().rev().take_while(near) {
                add(&mut soft, -self.passes(value - threshold), counts);
            }
            for (value, counts) in groups[pair..].iter().take_while(near) {
                add(&mut soft, self.passes(threshold - value), counts);
            }
            splits.push((threshold, soft));
        }
        splits
    }

    /// The probability that noise exceeds `-distance`.
    fn passes(&self, distance: f64) -> f64 {
        0.5 * libm::erfc(-distance / (self.limits.noise * std::f64::consts::SQRT_2))
    }
}

fn add(sum: &mut [f64], factor: f64, terms: &[f64]) {
    sum.iter_mut().zip(terms).for_each(|(sum, term)| *sum += factor * term);
}

/// Rows times the Gini impurity: `n - sum n_c^2 / n`.
fn impurity(counts: &[f64]) -> f64 {
    let total: f64 = counts.iter().sum();
    if total <= 0.0 { 0.0 } else { total - counts.iter().map(|n| n * n).sum::<f64>() / total }
}
