//! Figs. 7 and 8 of PEGASUS: accuracy against time from the reports of `functions --json`, and the
//! effect on K-means of points that are assigned to another centre than the nearest, simulated in
//! the clear.

use std::path::{Path, PathBuf};

use plotters::prelude::{RGBColor, SeriesLabelPosition};
use rand::RngExt;
use serde::Deserialize;

use super::page::Table;
use super::reports;
use crate::chart::{Chart, Line};
use common::data::load_table;
use common::lloyd::{self, Point};
use common::program::Failure;
use common::random;

/// Its page inside the folder of documents.
pub const PAGE: &str = "pegasus.md";

const SEED: u64 = 8;

/// The runs and folds of the paper's cross-validation.
const RUNS: usize = 20;
const FOLDS: usize = 10;

/// Updates of the centres in a run.
const UPDATES: usize = 10;

/// The number of classes of iris.
const CLUSTERS: usize = 3;

/// A report of `functions --json`.
#[derive(Debug, Clone, Deserialize)]
pub struct LookUps {
    op: String,
    count: usize,
    degree: usize,
    bridge: String,
    s_per_value: f64,
    mean_err_bits: f64,
    max_err_bits: f64,
    predicted_max_err: f64,
}

/// Reads reports.
pub fn read(paths: &[PathBuf]) -> Result<Vec<LookUps>, Failure> {
    let reports = paths.iter().map(|path| reports::read("--measured", path));
    let mut reports: Vec<LookUps> = reports.collect::<Result<_, _>>()?;
    reports.sort_by(|a, b| (&a.op, a.degree).cmp(&(&b.op, b.degree)));
    Ok(reports)
}

/// Fig. 7 as a table.
pub fn accuracy(reports: &[LookUps]) -> Table {
    let row = |r: &LookUps| {
        let LookUps { op, degree, bridge, count, mean_err_bits, max_err_bits, .. } = r;
        let (ms, predicted) = (1e3 * r.s_per_value, -r.predicted_max_err.log2());
        format!(
            "{op} | {degree} | {bridge} | {count} | {ms:.0} | {mean_err_bits:.1} | \
             {max_err_bits:.1} | {predicted:.1}"
        )
    };
    Table::new(
        PAGE,
        "pegasus-fig7",
        "Fig. 7: accuracy of plain look-ups on [-8, 8] against their time",
        "function | degree | bridge | values | ms a value | bits, mean | bits, worst | predicted, \
         worst",
        reports.iter().map(row),
    )
}

/// Accuracy of K-means if this share of the points goes to the nearest centre.
#[derive(Debug, Clone)]
pub struct Share {
    closest: f64,
    accuracy: f64,
}

/// Fig. 8 on iris, in the clear: in every update a share of the points goes to a centre drawn
/// from all but the closest (PEGASUS, section VI-C).
pub fn simulate() -> Result<Vec<Share>, Failure> {
    let table = load_table(None, &[])?;
    let label = table.place("species")?;
    let least = table.rows.iter().map(|row| row[label]).fold(f64::INFINITY, f64::min);
    let classes: Vec<usize> = table.rows.iter().map(|row| (row[label] - least) as usize).collect();
    let features = |row: &Vec<f64>| {
        row.iter().enumerate().filter(|(place, _)| *place != label).map(|(_, &x)| x).collect()
    };
    let points: Vec<Point> = table.rows.iter().map(features).collect();
    let shares = (10..=20).map(|step| f64::from(step) / 20.0);
    Ok(shares
        .map(|closest| Share { closest, accuracy: cross_validate(&points, &classes, closest) })
        .collect())
}

/// Mean accuracy on held-out points.
fn cross_validate(points: &[Point], classes: &[usize], closest: f64) -> f64 {
    let mut rng = random::seeded(SEED);
    let mut right = 0;
    for _ in 0..RUNS {
        let order = random::shuffled(points.len(), &mut rng);
        for fold in 0..FOLDS {
            let (test, train): (Vec<_>, Vec<_>) =
                order.iter().enumerate().partition(|(place, _)| place % FOLDS == fold);
            let training: Vec<Point> = train.iter().map(|&(_, &i)| points[i].clone()).collect();
            let mut centres = lloyd::start(&training, CLUSTERS, &mut rng);
            for _ in 0..UPDATES {
                let mut assigned = lloyd::assign(&training, &centres);
                for cluster in &mut assigned {
                    if rng.random_range(0.0..1.0) >= closest {
                        *cluster = (*cluster + rng.random_range(1..CLUSTERS)) % CLUSTERS;
                    }
                }
                centres = lloyd::means(&training, &assigned, CLUSTERS);
            }
            // A cluster represents the class of most of its training points.
            let mut votes = vec![vec![0usize; CLUSTERS]; CLUSTERS];
            for (&(_, &i), cluster) in train.iter().zip(lloyd::assign(&training, &centres)) {
                votes[cluster][classes[i]] += 1;
            }
            let most = |votes: &Vec<usize>| (0..CLUSTERS).max_by_key(|&class| votes[class]);
            let names: Vec<Option<usize>> = votes.iter().map(most).collect();
            right += test
                .iter()
                .filter(|&&(_, &i)| names[lloyd::nearest(&points[i], &centres)] == Some(classes[i]))
                .count();
        }
    }
    right as f64 / (RUNS * points.len()) as f64
}

/// Fig. 8 as a table.
pub fn shares(shares: &[Share]) -> Table {
    let row = |s: &Share| format!("{:.0} % | {:.1} %", 100.0 * s.closest, 100.0 * s.accuracy);
    Table::new(
        PAGE,
        "pegasus-fig8",
        "Fig. 8: accuracy of K-means on iris, by the share of closest assignments",
        "points at their closest centre | accuracy on points left out",
        shares.iter().map(row),
    )
}

/// Draws Fig. 7: mean and worst bits against milliseconds per value.
pub fn draw_accuracy(reports: &[LookUps], path: &Path) -> Result<(), Failure> {
    let mut ops: Vec<&str> = reports.iter().map(|r| r.op.as_str()).collect();
    ops.dedup();
    let colours = [
        RGBColor(20, 80, 160),
        RGBColor(210, 90, 30),
        RGBColor(40, 140, 70),
        RGBColor(140, 60, 150),
    ];
    let lines: Vec<Line> = ops
        .iter()
        .zip(colours.iter().cycle())
        .map(|(op, &colour)| {
            let of_op = reports.iter().filter(|r| r.op == *op && r.bridge != "linear");
            let at = |r: &LookUps| (1e3 * r.s_per_value, r.mean_err_bits);
            Line { label: format!("{op}, mean"), colour, points: of_op.map(at).collect() }
        })
        .collect();
    let axes = ["milliseconds a value", "bits"];
    draw(path, "Accuracy of a look-up against its time, degrees 2^11 to 2^14", axes, lines)
}

/// Draws Fig. 8.
pub fn draw_shares(shares: &[Share], path: &Path) -> Result<(), Failure> {
    let points = shares.iter().map(|s| (100.0 * s.closest, 100.0 * s.accuracy)).collect();
    let line = Line { label: "iris".to_string(), colour: RGBColor(20, 80, 160), points };
    let axes = ["points at their closest centre, %", "accuracy on points left out, %"];
    draw(path, "K-means with wrong assignments", axes, vec![line])
}

fn draw(path: &Path, caption: &str, axes: [&str; 2], lines: Vec<Line>) -> Result<(), Failure> {
    let legend = SeriesLabelPosition::LowerRight;
    Chart { caption, axes, counts: None, legend, lines }.draw(path)
}
