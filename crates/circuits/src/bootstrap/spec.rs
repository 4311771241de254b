//! Options and preparation of bootstrapping.

use std::{f64::consts::TAU, ops::RangeInclusive};

#[cfg(doc)]
use bellerophon_ckks::ErrorKind;
use bellerophon_ckks::{KeyLevels, KeySizes, LevelGroup, ModulusChain, Params, ParamsSpec, Result};
use bellerophon_mlwe::{SecretKind, Security};
use serde::{Deserialize, Serialize};

use super::raising::{Raising, RaisingSpec};
use crate::error;
use crate::eval_mod::{Arcsine, Mod1, Mod1Spec};

/// Bits of the lowest prime beyond those of the default scale.
const WHOLE_BITS: u32 = 3;

/// Largest size of single primes in these chains: the kernels are fastest below `2^50`. Larger
/// levels are pairs of primes of half the size.
const MAX_SINGLE: u32 = 50;

/// Bits beyond [`BootstrapSpec::log_reduction`] of the scales of `T_2` and `T_4` in EvalMod, whose
/// errors are enlarged most (see [`eval_mod`](crate::eval_mod)).
const EARLY_BITS: [u32; 2] = [4, 3];

/// Bits beyond [`BootstrapSpec::log_reduction`] of the first levels of EvalMod, in the order of
/// their use. A square of the scale `s` at a level of the size `q` has the scale `s^2 / q`: the
/// operand and `T_2` have the same scale, then `T_4` its own, and `T_8` that of all other steps.
const FIRST_LEVELS: [u32; 3] =
    [EARLY_BITS[0], 2 * EARLY_BITS[0] - EARLY_BITS[1], 2 * EARLY_BITS[1]];

/// Largest difference of a level from its nominal size, in bits.
const SHORT: f64 = 0.5;

/// The specification of a bootstrap; [`Bootstrapper::new`](super::Bootstrapper::new) checks it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BootstrapSpec {
    /// Most slots of the vectors, a power of two up to `2^16`. A vector of fewer slots is repeated.
    #[serde(with = "crate::wire::word")]
    pub slots: usize,
    /// Largest magnitude of a slot at the default scale. Smaller messages are enlarged by an
    /// integer before the mod raise, which makes their results more precise.
    pub bound: f64,
    /// `log2` of the ratio of `q_0` to the largest message, 2.1 to 9.9. Another bit costs a bit of
    /// precision against noise and gains `degree + 1` bits in the error of the arcsine.
    pub log_gap: f64,
    /// Nonzero coefficients of the sparse secret during the mod raise, at most 4096.
    #[serde(with = "crate::wire::word")]
    pub weight: usize,
    /// `log2` of the probability that some value of a vector is wrong, -256 to -1.
    pub log2_failure: f64,
    /// `log2` of the largest error of the sine, at amplitude 1, -64 to -4.
    pub log2_error: f64,
    /// Odd degree of the polynomial that undoes the sine, at most 31.
    #[serde(with = "crate::wire::word")]
    pub arcsine: usize,
    /// Bits of each level of EvalMod and of C2S, 20 to 120. Another bit gains a bit of precision,
    /// up to the precision of the default scale. The first three levels of EvalMod have 4, 5 and 6
    /// bits more.
    pub log_reduction: u32,
    /// Matrices of S2C, one level each, at most 16. Each has at most 8 of the `log2(slots)` stages.
    #[serde(with = "crate::wire::word")]
    pub s2c_levels: usize,
    /// Levels of C2S, at most 16. It has one matrix more: the mod raise applies the first one at no
    /// level.
    #[serde(with = "crate::wire::word")]
    pub c2s_levels: usize,
    /// Baby steps of each matrix of C2S, at most 1024: one key for two of them at the highest
    /// levels if there are more than two.
    #[serde(with = "crate::wire::word")]
    pub babies: usize,
    /// Keep the diagonals without a period encoded: faster, with more memory. Not part of the
    /// bytes: the reader chooses.
    #[serde(skip)]
    pub encode_ahead: bool,
}

impl BootstrapSpec {
    /// The default for vectors of up to `slots` slots and values up to 1: weight 32, failure
    /// probability below `2^-60`, a gap of 5 bits with an arcsine of degree 7.
    pub fn new(slots: usize) -> Self {
        Self {
            slots,
            bound: 1.0,
            log_gap: 5.0,
            weight: 32,
            log2_failure: -60.0,
            log2_error: -34.0,
            arcsine: 7,
            log_reduction: 49,
            s2c_levels: 2,
            c2s_levels: 2,
            babies: 8,
            encode_ahead: true,
        }
    }

