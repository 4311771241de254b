//! Metadata rules: the metadata of the result of every operation.
//!
//! Level, scale, ranges and predicted noise of a result follow from those of the operands, never
//! from a phase. [`Evaluator`](crate::Evaluator) applies the rule first, then computes the phase;
//! the simulator applies the same rule.

use bellerophon_mlwe as mlwe;
#[cfg(doc)]
use bellerophon_ring::ErrorKind;
use bellerophon_ring::Result;
use bellerophon_ring::error::ensure;

use super::route::{AlignedProducts, Route};
use crate::ciphertext::CiphertextMeta;
use crate::encode::{Plaintext, check_number, check_range, check_scale, check_values};
use crate::error::{self, LevelScale, rounded_up};
use crate::interval::{Bounds, Interval};
use crate::lengths::pair;
use crate::metadata::Metadata;
use crate::noise::{self, Noise};
use crate::noise_model::NoiseModel;
use crate::origins::{Origins, Relation, Relations};
use crate::params::Params;
use crate::rotation_plan::RotationCost;
use crate::slot_value::SlotValue;

/// Smallest scale of an encoded constant: below it, rounding would destroy the constant.
pub(super) const LEAST_FACTOR: f64 = 256.0;

/// `round(c scale)`; refuses results of more than 126 bits ([`ErrorKind::Argument`]).
pub fn scaled_integer(c: f64, scale: f64) -> Result<i128> {
    let product = (c * scale).round();
    if product.abs() >= 2f64.powi(126) {
        return Err(error::constant(scale.log2()));
    }
    Ok(product as i128)
}

/// The plan of a sum of products, constants and multiples of vectors with one rescale.
#[derive(Debug, Clone, PartialEq)]
pub struct Combination {
    /// The level at which the sum is formed.
    pub level: usize,
    /// The routes of the factors of each product there.
    pub routes: Vec<(Route, Route)>,
    /// The integer factor of each term.
    pub factors: Vec<i128>,
    /// The integer added in every slot.
    pub constant: i128,
    /// The result, after the rescale.
    pub result: Metadata,
}

impl CiphertextMeta {
    /// The operand of a noise formula for products.
    pub fn operand(&self) -> noise::Operand {
        noise::Operand { message: self.bounds.slots().bound() * self.scale, noise: self.noise }
    }

    /// The message times a positive factor, through the scale.
    pub fn reinterpret_scale(mut self, factor: f64) -> Result<Self> {
        check_scale(factor)?;
        self.scale /= factor;
        check_scale(self.scale)?;
        self.bounds = self.bounds.map(|r| r.scale(factor));
        Ok(self)
    }

    /// Real slots, within the known magnitude.
    pub fn assume_real(mut self) -> Self {
        self.bounds = self.bounds.map(|r| match r.is_real() {
            true => *r,
            false => Interval::between(-r.bound(), r.bound()),
        });
        self
    }
}

impl Plaintext {
    /// The plaintext as a vector whose noise is its rounding.
    pub fn metadata(&self) -> Metadata {
        let Self { scale, slots, len, bounds, .. } = *self;
        let noise = Noise::plain(NoiseModel::Average.encoding(bounds.slots().is_real()));
        let meta = CiphertextMeta { scale, slots, len, bounds, noise };
        Metadata { level: self.level(), meta }
    }

    /// The origins of its rounding: the plaintext. Two values of the polynomial identify it, in all
    /// programs.
    pub fn origins(&self) -> Origins {
        Origins::plain(self.identity)
    }
}

impl Params {
    /// The metadata rules for these parameters.
    pub fn rules(&self) -> MetadataRules<'_> {
        MetadataRules { params: self, errors: NoiseModel::Average }
    }
}

/// The metadata rules for one parameter set. Every function returns the metadata of the result, or
/// the error of the operation; keys are not checked.
#[derive(Clone, Copy)]
pub struct MetadataRules<'p> {
    params: &'p Params,
    errors: NoiseModel,
}

