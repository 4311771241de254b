//! K-means clustering of encrypted points (PEGASUS, section V-C).
//!
//! The client encrypts its points (iris, generated ones, or `--csv FILE`) and the initial centres.
//! The server finds the nearest centre of every point by look-ups and moves the centres to the
//! means of their points, for several iterations without decryption. The client decrypts the
//! centres. The same iteration in the clear is the reference.
//!
//! The server knows the number of points and the declared range of their coordinates. That range
//! bounds the differences of distances, unless the client declares a tighter bound (`--reach`),
//! which becomes public and must not be derived from the points. The reciprocal of the size of a
//! cluster is looked up for sizes from 1/16 of the mean size on: smaller clusters count as that
//! large.

mod points;
mod score;
mod server;

use std::path::PathBuf;
use std::process::ExitCode;

use bellerophon::prelude::*;
use common::args::parse_within;
use common::data::{self, Table, load_table};
use common::lloyd::{self, Point};
use common::prelude::*;
use common::stats;
use rand::RngExt;
use server::{Centre, Layout, Server};

const SMALL: usize = 32;

const COUNT: usize = 256;
const DIMENSION: usize = 16;

const MOST_CLUSTERS: usize = 16;

/// The declared bound on the magnitude of a coordinate of a point, which scaling ensures.
const COORDINATE: f64 = 1.0;

/// The factor by which coordinates of centres may exceed those in the clear.
const MARGIN: f64 = 1.25;

/// The declared range of indicators: 0 or 1, with the error of tables.
const SHARES: std::ops::RangeInclusive<f64> = -0.5..=1.5;

const DISTANCES: &str = "distances";
const MEANS: &str = "means";

/// Clusters encrypted points
#[derive(Debug, Parser)]
#[command(version)]
struct Arguments {
    #[command(flatten)]
    common: Common,
    #[command(flatten)]
    tables: Tables,

    /// Numeric table to read (comma separated, first line = column names): its rows are the points
    #[arg(long, value_name = "FILE", conflicts_with_all = ["dimension"])]
    csv: Option<PathBuf>,

    /// Column of the table with known classes, which is left out and used for the score [default:
    /// species for iris, none for --csv]
    #[arg(long, value_name = "NAME", conflicts_with = "dimension")]
    label: Option<String>,

    /// Number of points: generated, uniform in [-1, 1], with --dimension or without --csv;
    /// otherwise the first of the table
    #[arg(long, value_name = "N")]
    count: Option<usize>,

    /// Clusters [default: 3]
    #[arg(long, value_name = "K")]
    clusters: Option<usize>,

    /// Generates points with this many coordinates [default: 16 if --count is given]
    #[arg(long, value_name = "D")]
    dimension: Option<usize>,

    /// Iterations [default: 3, 1 with --small]
    #[arg(long, value_name = "T")]
    iterations: Option<usize>,

    /// Declared bound on how far the squared distances of a point to the centres lie from their
    /// mean, in units of the largest coordinate [default: what the range of the coordinates allows]
    #[arg(long, value_name = "R", value_parser = |text: &str| parse_within(text, 1e-3..=1e3))]
    reach: Option<f64>,

    /// Seed of the points and of the initial centres
    #[arg(long, value_name = "S", default_value_t = 1)]
    seed: u64,

