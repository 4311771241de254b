//! The evaluation of a tree with few look-ups.
//!
//! PEGASUS (section V-B) takes one table for every inner node and one for every leaf. Here the tree
//! is divided into blocks of connected nodes. Each feature that a block tests is looked up once for
//! all its thresholds there: the table returns how many of them the feature exceeds, times a weight
//! such that the sum over the features, a number in mixed radix, determines where a row leaves the
//! block. One further table of that sum returns the class of the leaves. One table for each block
//! below returns whether the row continues there: for other rows it adds the size of the block
//! below, which moves their sum there out of the range in which anything is selected.

use super::cart::{Node, Test, Tree};

/// An exit of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    Class(usize),
    /// The index of another block.
    Block(usize),
}

/// A feature, and how it enters the sum of a block.
#[derive(Debug, Clone, PartialEq)]
pub struct Digit {
    pub feature: usize,
    /// In ascending order.
    pub thresholds: Vec<f64>,
    pub weight: usize,
}

impl Digit {
    /// The value that the table of the digit returns.
    pub fn value(&self, x: f64) -> usize {
        self.weight * self.thresholds.iter().filter(|&&threshold| x > threshold).count()
    }
}

/// Connected nodes that are evaluated together.
#[derive(Debug, Clone, PartialEq)]
pub struct Block {
    pub digits: Vec<Digit>,
    /// The exit of a row by its sum.
    pub exits: Vec<Exit>,
    /// The blocks below.
    pub children: Vec<usize>,
}

impl Block {
    /// The number of possible sums of a row that enters this block.
    pub fn size(&self) -> usize {
        self.exits.len()
    }

    /// The value of the class table: 0 for rows that do not enter this block or continue below.
    pub fn class(&self, sum: usize) -> usize {
        match self.exits.get(sum) {
            Some(&Exit::Class(class)) => class,
            _ => 0,
        }
    }

    /// Whether a row continues to a block below.
    pub fn goes_to(&self, sum: usize, child: usize) -> bool {
        self.exits.get(sum) == Some(&Exit::Block(child))
    }

    /// Whether any leaf has a class other than 0.
    pub fn tells(&self) -> bool {
        self.exits.iter().any(|exit| matches!(exit, Exit::Class(class) if *class > 0))
    }
}

/// The blocks of a tree, each before those below it.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    pub blocks: Vec<Block>,
}

impl Plan {
    /// Divides a tree into blocks whose tables distinguish at most `capacity` sums.
    ///
    /// # Panics
    /// If the capacity is below 4: a block below another has two exits and two sums for rows that
    /// do not enter it.
    pub fn new(tree: &Tree, capacity: usize) -> Self {
        assert!(capacity >= 4, "a test below another needs 4 sums");
        let mut plan = Self { blocks: vec![] };
        plan.add(tree, 0, capacity);
        plan
    }

    /// Adds the block that begins at a node, and those below.
    fn add(&mut self, tree: &Tree, root: usize, capacity: usize) -> usize {
        // Below the first block, rows that go elsewhere take as many sums again.
        let most = if self.blocks.is_empty() { capacity } else { capacity / 2 };
        let mut digits: Vec<Digit> = vec![];
        let mut inside: Vec<usize> = vec![];
        let mut frontier = vec![root];
        loop {
            let sizes = frontier.iter().enumerate().filter_map(|(place, &node)| {
                let Node::Inner { test, .. } = tree.nodes[node] else { return None };
                Some((size(&with(&digits, test)), place))
            });
            let Some((_, place)) = sizes.filter(|&(size, _)| size <= most).min() else { break };
            let node = frontier.remove(place);
            if let Node::Inner { test, left, right } = tree.nodes[node] {
                digits = with(&digits, test);
                frontier.extend([left, right]);
            }
            inside.push(node);
        }
        let mut weight = 1;
        for digit in &mut digits {
            digit.weight = weight;
            weight *= digit.thresholds.len() + 1;
        }
        let place = self.blocks.len();
        self.blocks.push(Block { digits, exits: vec![], children: vec![] });
        let (mut children, mut blocks) = (vec![], vec![]);
        for node in frontier {
            if matches!(tree.nodes[node], Node::Inner { .. }) {
                blocks.push(self.add(tree, node, capacity));
                children.push(node);
            }
        }
        let digits = &self.blocks[place].digits;
        let exit = |sum: usize| {
            let node = leave(tree, root, &inside, digits, sum);
            match tree.nodes[node] {
                Node::Leaf { class } => Exit::Class(class),
                Node::Inner { .. } => {
                    let child = children.iter().position(|&child| child == node);
                    Exit::Block(blocks[child.expect("rows leave a block to its frontier")])
                }
            }
        };
        let exits = (0..weight).map(exit).collect();
        self.blocks[place] = Block { exits, children: blocks, digits: digits.clone() };
        place
    }

    /// Look-ups per row: digits, classes, and continuations.
    pub fn lookups(&self) -> usize {
        let block = |b: &Block| b.digits.len() + usize::from(b.tells()) + b.children.len();
        self.blocks.iter().map(block).sum()
    }

    /// The sum of all tables for a row, which is the class of the tree.
    pub fn classify(&self, row: &[f64]) -> usize {
        let mut outside: Vec<usize> = vec![0; self.blocks.len()];
        let mut class = 0;
        for (place, block) in self.blocks.iter().enumerate() {
            let digits = block.digits.iter().map(|digit| digit.value(row[digit.feature]));
            let sum = outside[place] + digits.sum::<usize>();
            class += block.class(sum);
            for &child in &block.children {
                let away = usize::from(!block.goes_to(sum, child));
                outside[child] = away * self.blocks[child].size();
            }
        }
        class
    }
}

/// The digits of a block with one more test.
fn with(digits: &[Digit], test: Test) -> Vec<Digit> {
    let mut digits = digits.to_vec();
    let Some(digit) = digits.iter_mut().find(|digit| digit.feature == test.feature) else {
        let thresholds = vec![test.threshold];
        digits.push(Digit { feature: test.feature, thresholds, weight: 1 });
        return digits;
    };
    let place = digit.thresholds.partition_point(|&threshold| threshold < test.threshold);
    if digit.thresholds.get(place) != Some(&test.threshold) {
        digit.thresholds.insert(place, test.threshold);
    }
    digits
}

fn size(digits: &[Digit]) -> usize {
    digits.iter().map(|digit| digit.thresholds.len() + 1).product()
}

/// The node at which rows of a sum leave a block.
fn leave(tree: &Tree, root: usize, inside: &[usize], digits: &[Digit], sum: usize) -> usize {
    let mut node = root;
    while inside.contains(&node) {
        let Node::Inner { test, left, right } = tree.nodes[node] else { break };
        let digit = digits.iter().find(|digit| digit.feature == test.feature);
        let larger = digit.is_some_and(|Digit { thresholds, weight, .. }| {
            let exceeded = sum / weight % (thresholds.len() + 1);
            let place = thresholds.iter().position(|&threshold| threshold == test.threshold);
            place.is_some_and(|place| exceeded > place)
        });
        node = if larger { right } else { left };
    }
    node
}