impl MetadataRules<'_> {
    /// The parameters.
    pub fn params(&self) -> &Params {
        self.params
    }

    /// The noise model: the sum of errors of several sources.
    pub fn errors(&self) -> NoiseModel {
        self.errors
    }

    /// The same rules with another noise model.
    pub fn with_errors(self, errors: NoiseModel) -> Self {
        Self { errors, ..self }
    }

    /// The variance of a source of errors under the noise model, in the ring of the parameters.
    pub fn source(self, variance: f64) -> f64 {
        self.errors.source(self.params.lattice().spec().degree, variance)
    }

    /// The result of a sum or difference of vectors at one level and scale.
    fn combined(
        self,
        x: &Metadata,
        y: &Metadata,
        relation: Relation,
        f: impl Fn(&Interval, &Interval) -> Interval,
    ) -> Result<Metadata> {
        let noise = self.errors.sum(x.meta.noise, self.taken_for(y, x.meta.scale), relation);
        Ok(Metadata { meta: CiphertextMeta { noise, ..pair(&x.meta, &y.meta, f)? }, ..*x })
    }

    /// The noise of a vector that is used at another, nearly equal scale.
    pub fn taken_for(self, x: &Metadata, scale: f64) -> Noise {
        // The message read at the wrong scale is off in proportion to itself: a deterministic
        // error, at most that of the largest slot.
        let off = (x.meta.scale - scale).abs() * x.meta.bounds.slots().bound();
        let mismatch = self.errors.mismatch(self.params.lattice().spec().degree, off);
        self.errors.with(x.meta.noise, mismatch)
    }

    /// The limbs of a vector.
    fn limbs(self, x: &Metadata) -> usize {
        self.params.limbs_at(x.level)
    }

    /// Refuses messages that may wrap around with their excess, and levels that the chain does not
    /// have.
    pub fn check_range(self, x: &Metadata) -> Result<()> {
        self.params.check_level(x.level)?;
        let CiphertextMeta { scale, bounds, noise, .. } = x.meta;
        // The excess may lie outside the range, so the message with its largest value must fit.
        let beyond = self.errors.largest(self.params.lattice().spec().degree, noise.excess) / scale;
        for (what, range) in [("values", bounds.values), ("padding", bounds.padding)] {
            self.params.check_range_of(what, range.bound() + beyond, scale, self.limbs(x))?;
        }
        Ok(())
    }

    /// Refuses operands with fewer than `needed` levels, or at a level that the chain does not
    /// have.
    pub fn check_levels(self, needed: usize, left: usize) -> Result<()> {
        self.params.check_level(left)?;
        ensure(left >= needed, || error::out_of_levels(needed, left))
    }

    /// Refuses operands below the level for which a linear transform was prepared.
    pub fn check_prepared(self, prepared: usize, level: usize) -> Result<()> {
        self.params.check_level(level)?;
        ensure(level >= prepared, || error::prepared_level(prepared, level))
    }

    /// The vector that encodes values of a declared range in `slots` slots at a level.
    pub fn encoded<T: SlotValue>(
        self,
        values: &[T],
        range: Interval,
        slots: usize,
        scale: f64,
        level: usize,
    ) -> Result<Metadata> {
        self.params.check_level(level)?;
        check_values(values, self.params.max_slots())?;
        check_range(values, &range)?;
        self.encoding(values.len(), range, slots, scale, level)
    }

    /// The vector that encodes `len` values of a declared range, whatever they are.
    pub fn encoding(
        self,
        len: usize,
        range: Interval,
        slots: usize,
        scale: f64,
        level: usize,
    ) -> Result<Metadata> {
        self.params.check_level(level)?;
        let (least, most) = (len, self.params.max_slots());
        ensure(len != 0, error::no_values)?;
        if !slots.is_power_of_two() || slots < least || slots > most {
            return Err(error::slot_count(slots, least, most));
        }
        check_scale(scale)?;
        // Padding is encoded as exact zeros, which reductions rely on.
        let bounds = Bounds::padded(range, len < slots);
        self.params.check_range(range.bound(), scale, self.params.limbs_at(level))?;
        // Coefficients are rounded to i128 before they are reduced, whatever the modulus.
        if range.bound() * scale >= 2f64.powi(126) {
            let (bound, log2_scale) = (rounded_up(range.bound()), scale.log2());
            let (what, log2_modulus) = ("values", 127.0);
            let kind = error::range_overflow(what, bound, log2_scale, log2_modulus, level);
            return Err(kind);
        }
        let noise = Noise::plain(self.errors.encoding(range.is_real()));
        let meta = CiphertextMeta { scale, slots, len, bounds, noise };
        Ok(Metadata { level, meta })
    }

    /// An encryption of an encoded vector under the secret key.
    pub fn encrypted_secret(self, plain: &Metadata) -> Metadata {
        self.encrypted(plain, mlwe::noise::fresh_secret(self.params.lattice()))
    }

    /// An encryption of an encoded vector under the public key.
    pub fn encrypted_public(self, plain: &Metadata) -> Metadata {
        self.encrypted(plain, mlwe::noise::fresh_public(self.params.lattice()))
    }

    /// An encoded vector after the source of errors of an encryption. Encryptions of equal values
    /// have equal roundings, which nothing in them shows: they count as independent. They are a
    /// small part of the error (for real values `1/6` beside at least `sigma^2` of a coefficient),
    /// and the larger one in the sum of more than `6 sigma^2` encryptions of equal values.
    fn encrypted(self, plain: &Metadata, source: f64) -> Metadata {
        let mut fresh = *plain;
        fresh.meta.noise = self.errors.with(fresh.meta.noise, self.source(source)).unshared();
        fresh
    }

    /// `x` divided by the primes of its level, one at a time.
    pub fn rescaled(self, x: &Metadata) -> Result<Metadata> {
        self.check_levels(1, x.level)?;
        // The division is exact only for a message that did not wrap before it.
        self.check_range(x)?;
        let (level, mut meta) = (x.level - 1, x.meta);
        meta.scale /= self.params.divisor(x.level);
        meta.noise = self.divided(x.level, meta.noise);
        Ok(Metadata { level, meta })
    }

    /// Noise divided by the primes of a level, one at a time.
    pub fn divided(self, level: usize, mut noise: Noise) -> Noise {
        let lattice = self.params.lattice();
        let rounding = self.source(mlwe::noise::rounding(lattice));
        // A level of several primes rounds once for each. The roundings of all but the last prime
        // are divided by the primes after it.
        for limbs in (self.params.limbs_at(level - 1) + 1..=self.params.limbs_at(level)).rev() {
            let prime = lattice.q().modulus(limbs - 1).value() as f64;
            noise = self.errors.with(noise.map(|exact| exact / prime.powi(2)), rounding);
        }
        noise
    }

    /// `f(x, y)` for a sum or difference `f` of operands at one level and scale.
    pub fn sum(
        self,
        x: &Metadata,
        y: &Metadata,
        relation: Relation,
        f: impl Fn(&Interval, &Interval) -> Interval,
    ) -> Result<Metadata> {
        let sum = self.combined(x, y, relation, f)?;
        self.check_range(&sum)?;
        Ok(sum)
    }

    /// `-x`.
    pub fn negative(self, x: &Metadata) -> Metadata {
        Metadata {
            meta: CiphertextMeta { bounds: x.meta.bounds.map(Interval::neg), ..x.meta },
            ..*x
        }
    }

    /// `x + c` in every slot, and the integer to add.
    pub fn add_scalar(self, x: &Metadata, c: f64) -> Result<(Metadata, i128)> {
        check_number("the constant", c)?;
        let mut sum = *x;
        sum.meta.bounds = x.meta.bounds.map(|r| r.shift(c));
        // The encoded constant is a message of its own and must not wrap either, even if the sum
        // does not.
        self.params.check_range(c.abs(), x.meta.scale, self.limbs(x))?;
        let integer = scaled_integer(c, x.meta.scale)?;
        // The rounding of a constant is that of every slot.
        let off = c * x.meta.scale - integer as f64;
        sum.meta.noise = self.off_by_constant(x, off);
        self.check_range(&sum)?;
        Ok((sum, integer))
    }

    /// The noise of `x` and an error of at most `off` in every slot, in units of the phase, which
    /// follows from a constant: one of the `2 slots` coefficients, `off^2 / 2 slots` on average.
    fn off_by_constant(self, x: &Metadata, off: f64) -> Noise {
        let real = x.meta.bounds.slots().is_real();
        let added = self.errors.of_message(real, off * off / (2 * x.meta.slots) as f64);
        self.errors.sum(x.meta.noise, Noise::constant(added), Relation::Independent)
    }

    /// `x y` of factors at one level, before relinearization.
    pub fn product(self, x: &Metadata, y: &Metadata, relation: Relation) -> Result<Metadata> {
        let degree = self.params.lattice().spec().degree;
        let noise = self.errors.product(degree, x.operand(), y.operand(), relation);
        let scale = x.meta.scale * y.meta.scale;
        let meta = CiphertextMeta { scale, noise, ..pair(&x.meta, &y.meta, Interval::mul)? };
        Ok(Metadata { meta, ..*x })
    }

    /// `x^2`, before relinearization.
    pub fn square(self, x: &Metadata) -> Metadata {
        let meta = CiphertextMeta {
            scale: x.meta.scale * x.meta.scale,
            bounds: x.meta.bounds.map(Interval::square),
            noise: self.errors.square(self.params.lattice().spec().degree, x.operand()),
            ..x.meta
        };
        Metadata { meta, ..*x }
    }

    /// A product after relinearization.
    pub fn relinearized(self, product: &Metadata) -> Result<Metadata> {
        // The product of two vectors that fit may wrap: refuse it before any key is used.
        self.check_range(product)?;
        let mut result = *product;
        let added = self.source(self.params.relin_strategy().noise(self.limbs(product))?);
        result.meta.noise = self.errors.with(product.meta.noise, added);
        Ok(result)
    }

    /// `x p` for an encoded vector, at the lower of the two levels, not rescaled.
    pub fn mul_plain(self, x: &Metadata, p: &Metadata, relation: Relation) -> Result<Metadata> {
        self.check_constants(p.meta.bounds.slots().bound(), p.meta.scale)?;
        self.plain_term(x, p, relation)
    }

    /// As [`mul_plain`](Self::mul_plain), as a term of a sum: its constants may be small beside
    /// those of other terms.
    pub fn plain_term(self, x: &Metadata, p: &Metadata, relation: Relation) -> Result<Metadata> {
        let x = self.dropped(x, x.level.min(p.level))?;
        // The rounding of p is no error of an encryption.
        let product = self.product(&x, p, relation.min(Relation::Rounded))?;
        self.check_range(&product)?;
        Ok(product)
    }

    /// The scale of a factor for `x`, at a level above 0, for a product at `scale` after the
    /// rescale; without `scale`, at the scale of `x`.
    pub fn factor_scale(self, x: &Metadata, scale: Option<f64>) -> f64 {
        let divisor = self.params.divisor(x.level);
        // The rescale divides by the divisor: a factor at that scale leaves the scale of x as it
        // is.
        scale.map_or(divisor, |scale| scale * divisor / x.meta.scale)
    }

    /// Refuses constants up to `bound`, other than zeros, that rounding at their scale would
    /// destroy.
    pub fn check_constants(self, bound: f64, scale: f64) -> Result<()> {
        if bound > 0.0 && bound * scale < LEAST_FACTOR {
            return Err(error::small_constant(scale.log2()));
        }
        Ok(())
    }

    /// A term with a constant of its own, which must survive its rounding.
    pub fn mul_scalar(self, x: &Metadata, c: f64, scale: f64) -> Result<(Metadata, i128)> {
        check_scale(scale)?;
        self.check_constants(c.abs(), scale)?;
        self.term(x, c, scale)
    }

    /// `c x` times `scale`, and the integer to multiply by: a term of a sum.
    fn term(self, x: &Metadata, c: f64, scale: f64) -> Result<(Metadata, i128)> {
        check_number("the constant", c)?;
        check_scale(scale)?;
        let mut product = *x;
        product.meta.scale *= scale;
        product.meta.bounds = x.meta.bounds.map(|r| r.scale(c));
        // The noise grows by the integer that the phase is multiplied by, not by c.
        let integer = scaled_integer(c, scale)?;
        product.meta.noise = product.meta.noise * (integer as f64).powi(2);
        // The effect of the rounded constant on the message counts as noise: in every slot if the
        // message is the same there.
        let off = (c * scale - integer as f64) * x.meta.bounds.slots().bound() * x.meta.scale;
        product.meta.noise = self.off_by_constant(&product, off);
        self.check_range(&product)?;
        Ok((product, integer))
    }

    /// `k x`.
    pub fn mul_integer(self, x: &Metadata, k: i64) -> Result<Metadata> {
        let k = k as f64;
        let mut product = *x;
        product.meta.bounds = x.meta.bounds.map(|r| r.scale(k));
        product.meta.noise = product.meta.noise * (k * k);
        self.check_range(&product)?;
        Ok(product)
    }

    /// `i x`.
    pub fn mul_i(self, x: &Metadata) -> Metadata {
        let bounds = x.meta.bounds.map(Interval::as_complex);
        Metadata { meta: CiphertextMeta { bounds, ..x.meta }, ..*x }
    }

    /// A rotation of `x`.
    pub fn rotated(self, x: &Metadata, cost: RotationCost) -> Metadata {
        let mut rotated = *x;
        if cost != RotationCost::Still {
            let added = self.source(cost.noise(self.params, self.limbs(x)));
            rotated.meta.noise = self.errors.with(x.meta.noise, added);
            // Rotations move padding among the values.
            rotated.meta.bounds = rotated.meta.bounds.mixed();
        }
        rotated
    }

    /// The conjugates of the slots.
    pub fn conjugated(self, x: &Metadata) -> Metadata {
        let mut conjugate = *x;
        let added = mlwe::noise::automorphism(self.params.lattice(), self.limbs(x));
        conjugate.meta.noise = self.errors.with(x.meta.noise, self.source(added));
        conjugate
    }

    /// `sum_j x_j y_j + sum_i c_i z_i + constant`, rescaled once, at `scale`: or, without one, at
    /// that of [`align_products`](Self::align_products). `relations` are those of all operands.
    pub fn mul_add_many(
        self,
        products: &[(Metadata, Metadata)],
        terms: &[(Metadata, f64)],
        relations: &Relations,
        constant: f64,
        scale: Option<f64>,
    ) -> Result<Combination> {
        // Step 1: the level and the scale of the sum before the rescale, from the lowest operand.
        let levels = products.iter().flat_map(|(x, y)| [x.level, y.level]);
        let levels = levels.chain(terms.iter().map(|(x, _)| x.level));
        let lowest = levels.min().ok_or_else(error::no_values)?;
        let aligned = self.align_products(products, lowest, scale)?;
        let (level, target) = (aligned.level, aligned.scale);
        let divisor = self.params.divisor(level);

        // Step 2: the products, all at that scale, relinearized once.
        let sum = self.sum_of_products(products, &aligned, relations)?;
        let mut sum = sum.map(|sum| self.relinearized(&sum)).transpose()?;

        // Step 3: the multiples, each by an integer that brings it to that scale. The largest must
        // survive its rounding unless products or a constant are the main part.
        let largest = terms.iter().max_by(|(_, a), (_, b)| a.abs().total_cmp(&b.abs()));
        let alone = largest.filter(|_| products.is_empty() && constant == 0.0);
        let mut factors = Vec::with_capacity(terms.len());
        for (i, (x, c)) in terms.iter().enumerate() {
            let x = self.dropped(x, level)?;
            let needed = LevelScale::new(level, target / divisor);
            let factor = self.check_factor(&x, target / x.meta.scale, needed)?;
            if alone.is_some_and(|(_, largest)| largest == c) {
                self.check_constants(c.abs(), factor)?;
            }
            let (mut term, integer) = self.term(&x, *c, factor)?;
            // The integer, not c, carries the rounding: the scale is exact by definition.
            term.meta.scale = target;
            factors.push(integer);
            sum = Some(match sum {
                Some(sum) => {
                    let relation = relations.of_summand(products.len() + i);
                    self.sum(&sum, &term, relation, Interval::add)?
                }
                None => term,
            });
        }

        // Step 4: the constant; rescale.
        let (sum, constant) = self.add_scalar(&sum.ok_or_else(error::no_values)?, constant)?;
        let mut result = self.rescaled(&sum)?;
        // Free of the roundings of f64 that the repeated division collects.
        result.meta.scale = target / divisor;
        Ok(Combination { level, routes: aligned.routes, factors, constant, result })
    }

    /// The sum of aligned products, before relinearization; `None` for no product.
    fn sum_of_products(
        self,
        products: &[(Metadata, Metadata)],
        aligned: &AlignedProducts,
        relations: &Relations,
    ) -> Result<Option<Metadata>> {
        let mut sum: Option<Metadata> = None;
        let pairs = products.iter().zip(&aligned.routes).zip(&relations.factors);
        for (i, (((x, y), (to_x, to_y)), &factors)) in pairs.enumerate() {
            let (x, y) = (self.follow(x, to_x)?, self.follow(y, to_y)?);
            let mut product = self.product(&x, &y, factors)?;
            // Within the tolerance the product is read at the common scale.
            product.meta.noise = self.taken_for(&product, aligned.scale);
            product.meta.scale = aligned.scale;
            sum = Some(match sum {
                Some(sum) => {
                    self.combined(&sum, &product, relations.of_summand(i), Interval::add)?
                }
                None => product,
            });
        }
        Ok(sum)
    }
}
