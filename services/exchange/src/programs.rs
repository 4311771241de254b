//! The programs that the server offers, and their parameters.

use std::fmt;
use std::ops::{ControlFlow, RangeInclusive};
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bellerophon::{Dense, Engine, ProgramBounds, Progress, mlwe::Security, prelude::*};
use bellerophon::{
    circuits::polynomial::Monomial,
    ckks::{
        Interval, Metadata,
        noise_flooding::NoiseBound,
        simulator::{SimCiphertext, Simulator},
    },
};

/// A program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Program {
    /// `x^2 + x`.
    SquarePlus,
    /// A polynomial of degree 5.
    Polynomial,
    /// The mean of all values, in every slot.
    Mean,
    /// The logistic function, by look-up.
    Sigmoid,
}

/// Coefficients of [`Program::Polynomial`], the constant first.
const POLYNOMIAL: [f64; 6] = [0.25, -0.5, 0.125, 0.75, 0.0, -0.375];

/// The range of the values of the arithmetic programs.
const UNIT: RangeInclusive<f64> = -1.0..=1.0;

/// The domain of the look-up.
const WIDE: RangeInclusive<f64> = -8.0..=8.0;

impl Program {
    /// All programs.
    pub const ALL: [Self; 4] = [Self::SquarePlus, Self::Polynomial, Self::Mean, Self::Sigmoid];

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::SquarePlus => "square-plus",
            Self::Polynomial => "polynomial",
            Self::Mean => "mean",
            Self::Sigmoid => "sigmoid",
        }
    }

    /// A description of the program.
    pub const fn computes(self) -> &'static str {
        match self {
            Self::SquarePlus => "x^2 + x of values in [-1, 1]",
            Self::Polynomial => "1/4 - x/2 + x^2/8 + 3 x^3/4 - 3 x^5/8 of values in [-1, 1]",
            Self::Mean => "the mean of all values in [-1, 1], in every slot",
            Self::Sigmoid => "1 / (1 + exp(-x)) of values in [-8, 8], by look-up",
        }
    }

    /// The range of its values, which is declared for every operand.
    pub fn domain(self) -> RangeInclusive<f64> {
        match self {
            Self::Sigmoid => WIDE,
            _ => UNIT,
        }
    }

    /// The keys of the program, for vectors of up to `count` values.
    ///
    /// # Errors
    /// For parameters that do not allow the program.
    pub fn add_needs(
        self,
        needs: Needs,
        params: &Params,
        count: usize,
    ) -> bellerophon::Result<Needs> {
        if self == Self::Sigmoid {
            params.lookups()?;
            return Ok(needs.map());
        }
        let simulator = Simulator::new(params.ckks());
        let domain = self.domain();
        let range = Interval::real(*domain.start(), *domain.end())?;
        // Sums over other lengths may need other rotations.
        for log in 0..=count.next_power_of_two().ilog2() {
            let x = simulator.encrypt(&vec![0.0; 1 << log], range, params.levels())?;
            match self.arithmetic(&simulator, &x, |_, _| ControlFlow::Continue(())) {
                Err(Stopped::Failed(e)) => return Err(e),
                Ok(_) | Err(Stopped::Asked) => {}
            }
        }
        Ok(needs.program(&simulator.report()))
    }

    /// Predicted multiplications modulo a prime, which order the jobs of a client.
    pub fn work(self, params: &Params, values: usize) -> u64 {
        let (degree, limbs) =
            (params.ckks().lattice().spec().degree as u64, params.ckks().limbs() as u64);
        // Each digit of a key switch takes a transform of every limb.
        let switch = degree * u64::from(degree.ilog2()) * limbs * limbs;
        match self {
            Self::SquarePlus => switch,
            Self::Polynomial => 4 * switch,
            Self::Mean => u64::from(degree.ilog2()) * switch,
            // A rotation by an encrypted index for each value, beside two linear transforms.
            Self::Sigmoid => {
                let lattice = params.lookups().map(|lookups| lookups.lwe_params());
                let rotation = lattice.map_or(0, |lattice| {
                    let ring = lattice.spec().ring_degree as u64;
                    8 * lattice.spec().dimension as u64 * ring * u64::from(ring.ilog2())
                });
                256 * switch + rotation * values as u64
            }
        }
    }

    /// An operand of `count` values as [`ClientKey::encrypt`] makes it, or [`PublicKey::encrypt`]
    /// if it is `provided`.
    fn simulated(
        self,
        params: &Params,
        simulator: &Simulator,
        count: usize,
        provided: bool,
    ) -> bellerophon::Result<SimCiphertext> {
        let range = Interval::real(*self.domain().start(), *self.domain().end())?;
        let (zeros, level) = (vec![0.0; count], params.levels());
        Ok(match provided {
            true => simulator.encrypt_public(&zeros, range, level)?,
            false => simulator.encrypt(&zeros, range, level)?,
        })
    }

    /// What an operand of `count` values states, under the secret key or `provided`.
    ///
    /// # Errors
    /// For vectors that do not fit.
    pub fn operand(
        self,
        params: &Params,
        count: usize,
        provided: bool,
    ) -> bellerophon::Result<Metadata> {
        Ok(*self.simulated(params, &Simulator::new(params.ckks()), count, provided)?.metadata())
    }

    /// The worst-case noise of the program on vectors of `count` values, for decryption with
    /// flooding. A vector that is `provided` has the noise of public-key encryption.
    ///
    /// # Errors
    /// For look-ups, whose errors depend on the key, and for vectors that do not fit.
    pub fn noise_bound(
        self,
        params: &Params,
        count: usize,
        provided: bool,
    ) -> Result<NoiseBound, String> {
        if self == Self::Sigmoid {
            return Err("a look-up: its error depends on the key and no flooding hides it".into());
        }
        let simulator = Simulator::new(params.ckks()).worst_case();
        let x = self.simulated(params, &simulator, count, provided).map_err(|e| e.to_string())?;
        let y = self.arithmetic(&simulator, &x, |_, _| ControlFlow::Continue(()));
        simulator.noise_bound(&y.map_err(|e| e.to_string())?).map_err(|e| e.to_string())
    }

    /// The declared range of results, which follows from the range of the values.
    pub fn results(self) -> RangeInclusive<f64> {
        match self {
            // x^2 is known to lie in [0, 1].
            Self::SquarePlus => -1.0..=2.0,
            // The magnitudes of the coefficients add up to 2.
            Self::Polynomial => -2.0..=2.0,
            // The sum over all slots, of which there are less than twice as many as values.
            Self::Mean => -2.0..=2.0,
            // Including the error of tables.
            Self::Sigmoid => -0.25..=1.25,
        }
    }

    /// Runs the program, and calls `watch` before every step to ask whether to continue. A step is
    /// a rotation, a polynomial, or the look-up of a few values. The metadata of the result state
    /// [`results`](Self::results) and nothing else, whatever the metadata of `x`.
    pub fn run(
        self,
        server: &Evaluator,
        x: &Ciphertext,
        watch: impl Fn(&str, usize, usize) -> ControlFlow<()> + Send + Sync + 'static,
    ) -> Result<Published, Stopped> {
        let y = self.compute(server, x, watch)?;
        // The programs have no secret constants, so that level and scale tell nothing. They are
        // kept: a client that floods compares them with its own simulation.
        let declared = Declaration::from(self.results());
        let declared = declared.with_level(y.level()).with_scale(y.meta().scale);
        Ok(server.publish(&y, declared)?)
    }

    fn compute(
        self,
        server: &Evaluator,
        x: &Ciphertext,
        watch: impl Fn(&str, usize, usize) -> ControlFlow<()> + Send + Sync + 'static,
    ) -> Result<Ciphertext, Stopped> {
        match self {
            Self::Sigmoid => {
                if watch("loaded", 0, 1).is_break() {
                    return Err(Stopped::Asked);
                }
                let asked = Arc::<AtomicBool>::default();
                let broke = asked.clone();
                let watch = move |Progress { stage, done, total }| {
                    let flow = watch(stage.name(), done, total);
                    broke.fetch_or(flow.is_break(), Ordering::Relaxed);
                    flow
                };
                // The keys of other programs do not change the engine, nor what may be stopped.
                let request = MapRequest::new(sigmoid).over(WIDE).engines([Engine::Rgsw]);
                let looked_up = server.clone().with_progress(watch).map_with(x, &request);
                looked_up.map_err(|e| match asked.load(Ordering::Relaxed) {
                    true => Stopped::Asked,
                    false => Stopped::Failed(e),
                })
            }
            _ => self.arithmetic(server, x, |done, total| watch("arithmetic", done, total)),
        }
    }

    fn arithmetic<A: CkksOps>(
        self,
        a: &A,
        x: &A::Ciphertext,
        watch: impl Fn(usize, usize) -> ControlFlow<()>,
    ) -> Result<A::Ciphertext, Stopped> {
        let step = |done, total| match watch(done, total) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(()) => Err(Stopped::Asked),
        };
        match self {
            Self::SquarePlus => {
                step(0, 1)?;
                Ok(a.add(&a.square(x)?, x)?)
            }
            Self::Polynomial => {
                step(0, 1)?;
                Ok(a.monomial(x, &Monomial::new(&POLYNOMIAL)?, None)?)
            }
            Self::Mean => {
                let meta = a.metadata(x).meta;
                let (len, steps) = (meta.len as f64, meta.slots.ilog2() as usize);
                let mut sum = if meta.is_clear() { x.clone() } else { a.clear_padding(x)? };
                for done in 0..steps {
                    step(done, steps)?;
                    // Every slot holds the sum of twice as many values as before.
                    sum = a.add(&sum, &a.rotate(&sum, 1 << done)?)?;
                }
                Ok(a.mul_scalar(&sum, 1.0 / len)?)
            }
            Self::Sigmoid => unreachable!("a look-up, not arithmetic"),
        }
    }
}

