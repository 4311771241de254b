//! Products: with ciphertexts, plaintexts and constants.

use bellerophon_mlwe as mlwe;

use super::{Evaluator, add::scaled_integer, align::same_scale, pair};
use crate::{
    Ciphertext, Error, Interval, Meta, Plaintext, Result, SlotValue,
    encode::{check_scale, check_values},
    error::Standing,
    noise,
    sparse::Coefficients,
};

/// Constants encoded at less than this would not be recognised.
const LEAST_FACTOR: f64 = 256.0;

impl Evaluator {
    /// `x y`, slot by slot: multiplied, relinearised, rescaled. Takes one level. Given the same
    /// ciphertext twice (`mul(&x, &x)`) it is [`square`](Self::square).
    ///
    /// # Errors
    /// [`Error::OutOfLevels`], [`Error::MissingKey`] without a relinearisation key,
    /// [`Error::RangeOverflow`], [`Error::KeyMismatch`], [`Error::ParamsMismatch`].
    pub fn mul(&self, x: &Ciphertext, y: &Ciphertext) -> Result<Ciphertext> {
        let op = "multiply";
        self.check_levels(op, 1, x.level().min(y.level()))?;
        self.rescaled(op, self.mul_unscaled(x, y)?)
    }

    /// `x^2`, whose range is known not to be negative for a real `x`. Takes one level.
    ///
    /// # Errors
    /// As for [`mul`](Self::mul).
    pub fn square(&self, x: &Ciphertext) -> Result<Ciphertext> {
        let op = "square";
        self.check_levels(op, 1, x.level())?;
        self.rescaled(op, self.square_unscaled(x)?)
    }

    /// `x y` relinearised but not rescaled, at the product of the scales: for sums of products that
    /// share one rescaling.
    ///
    /// # Errors
    /// As for [`mul`](Self::mul), levels apart.
    pub fn mul_unscaled(&self, x: &Ciphertext, y: &Ciphertext) -> Result<Ciphertext> {
        let op = "multiply";
        if std::ptr::eq(x, y) {
            return self.square_unscaled(x);
        }
        let (x, y) = self.align_factors(op, x, y)?;
        let (slots, len, bounds) = pair(x.meta.shape(), y.meta.shape(), Interval::mul);
        let variance = noise::product(self.params().degree(), x.meta.operand(), y.meta.operand());
        let meta = Meta { scale: x.scale() * y.scale(), slots, len, bounds, variance };
        let tensor = || mlwe::Tensor::product(self.params().lattice(), &x.inner, &y.inner);
        self.relinearised(op, x.limbs(), meta, tensor)
    }

    /// `x^2` relinearised but not rescaled.
    ///
    /// # Errors
    /// As for [`mul`](Self::mul), levels apart.
    pub fn square_unscaled(&self, x: &Ciphertext) -> Result<Ciphertext> {
        let op = "square";
        self.check(op, x)?;
        let meta = Meta {
            scale: x.scale() * x.scale(),
            bounds: x.meta.bounds.map(Interval::square),
            variance: noise::square(self.params().degree(), x.meta.operand()),
            ..x.meta
        };
        let tensor = || mlwe::Tensor::square(self.params().lattice(), &x.inner);
        self.relinearised(op, x.limbs(), meta, tensor)
    }

    fn relinearised(
        &self,
        op: &'static str,
        limbs: usize,
        mut meta: Meta,
        tensor: impl FnOnce() -> mlwe::Result<mlwe::Tensor>,
    ) -> Result<Ciphertext> {
        self.check_range(op, &meta.bounds, meta.scale, limbs)?;
        let key = self.keys().relinearisation(op, limbs)?;
        let lattice = self.params().lattice();
        let inner = key.relinearise(lattice, tensor()?)?;
        meta.variance += mlwe::noise::relinearise(lattice, limbs);
        Ok(Ciphertext { inner, meta })
    }

    /// `x p` for an encoded vector, rescaled. Takes one level.
    ///
    /// Encoded by [`Encoder::encode_factor`](crate::Encoder::encode_factor) for the level of `x`,
    /// the factor leaves the scale as it was.
    ///
    /// # Errors
    /// As for [`mul`](Self::mul); no key is needed.
    pub fn mul_plain(&self, x: &Ciphertext, p: &Plaintext) -> Result<Ciphertext> {
        let op = "multiply by a plaintext";
        self.check_levels(op, 1, x.level().min(p.level()))?;
        self.rescaled(op, self.mul_plain_unscaled(x, p)?)
    }

    /// `x p` without the rescaling.
    ///
    /// # Errors
    /// As for [`mul_plain`](Self::mul_plain), levels apart.
    pub fn mul_plain_unscaled(&self, x: &Ciphertext, p: &Plaintext) -> Result<Ciphertext> {
        let op = "multiply by a plaintext";
        self.check(op, x)?;
        self.params().check(op, p.fingerprint)?;
        let limbs = x.limbs().min(p.limbs());
        let mut product = self.dropped(op, x, limbs)?.into_owned();
        let (slots, len, bounds) = pair(product.meta.shape(), p.shape(), Interval::mul);
        let scale = product.scale() * p.scale;
        self.check_range(op, &bounds, scale, limbs)?;
        let lattice = self.params().lattice();
        if p.limbs() == limbs {
            product.inner.mul_plain_assign(lattice, &p.poly)?;
        } else {
            product.inner.mul_plain_assign(lattice, &p.poly_at(limbs))?;
        }
        let variance = noise::product(self.params().degree(), product.meta.operand(), p.operand());
        product.meta = Meta { scale, slots, len, bounds, variance };
        Ok(product)
    }

