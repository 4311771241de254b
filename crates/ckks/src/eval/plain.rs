//! Operations with encoded vectors, and sums in place: for a server that encodes its factors once.

use std::borrow::Cow;

#[cfg(doc)]
use bellerophon_ring::ErrorKind;
use bellerophon_ring::Result;
use bellerophon_ring::error::operation;

use super::Evaluator;
use crate::ciphertext::Ciphertext;
use crate::encode::Plaintext;
use crate::interval::Interval;
use crate::metadata::route::{Route, same_scale};
use crate::ops::CkksOps;
use crate::ops::plain::{check_lengths, dot};
use crate::ops::sum::Sum;
use crate::refresh;
use crate::vectors::State;

impl Evaluator {
    /// `x += y`, in place if both have one level and scale. On an error, which is one of
    /// [`add`](CkksOps::add), `x` is unchanged.
    pub fn add_assign(&self, x: &mut Ciphertext, y: &Ciphertext) -> Result<()> {
        // In place only without alignment, which would copy.
        if x.inner.limbs() != y.inner.limbs() || !same_scale(x.scale(), y.scale()) {
            *x = self.add(x, y)?;
            return Ok(());
        }
        operation("add", || {
            self.check(x)?;
            self.check(y)?;
            // The rule first: on an error the operand in place is unchanged.
            let (relation, origins) = x.state().joint_origins(&y.state());
            let f = Sum::Plus.of_ranges();
            let sum = self.rules().sum(&x.metadata(), &y.metadata(), relation, f)?;
            x.inner.add_assign(self.params().lattice(), &y.inner)?;
            x.set(sum.meta, origins);
            Ok(())
        })
    }

    /// `x + p` for an encoded vector. If the scales differ, the ciphertext is matched to the scale
    /// of the plaintext, which takes a level; [`add_values`](CkksOps::add_values) encodes at the
    /// right scale.
    pub fn add_plain(&self, x: &Ciphertext, p: &Plaintext) -> Result<Ciphertext> {
        operation("add_plain", || {
            self.check(x)?;
            // The plaintext as a ciphertext without mask, so that both can be aligned.
            let constant = self.trivial(p)?;
            let aligned = refresh::all_aligned(self, &[x, &constant])?;
            let (x, constant) = (&*aligned[0], &*aligned[1]);
            let (to_x, to_p) = self.rules().align(&x.metadata(), &constant.metadata())?;
            let (x, constant) = (self.follow(x, &to_x)?, self.follow(constant, &to_p)?);
            let [of_x, of_p] = [x.state(), constant.state()];
            let (relation, origins) = of_x.joint_origins(&of_p);
            let metadata =
                self.rules().sum(&of_x.metadata, &of_p.metadata, relation, Interval::add)?;
            let mut sum = x.into_owned();
            sum.inner.add_plain_assign(self.params().lattice(), constant.inner.b())?;
            sum.set(metadata.meta, origins);
            Ok(sum)
        })
    }

    /// `x p` for an encoded vector, rescaled. Takes one level.
    ///
    /// Encoded by [`Encoder::encode_factor`](crate::Encoder::encode_factor) for the level of `x`,
    /// the factor leaves the scale as it was.
    pub fn mul_plain(&self, x: &Ciphertext, p: &Plaintext) -> Result<Ciphertext> {
        operation("mul_plain", || {
            // Refuse a missing level before the product. A factor encoded low takes x with it.
            self.rules().check_levels(1, x.level().min(p.level()))?;
            let product = self.mul_plain_no_rescale(x, p)?;
            let metadata = self.rules().rescaled(&product.metadata())?;
            let inner = self.divided(product.inner)?;
            Ok(Ciphertext::at_level(self.params(), inner, metadata.meta, product.origins))
        })
    }

    /// `x p` without the rescale.
    pub fn mul_plain_no_rescale(&self, x: &Ciphertext, p: &Plaintext) -> Result<Ciphertext> {
        self.check(x)?;
        self.check_plain(p)?;
        // The factor follows a bootstrap of `x` to its new level.
        let (x, p) = (&*refresh::replenished(self, x, 1)?, &*self.lifted(x, p)?);
        let (relation, origins) = x.state().joint_origins(&p.state());
        let metadata = self.rules().mul_plain(&x.metadata(), &p.metadata(), relation)?;
        let mut product = self.follow(x, &Route::drop_to(metadata.level))?.into_owned();
        let limbs = product.lattice().limbs();
        let lattice = self.params().lattice();
        if p.limbs() == limbs {
            product.inner.mul_plain_assign(lattice, &p.poly)?;
        } else {
            product.inner.mul_plain_assign(lattice, &p.poly_at(limbs))?;
        }
        product.set(metadata.meta, origins);
        Ok(product)
    }

    /// A factor of `x` under automatic bootstrapping. A factor whose level would make the product
    /// too low is encoded again at the level that `x` then has, so that the rescale gives the same
    /// scale.
    fn lifted<'p>(&self, x: &Ciphertext, p: &'p Plaintext) -> Result<Cow<'p, Plaintext>> {
        let Some((least, fresh)) = refresh::span(self) else { return Ok(Cow::Borrowed(p)) };
        let from = p.level();
        if x.level() < least || from > least {
            return Ok(Cow::Borrowed(p));
        }
        // The level of `x`, or the level after its bootstrap; the scale that leads to the same
        // scale after the rescale there.
        let params = self.params();
        let to = if x.level() > least { x.level() } else { fresh };
        let scale = p.scale * params.divisor(to) / params.divisor(from);
        let values = self.encoder().decode_slots(p)?;
        // The factor was checked against its range; its decoded values differ by roundings.
        let range = Interval::complex(p.bounds.slots().bound() * (1.0 + 1e-6) + 1.0 / p.scale)?;
        let limbs = params.limbs_at(to);
        let mut again = self.encoder().encode_in(&values, range, p.slots, scale, limbs)?;
        (again.len, again.bounds) = (p.len, p.bounds);
        Ok(Cow::Owned(again))
    }

    /// `sum_i x_i p_i` of ciphertexts and encoded vectors with one rescale. Takes one level from
    /// the lowest operand.
    ///
    /// # Errors
    /// [`ErrorKind::Scale`] unless all products agree in scale.
    pub fn dot_plain(&self, x: &[&Ciphertext], p: &[&Plaintext]) -> Result<Ciphertext> {
        operation("dot_plain", || {
            check_lengths(x.len(), p.len())?;
            x.iter().try_for_each(|x| self.check(x))?;
            p.iter().try_for_each(|p| self.check_plain(p))?;
            // Step 1: bootstrap operands that are short of levels; encode their factors again.
            let x = refresh::alike(self, x)?;
            let p = x.iter().zip(p).map(|(x, p)| self.lifted(x, p)).collect::<Result<Vec<_>>>()?;
            // Step 2: the metadata, and the level of the products.
            let pairs: Vec<_> = x.iter().zip(&p).map(|(x, p)| [x.state(), p.state()]).collect();
            let (level, State { metadata, origins }) = dot(self.rules(), &pairs)?;
            // Step 3: the sums of products, rescaled.
            let terms = x.iter().zip(&p).map(|(x, p)| {
                let x = self.routed(x, &Route::drop_to(level))?;
                let factor = p.poly_at(x.limbs());
                Ok((x, factor))
            });
            let terms = terms.collect::<Result<Vec<_>>>()?;
            let inner = self.sum_of_plain_products(level, &terms)?;
            Ok(Ciphertext::at_level(self.params(), inner, metadata.meta, origins))
        })
    }
}
