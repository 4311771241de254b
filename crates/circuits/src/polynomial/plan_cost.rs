//! The work of an evaluation.

use bellerophon_ckks::cost::Count;

use super::plan::{Basis, Node, Plan, Power, power_depth};

impl Node {
    /// Counts the work of the node over powers of a vector at a level, with its children.
    pub(crate) fn count(&self, level: usize, count: &mut Count<'_>) {
        if self.depth == 0 {
            return;
        }
        let here = level + 1 - self.depth;
        count.terms(here, self.terms.len() as f64);
        // All products of a node share one relinearization and one rescaling.
        match self.products.len() {
            0 => count.rescaling(here),
            products => count.product(here, products as f64),
        }
        self.products.iter().for_each(|(quotient, _)| quotient.count(level, count));
    }
}

impl Power {
    pub(crate) fn count(&self, basis: Basis, level: usize, count: &mut Count<'_>) {
        // A power of depth d is computed at d - 1 levels below the vector.
        let here = level + 1 - power_depth(self.index());
        count.product(here, 1.0);
        if basis == Basis::Chebyshev {
            count.terms(here, 1.0);
        }
    }
}

impl Plan {
    pub(crate) fn count(&self, level: usize, count: &mut Count<'_>) {
        self.powers.iter().for_each(|power| power.count(self.basis, level, count));
        self.root.count(level, count);
    }
}
