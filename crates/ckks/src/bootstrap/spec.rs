//! What a refresh is made of, chosen and prepared.

use std::{f64::consts::TAU, ops::RangeInclusive};

use bellerophon_mlwe::{self as mlwe, SecretKind, Security};
use bellerophon_ring::prime;

use crate::dft::{C2sOptions, CoeffsToSlots, S2cOptions, SlotsToCoeffs};
use crate::linear::{Giants, LinearTransform};
use crate::mod1::{Arcsine, Mod1, Mod1Spec};
use crate::{Chain, Error, KeySizes, KeySpec, Levels, Params, ParamsSpec, Result};

/// Bits of the special prime of the sparse secret: as many above those of `q_0` make its switch
/// exact but for one rounding.
const MARGIN_BITS: u32 = 8;

/// Bits of the lowest prime above the default scale.
const WHOLE_BITS: u32 = 3;

/// Largest size of single primes in the chains made here: the kernels are fastest below `2^50`.
/// Levels above are pairs of primes of half the size.
const MAX_SINGLE: u32 = 50;

/// Bits above [`BootstrapSpec::log_reduction`] of the first levels of the reduction, in the order in
/// which they are used. What the first squaring is off by is enlarged most (see
/// [`mod1`](crate::mod1)).
const FIRST_LEVELS: [u32; 2] = [5, 10];

/// How many bits short of its nominal size a level may be.
const SHORT: f64 = 0.5;

/// How vectors are refreshed.
#[derive(Debug, Clone, PartialEq)]
pub struct BootstrapSpec {
    /// Most slots of the vectors, a power of two up to `2^16`. A vector of fewer takes part repeated.
    pub slots: usize,
    /// Largest magnitude of a slot at the default scale. Smaller messages are enlarged by an
    /// integer on the way, and come out more precise.
    pub bound: f64,
    /// By how many bits `q_0` exceeds the largest message. A bit more costs a bit of precision to
    /// noise and wins `degree + 1` bits in the error of the arcsine. 2.1 to 9.9.
    pub log_gap: f64,
    /// Nonzero coefficients of the sparse secret under which the modulus is raised, at most 4096.
    pub weight: usize,
    /// `log2` of the probability that some value of a vector comes back as garbage, -256 to -1.
    pub log2_failure: f64,
    /// `log2` of the largest error of the sine, at amplitude 1, -64 to -4.
    pub log2_error: f64,
    /// Odd degree of the polynomial that undoes the sine, at most 31.
    pub arcsine: usize,
    /// Bits of each level of the reduction and of C2S: a bit more is a bit of precision more, as long
    /// as the default scale has room for it. The two levels of the reduction that are used first have
    /// 5 and 10 bits more. 20 to 120.
    pub log_reduction: u32,
    /// Matrices of S2C, one level each, at most 16; each takes part in at most 8 of the `log2(slots)`
    /// stages.
    pub s2c_levels: usize,
    /// Matrices of C2S, as those of S2C.
    pub c2s_levels: usize,
    /// Baby steps of each matrix of C2S, at most 1024: a key each at the highest levels.
    pub babies: usize,
    /// Keep the diagonals that have no period encoded: faster, and larger.
    pub encode_ahead: bool,
}

impl BootstrapSpec {
    /// The usual choice for vectors of up to `slots` slots and values up to 1: weight 32, failure
    /// below `2^-60`, a gap of 5 bits undone by an arcsine of degree 7.
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
            c2s_levels: 3,
            babies: 8,
            encode_ahead: true,
        }
    }
}

impl BootstrapSpec {
    /// The modulus chain that these refreshes take, with `levels` levels for the user between two of
    /// them, for [`ParamsSpec::from_chain`]: above the lowest prime, of 3 bits more than the scale,
    /// stand the levels of S2C and of the user, of the size of the scale, then those of the reduction,
    /// then those of C2S. `special` are bits and number of the special primes.
    ///
    /// # Errors
    /// [`Error::Params`] when no reduction meets the specification.
    pub fn chain(
        &self,
        degree: usize,
        log_scale: u32,
        levels: usize,
        special: (u32, usize),
    ) -> Result<Chain> {
        let reduction = self.reduction()?.depth();
        Ok(self.chain_around(reduction, degree, (log_scale, levels), special))
    }

