//! Metadata rules: the metadata of the result of every operation.
//!
//! Level, scale, ranges and predicted noise of a result follow from those of the operands, never
//! from a phase. [`Evaluator`](crate::Evaluator) applies the rule first, then computes the phase;
//! the simulator applies the same rule.

use bellerophon_mlwe as mlwe;

use crate::{
    Bounds, CiphertextMeta, During, ErrorKind, Interval, LevelScale, Metadata, Params, Plaintext,
    Result, SlotValue,
    encode::{check_range, check_scale, check_values},
    error::power_of_two_above,
    lengths::pair,
    noise::{self, Noise},
    noise_model::NoiseModel,
    rotation_plan::RotationCost,
};

/// Scales with a smaller relative difference are equal.
const TOLERANCE: f64 = 1.0 / (1u64 << 40) as f64;

/// Scales with a larger relative difference are never equal, however small they are.
const LOOSEST: f64 = 1.0 / (1u64 << 10) as f64;

/// Smallest scale of an encoded constant: below it, rounding would destroy the constant.
const LEAST_FACTOR: f64 = 256.0;

/// The largest relative difference of equal scales: `2^-40`, or one unit of an encoded 1 for scales
/// below `2^40`, down to `2^10`.
fn tolerance(a: f64, b: f64) -> f64 {
    (1.0 / a.min(b)).clamp(TOLERANCE, LOOSEST)
}

/// Whether two scales are equal up to rounding.
pub(crate) fn same_scale(a: f64, b: f64) -> bool {
    (a / b - 1.0).abs() <= tolerance(a, b)
}

/// `round(c scale)`; refuses results of more than 126 bits ([`ErrorKind::Constant`]).
pub(crate) fn scaled_integer(c: f64, scale: f64) -> Result<i128> {
    let product = (c * scale).round();
    if product.abs() >= 2f64.powi(126) {
        return Err(ErrorKind::Constant { log2_scale: scale.log2() }.into());
    }
    Ok(product as i128)
}

/// The route of an operand to a level, and to another scale if there is a factor.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Route {
    /// The level that it is dropped to first.
    pub from: usize,
    /// An integer factor there: the scale absorbs it, the message is unchanged.
    pub factor: Option<i128>,
    /// The level after the rescales that follow; `from` without a factor.
    pub to: usize,
}

impl Route {
    /// Drops levels only.
    pub(crate) fn drop_to(level: usize) -> Self {
        Self { from: level, factor: None, to: level }
    }
}

/// The plan of a sum of products, constants and multiples of vectors with one rescale.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Combination {
    /// The level at which the sum is formed.
    pub level: usize,
    /// The integer factor of each term.
    pub factors: Vec<i128>,
    /// The integer added in every slot.
    pub constant: i128,
    /// The result, after the rescale.
    pub result: Metadata,
}

impl CiphertextMeta {
    /// The operand of a noise formula for products.
    pub(crate) fn operand(&self) -> noise::Operand {
        noise::Operand { message: self.bounds.slots().bound() * self.scale, noise: self.noise }
    }

    /// The message times a positive factor, through the scale.
    pub(crate) fn reinterpret_scale(mut self, factor: f64) -> Result<Self> {
        let op = "reinterpret_scale";
        check_scale(factor).during(op)?;
        self.scale /= factor;
        check_scale(self.scale).during(op)?;
        self.bounds = self.bounds.map(|r| r.scale(factor));
        Ok(self)
    }

    /// Real slots, within the known magnitude.
    pub(crate) fn assume_real(mut self) -> Self {
        self.bounds = self.bounds.map(|r| match r.is_real() {
            true => *r,
            false => Interval::between(-r.bound(), r.bound()),
        });
        self
    }
}

