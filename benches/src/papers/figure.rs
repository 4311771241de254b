//! Fig. 1: bits of precision over ten successive multiplications, measured and predicted.

use std::path::Path;

use bellerophon::ckks::{
    Ciphertext, CkksOps, KeyLevels, Params, noise::Heaan, paper::FullRnsHeaan,
};
use plotters::prelude::{RGBColor, SeriesLabelPosition};

use super::page::{HEAAN, Table};
use crate::chart::{Chart, Line};
use crate::world::World;
use common::program::Failure;

/// Products, and levels of the set.
const DEPTH: usize = 10;

/// `log2` of the probability that the predicted bound fails.
const FAILURE: f64 = -20.0;

/// The precision after a number of products.
#[derive(Debug, Clone, Copy)]
pub struct Point {
    products: usize,
    /// Bits by the bounds of the paper's appendix.
    appendix: f64,
    /// Bits that this library predicts for the worst slot.
    predicted: f64,
    /// Measured bits of the worst slot.
    worst: f64,
    /// Bits of the root mean square error.
    typical: f64,
}

/// A line of the figure: its name, colour and value.
type Curve = (&'static str, RGBColor, fn(&Point) -> f64);

/// Multiplies a vector of signs, which attain the bounds on messages, with fresh ones.
pub fn measure() -> Result<Vec<Point>, Failure> {
    let params = FullRnsHeaan::Depth10.spec().and_then(Params::new)?;
    let mut world = World::new(&params, &KeyLevels::default().multiply(DEPTH))?;
    let fresh = Heaan::fresh(&params, 1.0);
    let mut bound = fresh;
    let signs = |world: &mut World| -> Vec<f64> {
        world.values(-1.0, 1.0).into_iter().map(f64::signum).collect()
    };
    let mut expected = signs(&mut world);
    let mut x = world.encrypt(&expected, [-1.0, 1.0])?;
    let mut points = vec![point(&world, 0, &bound, &x, &expected)?];
    for products in 1..=DEPTH {
        let y = signs(&mut world);
        let factor = world.encrypt(&y, [-1.0, 1.0])?;
        x = world.evaluator.mul(&x, &factor)?;
        expected.iter_mut().zip(&y).for_each(|(e, y)| *e *= y);
        bound = bound.mul(&params, &fresh)?;
        points.push(point(&world, products, &bound, &x, &expected)?);
    }
    Ok(points)
}

fn point(
    world: &World,
    products: usize,
    bound: &Heaan,
    x: &Ciphertext,
    expected: &[f64],
) -> Result<Point, Failure> {
    let found = world.decrypt(x)?;
    let errors = || found.iter().zip(expected).map(|(a, b)| (a - b).abs());
    let mean_square = errors().map(|e| e * e).sum::<f64>() / found.len() as f64;
    Ok(Point {
        products,
        appendix: bound.bits(),
        predicted: x.metadata().estimate(&world.params, FAILURE).bits(),
        worst: -errors().fold(0.0, f64::max).log2(),
        typical: -0.5 * mean_square.log2(),
    })
}

/// The points as a table.
pub fn table(points: &[Point]) -> Table {
    let row = |p: &Point| {
        let Point { products, appendix, predicted, worst, typical } = p;
        format!("{products} | {appendix:.1} | {predicted:.1} | {worst:.1} | {typical:.1}")
    };
    Table::new(
        HEAAN,
        "fig1",
        "Fig. 1: bits after the binary point over successive multiplications, L = 10",
        "multiplications | bound of appendix A | predicted for the worst slot | worst slot | root \
         mean square",
        points.iter().map(row),
    )
}

/// Draws the points.
pub fn draw(points: &[Point], path: &Path) -> Result<(), Failure> {
    let curves: [Curve; 4] = [
        ("measured, root mean square", RGBColor(120, 170, 220), |p| p.typical),
        ("measured, worst of 2^14 slots", RGBColor(20, 80, 160), |p| p.worst),
        ("predicted for the worst slot (fails once in 2^20)", RGBColor(210, 90, 30), |p| {
            p.predicted
        }),
        ("bound of the paper's appendix A", RGBColor(130, 130, 130), |p| p.appendix),
    ];
    let lines = curves.into_iter().map(|(label, colour, value)| {
        let points = points.iter().map(|p| (p.products as f64, value(p))).collect();
        Line { label: label.to_string(), colour, points }
    });
    let chart = Chart {
        caption: "Bits of precision over successive multiplications",
        axes: ["multiplications", "bits after the binary point"],
        counts: Some(DEPTH + 1),
        legend: SeriesLabelPosition::MiddleRight,
        lines: lines.collect(),
    };
    chart.draw(path)
}
