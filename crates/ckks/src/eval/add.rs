//! Addition, subtraction, negation.

use bellerophon_mlwe as mlwe;

use super::Evaluator;
#[cfg(doc)]
use crate::ErrorKind;
use crate::{
    Ciphertext, During, Interval, Plaintext, Result, SlotValue, encode::check_values,
    lengths::check_len, metadata::alignment::same_scale,
};

/// Which of addition and subtraction.
#[derive(Debug, Clone, Copy)]
enum Sign {
    Plus,
    Minus,
}

impl Evaluator {
    /// Computes [`CkksOps::add`](crate::CkksOps::add).
    pub(crate) fn add(&self, x: &Ciphertext, y: &Ciphertext) -> Result<Ciphertext> {
        self.sum(x, y, Sign::Plus).during("add")
    }

    /// Computes [`CkksOps::sub`](crate::CkksOps::sub).
    pub(crate) fn sub(&self, x: &Ciphertext, y: &Ciphertext) -> Result<Ciphertext> {
        self.sum(x, y, Sign::Minus).during("sub")
    }

    /// `x += y`, in place if both have one level and scale. On an error, which is one of
    /// [`add`](crate::CkksOps::add), `x` is unchanged.
    pub fn add_assign(&self, x: &mut Ciphertext, y: &Ciphertext) -> Result<()> {
        // In place only without alignment, which would copy.
        if x.lattice().limbs() == y.lattice().limbs() && same_scale(x.scale(), y.scale()) {
            self.check(x).during("add")?;
            self.check(y).during("add")?;
            return self.sum_aligned(x, y, Sign::Plus).during("add");
        }
        *x = self.add(x, y)?;
        Ok(())
    }

    /// `x + y` or `x - y`, aligned first.
    fn sum(&self, x: &Ciphertext, y: &Ciphertext, sign: Sign) -> Result<Ciphertext> {
        let (x, y) = self.align(x, y)?;
        let mut sum = x.into_owned();
        self.sum_aligned(&mut sum, &y, sign)?;
        Ok(sum)
    }

    /// The sum or difference of operands at one level and scale.
    fn sum_aligned(&self, x: &mut Ciphertext, y: &Ciphertext, sign: Sign) -> Result<()> {
        let f = match sign {
            Sign::Plus => Interval::add,
            Sign::Minus => Interval::sub,
        };
        // The rule first: on an error the operand in place is unchanged.
        let (relation, origins) = x.joint_origins(y);
        let sum = self.rules().sum(&x.metadata(), &y.metadata(), relation, f)?;
        let lattice = self.params().lattice();
        match sign {
            Sign::Plus => x.inner.add_assign(lattice, &y.inner)?,
            Sign::Minus => x.inner.sub_assign(lattice, &y.inner)?,
        }
        x.set(sum.meta, origins);
        Ok(())
    }

    /// Computes [`CkksOps::neg`](crate::CkksOps::neg).
    pub(crate) fn neg(&self, x: &Ciphertext) -> Result<Ciphertext> {
        self.check(x).during("neg")?;
        let mut negative = x.clone();
        negative.inner.neg_assign(self.params().lattice())?;
        Ok(negative.changed(self.rules().negative(&x.metadata()).meta))
    }

    /// `x + p` for an encoded vector. If the scales differ, the ciphertext is matched to the scale
    /// of the plaintext, which takes a level; `add_values` encodes at the right
    /// scale.
    ///
    /// # Errors
    /// As for [`add`](crate::CkksOps::add).
    pub fn add_plain(&self, x: &Ciphertext, p: &Plaintext) -> Result<Ciphertext> {
        let op = "add a plaintext";
        // The plaintext as a ciphertext without mask, so that both can be aligned.
        let constant = self.trivial(p)?;
        let (x, constant) = self.align(x, &constant).during(op)?;
        let (relation, origins) = x.joint_origins(&constant);
        let metadata =
            self.rules().sum(&x.metadata(), &constant.metadata(), relation, Interval::add);
        let metadata = metadata.during(op)?;
        let mut sum = x.into_owned();
        sum.inner.add_plain_assign(self.params().lattice(), constant.inner.b())?;
        sum.set(metadata.meta, origins);
        Ok(sum)
    }

    /// Computes [`CkksOps::add_values`](crate::CkksOps::add_values).
    pub(crate) fn add_values<T: SlotValue>(
        &self,
        x: &Ciphertext,
        values: &[T],
    ) -> Result<Ciphertext> {
        let op = "add_values";
        self.check(x).during(op)?;
        check_values(values, self.params().max_slots()).during(op)?;
        check_len(x.len(), values.len()).during(op)?;
        // Encoded at the level and scale of x, the values need no alignment.
        let plain = self
            .encoder()
            .encode_constants(values, x.meta().slots, x.scale(), x.lattice().limbs())
            .during(op)?;
        self.add_plain(x, &plain)
    }

    /// Computes [`CkksOps::add_scalar`](crate::CkksOps::add_scalar).
    pub(crate) fn add_scalar(&self, x: &Ciphertext, c: f64) -> Result<Ciphertext> {
        let op = "add_scalar";
        self.check(x).during(op)?;
        let (metadata, integer) = self.rules().add_scalar(&x.metadata(), c).during(op)?;
        let mut sum = x.clone();
        self.add_integer(&mut sum.inner, integer);
        Ok(sum.changed(metadata.meta))
    }

    /// Adds an integer to the phase in every slot.
    pub(crate) fn add_integer(&self, x: &mut mlwe::Ciphertext, integer: i128) {
        let ring = self.params().ring(x.limbs());
        // A constant polynomial has the same value everywhere.
        let body = x.polys_mut().next().expect("a ciphertext has a body");
        for i in 0..ring.limbs() {
            let q = ring.modulus(i);
            let residue = q.from_i128(integer);
            body.limb_mut(i).iter_mut().for_each(|v| *v = q.add(*v, residue));
        }
    }
}