    /// The modulus chain for these bootstraps, with `levels` levels for the user between two of
    /// them, for [`ParamsSpec::from_chain`]. From the bottom: the lowest prime, of 3 bits more than
    /// the scale; the levels of S2C and of the user, of the size of the scale; those of EvalMod;
    /// those of C2S. `special` are bits and number of the special primes.
    ///
    /// # Errors
    /// [`ErrorKind::Parameters`] when no plan of EvalMod meets the specification.
    pub fn chain(
        &self,
        degree: usize,
        log_scale: u32,
        levels: usize,
        special: (u32, usize),
    ) -> Result<ModulusChain> {
        let levels = self.levels_around(self.reduction()?.depth(), log_scale, levels);
        Ok(ModulusChain { degree, first_bits: self.q0_bits(log_scale), levels, special })
    }

    /// The levels of [`chain`](Self::chain) for an EvalMod of known depth.
    pub(crate) fn levels_around(
        &self,
        reduction: usize,
        log_scale: u32,
        levels: usize,
    ) -> Vec<LevelGroup> {
        let sized = |bits: u32, count: usize| match bits <= MAX_SINGLE {
            true => LevelGroup::single(bits, count),
            false => LevelGroup::pairs(bits, count),
        };
        let [first, second, third] = FIRST_LEVELS.map(|more| sized(self.log_reduction + more, 1));
        // From the bottom up: S2C and the levels of the user at the default scale; EvalMod, whose
        // first levels have larger primes; C2S.
        let rest = reduction.saturating_sub(FIRST_LEVELS.len());
        let levels = [
            sized(log_scale, self.s2c_levels + levels),
            sized(self.log_reduction, rest),
            third,
            second,
            first,
            sized(self.log_reduction, self.c2s_levels),
        ];
        levels.into_iter().filter(|levels| levels.count > 0).collect()
    }

    /// Bits of the lowest prime at the scale `2^log_scale`.
    pub(crate) fn q0_bits(&self, log_scale: u32) -> u32 {
        log_scale + WHOLE_BITS
    }

    /// Bits of each level of EvalMod, in the order of their use.
    pub(crate) fn reduction_sizes(&self) -> Result<Vec<u32>> {
        let mut bits = vec![self.log_reduction; self.reduction()?.depth()];
        for (bits, more) in bits.iter_mut().zip(FIRST_LEVELS) {
            *bits += more;
        }
        Ok(bits)
    }

    /// The plan of EvalMod on the levels of [`chain`](Self::chain).
    pub(crate) fn reduction(&self) -> Result<Mod1> {
        self.reduction_with(EARLY_BITS.map(|bits| bits as i32))
    }

    /// The plan of EvalMod with the [early scales](Mod1Spec::early_bits) of a chain.
    fn reduction_with(&self, early_bits: [i32; 2]) -> Result<Mod1> {
        let message = (-self.log_gap).exp2();
        Mod1::new(&Mod1Spec {
            weight: self.weight,
            // Both parts of every slot must stay within the interval: the union bound.
            log2_failure: self.log2_failure - (2.0 * self.slots as f64).log2(),
            log2_error: self.log2_error,
            arcsine: Some(Arcsine { degree: self.arcsine, message }),
            spare: 1,
            early_bits,
        })
    }

    /// Refuses specifications outside their ranges: they may come from a client.
    fn check(&self) -> Result<()> {
        let within = |field: &str, value: f64, range: RangeInclusive<f64>| {
            if range.contains(&value) {
                return Ok(());
            }
            let reason = format!("bootstrapping with {field} = {value}: need {range:?}");
            Err(error::params(reason))
        };
        within("slots", self.slots as f64, 1.0..=65536.0)?;
        within("bound", self.bound, 1e-9..=1e9)?;
        within("log_gap", self.log_gap, 2.1..=9.9)?;
        within("weight", self.weight as f64, 1.0..=4096.0)?;
        within("log2_failure", self.log2_failure, -256.0..=-1.0)?;
        within("log2_error", self.log2_error, -64.0..=-4.0)?;
        within("arcsine", self.arcsine as f64, 1.0..=31.0)?;
        within("log_reduction", self.log_reduction.into(), 20.0..=120.0)?;
        within("s2c_levels", self.s2c_levels as f64, 1.0..=16.0)?;
        within("c2s_levels", self.c2s_levels as f64, 1.0..=16.0)?;
        within("babies", self.babies as f64, 1.0..=1024.0)?;
        // A matrix of k stages has about 2^k diagonals. C2S always has two matrices at least.
        let stages = self.slots.ilog2() as usize;
        within("stages in a matrix", stages.div_ceil(self.s2c_levels) as f64, 0.0..=8.0)?;
        Ok(())
    }

