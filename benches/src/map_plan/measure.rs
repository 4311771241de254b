//! Plans every cell, and measures those that some engine serves.
//!
//! A program is measured once for all cells that it serves. Engines on whole vectors take the same
//! time for any number of values: they run on the smallest and on the largest one. Look-ups run on
//! the smallest one and on at most [`MOST_ROTATIONS`]; the times of more values are extrapolated
//! linearly from both. Errors are measured only for numbers of values that ran.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use bellerophon::{CostModel, Engine, Prediction, prelude::*};

use super::cells::{Cell, Key, append};
use super::subject::Subject;
use crate::measure::{Seconds, timed};
use common::prelude::{Console, Failure, Session};

/// The presets whose engines are compared.
const PRESETS: [Preset; 6] = [
    Preset::Functions,
    Preset::FunctionsFine,
    Preset::Bootstrapping,
    Preset::Smooth,
    Preset::Tables(4),
    Preset::Tables(8),
];
const SMALL_PRESETS: [Preset; 2] =
    [Preset::Insecure(Toy::Functions), Preset::Insecure(Toy::Smooth)];

const COUNTS: [usize; 4] = [16, 256, 4096, 32768];
const SMALL_COUNTS: [usize; 1] = [16];

const BITS: [i32; 3] = [6, 10, 16];
const SMALL_BITS: [i32; 1] = [4];

/// The largest number of blind rotations that are measured.
const MOST_ROTATIONS: usize = 64;

/// A run that takes longer is not repeated.
const LONG_SECONDS: f64 = 5.0;

/// A cell with its prediction, or the reason why the engine does not qualify.
pub struct Planned {
    pub key: Key,
    pub prediction: Result<Prediction, String>,
}

/// Plans all cells, or a few of toy size: all engines of every combination of preset, function,
/// number of values and bits; of one preset if it is named.
pub fn planned(
    small: bool,
    only: Option<Preset>,
    model: &CostModel,
) -> Result<Vec<Planned>, Failure> {
    let (presets, counts, bits) = match small {
        true => (&SMALL_PRESETS[..], &SMALL_COUNTS[..], &SMALL_BITS[..]),
        false => (&PRESETS[..], &COUNTS[..], &BITS[..]),
    };
    let mut cells = Vec::new();
    for preset in only.as_ref().map_or(presets, std::slice::from_ref) {
        let params = Params::preset(*preset)?;
        for function in Subject::MEASURED {
            for &bits in bits {
                for &count in counts {
                    cells.extend(plan(&params, function, bits, count, model));
                }
            }
        }
    }
    Ok(cells)
}

/// All engines for one question.
fn plan(
    params: &Params,
    function: Subject,
    bits: i32,
    count: usize,
    model: &CostModel,
) -> Vec<Planned> {
    let threads = rayon::current_num_threads();
    let request = function.request(None, f64::from(bits)).count(count).allow(Engine::Ntru);
    let request = request.prices(model).threads(threads);
    let plan = params.map_plan(&request).map_err(|error| error.to_string());
    let prediction = |engine| {
        let row = plan.as_ref().map_err(String::clone)?.row(engine).expect("all engines have one");
        match (&row.prediction, &row.refusal) {
            (_, Some(refusal)) => Err(refusal.clone()),
            (Some(prediction), None) => Ok(prediction.clone()),
            (None, None) => unreachable!("an engine serves or is refused"),
        }
    };
    let cell = |engine| {
        let preset = params.name().to_string();
        let key = Key { preset, engine, function, bits, count, threads };
        Planned { key, prediction: prediction(engine) }
    };
    Engine::ALL.map(cell).into()
}

/// A run for several cells, which differ in bits and in the number of values.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Program<'a> {
    preset: &'a str,
    engine: Engine,
    function: Subject,
    detail: &'a str,
}

/// Measures the served cells that are not yet known, and appends all new cells to the file.
pub fn all<'p>(
    file: &Path,
    planned: impl IntoIterator<Item = &'p Planned>,
    known: &mut BTreeMap<Key, Cell>,
    console: &Console,
) -> Result<(), Failure> {
    // A cell that was refused is measured if a later plan serves it.
    let is_missing = |planned: &&Planned| {
        let found = known.get(&planned.key);
        found.is_none_or(|cell| planned.prediction.is_ok() && cell.refusal.is_some())
    };
    let missing: Vec<&Planned> = planned.into_iter().filter(is_missing).collect();
    let mut record = |cell: Cell| -> Result<(), Failure> {
        append(file, &cell)?;
        console.say(&cell);
        known.insert(cell.key.clone(), cell);
        Ok(())
    };
    let mut programs: BTreeMap<Program<'_>, Vec<&Planned>> = BTreeMap::new();
    for cell in missing {
        let Key { ref preset, engine, function, .. } = cell.key;
        match &cell.prediction {
            Err(refusal) => record(Cell::refused(cell.key.clone(), refusal.clone()))?,
            Ok(Prediction { detail, .. }) => {
                let program = Program { preset, engine, function, detail };
                programs.entry(program).or_default().push(cell);
            }
        }
    }
    let mut bench: Option<Bench> = None;
    for (Program { preset, engine, .. }, cells) in &programs {
        // Keys are freed before others are generated.
        let fits =
            |bench: &Bench| bench.session.params.name() == *preset && bench.engine == *engine;
        let mut open = match bench.take().filter(fits) {
            Some(bench) => bench,
            None => Bench::open(preset, *engine, console)?,
        };
        open.measure(cells).into_iter().try_for_each(&mut record)?;
        bench = Some(open);
    }
    Ok(())
}