    /// As [`chain`](Self::chain) around a reduction of known depth, with bits and number of the
    /// user's levels.
    pub(crate) fn chain_around(
        &self,
        reduction: usize,
        degree: usize,
        (log_scale, levels): (u32, usize),
        special: (u32, usize),
    ) -> Chain {
        let sized = |bits: u32, count: usize| match bits <= MAX_SINGLE {
            true => Levels::single(bits, count),
            false => Levels::pairs(bits, count),
        };
        let [first, second] = FIRST_LEVELS.map(|more| sized(self.log_reduction + more, 1));
        let rest = reduction.saturating_sub(FIRST_LEVELS.len());
        let levels = [
            sized(log_scale, self.s2c_levels + levels),
            sized(self.log_reduction, rest),
            second,
            first,
            sized(self.log_reduction, self.c2s_levels),
        ];
        let levels = levels.into_iter().filter(|levels| levels.count > 0).collect();
        Chain { degree, first_bits: log_scale + WHOLE_BITS, levels, special }
    }

    /// The reduction modulo 1.
    pub(crate) fn reduction(&self) -> Result<Mod1> {
        let message = (-self.log_gap).exp2();
        Mod1::new(&Mod1Spec {
            weight: self.weight,
            log2_failure: self.log2_failure - (2.0 * self.slots as f64).log2(),
            log2_error: self.log2_error,
            arcsine: Some(Arcsine { degree: self.arcsine, message }),
            spare: 1,
        })
    }

    /// Refuses what no chain has use for, and what would take long to find out: whoever prepares it may
    /// have it from somebody else.
    fn check(&self) -> Result<()> {
        let within = |field: &str, value: f64, range: RangeInclusive<f64>| {
            if range.contains(&value) {
                return Ok(());
            }
            let reason = format!("refreshing with {field} = {value}: need {range:?}");
            Err(Error::Params { reason })
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
        // A matrix of so many stages has two to their number of diagonals, about.
        let stages = self.slots.ilog2() as usize;
        for levels in [self.s2c_levels, self.c2s_levels] {
            within("stages in a matrix", stages.div_ceil(levels) as f64, 0.0..=8.0)?;
        }
        Ok(())
    }

    /// Refuses chains whose levels for the reduction, from level `top` down, and for C2S, above it,
    /// are too small: the result would be garbage, or far less precise than stated.
    fn check_levels(&self, params: &Params, top: usize, depth: usize) -> Result<()> {
        for level in top + 1 - depth..=params.max_level() {
            let more = top.checked_sub(level).and_then(|used| FIRST_LEVELS.get(used));
            let needed = self.log_reduction + more.copied().unwrap_or(0);
            let found = params.divisor(level).log2();
            if found < f64::from(needed) - SHORT {
                return Err(Error::Params {
                    reason: format!(
                        "refreshing reduces modulo 1 at levels {} to {top} of the chain and comes \
                         there above them; level {level} has {found:.1} bits and must have \
                         {needed}: take the chain of BootstrapSpec::chain, or a smaller \
                         BootstrapSpec::log_reduction",
                        top + 1 - depth
                    ),
                });
            }
        }
        Ok(())
    }
}

impl ParamsSpec {
    /// The set for refreshing at full size: `N = 2^16`, 128 bits, a secret of weight 256 and the
    /// levels that [`BootstrapSpec::new`] asks for.
    ///
    /// Above the lowest prime (45 bits) stand 2 levels for S2C and 9 for the user, of 42 bits each
    /// (the default scale), and 11 for the reduction and 3 for C2S, of 49 bits: the kernels are
    /// fastest below 50. The first two levels of the reduction are pairs of small primes and keep 54
    /// and 59 bits, since what its first squaring is off by is enlarged most (see [`mod1`](crate::mod1)).
    /// The nine special primes make three digits.
    ///
    /// # Errors
    /// None for this version's sizes.
    pub fn bootstrapping() -> Result<Self> {
        Self::full_size(9, SecretKind::Sparse(256))
    }

    /// The twin of [`bootstrapping`](Self::bootstrapping) under a dense secret, uniform ternary: two
    /// levels more, since the tables allow it 1747 bits and not 1679, and about 3.5 bits less precision
    /// (21.8 bits in the worst slot, as measured), since a rounding weighs as much as the secret is long.
    /// Only the secret under the lowest modulus stays sparse.
    ///
    /// # Errors
    /// None for this version's sizes.
    pub fn bootstrapping_dense() -> Result<Self> {
        Self::full_size(11, SecretKind::Ternary)
    }

