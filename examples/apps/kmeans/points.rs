//! Points as a client prepares them.

use common::lloyd::{Point, means};
use common::program::Failure;

/// Refuses fewer different points than clusters.
pub fn check_distinct(source: &str, points: &[Point], clusters: usize) -> Result<(), Failure> {
    let mut sorted: Vec<&Point> = points.iter().collect();
    sorted.sort_by(|a, b| a.partial_cmp(b).unwrap_or(std::cmp::Ordering::Equal));
    sorted.dedup();
    match sorted.len() {
        1 => Err(Failure::input(format!("{source}: all points are equal: they are one cluster"))),
        found if found < clusters => Err(Failure::input(format!(
            "{source}: {found} different points: need as many as --clusters {clusters}, since \
             equal points are in one cluster"
        ))),
        _ => Ok(()),
    }
}

/// Moves the mean of the points to 0 and scales all coordinates alike to magnitudes up to 1, which
/// preserves clusters. Returns the unit of the new coordinates; none if it is no number whose
/// square `f64` holds.
pub fn scale(points: &mut [Point]) -> Option<f64> {
    // Differences from the first point keep the digits in which points far from zero differ.
    let first = points.first()?.clone();
    let shift = |points: &mut [Point], by: &Point| {
        points.iter_mut().for_each(|p| p.iter_mut().zip(by).for_each(|(x, by)| *x -= by));
    };
    shift(points, &first);
    let middle = means(points, &vec![0; points.len()], 1).remove(0);
    shift(points, &middle);
    let unit = points.iter().flatten().fold(0.0, |most: f64, x| most.max(x.abs()));
    if !(1e-150..1e150).contains(&unit) {
        return None;
    }
    points.iter_mut().flatten().for_each(|x| *x /= unit);
    Some(unit)
}
