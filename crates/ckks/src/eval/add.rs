//! Addition, subtraction, negation.

use bellerophon_mlwe as mlwe;

use super::Evaluator;
#[cfg(doc)]
use crate::Error;
use crate::{
    Ciphertext, Interval, Plaintext, Result, SlotValue, encode::check_values, lengths::check_len,
    metadata::rules::same_scale,
};

/// Which of addition and subtraction.
#[derive(Debug, Clone, Copy)]
enum Sign {
    Plus,
    Minus,
}

impl Evaluator {
    /// `x + y`, slot by slot.
    ///
    /// # Errors
    /// [`Error::LengthMismatch`] for vectors of unequal length, [`Error::KeyMismatch`],
    /// [`Error::ParamsMismatch`], [`Error::ScaleMismatch`],
    /// [`Error::RangeOverflow`].
    pub fn add(&self, x: &Ciphertext, y: &Ciphertext) -> Result<Ciphertext> {
        self.sum("add", x, y, Sign::Plus)
    }

    /// `x - y`, slot by slot. Errors as for [`add`](Self::add).
    pub fn sub(&self, x: &Ciphertext, y: &Ciphertext) -> Result<Ciphertext> {
        self.sum("sub", x, y, Sign::Minus)
    }

    /// `x += y`, in place if both have one level and scale. On an error, which is one of
    /// [`add`](Self::add), `x` is unchanged.
    pub fn add_assign(&self, x: &mut Ciphertext, y: &Ciphertext) -> Result<()> {
        self.sum_assign("add", x, y, Sign::Plus)
    }

    /// `x -= y`, as [`add_assign`](Self::add_assign).
    pub fn sub_assign(&self, x: &mut Ciphertext, y: &Ciphertext) -> Result<()> {
        self.sum_assign("sub", x, y, Sign::Minus)
    }

    /// `x + y` or `x - y`, aligned first.
    fn sum(
        &self,
        op: &'static str,
        x: &Ciphertext,
        y: &Ciphertext,
        sign: Sign,
    ) -> Result<Ciphertext> {
        let (x, y) = self.align(op, x, y)?;
        let mut sum = x.into_owned();
        self.sum_aligned(op, &mut sum, &y, sign)?;
        Ok(sum)
    }

    /// As [`sum`](Self::sum), in place if both have one level and scale.
    fn sum_assign(
        &self,
        op: &'static str,
        x: &mut Ciphertext,
        y: &Ciphertext,
        sign: Sign,
    ) -> Result<()> {
        // In place only without alignment, which would copy.
        if x.limbs() == y.limbs() && same_scale(x.scale(), y.scale()) {
            self.check(op, x)?;
            self.check(op, y)?;
            return self.sum_aligned(op, x, y, sign);
        }
        *x = self.sum(op, x, y, sign)?;
        Ok(())
    }

    /// The sum or difference of operands at one level and scale.
    fn sum_aligned(
        &self,
        op: &'static str,
        x: &mut Ciphertext,
        y: &Ciphertext,
        sign: Sign,
    ) -> Result<()> {
        let f = match sign {
            Sign::Plus => Interval::add,
            Sign::Minus => Interval::sub,
        };
        // The rule first: on an error the operand in place is unchanged.
        let sum = self.rules().sum(op, &x.metadata(), &y.metadata(), f)?;
        let lattice = self.params().lattice();
        match sign {
            Sign::Plus => x.inner.add_assign(lattice, &y.inner)?,
            Sign::Minus => x.inner.sub_assign(lattice, &y.inner)?,
        }
        x.meta = sum.meta;
        Ok(())
    }

    /// `-x`.
    ///
    /// # Errors
    /// [`Error::KeyMismatch`], [`Error::ParamsMismatch`].
    pub fn neg(&self, x: &Ciphertext) -> Result<Ciphertext> {
        let mut negative = x.clone();
        self.neg_assign(&mut negative)?;
        Ok(negative)
    }

    /// `x + p` for an encoded vector. If the scales differ, the ciphertext is matched to the scale
    /// of the plaintext, which takes a level; [`add_values`](Self::add_values) encodes at the right
    /// scale.
    ///
    /// # Errors
    /// As for [`add`](Self::add).
    pub fn add_plain(&self, x: &Ciphertext, p: &Plaintext) -> Result<Ciphertext> {
        let op = "add a plaintext";
        // The plaintext as a ciphertext without mask, so that both can be aligned.
        let constant = self.trivial(p)?;
        let (x, constant) = self.align(op, x, &constant)?;
        let metadata = self.rules().sum(op, &x.metadata(), &constant.metadata(), Interval::add)?;
        let mut sum = x.into_owned();
        sum.inner.add_plain_assign(self.params().lattice(), constant.inner.b())?;
        sum.meta = metadata.meta;
        Ok(sum)
    }

    /// `x + v`, the values encoded at the ciphertext's own scale and level. Padding stays as it is.
    ///
    /// # Errors
    /// [`Error::LengthMismatch`] unless there are as many values as `x` has, and those of
    /// [`add`](Self::add) and of [`Encoder::encode`](crate::Encoder::encode).
    pub fn add_values<T: SlotValue>(&self, x: &Ciphertext, values: &[T]) -> Result<Ciphertext> {
        let op = "add_values";
        self.check(op, x)?;
        check_values(op, values, self.params().max_slots())?;
        check_len(op, x.len(), values.len())?;
        // Encoded at the level and scale of x, the values need no alignment.
        let plain = self.encoder().encode_constants(op, values, x.slots(), x.scale(), x.limbs())?;
        self.add_plain(x, &plain)
    }

    /// `x + c` in every slot. Takes no level.
    ///
    /// # Errors
    /// [`Error::NonFinite`], [`Error::RangeOverflow`] and those of [`add`](Self::add).
    pub fn add_scalar(&self, x: &Ciphertext, c: f64) -> Result<Ciphertext> {
        let mut sum = x.clone();
        self.add_scalar_assign(&mut sum, c)?;
        Ok(sum)
    }

    /// `x += c` in every slot. On an error, which is one of [`add_scalar`](Self::add_scalar), `x`
    /// is unchanged.
    pub fn add_scalar_assign(&self, x: &mut Ciphertext, c: f64) -> Result<()> {
        let op = "add_scalar";
        self.check(op, x)?;
        let (metadata, integer) = self.rules().add_scalar(op, &x.metadata(), c)?;
        x.meta = metadata.meta;
        self.add_integer(&mut x.inner, integer);
        Ok(())
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
