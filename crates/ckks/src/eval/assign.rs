//! Operations in place, where that saves a copy of the ciphertext.
//!
//! On errors the operand is left as it was.

use super::Evaluator;
use crate::{Ciphertext, Interval, Plaintext, Result, books::same_scale, bootstrap::automatic};

impl Evaluator {
    /// `x = -x`.
    ///
    /// # Errors
    /// As for [`neg`](Self::neg).
    pub fn neg_assign(&self, x: &mut Ciphertext) -> Result<()> {
        self.check("negate", x)?;
        x.inner.neg_assign(self.params().lattice())?;
        x.meta = self.books().negative(&x.account()).meta;
        Ok(())
    }

    /// `x += p`: in place where the two stand at one scale and `p` at no lower level.
    ///
    /// # Errors
    /// As for [`add_plain`](Self::add_plain).
    pub fn add_plain_assign(&self, x: &mut Ciphertext, p: &Plaintext) -> Result<()> {
        let op = "add a plaintext";
        self.check(op, x)?;
        self.check_plain(op, p)?;
        if p.limbs() < x.limbs() || !same_scale(x.scale(), p.scale) {
            *x = self.add_plain(x, p)?;
            return Ok(());
        }
        let account = self.books().sum(op, &x.account(), &p.account(), Interval::add)?;
        let lattice = self.params().lattice();
        if p.limbs() == x.limbs() {
            x.inner.add_plain_assign(lattice, &p.poly)?;
        } else {
            x.inner.add_plain_assign(lattice, &p.poly_at(x.limbs()))?;
        }
        x.meta = account.meta;
        Ok(())
    }

    /// `x *= p` without the rescaling: in place where `p` stands at no lower level. The scale is
    /// multiplied by that of `p`.
    ///
    /// # Errors
    /// As for [`mul_plain_unscaled`](Self::mul_plain_unscaled).
    pub fn mul_plain_unscaled_assign(&self, x: &mut Ciphertext, p: &Plaintext) -> Result<()> {
        let op = "multiply by a plaintext";
        self.check(op, x)?;
        self.check_plain(op, p)?;
        if p.limbs() < x.limbs() || automatic::is_short(self, x.level(), 1) {
            *x = self.mul_plain_unscaled(x, p)?;
            return Ok(());
        }
        let account = self.books().mul_plain(op, &x.account(), &p.account())?;
        let lattice = self.params().lattice();
        if p.limbs() == x.limbs() {
            x.inner.mul_plain_assign(lattice, &p.poly)?;
        } else {
            x.inner.mul_plain_assign(lattice, &p.poly_at(x.limbs()))?;
        }
        x.meta = account.meta;
        Ok(())
    }
}
