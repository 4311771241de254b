//! Time against the number of values, a line for every engine, and their intersections.

use std::collections::BTreeMap;
use std::path::Path;

use bellerophon::Engine;
use plotters::prelude::{RGBColor, SeriesLabelPosition};

use super::cells::{Cell, Key};
use super::subject::Subject;
use crate::chart::{Chart, Line};
use common::program::Failure;

/// Measured times of one function to a number of bits: for every engine on its fastest preset, by
/// the number of values.
pub struct Curves {
    function: Subject,
    bits: i32,
    times: BTreeMap<Engine, BTreeMap<usize, f64>>,
}

impl Curves {
    /// From measured cells.
    pub fn new<'c>(
        function: Subject,
        bits: i32,
        cells: impl IntoIterator<Item = &'c Cell>,
    ) -> Self {
        let mut times: BTreeMap<Engine, BTreeMap<usize, f64>> = BTreeMap::new();
        for cell in cells {
            let Key { engine, count, .. } = cell.key;
            let asked = cell.key.function == function && cell.key.bits == bits;
            if let (true, Some(time)) = (asked, cell.time()) {
                let least = times.entry(engine).or_default().entry(count).or_insert(f64::INFINITY);
                *least = least.min(time);
            }
        }
        Self { function, bits, times }
    }

    /// Numbers of values at which two engines take the same time.
    pub fn crossovers(&self) -> Vec<(Engine, Engine, f64)> {
        let lines: Vec<(Engine, Vec<(f64, f64)>)> =
            self.times.iter().map(|(engine, times)| (*engine, line(times))).collect();
        let mut found = Vec::new();
        for (i, (one, ours)) in lines.iter().enumerate() {
            for (other, theirs) in &lines[i + 1..] {
                let difference =
                    |(ours, theirs): (&(f64, f64), &(f64, f64))| (ours.0, ours.1 - theirs.1);
                let both: Vec<(f64, f64)> = ours.iter().zip(theirs).map(difference).collect();
                let crossing = both.windows(2).find(|pair| pair[0].1 * pair[1].1 < 0.0);
                if let Some(&[(n, x), (m, y)]) = crossing {
                    found.push((*one, *other, (n * y - m * x) / (y - x)));
                }
            }
        }
        found
    }

    /// Draws them with logarithmic axes.
    pub fn draw(&self, path: &Path) -> Result<(), Failure> {
        if self.times.is_empty() {
            let what = format!("{} to {} bits", self.function, self.bits);
            return Err(Failure::input(format!("--plot: nothing is measured for {what}")));
        }
        let curve = |(engine, times): (&Engine, &BTreeMap<usize, f64>)| Line {
            label: engine.to_string(),
            colour: colour(*engine),
            points: line(times).into_iter().map(|(n, s)| (n.log2(), s.log2())).collect(),
        };
        let caption = format!("{} to {} bits: time of one thread", self.function, self.bits);
        let chart = Chart {
            caption: &caption,
            axes: ["log2 of the number of values", "log2 of seconds"],
            counts: None,
            legend: SeriesLabelPosition::UpperLeft,
            lines: self.times.iter().map(curve).collect(),
        };
        chart.draw(path)
    }
}

/// Times of powers of two from 1 to the largest measured number of values, interpolated linearly
/// between measured ones. Those below the smallest measured number lie on the line through the
/// first two.
fn line(times: &BTreeMap<usize, f64>) -> Vec<(f64, f64)> {
    let measured: Vec<(f64, f64)> = times.iter().map(|(n, s)| (*n as f64, *s)).collect();
    let most = measured.last().map_or(0.0, |point| point.0);
    let at = |n: f64| {
        let after = measured.iter().position(|point| n <= point.0).unwrap_or(0);
        let after = after.max(1).min(measured.len() - 1);
        let ((a, x), (b, y)) = (measured[after.saturating_sub(1)], measured[after]);
        if a == b { x } else { x + (y - x) * (n - a) / (b - a) }
    };
    let powers = (0..usize::BITS).map(|log2| f64::from(log2).exp2());
    powers.take_while(|n| *n <= most).map(|n| (n, at(n))).collect()
}

fn colour(engine: Engine) -> RGBColor {
    match engine {
        Engine::Poly => RGBColor(20, 80, 160),
        Engine::Fbt => RGBColor(210, 90, 30),
        Engine::Rgsw => RGBColor(40, 130, 60),
        Engine::Corrected => RGBColor(130, 60, 150),
        _ => RGBColor(130, 130, 130),
    }
}
