//! What a transform makes of the account of its operand.

use std::collections::BTreeMap;

use bellerophon_mlwe as mlwe;

use super::{Giants, Hoisting, LinearTransform};
use crate::{
    Account, Bounds, Error, Interval, Meta, Result,
    noise::{ENCODING, Noise, Operand, product},
    turn::Turn,
};

/// What a rotation by a step does to a vector; nothing for step 0.
pub(crate) type Turns<'s> = &'s dyn Fn(&Account, usize) -> Result<Turn>;

impl LinearTransform {
    /// Refuses vectors of fewer slots, which would have to repeat themselves.
    pub(crate) fn check_slots(&self, op: &'static str, x: &Account) -> Result<()> {
        let (left, right) = (x.meta.slots, self.slots);
        if left < right {
            return Err(Error::LengthMismatch { op, left, right });
        }
        Ok(())
    }

    /// The account of an operand brought to the level and slots of the transform.
    fn operand(&self, op: &'static str, x: &Account) -> Result<Account> {
        if self.level() > x.level {
            return Err(Error::OutOfLevels { op, needed: self.level(), left: x.level });
        }
        let dropped = self.params.books().drop_to_level("drop levels", x, self.level())?;
        let meta = dropped.meta.repeated(self.slots, self.params.max_slots())?;
        self.check_range(op, &meta)?;
        Ok(Account { meta, ..dropped })
    }

    /// The account of `M x`.
    pub(crate) fn account(
        &self,
        op: &'static str,
        x: &Account,
        turns: Turns<'_>,
    ) -> Result<Account> {
        let operand = self.operand(op, x)?;
        let books = self.params.books();
        let double = self.options.hoisting == Hoisting::Double;
        let rounding = mlwe::noise::rounding(self.params.lattice());
        let mut babies = BTreeMap::new();
        for &step in &self.babies {
            let turn = turns(&operand, step)?;
            let mut meta = books.rotated(&operand, turn).meta;
            // Rotations by one key are left undivided; others are made before.
            if double && turn == Turn::Keys(1) {
                meta.noise += -rounding;
            }
            babies.insert(step, meta);
        }
        let mut giants = BTreeMap::new();
        for step in self.giant_steps() {
            giants.insert(step, turns(&operand, step)?);
        }
        let mut common = operand.meta;
        if self.options.hoisting == Hoisting::Single {
            let bounds = babies.values().map(|meta| meta.bounds);
            let hull = bounds.reduce(|x, y| x.zip(&y, Interval::hull));
            common.bounds = hull.unwrap_or(common.bounds);
        }
        let mut product =
            self.product(op, &common, |step| babies[&step].noise, |step| giants[&step])?;
        product.meta.len = x.meta.len;
        Ok(product)
    }

    /// The account of the product: `x` is what the rotated operands have in common, `noise` that
    /// of the operand rotated by a baby step (without a division by `P`, where those are left to the
    /// end), `turns` what a giant one does.
    pub(super) fn product(
        &self,
        op: &'static str,
        x: &Meta,
        noise: impl Fn(usize) -> Noise,
        turns: impl Fn(usize) -> Turn,
    ) -> Result<Account> {
        self.check_range(op, x)?;
        let (books, level, lattice) = (self.params.books(), self.level(), self.params.lattice());
        let divisor = self.params.divisor(level);
        let rounding = mlwe::noise::rounding(lattice);
        let double = self.options.hoisting == Hoisting::Double;
        let switched = |step: usize| {
            let turn = turns(step);
            let added = turn.noise(&self.params, self.params.limbs_at(level));
            match turn {
                // A giant step divides the mask only where the end divides all.
                Turn::Keys(count) if double => added - count as f64 * ENCODING,
                // A temporary rank takes what is divided.
                Turn::Raised(_) if double => added + rounding,
                _ => added,
            }
        };
        let mut sum = Noise::new(if double { rounding } else { 0.0 });
        for row in &self.rows {
            for term in &row.terms {
                let size = if double { term.rms } else { term.bound };
                let message = size * divisor;
                let diagonal = Operand { message, noise: Noise::new(ENCODING) };
                let operand = Operand { noise: noise(term.baby), ..x.operand() };
                sum += product(self.params.degree(), operand, diagonal);
            }
            if self.options.giants == Giants::Direct && row.step != 0 {
                sum += switched(row.step);
            }
        }
        if self.options.giants == Giants::Horner && self.stride != 0 {
            let last = self.rows.last().map_or(0, |row| row.step);
            sum += (last / self.stride) as f64 * switched(self.stride);
        }
        let bounds = Bounds::all(self.range(x));
        let scale = x.scale * divisor;
        let meta = Meta { scale, len: self.slots, bounds, noise: sum, ..*x };
        books.rescaled(op, &Account { level, meta })
    }

    fn range(&self, x: &Meta) -> Interval {
        let bound = x.bounds.slots().bound() * self.norm;
        let range = Interval::between(-bound, bound);
        if self.real && x.bounds.slots().is_real() { range } else { range.to_complex() }
    }

    /// Refuses what would wrap before the work is done.
    fn check_range(&self, op: &'static str, x: &Meta) -> Result<()> {
        let limbs = self.params.limbs_at(self.level());
        self.params.check_range(op, self.range(x).bound(), x.scale, limbs)
    }
}
