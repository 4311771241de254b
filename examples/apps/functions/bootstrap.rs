//! The functions as Fourier series for functional bootstrapping.

use bellerophon::Params;
use bellerophon::circuits::CircuitOps;
use bellerophon::circuits::approx::{Accuracy, Function};
use bellerophon::circuits::bootstrap::SimulatorExt;
use bellerophon::circuits::fbt::{PairedVec, PeriodicFunction};
use bellerophon::ckks::simulator::Simulator;
use bellerophon::ckks::vectors::Vectors;
use bellerophon::ckks::{self, Interval};

use common::program::Failure;

/// The exponent of the smallest error of a series that is tried: below it the noise dominates.
const SMALLEST: f64 = -32.0;

/// The distance of the exponents that are tried.
const STEP: f64 = 2.0;

/// The number of exponents that are tried.
const TRIES: usize = 16;

/// The probability that the noise of some value exceeds the prediction.
const EXCEEDED: f64 = 0.05;

/// The requested precision of a series.
#[derive(Clone, Copy)]
pub enum Wanted {
    /// The series of smallest degree whose predicted error is at most `2^-bits`.
    Bits(f64),
    /// The series of smallest error, which must be at most `most`.
    Best { most: f64 },
}

/// A function as a series, with the error of its values.
pub struct Series {
    pub function: PeriodicFunction,
    /// The predicted largest error of all values: of the series and of the noise.
    pub bound: f64,
}

impl Series {
    /// The requested series, or a refusal that names the reachable error.
    pub fn plan(
        f: &Function,
        range: [f64; 2],
        params: &Params,
        count: usize,
        wanted: Wanted,
    ) -> Result<Self, Failure> {
        let functional = params.functional().map_err(Failure::input)?;
        let simulator = Simulator::new(params.ckks()).with_functional(functional.clone())?;
        let [lo, hi] = range;
        let series =
            |log2_error: f64| functional.real_function(f, lo, hi, Accuracy::bits(-log2_error));
        let at = |log2_error: f64| {
            let function = series(log2_error)?;
            let bound =
                function.approximation_error() + noise(&simulator, range, &function, count)?;
            Ok::<_, ckks::Error>(Self { function, bound })
        };
        // Step 1: errors that leave half of the request to the noise, or nearly all of it.
        if let Wanted::Bits(bits) = wanted {
            for share in [1.0, 4.0] {
                let tried = at(-bits - share).ok();
                if let Some(found) = tried.filter(|found| found.bound <= (-bits).exp2()) {
                    return Ok(found);
                }
            }
        }
        // Step 2: the smallest error that any series reaches.
        let mut log2_error = match series(SMALLEST) {
            Err(error) => match error.kind() {
                ckks::ErrorKind::Accuracy { log2_reached: Some(reached) } => reached + 0.01,
                _ => return Err(Failure::input(error)),
            },
            Ok(_) => SMALLEST,
        };
        // Step 3: among it and larger ones, the smallest sum of error and noise.
        let mut best: Option<Self> = None;
        for _ in 0..TRIES {
            if best.as_ref().is_some_and(|best| log2_error.exp2() >= best.bound) {
                break;
            }
            if let Ok(found) = at(log2_error)
                && best.as_ref().is_none_or(|best| found.bound < best.bound)
            {
                best = Some(found);
            }
            log2_error += STEP;
        }
        let reached = best.as_ref().map_or(f64::INFINITY, |best| best.bound);
        let most = match wanted {
            Wanted::Bits(bits) => (-bits).exp2(),
            Wanted::Best { most } => most,
        };
        best.filter(|best| best.bound <= most).ok_or_else(|| {
            let (name, preset) = (f.name(), params.name());
            Failure::input(format!(
                "functional bootstrapping of {name} on [{lo:?}, {hi:?}] with the preset {preset}: \
                 the smallest error is 2^{:.1}, need 2^{:.1}: request fewer --bits, or take \
                 another --engine",
                reached.log2(),
                most.log2()
            ))
        })
    }
}

/// A bound on the noise of `count` values, from a run on the simulator.
fn noise(
    simulator: &Simulator,
    [lo, hi]: [f64; 2],
    function: &PeriodicFunction,
    count: usize,
) -> ckks::Result<f64> {
    let params = simulator.params();
    let level = simulator.functional_bootstrapper().map_or(0, |b| b.input_level());
    let values = vec![0.5 * (lo + hi); count.min(params.max_slots())];
    let x = simulator.encrypt(&values, Interval::real(lo, hi)?, level)?;
    let x = PairedVec::of_reals(simulator, x)?;
    let results = simulator.functions_of(&x, &[function])?;
    let metadata = simulator.metadata(results[0].inner());
    // The failure probability is that of one vector of as many values as slots.
    let vectors = count.div_ceil(metadata.meta.slots);
    let log2_failure = (EXCEEDED / vectors as f64).log2();
    Ok(metadata.estimate(params, log2_failure).log2_worst.exp2())
}

/// A description of the series.
pub fn describe(function: &PeriodicFunction) -> String {
    let (degree, levels) = (function.series().degree(), function.levels());
    let error = function.approximation_error();
    format!("Fourier series of degree {degree}, {levels} levels, error {error:.1e}")
}