    /// The [early scales](Mod1Spec::early_bits) of EvalMod from level `top` down: its operand has
    /// the scale of the divisor there, and a square that of the squared scale over the divisor.
    fn early_bits(params: &Params, top: usize) -> [i32; 2] {
        let bits = |used: usize| params.divisor(top.saturating_sub(used)).log2();
        let second = bits(0);
        let fourth = 2.0 * second - bits(1);
        [second, fourth].map(|scale| (scale - bits(3)).round() as i32)
    }

    /// Refuses chains with levels from `top` down that are too small or do not keep the scale of
    /// EvalMod, and too small levels of C2S above.
    fn check_levels(&self, params: &Params, top: usize, reduction: &Mod1) -> Result<()> {
        let (needed, depth) = (self.log_reduction, reduction.depth());
        let lowest = top + 1 - depth;
        let refuse = |found: String| {
            error::params(format!(
                "bootstrapping uses levels {lowest} to {top} of the chain for EvalMod and those \
                 above for CoeffsToSlots; {found}: take the chain of BootstrapSpec::chain, or a \
                 smaller BootstrapSpec::log_reduction"
            ))
        };
        for level in lowest..=params.max_level() {
            let found = params.divisor(level).log2();
            if found < f64::from(needed) - SHORT {
                let found = format!("level {level} has {found:.1} bits and must have {needed}");
                return Err(refuse(found));
            }
        }
        if !reduction.starts(params, top) {
            let found = "their sizes do not keep the scale of EvalMod".into();
            return Err(refuse(found));
        }
        Ok(())
    }

    /// The parameters for bootstrapping at full size: `N = 2^16`, 128 bits of security, a secret of
    /// weight 1024 and the levels of [`BootstrapSpec::new`].
    ///
    /// Above the lowest prime (45 bits) there are 2 levels for S2C and 11 for the user, of 42 bits
    /// each (the default scale), then 11 for EvalMod and 2 for C2S, of 49 bits: the kernels are
    /// fastest below 50. The first three levels of EvalMod are pairs of small primes of 53, 54 and
    /// 55 bits together: the errors of its first two squarings are enlarged most (see
    /// [`eval_mod`](crate::eval_mod)). The nine special primes of 48 bits make three digits.
    pub fn full_size() -> Result<ParamsSpec> {
        Self::of_chain(
            &Self::new(1 << 15).chain(1 << 16, 42, 11, (48, 9))?,
            SecretKind::Sparse(1024),
        )
    }

    /// As [`full_size`](Self::full_size) with a dense secret, uniform ternary. It has a
    /// level more, since the security tables allow 1747 bits and not 1679, and about 3 bits less
    /// precision (22.6 bits in the worst slot, measured), since the noise of a rounding grows with
    /// the norm of the secret. Only the secret under the lowest modulus is sparse.
    pub fn full_size_dense() -> Result<ParamsSpec> {
        Self::of_chain(&Self::new(1 << 15).chain(1 << 16, 42, 12, (46, 10))?, SecretKind::Ternary)
    }

    fn of_chain(chain: &ModulusChain, secret: SecretKind) -> Result<ParamsSpec> {
        let mut spec = ParamsSpec::from_chain(chain, 42, Security::Insecure)?;
        spec.lattice.secret = secret;
        spec.lattice.security = Security::Bits128;
        Ok(spec)
    }
}

/// Bootstrapping without its keys, prepared for one parameter set.
///
/// It predicts bootstraps without a key: [`bootstrapped`](Self::bootstrapped) that of one vector,
/// a simulator [with bootstrapping](super::SimulatorExt::with_bootstrapping) those of a program.
/// [`ProgramBounds::bootstraps`](crate::param_search::ProgramBounds::bootstraps) selects parameters
/// by it.
#[derive(Debug, Clone)]
pub struct Bootstrapper {
    pub(super) raising: Raising,
    pub(super) spec: BootstrapSpec,
    pub(super) mod1: Mod1,
}