    /// `x v`, the values encoded so that the scale stays, rescaled. Takes one level; a vector
    /// shorter than the slots of `x` is padded with zeros.
    ///
    /// # Errors
    /// Those of [`mul_plain`](Self::mul_plain) and [`Encoder::encode`](crate::Encoder::encode).
    pub fn mul_values<T: SlotValue>(&self, x: &Ciphertext, values: &[T]) -> Result<Ciphertext> {
        let op = "multiply by values";
        check_values(op, values, self.params().max_slots())?;
        self.check_levels(op, 1, x.level())?;
        let factor = self.factor_for(x, values)?;
        self.mul_plain(x, &factor)
    }

    /// `c x` for a real constant, rescaled; the scale stays. Takes one level.
    ///
    /// The constant is rounded to a multiple of `1 / q_level`.
    ///
    /// # Errors
    /// [`Error::OutOfLevels`], [`Error::NonFinite`], [`Error::RangeOverflow`] and mismatches.
    pub fn mul_scalar(&self, x: &Ciphertext, c: f64) -> Result<Ciphertext> {
        let op = "multiply by a constant";
        self.check_levels(op, 1, x.level())?;
        let product = self.mul_scalar_unscaled(x, c, self.params().prime(x.level()))?;
        self.rescaled(op, product)
    }

    /// `c x` without rescaling: multiplies by `round(c scale)`; the result's scale is that of `x`
    /// times `scale`.
    ///
    /// # Errors
    /// [`Error::Scale`], and as for [`mul_scalar`](Self::mul_scalar), levels apart.
    pub fn mul_scalar_unscaled(&self, x: &Ciphertext, c: f64, scale: f64) -> Result<Ciphertext> {
        let op = "multiply by a constant";
        self.check(op, x)?;
        check_values(op, &[c], 1)?;
        check_scale(op, scale)?;
        let mut product = x.clone();
        product.meta.scale *= scale;
        product.meta.bounds = x.meta.bounds.map(|r| r.scale(c));
        let meta = product.meta;
        self.check_range(op, &meta.bounds, meta.scale, x.limbs())?;
        let integer = scaled_integer(op, c, scale)?;
        self.mul_integer_assign(op, &mut product, integer)?;
        product.meta.scale = meta.scale;
        product.meta.bounds = meta.bounds;
        // What rounding the constant does to the message, as noise.
        let off = (c * scale - integer as f64) * x.meta.bounds.slots.bound() * x.scale();
        let coefficients = (2 * x.slots()) as f64;
        product.meta.variance += off * off / coefficients;
        Ok(product)
    }

    /// `k x` for an integer: exact, no level, the scale stays.
    ///
    /// # Errors
    /// [`Error::RangeOverflow`] and mismatches.
    pub fn mul_integer(&self, x: &Ciphertext, k: i64) -> Result<Ciphertext> {
        let op = "multiply by an integer";
        self.check(op, x)?;
        let mut product = x.clone();
        let bounds = x.meta.bounds.map(|r| r.scale(k as f64));
        self.check_range(op, &bounds, x.scale(), x.limbs())?;
        self.mul_integer_assign(op, &mut product, k as i128)?;
        Ok(product)
    }

    /// Multiplies the phase by an integer; message and noise grow with it.
    pub(super) fn mul_integer_assign(
        &self,
        op: &'static str,
        x: &mut Ciphertext,
        k: i128,
    ) -> Result<()> {
        self.params().check(op, x.inner.fingerprint())?;
        let ring = self.params().ring(x.limbs());
        let residues: Vec<u64> = ring.moduli().map(|q| q.from_i128(k)).collect();
        for poly in x.inner.polys_mut() {
            ring.mul_residues_assign(poly, &residues);
        }
        let k = k as f64;
        x.meta.bounds = x.meta.bounds.map(|r| r.scale(k));
        x.meta.variance *= k * k;
        Ok(())
    }

    /// `i x`: a multiplication by `X^{N/2}`, exact and without a level. The slots become complex.
    ///
    /// # Errors
    /// [`Error::KeyMismatch`], [`Error::ParamsMismatch`].
    pub fn mul_i(&self, x: &Ciphertext) -> Result<Ciphertext> {
        let op = "multiply by i";
        self.check(op, x)?;
        let mut product = x.clone();
        let ring = self.params().ring(x.limbs());
        let monomial = Coefficients::Narrow(vec![0, 1].into());
        let i = self.params().sparse().forward(&monomial, x.limbs());
        for poly in product.inner.polys_mut() {
            ring.mul_assign(poly, &i);
        }
        product.meta.bounds = x.meta.bounds.map(Interval::to_complex);
        Ok(product)
    }