/// The reason why a program has no result.
#[derive(Debug)]
pub enum Stopped {
    /// It was stopped.
    Asked,
    /// It cannot run on this ciphertext with these keys.
    Failed(bellerophon::Error),
}

impl fmt::Display for Stopped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Asked => f.write_str("stopped on request"),
            Self::Failed(error) => error.fmt(f),
        }
    }
}

impl<E: Into<bellerophon::Error>> From<E> for Stopped {
    fn from(error: E) -> Self {
        Self::Failed(error.into())
    }
}

fn sigmoid(v: f64) -> f64 {
    1.0 / (1.0 + (-v).exp())
}

impl FromStr for Program {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        Self::ALL.into_iter().find(|p| p.name() == name).ok_or_else(|| {
            let names: Vec<_> = Self::ALL.iter().map(|p| p.name()).collect();
            format!("no program '{name}': take one of {}", names.join(", "))
        })
    }
}

/// The parameters that a client can request: the smallest secure set for the arithmetic programs,
/// or a preset of the library.
///
/// # Errors
/// A sentence about an unknown name.
pub fn params(name: &str) -> Result<Params, String> {
    if name == ARITHMETIC {
        let (security, bootstraps) = (Security::Bits128, false);
        let needs = ProgramBounds {
            security,
            slots: 4096,
            depth: 4,
            accuracy: Accuracy::bits(20.0),
            bootstraps,
        };
        return Params::choose(&needs).map_err(|e| e.to_string());
    }
    let preset: Preset = name.parse()?;
    Params::preset(preset).map_err(|e| e.to_string())
}

/// The set without look-ups.
pub const ARITHMETIC: &str = "arithmetic";

/// The names that [`params`] accepts, the default first.
pub const PARAMETERS: [&str; 8] = [
    ARITHMETIC,
    Preset::Functions.name(),
    Preset::FunctionsFine.name(),
    Preset::FunctionsPrecise.name(),
    Preset::Dense(Dense::Functions).name(),
    Preset::Dense(Dense::FunctionsFine).name(),
    Preset::Dense(Dense::FunctionsPrecise).name(),
    Preset::Insecure(Toy::Functions).name(),
];