/// The keys of one engine.
struct Bench {
    session: Session,
    engine: Engine,
    /// Whether the first call has prepared its matrices.
    warm: bool,
}

/// The outcome for one number of values.
struct Run {
    count: usize,
    seconds: Seconds,
    /// `log2` of the largest error.
    log2_error: f64,
}

impl Bench {
    fn open(preset: &str, engine: Engine, console: &Console) -> Result<Self, Failure> {
        console.say(format_args!("keys for {engine} of {preset} .."));
        let preset: Preset = preset.parse().map_err(Failure::run)?;
        let session = Session::open(Params::preset(preset)?, &Needs::new().map_with([engine]))?;
        Ok(Self { session, engine, warm: false })
    }

    /// Measures one program for all its cells.
    fn measure(&mut self, cells: &[&Planned]) -> Vec<Cell> {
        let all = || cells.iter().map(|cell| cell.key.count);
        let (smallest, largest) = (all().min().unwrap_or(0), all().max().unwrap_or(0));
        let counts: BTreeSet<usize> = match self.engine {
            Engine::Poly | Engine::Fbt => [smallest, largest].into(),
            _ if largest > MOST_ROTATIONS => [COUNTS[0], MOST_ROTATIONS].into(),
            _ => all().collect(),
        };
        let run = |count| {
            // A run for more values also serves fewer.
            let bits =
                cells.iter().filter(|cell| cell.key.count >= count).map(|cell| cell.key.bits);
            let bits = f64::from(bits.max().unwrap_or(0));
            let function = cells[0].key.function;
            self.run(function, &function.request(None, bits).engines([self.engine]), count)
        };
        let runs = counts.into_iter().map(run);
        match runs.collect::<bellerophon::Result<Vec<Run>>>() {
            Ok(runs) => cells.iter().map(|cell| of_runs(&cell.key, &runs)).collect(),
            Err(error) => {
                let why = format!("planned, and failed: {error}");
                cells.iter().map(|cell| Cell::refused(cell.key.clone(), why.clone())).collect()
            }
        }
    }

    /// A run after a first one that prepares matrices; for short runs the faster of two.
    fn run(
        &mut self,
        function: Subject,
        request: &MapRequest<'_>,
        count: usize,
    ) -> bellerophon::Result<Run> {
        let values = function.values(count);
        let domain = request.domain().expect("subjects have domains").clone();
        let x = self.session.client.encrypt(&values, domain)?;
        // The time is that of the evaluation without the planning.
        let request = &request.clone().planned(&self.session.server.map_plan(&x, request)?);
        if !self.warm {
            self.session.server.map_with(&x, request)?;
            self.warm = true;
        }
        let first = self.once(&x, request, &values)?;
        if first.seconds.wall > LONG_SECONDS {
            return Ok(first);
        }
        let second = self.once(&x, request, &values)?;
        Ok(if second.seconds.wall < first.seconds.wall { second } else { first })
    }

    fn once(
        &self,
        x: &Ciphertext,
        request: &MapRequest<'_>,
        values: &[f64],
    ) -> bellerophon::Result<Run> {
        let (y, seconds) = timed(|| self.session.server.map_with(x, request));
        let found = self.session.client.decrypt(&y?)?;
        let off = found.iter().zip(values).map(|(y, &x)| (y - request.value(x)).abs());
        let log2_error = off.fold(f64::MIN_POSITIVE, f64::max).log2();
        Ok(Run { count: values.len(), seconds, log2_error })
    }
}

/// The cell of a number of values from runs of one engine: the smallest run with at least as many,
/// or the line through the first and the last.
fn of_runs(key: &Key, runs: &[Run]) -> Cell {
    let last = runs.last().expect("a program runs");
    let whole = matches!(key.engine, Engine::Poly | Engine::Fbt);
    let run = runs.iter().find(|run| run.count >= key.count).unwrap_or(last);
    let scaled = |clock: fn(&Run) -> Option<f64>| {
        let (least, most) = (clock(&runs[0])?, clock(last)?);
        match whole || run.count >= key.count {
            true => clock(run),
            false => {
                let each = (most - least) / (last.count - runs[0].count) as f64;
                Some(most + each * (key.count - last.count) as f64)
            }
        }
    };
    Cell {
        key: key.clone(),
        refusal: None,
        seconds: scaled(|run| Some(run.seconds.wall)),
        cpu_seconds: scaled(|run| run.seconds.cpu),
        measured_count: run.count,
        log2_error: (run.count == key.count).then_some(run.log2_error),
    }
}