    /// `sum_i c_i x_i + constant` with one rescaling: the terms are brought to the lowest level
    /// among them, and each constant is encoded at the scale that makes all products agree, so the
    /// `x_i` may stand at different levels and scales. The result has exactly `scale` (the default
    /// scale if none is given). Takes one level from the lowest operand.
    ///
    /// # Errors
    /// [`Error::NoValues`] without terms, [`Error::OutOfLevels`], [`Error::NonFinite`],
    /// [`Error::ScaleMismatch`] for a term whose scale leaves its constant less than 8 bits (one
    /// that was not rescaled), [`Error::RangeOverflow`] and mismatches.
    pub fn linear_combination(
        &self,
        terms: &[(&Ciphertext, f64)],
        constant: f64,
        scale: Option<f64>,
    ) -> Result<Ciphertext> {
        self.combination(&[], terms, constant, Some(scale.unwrap_or(self.params().scale())))
    }

    /// `sum_j x_j y_j + sum_i c_i z_i + constant` with one relinearisation and one rescaling, at
    /// one level below the lowest operand.
    ///
    /// The products `x_j y_j` must agree in scale, and with `scale` times the prime that is dropped
    /// where a scale is given; the result then has exactly that scale. Constants are encoded to fit.
    ///
    /// # Errors
    /// [`Error::ScaleMismatch`] when the products do not agree, [`Error::NoValues`] for an empty
    /// sum, otherwise as for [`mul`](Self::mul).
    pub fn combination(
        &self,
        products: &[(&Ciphertext, &Ciphertext)],
        terms: &[(&Ciphertext, f64)],
        constant: f64,
        scale: Option<f64>,
    ) -> Result<Ciphertext> {
        let op = "linear combination";
        let operands = products.iter().flat_map(|&(x, y)| [x, y]).chain(terms.iter().map(|t| t.0));
        let level = operands.map(Ciphertext::level).min().ok_or(Error::NoValues { op })?;
        self.check_levels(op, 1, level)?;
        let prime = self.params().prime(level);
        let target = match (scale, products.first()) {
            (Some(scale), _) => scale * prime,
            (None, Some((x, y))) => x.scale() * y.scale(),
            (None, None) => self.params().scale() * prime,
        };
        check_scale(op, target)?;
        let mut sum = self.product_sum(op, products, level + 1, target)?;
        for &(x, c) in terms {
            self.check(op, x)?;
            let x = self.dropped(op, x, level + 1)?;
            let factor = target / x.scale();
            if factor < LEAST_FACTOR {
                let right = Standing { level, log2_scale: (target / prime).log2() };
                return Err(Error::ScaleMismatch { op, left: x.standing(), right });
            }
            let mut term = self.mul_scalar_unscaled(&x, c, factor)?;
            term.meta.scale = target;
            match &mut sum {
                Some(sum) => self.add_assign(sum, &term)?,
                None => sum = Some(term),
            }
        }
        let sum = self.add_scalar(&sum.ok_or(Error::NoValues { op })?, constant)?;
        let mut result = self.rescaled(op, sum)?;
        result.meta.scale = target / prime;
        Ok(result)
    }

    /// `sum_j x_j y_j` at `limbs` limbs with one relinearisation, all of them at the scale `target`.
    fn product_sum(
        &self,
        op: &'static str,
        products: &[(&Ciphertext, &Ciphertext)],
        limbs: usize,
        target: f64,
    ) -> Result<Option<Ciphertext>> {
        let lattice = self.params().lattice();
        let mut sum: Option<(mlwe::Tensor, Meta)> = None;
        for &(x, y) in products {
            self.check(op, x)?;
            self.check(op, y)?;
            if !same_scale(x.scale() * y.scale(), target) {
                let right = Standing { level: limbs - 1, log2_scale: target.log2() };
                let left = Standing { log2_scale: (x.scale() * y.scale()).log2(), ..right };
                return Err(Error::ScaleMismatch { op, left, right });
            }
            let (x, y) = (self.dropped(op, x, limbs)?, self.dropped(op, y, limbs)?);
            let (slots, len, bounds) = pair(x.meta.shape(), y.meta.shape(), Interval::mul);
            let variance =
                noise::product(self.params().degree(), x.meta.operand(), y.meta.operand());
            let product = mlwe::Tensor::product(lattice, &x.inner, &y.inner)?;
            let meta = Meta { scale: target, slots, len, bounds, variance };
            sum = Some(match sum {
                None => (product, meta),
                Some((mut tensor, so_far)) => {
                    tensor.add_assign(lattice, &product)?;
                    let (slots, len, bounds) = pair(so_far.shape(), meta.shape(), Interval::add);
                    let variance = so_far.variance + variance;
                    (tensor, Meta { scale: target, slots, len, bounds, variance })
                }
            });
        }
        let Some((tensor, meta)) = sum else { return Ok(None) };
        self.relinearised(op, limbs, meta, || Ok(tensor)).map(Some)
    }
}