impl Bootstrapper {
    /// Prepares the matrices and plans EvalMod.
    ///
    /// # Errors
    /// [`ErrorKind::Parameters`] when the chain is too short (the message counts the levels) or a
    /// field of the specification is out of its range, security errors for the sparse secret, and
    /// those of the parts.
    pub fn new(params: &Params, spec: BootstrapSpec) -> Result<Self> {
        // Step 1: the options, and the plan of EvalMod.
        spec.check()?;
        let message = (-spec.log_gap).exp2();
        let top = params.max_level();
        let reduced_from = top.saturating_sub(spec.c2s_levels);
        let mod1 = spec.reduction_with(BootstrapSpec::early_bits(params, reduced_from))?;

        // Step 2: the chain must have levels for S2C, the user, EvalMod and C2S, of sufficient
        // size.
        let taken = spec.s2c_levels.saturating_add(spec.c2s_levels).saturating_add(mod1.depth());
        if top <= taken {
            let reason = format!(
                "bootstrapping takes {} levels for S2C, {} for EvalMod and {} for C2S; the chain \
                 has {top}: need more than their sum",
                spec.s2c_levels,
                mod1.depth(),
                spec.c2s_levels
            );
            return Err(error::params(reason));
        }
        spec.check_levels(params, reduced_from, &mod1)?;

        // Step 3: the matrices. The slots hold (m + q_0 I) / (width q_0), the argument of EvalMod.
        let raising = RaisingSpec {
            slots: spec.slots,
            weight: spec.weight,
            s2c_levels: spec.s2c_levels,
            s2c_scale: params.divisor(0) * message / spec.bound,
            modular: false,
            c2s_levels: spec.c2s_levels,
            babies: spec.babies,
            encode_ahead: spec.encode_ahead,
            width: mod1.width(),
            reach: mod1.bound(),
        };
        Ok(Self { raising: Raising::new(params, raising)?, mod1, spec })
    }

    /// The same with the diagonals of S2C kept encoded, as by [`BootstrapSpec::encode_ahead`]. All
    /// else is shared.
    pub fn encoded(&self) -> Result<Self> {
        let spec = BootstrapSpec { encode_ahead: true, ..self.spec.clone() };
        Ok(Self { raising: self.raising.encoded()?, mod1: self.mod1.clone(), spec })
    }

    /// The options.
    pub fn spec(&self) -> &BootstrapSpec {
        &self.spec
    }

    /// S2C, the mod raise and C2S.
    pub fn raising(&self) -> &Raising {
        &self.raising
    }

    pub(crate) fn params(&self) -> &Params {
        &self.raising.params
    }

    /// The plan of EvalMod.
    pub fn reduction(&self) -> &Mod1 {
        &self.mod1
    }

    /// The lowest level at which a ciphertext can be bootstrapped. The levels above are the user's.
    pub fn input_level(&self) -> usize {
        self.raising.input_level()
    }

    /// The level of a bootstrapped ciphertext.
    pub fn output_level(&self) -> usize {
        self.raising.output_level() - self.mod1.depth()
    }

    /// Levels between two bootstraps: the difference of the two levels.
    pub fn levels(&self) -> usize {
        self.output_level() - self.input_level()
    }

    /// The smallest security of its keys in bits, under the parameters and under the sparse secret.
    pub fn security_bits(&self) -> f64 {
        self.raising.security_bits()
    }

    /// Bound on the approximation error of EvalMod, for values up to [`BootstrapSpec::bound`].
    pub fn approximation_error(&self) -> f64 {
        self.mod1.approximation_error() * self.spec.log_gap.exp2() * self.spec.bound / TAU
    }

    /// The evaluation keys besides [`BootstrapKeys`](super::BootstrapKeys), each at the level of
    /// its use.
    pub fn keys(&self) -> KeyLevels {
        self.raising.keys().and(&self.mod1.keys(self.reduction_level()))
    }

    /// Key switches of one bootstrap, of a real vector or of a complex one.
    pub(crate) fn key_switches(&self, real: bool) -> usize {
        let reductions = if real { 1 } else { 2 };
        self.raising.key_switches() + reductions * self.mod1.relinearizations()
    }

    /// Sizes of [`BootstrapKeys`](super::BootstrapKeys).
    pub fn own_key_sizes(&self) -> KeySizes {
        self.raising.own_key_sizes()
    }

    pub(crate) fn key_sizes(&self) -> KeySizes {
        let rotations_and_products = self.keys().sizes(self.params());
        rotations_and_products.expect("its levels are those of its parameters")
            + self.own_key_sizes()
    }

    /// Reserves the working memory of a bootstrap: some tens of polynomials modulo `P Q`.
    pub(crate) fn reserve(&self) {
        // The powers, as many intermediate results, and the other part of the slots, which waits.
        self.raising.reserve(2 * (self.mod1.cosine.relinearizations + 2));
    }

    pub(crate) fn reduction_level(&self) -> usize {
        self.raising.output_level()
    }
}
