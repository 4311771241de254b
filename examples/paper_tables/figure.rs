//! Fig. 1: bits of precision over ten successive multiplications, against what is predicted.

use std::path::Path;

use bellerophon_ckks::{Ciphertext, KeySpec, Params, noise::Heaan, paper::FullRnsHeaan};
use plotters::prelude::*;

use super::common::program::Failure;
use super::page::{HEAAN, Table};
use super::world::World;

/// Products, and levels of the set.
const DEPTH: usize = 10;

/// `log2` of the probability with which the predicted bound may fail.
const FAILURE: f64 = -20.0;

/// What stands after some products.
#[derive(Debug, Clone, Copy)]
pub struct Point {
    products: usize,
    /// Bits that the bounds of the paper's appendix leave.
    appendix: f64,
    /// Bits that this library predicts for the worst slot.
    predicted: f64,
    /// Bits that the worst slot has.
    worst: f64,
    /// Bits of the root of the mean square error.
    typical: f64,
}

/// A line of the figure: its name, colour and value.
type Line = (&'static str, RGBColor, fn(&Point) -> f64);

/// Multiplies a vector of signs, where bounds on messages are attained, with fresh ones.
pub fn measure() -> Result<Vec<Point>, Failure> {
    let params = FullRnsHeaan::Depth10.spec().and_then(Params::new).map_err(Failure::run)?;
    let mut world = World::new(&params, &KeySpec::new().multiply(DEPTH))?;
    let fresh = Heaan::fresh(&params, 1.0);
    let mut bound = fresh;
    let signs = |world: &mut World| -> Vec<f64> {
        world.values(-1.0, 1.0).into_iter().map(f64::signum).collect()
    };
    let mut expected = signs(&mut world);
    let mut x = world.encrypt(&expected).map_err(Failure::run)?;
    let mut points = vec![point(&world, 0, &bound, &x, &expected)?];
    for products in 1..=DEPTH {
        let y = signs(&mut world);
        let factor = world.encrypt(&y).map_err(Failure::run)?;
        x = world.evaluator.mul(&x, &factor).map_err(Failure::run)?;
        expected.iter_mut().zip(&y).for_each(|(e, y)| *e *= y);
        bound = bound.mul(&params, &fresh).map_err(Failure::run)?;
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
    let found = world.decrypt(x).map_err(Failure::run)?;
    let errors = || found.iter().zip(expected).map(|(a, b)| (a - b).abs());
    let mean_square = errors().map(|e| e * e).sum::<f64>() / found.len() as f64;
    Ok(Point {
        products,
        appendix: bound.bits(),
        predicted: x.estimate(&world.params, FAILURE).bits(),
        worst: -errors().fold(0.0, f64::max).log2(),
        typical: -0.5 * mean_square.log2(),
    })
}

/// The points as a table.
pub fn table(points: &[Point]) -> Table {
    let row = |p: &Point| {
        let bits = [p.appendix, p.predicted, p.worst, p.typical].map(|bits| format!("{bits:.1}"));
        std::iter::once(p.products.to_string()).chain(bits).collect()
    };
    Table {
        page: HEAAN,
        name: "fig1",
        title: "Fig. 1: bits after the binary point over successive multiplications, L = 10",
        columns: vec![
            "multiplications",
            "bound of appendix A",
            "predicted for the worst slot",
            "worst slot",
            "root mean square",
        ],
        rows: points.iter().map(row).collect(),
    }
}

/// Draws the points.
pub fn draw(points: &[Point], path: &Path) -> Result<(), Failure> {
    let failure = |e: &dyn std::fmt::Display| Failure::run(format!("{}: {e}", path.display()));
    let root = SVGBackend::new(path, (720, 440)).into_drawing_area();
    let bits = points.iter().flat_map(|p| [p.appendix, p.typical]);
    let (least, most) =
        bits.fold((f64::INFINITY, f64::NEG_INFINITY), |(lo, hi), b| (lo.min(b), hi.max(b)));
    let drawn = (|| {
        root.fill(&WHITE)?;
        let mut chart = ChartBuilder::on(&root)
            .caption("Bits of precision over successive multiplications", ("sans-serif", 18))
            .margin(12)
            .x_label_area_size(40)
            .y_label_area_size(48)
            .build_cartesian_2d(0.0..DEPTH as f64, least.floor() - 1.0..most.ceil() + 1.0)?;
        chart
            .configure_mesh()
            .x_desc("multiplications")
            .y_desc("bits after the binary point")
            .x_labels(DEPTH + 1)
            .x_label_formatter(&|x| format!("{x:.0}"))
            .y_label_formatter(&|y| format!("{y:.0}"))
            .light_line_style(TRANSPARENT)
            .bold_line_style(BLACK.mix(0.12))
            .draw()?;
        let lines: [Line; 4] = [
            ("measured, root mean square", RGBColor(120, 170, 220), |p| p.typical),
            ("measured, worst of 2^14 slots", RGBColor(20, 80, 160), |p| p.worst),
            ("predicted for the worst slot (fails once in 2^20)", RGBColor(210, 90, 30), |p| {
                p.predicted
            }),
            ("bound of the paper's appendix A", RGBColor(130, 130, 130), |p| p.appendix),
        ];
        for (label, colour, value) in lines {
            let at = |p: &Point| (p.products as f64, value(p));
            chart
                .draw_series(LineSeries::new(points.iter().map(at), colour.stroke_width(2)))?
                .label(label)
                .legend(move |(x, y)| {
                    PathElement::new([(x, y), (x + 18, y)], colour.stroke_width(2))
                });
            chart.draw_series(points.iter().map(|p| Circle::new(at(p), 3, colour.filled())))?;
        }
        chart
            .configure_series_labels()
            .position(SeriesLabelPosition::MiddleRight)
            .background_style(WHITE.mix(0.85))
            .border_style(BLACK.mix(0.3))
            .label_font(("sans-serif", 13))
            .draw()?;
        root.present()
    })();
    drawn.map_err(|e: DrawingAreaErrorKind<_>| failure(&e))
}
