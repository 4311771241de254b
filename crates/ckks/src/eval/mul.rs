//! Products: with ciphertexts, plaintexts and constants.

#[cfg(doc)]
use crate::ErrorKind;
use std::borrow::Cow;

use bellerophon_mlwe as mlwe;

use super::Evaluator;
use crate::{
    Ciphertext, Complex64, During, Interval, Metadata, Plaintext, Result, SlotValue,
    bootstrap::auto_bootstrap::{self, Operands},
    encode::{check_number, check_values},
    error,
    lengths::check_len,
    metadata::alignment::Route,
    origins::Relations,
    sparse_slots::Coefficients,
};

impl Evaluator {
    /// Computes [`CkksOps::mul`](crate::CkksOps::mul).
    pub(crate) fn mul(&self, x: &Ciphertext, y: &Ciphertext) -> Result<Ciphertext> {
        let op = "mul";
        if std::ptr::eq(x, y) {
            return self.square(x).during(op);
        }
        // Bootstrap factors that are short of levels, then align them: products at one level have
        // one scale.
        let (x, y) = auto_bootstrap::factors(self, x, y)?;
        self.check_levels(1, x.level().min(y.level())).during(op)?;
        let (x, y) = self.align_factors(&x, &y).during(op)?;
        let (relation, _) = x.joint_origins(&y);
        let metadata = self.rules().product(&x.metadata(), &y.metadata(), relation).during(op)?;
        self.relinearized_rescaled(&metadata, (&x, &y)).during(op)
    }

    /// Computes [`CkksOps::square`](crate::CkksOps::square).
    pub(crate) fn square(&self, x: &Ciphertext) -> Result<Ciphertext> {
        let op = "square";
        let x = auto_bootstrap::replenished(self, x, 1)?;
        self.check(&x).during(op)?;
        self.check_levels(1, x.level()).during(op)?;
        let metadata = self.rules().square(&x.metadata());
        self.relinearized_rescaled(&metadata, (&x, &x)).during(op)
    }

    /// Computes [`CkksOps::mul_no_rescale`](crate::CkksOps::mul_no_rescale).
    pub(crate) fn mul_no_rescale(&self, x: &Ciphertext, y: &Ciphertext) -> Result<Ciphertext> {
        let op = "mul";
        if std::ptr::eq(x, y) {
            return self.square_no_rescale(x).during(op);
        }
        // Products of a sum need one scale, so factors are aligned as for `mul`; the level stays.
        let (x, y) = auto_bootstrap::factors(self, x, y)?;
        let (x, y) = self.align_factors(&x, &y).during(op)?;
        let (relation, _) = x.joint_origins(&y);
        let metadata = self.rules().product(&x.metadata(), &y.metadata(), relation).during(op)?;
        self.relinearized(&metadata, (&x, &y)).during(op)
    }

    /// Computes [`CkksOps::square_no_rescale`](crate::CkksOps::square_no_rescale).
    pub(crate) fn square_no_rescale(&self, x: &Ciphertext) -> Result<Ciphertext> {
        let op = "square";
        let x = auto_bootstrap::replenished(self, x, 1)?;
        self.check(&x).during(op)?;
        let metadata = self.rules().square(&x.metadata());
        self.relinearized(&metadata, (&x, &x)).during(op)
    }

    /// A product, relinearized.
    fn relinearized(
        &self,
        product: &Metadata,
        (x, y): (&Ciphertext, &Ciphertext),
    ) -> Result<Ciphertext> {
        let metadata = self.rules().relinearized(product)?;
        let key = self.keys().relinearization(self.params().limbs_at(product.level))?;
        let inner = key.multiply(&x.inner, &y.inner, 0)?;
        let (_, origins) = x.joint_origins(y);
        Ok(Ciphertext::at_level(self.params(), inner, metadata.meta, origins))
    }

    /// A product, relinearized and rescaled in one mod-down. The metadata count one rounding more
    /// (divided by the dropped primes) than the fused operation has.
    fn relinearized_rescaled(
        &self,
        product: &Metadata,
        (x, y): (&Ciphertext, &Ciphertext),
    ) -> Result<Ciphertext> {
        // The metadata before the work: a product that could wrap is refused without a key switch.
        let metadata = self.rules().rescaled(&self.rules().relinearized(product)?)?;
        let params = self.params();
        let limbs = params.limbs_at(product.level);
        // The mod-down of the key switch divides by P and by the primes of the level at once.
        let primes = limbs - params.limbs_at(metadata.level);
        let key = self.keys().relinearization(limbs)?;
        let inner = key.multiply(&x.inner, &y.inner, primes)?;
        let (_, origins) = x.joint_origins(y);
        Ok(Ciphertext::at_level(params, inner, metadata.meta, origins))
    }