    /// Write a table of input (number of the point), expected (the nearest of the centres of the
    /// last assignment) and got (the assigned cluster), one line per point
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

struct Task {
    source: String,
    /// Centred at 0, with coordinates up to 1.
    points: Vec<Point>,
    /// The unit of the coordinates in the data.
    unit: f64,
    classes: Option<Vec<usize>>,
    start: Vec<Point>,
    iterations: usize,
}

fn main() -> ExitCode {
    program::report(Defaults::of(&WITH_VALUES), |arguments: &Arguments, console| {
        output::check_out(arguments.out.as_deref(), arguments.csv.as_deref())?;
        let task = prepare(arguments)?;
        let params = session::params(&arguments.common)?;
        let (points, dimension) = (task.points.len(), task.points[0].len());
        let layout = Layout::new(&params, points, task.start.len(), dimension)?;
        compute(arguments, params, &task, &layout, console)
    })
}

/// Reads or generates the points. All errors of the user are found here.
fn prepare(arguments: &Arguments) -> Result<Task, Failure> {
    let small = arguments.common.small;
    let generated = arguments.csv.is_none()
        && (arguments.dimension.is_some() || arguments.count.is_some() || small);
    let mut rng = random::seeded(arguments.seed);
    let (source, mut points, classes) = if generated {
        let count = arguments.common.size(arguments.count, SMALL, COUNT);
        let dimension = arguments.dimension.unwrap_or(DIMENSION);
        let point = |_| (0..dimension).map(|_| rng.random_range(-1.0..=1.0)).collect();
        let points: Vec<Point> = (0..count).map(point).collect();
        ("generated from a fixed seed".to_string(), points, None)
    } else {
        read(arguments)?
    };
    let clusters = arguments.common.size(arguments.clusters, 2, 3);
    let iterations = arguments.common.size(arguments.iterations, 1, 3);
    if !(2..=MOST_CLUSTERS).contains(&clusters) || points.len() < clusters || iterations == 0 {
        return Err(Failure::input(format!(
            "{source}: {} points, --clusters {clusters}, --iterations {iterations}: need 2 to \
             {MOST_CLUSTERS} clusters, at least as many points, and an iteration",
            points.len()
        )));
    }
    if points[0].is_empty() || points[0].len() > 64 {
        let found = points[0].len();
        return Err(Failure::input(format!("{source}: {found} coordinates: need 1 to 64")));
    }
    points::check_distinct(&source, &points, clusters)?;
    let unit = if generated { Some(1.0) } else { points::scale(&mut points) };
    let unit = unit.ok_or_else(|| {
        let why = "the values, or their differences, are too large or too small";
        Failure::input(format!("{source}: {why}"))
    })?;
    let start = lloyd::start(&points, clusters, &mut rng);
    Ok(Task { source, points, unit, classes, start, iterations })
}

type Read = (String, Vec<Point>, Option<Vec<usize>>);

fn read(arguments: &Arguments) -> Result<Read, Failure> {
    let Table { source, names, mut rows } = load_table(arguments.csv.as_deref(), &[])?;
    rows.truncate(arguments.count.unwrap_or(usize::MAX).max(1));
    let iris = arguments.csv.is_none().then_some("species");
    let Some(label) = arguments.label.as_deref().or(iris) else { return Ok((source, rows, None)) };
    let table = Table { source, names, rows };
    let (points, labels) = table.split(table.place(label)?);
    let (known, classes) = data::classes(&labels);
    if known.len() > MOST_CLUSTERS {
        let source = &table.source;
        let why = format!("{source}: column '{label}' has more than {MOST_CLUSTERS} classes");
        return Err(Failure::input(why));
    }
    Ok((table.source, points, Some(classes)))
}

fn compute(
    arguments: &Arguments,
    params: Params,
    task: &Task,
    layout: &Layout,
    console: &Console,
) -> Result<Facts, Failure> {
    let Task { points, start, iterations, .. } = task;
    let clusters = start.len();
    let needs = arguments.tables.of(&params)?.1.keys(&layout.keys());
    let mut session = Session::open(params, &needs)?;

    // The client.
    let clear = lloyd::lloyd(points, start, *iterations);
    let bound = MARGIN * COORDINATE;
    let range = -bound..=bound;
    let parts = layout.spread(points);
    let encrypted = session.encrypt_all(&parts, range.clone(), layout.level)?;
    let parts: Vec<Vec<f64>> = start.iter().flat_map(|centre| layout.fill(centre)).collect();
    let started = session.encrypt_all(&parts, range, layout.centre_level())?;
    let mut centres: Vec<Centre> = started.chunks(encrypted.len()).map(<[_]>::to_vec).collect();

    // The server.
    // With coordinates of points up to 1 and of centres up to `bound`, a squared distance lies
    // between 0 and `farthest`, and has a share of `1 / K` in the mean of `K` of them.
    let farthest = (COORDINATE + bound).powi(2) * layout.dimension as f64;
    let reach = arguments.reach.unwrap_or(farthest * (1.0 - 1.0 / clusters as f64));
    let server = Server { layout, points: &encrypted, largest: bound };
    let (mut before, mut bits) = (vec![], vec![]);
    for _ in 0..*iterations {
        before = centres;
        let distances = session.serve(DISTANCES, |to| server.distances(to, &before, reach))?;
        bits = session.follow(|to| server.nearest(to, &distances, reach))?;
        let reciprocals = session.follow(|to| server.reciprocals(to, &bits))?;
        centres = session.serve(MEANS, |to| server.means(to, &bits, &reciprocals))?;
    }

    // The client.
    let before = decrypt(&mut session, layout, &before)?;
    let found = decrypt(&mut session, layout, &centres)?;
    let declared = Declaration::from(SHARES).with_noise(0.25);
    let shares = bits.iter().map(|bits| session.read(bits, declared));
    let shares = shares.collect::<Result<Vec<_>, _>>()?;
    let assigned: Vec<usize> = (0..points.len())
        .map(|i| {
            let shares: Vec<f64> = shares.iter().map(|share| share[i]).collect();
            (0..clusters).max_by(|&a, &b| shares[a].total_cmp(&shares[b])).unwrap_or(0)
        })
        .collect();
    let mut sizes = vec![0; clusters];
    assigned.iter().for_each(|&cluster| sizes[cluster] += 1);
    let nearest = lloyd::assign(points, &before);

    let last = &clear[clear.len() - 1];
    let errors = Errors::between(&last.concat(), &found.concat());
    let numbers: Vec<usize> = (1..=points.len()).collect();
    output::write_out(arguments.out.as_deref(), &numbers, &nearest, &assigned)?;
    for (j, (found, clear)) in found.iter().zip(last).enumerate() {
        let size = sizes[j];
        console.say(format_args!("centre {}, {size} point(s): {found:.4?}", j + 1));
        console.say(format_args!("  in the clear: {clear:.4?}"));
    }
    let parts = [lloyd::assign(points, &found), lloyd::assign(points, last)];
    let scored = |score: fn(&[usize], &[usize]) -> f64| {
        task.classes.as_ref().map(|classes| parts.each_ref().map(|part| score(part, classes)))
    };
    let right = [stats::equal(&assigned, &nearest), 1.0];
    // `sizes` are those of the last assignment, `reach` is the declared bound on the differences of
    // distances, inertias are in the units of the data. `class_accuracy` counts the points that are
    // right under the best naming of clusters; it and `adjusted_rand` are encrypted, then in the
    // clear. `lookups_per_point` are those that name the nearest centre (`arg_min`).
    Ok(session
        .outcome("kmeans", points.len(), session.engine(), &errors, right)
        .with("clusters", clusters)
        .with("sizes", &sizes)
        .with("dimension", layout.dimension)
        .with("iterations", iterations)
        .with("s_per_iteration", session.eval_s() / *iterations as f64)
        .with("lookups_per_point", 3 * clusters - 5)
        .with("reach", reach)
        .with("inertia", task.unit.powi(2) * lloyd::inertia(points, &found))
        .with("inertia_clear", task.unit.powi(2) * lloyd::inertia(points, last))
        .with("class_accuracy", scored(score::matched))
        .with("adjusted_rand", scored(score::adjusted_rand))
        .with("seed", arguments.seed)
        .with("source", &task.source))
}

/// The server publishes centres, and the client decrypts them.
fn decrypt(
    session: &mut Session,
    layout: &Layout,
    centres: &[Centre],
) -> Result<Vec<Point>, Failure> {
    let declared = Declaration::from(-MARGIN..=MARGIN).with_noise(0.25 * MARGIN);
    let mut centre = |parts: &Centre| {
        let slots = parts.iter().map(|part| session.read(part, declared));
        Ok(layout.centre(&slots.collect::<Result<Vec<_>, Failure>>()?))
    };
    centres.iter().map(&mut centre).collect()
}