impl Plaintext {
    /// The plaintext as a vector whose noise is its rounding.
    pub(crate) fn metadata(&self) -> Metadata {
        let Self { scale, slots, len, bounds, .. } = *self;
        let noise = Noise::new(NoiseModel::Average.encoding(bounds.slots().is_real()));
        let meta = CiphertextMeta { scale, slots, len, bounds, noise };
        Metadata { level: self.level(), meta }
    }
}

impl Params {
    /// The metadata rules for these parameters.
    pub(crate) fn rules(&self) -> MetadataRules<'_> {
        MetadataRules { params: self, errors: NoiseModel::Average }
    }
}

/// The metadata rules for one parameter set. Every function returns the metadata of the result, or
/// the error of the operation; keys are not checked.
#[derive(Clone, Copy)]
pub(crate) struct MetadataRules<'p> {
    params: &'p Params,
    errors: NoiseModel,
}

impl MetadataRules<'_> {
    /// The parameters.
    pub(crate) fn params(&self) -> &Params {
        self.params
    }

    /// The noise model: the sum of errors of several sources.
    pub(crate) fn errors(&self) -> NoiseModel {
        self.errors
    }

    /// The same rules with another noise model.
    pub(crate) fn with_errors(self, errors: NoiseModel) -> Self {
        Self { errors, ..self }
    }

    /// The variance of a source of errors under the noise model, in the ring of the parameters.
    pub(crate) fn source(self, variance: f64) -> f64 {
        self.errors.source(self.params.lattice().spec().degree, variance)
    }

    /// The result of a sum or difference of vectors at one level and scale.
    fn combined(
        self,
        x: &Metadata,
        y: &Metadata,
        f: impl Fn(&Interval, &Interval) -> Interval,
    ) -> Result<Metadata> {
        let noise = self.errors.sum(x.meta.noise, self.taken_for(y, x.meta.scale));
        Ok(Metadata { meta: CiphertextMeta { noise, ..pair(&x.meta, &y.meta, f)? }, ..*x })
    }

    /// The noise of a vector that is used at another, nearly equal scale.
    pub(crate) fn taken_for(self, x: &Metadata, scale: f64) -> Noise {
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
    pub(crate) fn check_range(self, x: &Metadata) -> Result<()> {
        self.params.check_level(x.level)?;
        let CiphertextMeta { scale, bounds, noise, .. } = x.meta;
        // The excess may lie outside the range, so the message with its largest value must fit.
        let beyond = self.errors.largest(self.params.lattice().spec().degree, noise.excess) / scale;
        self.params.check_range(bounds.slots().bound() + beyond, scale, self.limbs(x))
    }

    /// Refuses operands with fewer than `needed` levels, or at a level that the chain does not
    /// have.
    pub(crate) fn check_levels(self, needed: usize, left: usize) -> Result<()> {
        self.params.check_level(left)?;
        if left < needed {
            return Err(ErrorKind::OutOfLevels { needed, left }.into());
        }
        Ok(())
    }

    /// The vector that encodes values of a declared range in `slots` slots at a level.
    pub(crate) fn encoded<T: SlotValue>(
        self,
        (values, range): (&[T], Interval),
        slots: usize,
        scale: f64,
        level: usize,
    ) -> Result<Metadata> {
        self.params.check_level(level)?;
        check_values(values, self.params.max_slots())?;
        check_range(values, &range)?;
        self.encoding((values.len(), range), slots, scale, level)
    }

    /// The vector that encodes `len` values of a declared range, whatever they are.
    pub(crate) fn encoding(
        self,
        (len, range): (usize, Interval),
        slots: usize,
        scale: f64,
        level: usize,
    ) -> Result<Metadata> {
        self.params.check_level(level)?;
        let (least, most) = (len, self.params.max_slots());
        if len == 0 {
            return Err(ErrorKind::NoValues.into());
        }
        if !slots.is_power_of_two() || slots < least || slots > most {
            return Err(ErrorKind::SlotCount { found: slots, least, most }.into());
        }
        check_scale(scale)?;
        // Padding is encoded as exact zeros, which reductions rely on.
        let bounds = Bounds::padded(range, len < slots);
        self.params.check_range(range.bound(), scale, self.params.limbs_at(level))?;
        // Coefficients are rounded to i128 before they are reduced, whatever the modulus.
        if range.bound() * scale >= 2f64.powi(126) {
            let (bound, log2_scale) = (power_of_two_above(range.bound()), scale.log2());
            return Err(
                ErrorKind::RangeOverflow { bound, log2_scale, log2_modulus: 127.0, level }.into()
            );
        }
        let noise = Noise::new(self.errors.encoding(range.is_real()));
        let meta = CiphertextMeta { scale, slots, len, bounds, noise };
        Ok(Metadata { level, meta })
    }

    /// An encryption of an encoded vector under the secret key.
    pub(crate) fn encrypted_secret(self, plain: &Metadata) -> Metadata {
        let mut fresh = *plain;
        let added = self.source(mlwe::noise::fresh_secret(self.params.lattice()));
        fresh.meta.noise = self.errors.with(fresh.meta.noise, added);
        fresh
    }

    /// An encryption of an encoded vector under the public key.
    pub(crate) fn encrypted_public(self, plain: &Metadata) -> Metadata {
        let mut fresh = *plain;
        let added = self.source(mlwe::noise::fresh_public(self.params.lattice()));
        fresh.meta.noise = self.errors.with(fresh.meta.noise, added);
        fresh
    }

    /// `x` at a level at most its own.
    pub(crate) fn drop_to_level(self, x: &Metadata, level: usize) -> Result<Metadata> {
        if level > x.level {
            return Err(ErrorKind::LevelTooHigh { wanted: level, highest: x.level }.into());
        }
        self.dropped(x, level)
    }

    fn dropped(self, x: &Metadata, level: usize) -> Result<Metadata> {
        let dropped = Metadata { level, ..*x };
        // A smaller modulus may no longer hold the message. At the same level the range was checked
        // when the vector was made.
        if level != x.level {
            self.check_range(&dropped)?;
        }
        Ok(dropped)
    }

    /// The route of `x` to a scale at a level, or `None` with too few levels above it for a
    /// constant that matches the scale.
    fn adjusted(self, x: &Metadata, scale: f64, level: usize) -> Option<Route> {
        // From each level the constant is the quotient of the scales times all divisors down to
        // `level`; the first one that is large enough to be rounded is taken.
        let mut factor = scale / x.meta.scale;
        for from in level + 1..=x.level {
            factor *= self.params.divisor(from);
            // The constant must fit an i128.
            if factor >= 2f64.powi(120) {
                break;
            }
            // The rounded constant misses the scale by up to 1 / (2 factor), relatively; a
            // difference within the tolerance counts as the same scale.
            if 0.5 / factor <= tolerance(scale, x.meta.scale) {
                return Some(Route { from, factor: Some(factor.round() as i128), to: level });
            }
        }
        None
    }

    /// The route of `x` to a scale and a level at most its own.
    pub(crate) fn match_scale(self, x: &Metadata, scale: f64, level: usize) -> Result<Route> {
        check_scale(scale)?;
        if level > x.level {
            return Err(ErrorKind::LevelTooHigh { wanted: level, highest: x.level }.into());
        }
        // Equal scales need no constant: the vector drops to the level without work.
        if same_scale(x.meta.scale, scale) {
            return Ok(Route::drop_to(level));
        }
        self.adjusted(x, scale, level).ok_or_else(|| {
            ErrorKind::ScaleMismatch {
                left: x.standing(),
                right: LevelScale { level, log2_scale: scale.log2() },
            }
            .into()
        })
    }

    /// Routes of two operands to one level and one scale. Different scales cost a level of the
    /// operand with more levels, or of both if they are at one level.
    pub(crate) fn align(self, x: &Metadata, y: &Metadata) -> Result<(Route, Route)> {
        let level = x.level.min(y.level);
        if same_scale(x.meta.scale, y.meta.scale) {
            return Ok((Route::drop_to(level), Route::drop_to(level)));
        }
        // At the lower level if one operand has a spare level there, else one level further down.
        for level in (0..=level).rev().take(2) {
            if let Some(route) = self.adjusted(x, y.meta.scale, level) {
                return Ok((route, Route::drop_to(level)));
            }
            if let Some(route) = self.adjusted(y, x.meta.scale, level) {
                return Ok((Route::drop_to(level), route));
            }
        }
        Err(ErrorKind::ScaleMismatch { left: x.standing(), right: y.standing() }.into())
    }

    /// Routes of two factors to one level. Scales may differ. A factor with spare levels is matched
    /// to the scale of the other at the cost of a rescale, so that products at one level have one
    /// scale.
    pub(crate) fn align_factors(self, x: &Metadata, y: &Metadata) -> (Route, Route) {
        let level = x.level.min(y.level);
        let bring = |high: &Metadata, low: &Metadata| {
            // At the lower level a constant would take a level that the product needs: the scales
            // stay different there, and the product has their product.
            let matched = high.level == level || same_scale(high.meta.scale, low.meta.scale);
            let route = if matched { None } else { self.adjusted(high, low.meta.scale, level) };
            route.unwrap_or(Route::drop_to(level))
        };
        (bring(x, y), bring(y, x))
    }

    /// `x` at the end of a route.
    pub(crate) fn follow(self, x: &Metadata, route: &Route) -> Result<Metadata> {
        let mut at = self.dropped(x, route.from)?;
        if let Some(factor) = route.factor {
            // The constant multiplies phase, scale and noise alike; the message is unchanged.
            let factor = factor as f64;
            at.meta.scale *= factor;
            at.meta.noise = at.meta.noise * (factor * factor);
        }
        // One rescale a level: each adds its own rounding.
        while at.level > route.to {
            at = self.rescaled(&at).during("rescale")?;
        }
        Ok(at)
    }

    /// `x` divided by the primes of its level, one at a time.
    pub(crate) fn rescaled(self, x: &Metadata) -> Result<Metadata> {
        self.check_levels(1, x.level)?;
        // The division is exact only for a message that did not wrap before it.
        self.check_range(x)?;
        let (level, mut meta) = (x.level - 1, x.meta);
        meta.scale /= self.params.divisor(x.level);
        meta.noise = self.divided(x.level, meta.noise);
        Ok(Metadata { level, meta })
    }

    /// Noise divided by the primes of a level, one at a time.
    pub(crate) fn divided(self, level: usize, mut noise: Noise) -> Noise {
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
    pub(crate) fn sum(
        self,
        x: &Metadata,
        y: &Metadata,
        f: impl Fn(&Interval, &Interval) -> Interval,
    ) -> Result<Metadata> {
        let sum = self.combined(x, y, f)?;
        self.check_range(&sum)?;
        Ok(sum)
    }

    /// `-x`.
    pub(crate) fn negative(self, x: &Metadata) -> Metadata {
        Metadata {
            meta: CiphertextMeta { bounds: x.meta.bounds.map(Interval::neg), ..x.meta },
            ..*x
        }
    }

    /// `x + c` in every slot, and the integer to add.
    pub(crate) fn add_scalar(self, x: &Metadata, c: f64) -> Result<(Metadata, i128)> {
        check_values(&[c], 1)?;
        let mut sum = *x;
        sum.meta.bounds = x.meta.bounds.map(|r| r.shift(c));
        let real = x.meta.bounds.slots().is_real();
        // A real constant rounds one of the `2 slots` coefficients that an encoded vector rounds.
        let added = self.errors.encoding(real) / (2 * x.meta.slots) as f64;
        sum.meta.noise = self.errors.with(x.meta.noise, added);
        self.check_range(&sum)?;
        // The encoded constant is a message of its own and must not wrap either, even if the sum
        // does not.
        self.params.check_range(c.abs(), x.meta.scale, self.limbs(x))?;
        Ok((sum, scaled_integer(c, x.meta.scale)?))
    }

    /// `x y` of factors at one level, before relinearization.
    pub(crate) fn product(self, x: &Metadata, y: &Metadata) -> Result<Metadata> {
        let noise =
            self.errors.product(self.params.lattice().spec().degree, x.operand(), y.operand());
        let scale = x.meta.scale * y.meta.scale;
        let meta = CiphertextMeta { scale, noise, ..pair(&x.meta, &y.meta, Interval::mul)? };
        Ok(Metadata { meta, ..*x })
    }

    /// `x^2`, before relinearization.
    pub(crate) fn square(self, x: &Metadata) -> Metadata {
        let meta = CiphertextMeta {
            scale: x.meta.scale * x.meta.scale,
            bounds: x.meta.bounds.map(Interval::square),
            noise: self.errors.square(self.params.lattice().spec().degree, x.operand()),
            ..x.meta
        };
        Metadata { meta, ..*x }
    }

    /// A product after relinearization.
    pub(crate) fn relinearized(self, product: &Metadata) -> Result<Metadata> {
        // The product of two vectors that fit may wrap: refuse it before any key is used.
        self.check_range(product)?;
        let mut result = *product;
        let added = self.source(self.params.relin_strategy().noise(self.limbs(product))?);
        result.meta.noise = self.errors.with(product.meta.noise, added);
        Ok(result)
    }

    /// `x p` for an encoded vector, at the lower of the two levels, not rescaled.
    pub(crate) fn mul_plain(self, x: &Metadata, p: &Metadata) -> Result<Metadata> {
        let product = self.product(&self.dropped(x, x.level.min(p.level))?, p)?;
        self.check_range(&product)?;
        Ok(product)
    }

    /// The scale of a factor for `x`, at a level above 0, for a product at `scale` after the
    /// rescale; without `scale`, at the scale of `x`.
    pub(crate) fn factor_scale(self, x: &Metadata, scale: Option<f64>) -> f64 {
        let divisor = self.params.divisor(x.level);
        // The rescale divides by the divisor: a factor at that scale leaves the scale of x as it
        // is.
        scale.map_or(divisor, |scale| scale * divisor / x.meta.scale)
    }

    /// `c x` times `scale`, and the integer to multiply by.
    pub(crate) fn mul_scalar(self, x: &Metadata, c: f64, scale: f64) -> Result<(Metadata, i128)> {
        check_values(&[c], 1)?;
        check_scale(scale)?;
        let mut product = *x;
        product.meta.scale *= scale;
        product.meta.bounds = x.meta.bounds.map(|r| r.scale(c));
        // The noise grows by the integer that the phase is multiplied by, not by c.
        let integer = scaled_integer(c, scale)?;
        product.meta.noise = product.meta.noise * (integer as f64).powi(2);
        // The effect of the rounded constant on the message counts as noise.
        let off = (c * scale - integer as f64) * x.meta.bounds.slots().bound() * x.meta.scale;
        let added = off * off / (2 * x.meta.slots) as f64;
        let added = self.errors.of_message(x.meta.bounds.slots().is_real(), added);
        product.meta.noise = self.errors.with(product.meta.noise, added);
        self.check_range(&product)?;
        Ok((product, integer))
    }

    /// `k x`.
    pub(crate) fn mul_integer(self, x: &Metadata, k: i64) -> Result<Metadata> {
        let k = k as f64;
        let mut product = *x;
        product.meta.bounds = x.meta.bounds.map(|r| r.scale(k));
        product.meta.noise = product.meta.noise * (k * k);
        self.check_range(&product)?;
        Ok(product)
    }

    /// `i x`.
    pub(crate) fn mul_i(self, x: &Metadata) -> Metadata {
        let bounds = x.meta.bounds.map(Interval::as_complex);
        Metadata { meta: CiphertextMeta { bounds, ..x.meta }, ..*x }
    }

    /// A rotation of `x`.
    pub(crate) fn rotated(self, x: &Metadata, cost: RotationCost) -> Metadata {
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
    pub(crate) fn conjugated(self, x: &Metadata) -> Metadata {
        let mut conjugate = *x;
        let added = mlwe::noise::automorphism(self.params.lattice(), self.limbs(x));
        conjugate.meta.noise = self.errors.with(x.meta.noise, self.source(added));
        conjugate
    }

    /// `sum_j x_j y_j + sum_i c_i z_i + constant`, rescaled once, at `scale`: or, without one, at
    /// that of the first product, else at the default scale.
    pub(crate) fn mul_add_many(
        self,
        products: &[(Metadata, Metadata)],
        terms: &[(Metadata, f64)],
        constant: f64,
        scale: Option<f64>,
    ) -> Result<Combination> {
        // Step 1: the level of the lowest operand, and the scale of the sum before the rescale.
        let levels = products.iter().flat_map(|(x, y)| [x.level, y.level]);
        let levels = levels.chain(terms.iter().map(|(x, _)| x.level));
        let level = levels.min().ok_or(ErrorKind::NoValues)?;
        self.check_levels(1, level)?;
        let divisor = self.params.divisor(level);
        let target = match (scale, products.first()) {
            (Some(scale), _) => scale * divisor,
            (None, Some((x, y))) => x.meta.scale * y.meta.scale,
            (None, None) => self.params.scale() * divisor,
        };
        check_scale(target)?;

        // Step 2: the products, all at that scale, relinearized once.
        let mut sum: Option<Metadata> = None;
        for (x, y) in products {
            let scale = x.meta.scale * y.meta.scale;
            // The products share a relinearization, so no constant can match one to the others.
            if !same_scale(scale, target) {
                let right = LevelScale { level, log2_scale: target.log2() };
                let left = LevelScale { log2_scale: scale.log2(), ..right };
                return Err(ErrorKind::ScaleMismatch { left, right }.into());
            }
            let (x, y) = (self.dropped(x, level)?, self.dropped(y, level)?);
            let mut product = self.product(&x, &y)?;
            // Within the tolerance the product is read at the common scale.
            product.meta.noise = self.taken_for(&product, target);
            product.meta.scale = target;
            sum = Some(match sum {
                Some(sum) => self.combined(&sum, &product, Interval::add)?,
                None => product,
            });
        }
        let mut sum = sum.map(|sum| self.relinearized(&sum)).transpose()?;

        // Step 3: the multiples, each by an integer that brings it to that scale.
        let mut factors = Vec::with_capacity(terms.len());
        for (x, c) in terms {
            let x = self.dropped(x, level)?;
            let factor = target / x.meta.scale;
            // A constant of a few bits would be rounded too coarsely: the operand was not rescaled.
            if factor < LEAST_FACTOR {
                let right = LevelScale { level, log2_scale: (target / divisor).log2() };
                return Err(ErrorKind::ScaleMismatch { left: x.standing(), right }.into());
            }
            let (mut term, integer) = self.mul_scalar(&x, *c, factor)?;
            // The integer, not c, carries the rounding: the scale is exact by definition.
            term.meta.scale = target;
            factors.push(integer);
            sum = Some(match sum {
                Some(sum) => self.sum(&sum, &term, Interval::add)?,
                None => term,
            });
        }

        // Step 4: the constant; rescale.
        let (sum, constant) = self.add_scalar(&sum.ok_or(ErrorKind::NoValues)?, constant)?;
        let mut result = self.rescaled(&sum)?;
        // Free of the roundings of f64 that the repeated division collects.
        result.meta.scale = target / divisor;
        Ok(Combination { level, factors, constant, result })
    }
}