    fn full_size(levels: usize, secret: SecretKind) -> Result<Self> {
        let chain = BootstrapSpec::new(1 << 15).chain(1 << 16, 42, levels, (49, 9))?;
        let mut spec = Self::from_chain(&chain, 42, Security::Insecure)?;
        spec.lattice.secret = secret;
        spec.lattice.security = Security::Bits128;
        Ok(spec)
    }
}

/// Everything that refreshing takes except keys, prepared for one parameter set.
#[derive(Debug, Clone)]
pub struct Bootstrapper {
    pub(super) params: Params,
    pub(super) spec: BootstrapSpec,
    /// The parameters of the sparse secret: `q_0` and a special prime.
    pub(super) low: mlwe::Params,
    pub(super) s2c: SlotsToCoeffs,
    pub(super) c2s: CoeffsToSlots,
    pub(super) mod1: Mod1,
}

impl Bootstrapper {
    /// Prepares the matrices and plans the reduction.
    ///
    /// # Errors
    /// [`Error::Params`] when the chain is too short (the message counts the levels) or a field of the
    /// specification is out of its range, security errors for the sparse secret, and those of the parts.
    pub fn new(params: &Params, spec: BootstrapSpec) -> Result<Self> {
        let op = "prepare refreshing";
        spec.check()?;
        let most = params.max_slots();
        if !spec.slots.is_power_of_two() || spec.slots > most {
            return Err(Error::SlotCount { op, found: spec.slots, least: 1, most });
        }
        let message = (-spec.log_gap).exp2();
        let mod1 = spec.reduction()?;
        let top = params.max_level();
        let taken = spec.s2c_levels.saturating_add(spec.c2s_levels).saturating_add(mod1.depth());
        if top <= taken {
            let reason = format!(
                "refreshing takes {} levels for S2C, {} for the reduction and {} for C2S; the \
                 chain has {top}: need more than their sum",
                spec.s2c_levels,
                mod1.depth(),
                spec.c2s_levels
            );
            return Err(Error::Params { reason });
        }
        spec.check_levels(params, top - spec.c2s_levels, mod1.depth())?;
        let q0 = params.divisor(0);
        let s2c = S2cOptions {
            levels: spec.s2c_levels,
            output_level: 0,
            scale: q0 * message / spec.bound,
            encode_ahead: spec.encode_ahead,
            giants: Giants::Horner,
        };
        // The trace multiplies by the number of slots that a slot stands for; the sum with the
        // conjugate doubles.
        let repeated = (most / spec.slots) as f64;
        let wanted = params.divisor(top - spec.c2s_levels) / 2.0;
        let c2s = C2sOptions {
            levels: spec.c2s_levels,
            input_level: top,
            factor: wanted / (q0 * mod1.width() * repeated),
            babies: spec.babies,
            encode_ahead: spec.encode_ahead,
        };
        Ok(Self {
            low: low_params(params, spec.weight)?,
            s2c: SlotsToCoeffs::new(params, spec.slots, s2c)?,
            c2s: CoeffsToSlots::new(params, spec.slots, c2s)?,
            params: params.clone(),
            mod1,
            spec,
        })
    }

    /// How it was prepared.
    pub fn spec(&self) -> &BootstrapSpec {
        &self.spec
    }

    /// The parameters.
    pub fn params(&self) -> &Params {
        &self.params
    }

    /// The parameters of the sparse secret.
    pub(crate) fn low(&self) -> &mlwe::Params {
        &self.low
    }

    /// The reduction modulo 1.
    pub fn reduction(&self) -> &Mod1 {
        &self.mod1
    }

    /// The lowest level at which a ciphertext can be refreshed. What is above it is for the user.
    pub fn input_level(&self) -> usize {
        self.s2c.level()
    }

    /// The level at which a refreshed ciphertext stands.
    pub fn output_level(&self) -> usize {
        self.c2s.output_level() - self.mod1.depth()
    }

    /// Rescalings between two refreshes: the difference of the two levels.
    pub fn levels(&self) -> usize {
        self.output_level() - self.input_level()
    }

    /// The smallest security of its keys in bits: of those of the parameters and of the sparse
    /// secret.
    pub fn security_bits(&self) -> f64 {
        self.params.lattice().security_bits().min(self.low.security_bits())
    }

    /// Bound on the error that the approximation of the reduction makes, for values up to `bound`.
    pub fn approximation_error(&self) -> f64 {
        self.mod1.approximation_error() * self.spec.log_gap.exp2() * self.spec.bound / TAU
    }

