//! Operations in place, which save a copy of the ciphertext.
//!
//! On an error the operand is unchanged.

use super::Evaluator;
use crate::{
    Ciphertext, During, Interval, Plaintext, Result, bootstrap::auto_bootstrap,
    metadata::rules::same_scale,
};

impl Evaluator {
    /// `x = -x`.
    ///
    /// # Errors
    /// As for [`neg`](crate::CkksOps::neg).
    pub fn neg_assign(&self, x: &mut Ciphertext) -> Result<()> {
        self.check(x).during("neg")?;
        x.inner.neg_assign(self.params().lattice())?;
        x.meta = self.rules().negative(&x.metadata()).meta;
        Ok(())
    }

    /// `x += p`, in place if both have one scale and `p` is not at a lower level.
    ///
    /// # Errors
    /// As for [`add_plain`](Self::add_plain).
    pub fn add_plain_assign(&self, x: &mut Ciphertext, p: &Plaintext) -> Result<()> {
        let op = "add a plaintext";
        self.check(x).during(op)?;
        self.check_plain(p).during(op)?;
        // Alignment would copy: only an aligned sum is in place.
        if p.limbs() < x.lattice().limbs() || !same_scale(x.scale(), p.scale) {
            *x = self.add_plain(x, p)?;
            return Ok(());
        }
        let metadata = self.rules().sum(&x.metadata(), &p.metadata(), Interval::add).during(op)?;
        let lattice = self.params().lattice();
        if p.limbs() == x.lattice().limbs() {
            x.inner.add_plain_assign(lattice, &p.poly)?;
        } else {
            x.inner.add_plain_assign(lattice, &p.poly_at(x.lattice().limbs()))?;
        }
        x.meta = metadata.meta;
        Ok(())
    }

    /// `x *= p` without the rescale, in place if `p` is not at a lower level. The scale is
    /// multiplied by that of `p`.
    ///
    /// # Errors
    /// As for [`mul_plain_no_rescale`](Self::mul_plain_no_rescale).
    pub fn mul_plain_no_rescale_assign(&self, x: &mut Ciphertext, p: &Plaintext) -> Result<()> {
        let op = "multiply by a plaintext";
        self.check(x).during(op)?;
        self.check_plain(p).during(op)?;
        // A lower factor or a bootstrap replaces x altogether.
        if p.limbs() < x.lattice().limbs() || auto_bootstrap::is_short(self, x.level(), 1) {
            *x = self.mul_plain_no_rescale(x, p)?;
            return Ok(());
        }
        let metadata = self.rules().mul_plain(&x.metadata(), &p.metadata()).during(op)?;
        let lattice = self.params().lattice();
        // Without a copy of the factor where it has exactly the limbs of x.
        if p.limbs() == x.lattice().limbs() {
            x.inner.mul_plain_assign(lattice, &p.poly)?;
        } else {
            x.inner.mul_plain_assign(lattice, &p.poly_at(x.lattice().limbs()))?;
        }
        x.meta = metadata.meta;
        Ok(())
    }
}