    /// `x p` for an encoded vector, rescaled. Takes one level.
    ///
    /// Encoded by [`Encoder::encode_factor`](crate::Encoder::encode_factor) for the level of `x`,
    /// the factor leaves the scale as it was.
    ///
    /// # Errors
    /// As for [`mul`](crate::CkksOps::mul); no key is needed.
    pub fn mul_plain(&self, x: &Ciphertext, p: &Plaintext) -> Result<Ciphertext> {
        let op = "multiply by a plaintext";
        // Refuse a missing level before the product. A factor encoded low takes x with it.
        self.check_levels(1, x.level().min(p.level())).during(op)?;
        self.rescaled(self.mul_plain_no_rescale(x, p)?).during(op)
    }

    /// `x p` without the rescale.
    ///
    /// # Errors
    /// As for [`mul_plain`](Self::mul_plain), levels apart.
    pub fn mul_plain_no_rescale(&self, x: &Ciphertext, p: &Plaintext) -> Result<Ciphertext> {
        let op = "multiply by a plaintext";
        self.check(x).during(op)?;
        self.check_plain(p).during(op)?;
        // The factor follows a bootstrap of `x` to its new level.
        let (x, p) = (&*auto_bootstrap::replenished(self, x, 1)?, &*self.lifted(x, p)?);
        let pair = Relations::new(&[[x.periodic(), (&p.origins(), p.slots)]], &[]);
        let metadata =
            self.rules().mul_plain(&x.metadata(), &p.metadata(), pair.factors[0]).during(op)?;
        let mut product = self.dropped(x, metadata.level).during(op)?.into_owned();
        let limbs = product.lattice().limbs();
        let lattice = self.params().lattice();
        if p.limbs() == limbs {
            product.inner.mul_plain_assign(lattice, &p.poly)?;
        } else {
            product.inner.mul_plain_assign(lattice, &p.poly_at(limbs))?;
        }
        product.set(metadata.meta, pair.sum);
        Ok(product)
    }