    /// The evaluation keys that it takes beside [`BootstrapKeys`](super::BootstrapKeys), each at the
    /// level at which it is used.
    pub fn keys(&self) -> KeySpec {
        let (top, reduction) = (self.params.max_level(), self.c2s.output_level());
        KeySpec::new()
            .and(&self.s2c.keys())
            .and(&self.c2s.keys())
            .and(&self.mod1.keys(reduction))
            .conjugate(reduction)
            .rotate(self.trace_steps().map(|step| step as i64), top)
    }

    /// Key switches of one refresh, of real vectors or of complex ones.
    pub fn key_switches(&self, real: bool) -> usize {
        let reductions = if real { 1 } else { 2 };
        let encapsulation = 2;
        encapsulation
            + self.s2c.rotations()
            + self.trace()
            + self.c2s.rotations()
            + 1
            + reductions * self.mod1.relinearisations()
    }

    /// Sizes of the keys that it alone takes, [`BootstrapKeys`](super::BootstrapKeys).
    pub fn own_key_sizes(&self) -> KeySizes {
        let (low, high) = (&self.low, self.params.lattice());
        let (degree, rank) = (self.params.degree(), high.rank());
        let (from, to) = (low.gadget(), high.gadget());
        let rows = rank * from.digits(1);
        let to_sparse = KeySizes::of_rows(rows, 1, from.ring(1));
        let all = to.ring(self.params.limbs());
        let raise = KeySizes {
            // Not a key of inner products: its polynomials stay in words.
            memory: low.rank() * (1 + rank) * all.limbs() * degree * size_of::<u64>(),
            ..KeySizes::of_rows(low.rank(), rank, all)
        };
        to_sparse + raise
    }

    /// Sizes of all keys that it takes.
    pub fn key_sizes(&self) -> KeySizes {
        let rotations_and_products = self.keys().sizes(&self.params);
        rotations_and_products.expect("its levels are those of its parameters")
            + self.own_key_sizes()
    }

    /// All matrices, those of S2C first.
    pub(crate) fn transforms(&self) -> impl Iterator<Item = &LinearTransform> {
        self.s2c.transforms().iter().chain(self.c2s.transforms())
    }

    /// Has the memory at hand in which a refresh works, some tens of polynomials modulo `P Q` and as
    /// many of the reduction. To fetch it takes as long as a third of the refresh where the system hands
    /// out pages slowly (a virtual machine).
    pub(crate) fn reserve(&self) {
        self.transforms().for_each(LinearTransform::reserve);
        let lattice = self.params.lattice();
        let highest = self.params.limbs_at(self.reduction_level());
        let columns = lattice.rank() + 1;
        // The powers, as many intermediate results, and what waits: the other half of the slots.
        let ciphertexts = 2 * (self.mod1.cosine().relinearisations() + 2);
        // The smaller ones first: larger ones would serve.
        lattice.q().prefix(highest.div_ceil(2)).reserve(columns * (ciphertexts / 4 + 2));
        lattice.q().prefix(highest).reserve(columns * ciphertexts);
    }

    /// Rotations of the trace.
    pub(crate) fn trace(&self) -> usize {
        self.trace_steps().count()
    }

    /// The level at which the reduction begins.
    pub(crate) fn reduction_level(&self) -> usize {
        self.c2s.output_level()
    }

    /// Rotations whose sums project the ring onto the polynomials of `slots` slots.
    pub(super) fn trace_steps(&self) -> impl Iterator<Item = usize> {
        let (slots, most) = (self.spec.slots, self.params.max_slots());
        std::iter::successors(Some(slots), |step| Some(2 * step)).take_while(move |&s| s < most)
    }
}

/// The lattice of the sparse secret.
fn low_params(params: &Params, weight: usize) -> Result<mlwe::Params> {
    let lattice = params.lattice().spec();
    let q0 = *params.modulus(0);
    let bits = (q0.bits() + MARGIN_BITS).min(60);
    let p = prime::ntt_primes_below(lattice.degree, bits, 1, &[q0])?;
    // The tables know sparse secrets under the default model alone.
    let security = match lattice.security {
        Security::Insecure => Security::Insecure,
        Security::Bits128 | Security::Bits128Classical => Security::Bits128,
    };
    Ok(mlwe::Params::new(mlwe::ParamsSpec {
        rank: 1,
        security,
        q: vec![q0.value()],
        p: p.iter().map(|p| p.value()).collect(),
        secret: SecretKind::Sparse(weight),
        ..lattice.clone()
    })?)
}
