//! Figures: lines through points, with a legend.

use std::path::Path;

use plotters::prelude::*;

use common::program::Failure;

/// A curve of a figure.
pub struct Line {
    pub label: String,
    pub colour: RGBColor,
    pub points: Vec<(f64, f64)>,
}

/// A figure. All its labels are whole numbers.
pub struct Chart<'a> {
    pub caption: &'a str,
    /// The titles of the axes, the horizontal one first.
    pub axes: [&'a str; 2],
    /// The number of labels of the horizontal axis; labels of counts start at its ends.
    pub counts: Option<usize>,
    pub legend: SeriesLabelPosition,
    pub lines: Vec<Line>,
}

impl Chart<'_> {
    /// Draws the figure into a file.
    pub fn draw(&self, path: &Path) -> Result<(), Failure> {
        let failure = |e: &dyn std::fmt::Display| Failure::run(format!("{}: {e}", path.display()));
        let all = || self.lines.iter().flat_map(|line| line.points.iter().copied());
        let span = |values: &mut dyn Iterator<Item = f64>| {
            values.fold((f64::INFINITY, f64::NEG_INFINITY), |(lo, hi), x| (lo.min(x), hi.max(x)))
        };
        let (left, right) = span(&mut all().map(|(x, _)| x));
        let (low, high) = span(&mut all().map(|(_, y)| y));
        let gap = if self.counts.is_some() { 0.0 } else { 0.05 * (right - left) };
        let root = SVGBackend::new(path, (720, 440)).into_drawing_area();
        let drawn = (|| {
            root.fill(&WHITE)?;
            let mut chart = ChartBuilder::on(&root)
                .caption(self.caption, ("sans-serif", 18))
                .margin(12)
                .x_label_area_size(40)
                .y_label_area_size(48)
                .build_cartesian_2d(
                    left - gap..right + gap,
                    low.floor() - 1.0..high.ceil() + 1.0,
                )?;
            let mut mesh = chart.configure_mesh();
            if let Some(counts) = self.counts {
                mesh.x_labels(counts);
            }
            mesh.x_desc(self.axes[0])
                .y_desc(self.axes[1])
                .x_label_formatter(&|x| format!("{x:.0}"))
                .y_label_formatter(&|y| format!("{y:.0}"))
                .light_line_style(TRANSPARENT)
                .bold_line_style(BLACK.mix(0.12))
                .draw()?;
            for Line { label, colour, points } in &self.lines {
                let colour = *colour;
                chart
                    .draw_series(LineSeries::new(points.iter().copied(), colour.stroke_width(2)))?
                    .label(label)
                    .legend(move |(x, y)| {
                        PathElement::new([(x, y), (x + 18, y)], colour.stroke_width(2))
                    });
                chart.draw_series(points.iter().map(|&at| Circle::new(at, 3, colour.filled())))?;
            }
            chart
                .configure_series_labels()
                .position(self.legend.clone())
                .background_style(WHITE.mix(0.85))
                .border_style(BLACK.mix(0.3))
                .label_font(("sans-serif", 13))
                .draw()?;
            root.present()
        })();
        drawn.map_err(|e: DrawingAreaErrorKind<_>| failure(&e))
    }
}