    /// A factor of `x` under automatic bootstrapping. A factor whose level would make the product
    /// too low is encoded again at the level that `x` then has, so that the rescale gives the same
    /// scale.
    pub(super) fn lifted<'p>(
        &self,
        x: &Ciphertext,
        p: &'p Plaintext,
    ) -> Result<Cow<'p, Plaintext>> {
        let Some(bootstrapper) = self.bootstrapper().filter(|_| self.auto_bootstraps()) else {
            return Ok(Cow::Borrowed(p));
        };
        let (least, from) = (bootstrapper.input_level(), p.level());
        if x.level() < least || from > least {
            return Ok(Cow::Borrowed(p));
        }
        // The level of `x`, or the level after its bootstrap; the scale that leads to the same
        // scale after the rescale there.
        let params = self.params();
        let to = if x.level() > least { x.level() } else { bootstrapper.output_level() };
        let scale = p.scale * params.divisor(to) / params.divisor(from);
        let values = self.encoder().decode_slots(p)?;
        // The factor was checked against its range; its decoded values differ by roundings.
        let range = Interval::complex(p.bounds.slots().bound() * (1.0 + 1e-6) + 1.0 / p.scale)?;
        let limbs = params.limbs_at(to);
        let mut again = self.encoder().encode_in(&values, range, p.slots, scale, limbs)?;
        (again.len, again.bounds) = (p.len, p.bounds);
        Ok(Cow::Owned(again))
    }

    /// Computes [`CkksOps::mul_values`](crate::CkksOps::mul_values).
    pub(crate) fn mul_values<T: SlotValue>(
        &self,
        x: &Ciphertext,
        values: &[T],
    ) -> Result<Ciphertext> {
        self.times_values(x, values, None)
    }

    /// Computes [`CkksOps::mul_values_to`](crate::CkksOps::mul_values_to).
    pub(crate) fn mul_values_to<T: SlotValue>(
        &self,
        x: &Ciphertext,
        values: &[T],
        scale: f64,
    ) -> Result<Ciphertext> {
        self.times_values(x, values, Some(scale))
    }

    /// `x v` with a result at the given scale, or at the scale of `x`.
    fn times_values<T: SlotValue>(
        &self,
        x: &Ciphertext,
        values: &[T],
        scale: Option<f64>,
    ) -> Result<Ciphertext> {
        let op = "mul_values";
        self.check(x).during(op)?;
        check_values(values, self.params().max_slots()).during(op)?;
        check_len(x.len(), values.len()).during(op)?;
        let x = auto_bootstrap::replenished(self, x, 1)?;
        self.check_levels(1, x.level()).during(op)?;
        // The scale of the factor for which the rescale gives the wanted scale.
        let scale = self.rules().factor_scale(&x.metadata(), scale);
        let factor = self
            .encoder()
            .encode_constants(values, x.meta().slots, scale, x.lattice().limbs())
            .during(op)?;
        self.mul_plain(&x, &factor)
    }

    /// Computes [`CkksOps::mul_scalar`](crate::CkksOps::mul_scalar).
    pub(crate) fn mul_scalar(&self, x: &Ciphertext, c: f64) -> Result<Ciphertext> {
        let op = "mul_scalar";
        self.check(x).during(op)?;
        let x = auto_bootstrap::replenished(self, x, 1)?;
        self.check_levels(1, x.level()).during(op)?;
        // At the divisor as its scale the constant leaves the scale of x unchanged.
        let product = self.mul_scalar_no_rescale(&x, c, self.params().divisor(x.level()))?;
        self.rescaled(product).during(op)
    }

    /// `c x` without the rescale: multiplies by `round(c scale)`; the scale of the result is that
    /// of `x` times `scale`.
    ///
    /// # Errors
    /// [`ErrorKind::Scale`], and as for [`mul_scalar`](Self::mul_scalar), levels apart.
    pub(crate) fn mul_scalar_no_rescale(
        &self,
        x: &Ciphertext,
        c: f64,
        scale: f64,
    ) -> Result<Ciphertext> {
        let op = "mul_scalar";
        let x = &*auto_bootstrap::replenished(self, x, 1)?;
        self.check(x).during(op)?;
        let (metadata, integer) = self.rules().mul_scalar(&x.metadata(), c, scale).during(op)?;
        let mut product = x.clone();
        self.mul_integer_assign(&mut product.inner, integer);
        Ok(product.changed(metadata.meta))
    }

    /// Computes [`CkksOps::mul_complex`](crate::CkksOps::mul_complex).
    pub(crate) fn mul_complex(&self, x: &Ciphertext, c: Complex64) -> Result<Ciphertext> {
        let op = "mul_scalar";
        self.check(x).during(op)?;
        let x = auto_bootstrap::replenished(self, x, 1)?;
        self.check_levels(1, x.level()).during(op)?;
        check_number("the constant", c).during(op)?;
        // A complex constant is a + b X^{N/2}: one encoded slot, the same polynomial for any number
        // of slots.
        let factor = self.encoder().constant_factor(&[c], 1, x.level()).during(op)?;
        self.mul_plain(&x, &factor.in_all_slots(x.meta().slots, x.len()))
    }

    /// Computes [`CkksOps::mul_integer`](crate::CkksOps::mul_integer).
    pub(crate) fn mul_integer(&self, x: &Ciphertext, k: i64) -> Result<Ciphertext> {
        let op = "mul_integer";
        self.check(x).during(op)?;
        let metadata = self.rules().mul_integer(&x.metadata(), k).during(op)?;
        let mut product = x.clone();
        self.mul_integer_assign(&mut product.inner, k as i128);
        Ok(product.changed(metadata.meta))
    }

    /// Multiplies the phase by an integer.
    pub(super) fn mul_integer_assign(&self, x: &mut mlwe::Ciphertext, k: i128) {
        let ring = self.params().ring(x.limbs());
        // An integer is the same residue in every NTT slot of a limb: no polynomial is needed.
        let residues: Vec<u64> = ring.moduli().map(|q| q.from_i128(k)).collect();
        for poly in x.polys_mut() {
            ring.mul_residues_assign(poly, &residues);
        }
    }

    /// Computes [`CkksOps::mul_i`](crate::CkksOps::mul_i).
    pub(crate) fn mul_i(&self, x: &Ciphertext) -> Result<Ciphertext> {
        let op = "mul_i";
        self.check(x).during(op)?;
        let mut product = x.clone();
        self.mul_i_assign(&mut product.inner);
        Ok(product.changed(self.rules().mul_i(&x.metadata()).meta))
    }

    /// Multiplies the phase by `i`.
    pub(crate) fn mul_i_assign(&self, x: &mut mlwe::Ciphertext) {
        let ring = self.params().ring(x.limbs());
        // i is the polynomial X^{N/2}, the second of two coefficients at distance N/2.
        let monomial = Coefficients::Narrow(vec![0, 1].into());
        let i = self.params().sparse().forward(&monomial, x.limbs());
        for poly in x.polys_mut() {
            ring.mul_assign(poly, &i);
        }
    }

    /// Computes [`CkksOps::mul_add_many`](crate::CkksOps::mul_add_many).
    pub(crate) fn mul_add_many(
        &self,
        products: &[(&Ciphertext, &Ciphertext)],
        terms: &[(&Ciphertext, f64)],
        constant: f64,
        scale: Option<f64>,
    ) -> Result<Ciphertext> {
        let op = "linear_combination";
        let operands = products.iter().flat_map(|&(x, y)| [x, y]).chain(terms.iter().map(|t| t.0));
        operands.into_iter().try_for_each(|x| self.check(x).during(op))?;
        // Step 1: bootstrap operands that are short of levels.
        let Operands { products, terms } =
            auto_bootstrap::mul_add_many(self, products, terms, scale)?;
        let products: Vec<_> = products.iter().map(|(x, y)| (&**x, &**y)).collect();
        let terms: Vec<_> = terms.iter().map(|(x, c)| (&**x, *c)).collect();
        // Step 2: the metadata, with the integer factors of the terms.
        let pairs: Vec<_> = products.iter().map(|(x, y)| (x.metadata(), y.metadata())).collect();
        let multiples: Vec<_> = terms.iter().map(|&(x, c)| (x.metadata(), c)).collect();
        let factors: Vec<_> = products.iter().map(|(x, y)| [x.periodic(), y.periodic()]).collect();
        let summands: Vec<_> = terms.iter().map(|(x, _)| x.periodic()).collect();
        let relations = Relations::new(&factors, &summands);
        let plan = self
            .rules()
            .mul_add_many(&pairs, &multiples, &relations, constant, scale)
            .during(op)?;
        // Step 3: the products, relinearized once, the terms and the constant.
        let mut sum = self.product_sum(&products, &plan.routes).during(op)?;
        let lattice = self.params().lattice();
        for (&(x, _), &factor) in terms.iter().zip(&plan.factors) {
            let mut term = self.dropped(x, plan.level).during(op)?.into_owned().inner;
            self.mul_integer_assign(&mut term, factor);
            match &mut sum {
                Some(sum) => sum.add_assign(lattice, &term)?,
                None => sum = Some(term),
            }
        }
        let mut sum = sum.ok_or_else(error::no_values).during(op)?;
        self.add_integer(&mut sum, plan.constant);
        // Step 4: rescale.
        let inner = self.divided(sum)?;
        Ok(Ciphertext::at_level(self.params(), inner, plan.result.meta, relations.sum))
    }

    /// `sum_j x_j y_j` at the ends of the routes with one relinearization, if there are any.
    fn product_sum(
        &self,
        products: &[(&Ciphertext, &Ciphertext)],
        routes: &[(Route, Route)],
    ) -> Result<Option<mlwe::Ciphertext>> {
        let lattice = self.params().lattice();
        let mut sum: Option<mlwe::Tensor> = None;
        for (&(x, y), (to_x, to_y)) in products.iter().zip(routes) {
            let (x, y) = (self.follow(x, to_x)?, self.follow(y, to_y)?);
            let product = mlwe::Tensor::product(lattice, &x.inner, &y.inner)?;
            // Tensors add up before the key switch, so the sum pays for one.
            match &mut sum {
                Some(sum) => sum.add_assign(lattice, &product)?,
                None => sum = Some(product),
            }
        }
        sum.map(|tensor| self.relinearize(tensor)).transpose()
    }
}
