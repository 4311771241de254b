//! K-means in the clear: Lloyd's iteration from a seeded start.

use rand::RngExt;
use rand_chacha::ChaCha20Rng;

/// A point, or a centre of points.
pub type Point = Vec<f64>;

pub fn distance(x: &[f64], y: &[f64]) -> f64 {
    x.iter().zip(y).map(|(x, y)| (x - y) * (x - y)).sum()
}

/// The index of the nearest centre.
pub fn nearest(point: &[f64], centres: &[Point]) -> usize {
    let distances = centres.iter().map(|centre| distance(point, centre));
    let least = distances.enumerate().min_by(|a, b| a.1.total_cmp(&b.1));
    least.map_or(0, |(place, _)| place)
}

pub fn assign(points: &[Point], centres: &[Point]) -> Vec<usize> {
    points.iter().map(|point| nearest(point, centres)).collect()
}

/// The sum of squared distances to the nearest centres.
pub fn inertia(points: &[Point], centres: &[Point]) -> f64 {
    points.iter().map(|point| distance(point, &centres[nearest(point, centres)])).sum()
}

/// Centres among the points, drawn with a probability proportional to the squared distance from
/// those drawn before (k-means++, Arthur and Vassilvitskii, SODA 2007). Of a few candidates for
/// each centre it takes the one with the least inertia, as scikit-learn does.
///
/// # Panics
/// If there are no points.
pub fn start(points: &[Point], count: usize, rng: &mut ChaCha20Rng) -> Vec<Point> {
    let candidates = 2 + (count as f64).ln() as usize;
    let mut centres = vec![points[rng.random_range(0..points.len())].clone()];
    while centres.len() < count {
        let gap = |point: &Point| distance(point, &centres[nearest(point, &centres)]);
        let gaps: Vec<f64> = points.iter().map(gap).collect();
        let total: f64 = gaps.iter().sum();
        let mut draw = || {
            let mut left = rng.random_range(0.0..1.0) * total;
            let place = gaps.iter().position(|gap| {
                left -= gap;
                left < 0.0
            });
            &points[place.unwrap_or(points.len() - 1)]
        };
        let drawn: Vec<&Point> = (0..candidates).map(|_| draw()).collect();
        let left = |new: &Point| -> f64 {
            points.iter().zip(&gaps).map(|(point, gap)| gap.min(distance(point, new))).sum()
        };
        let best = drawn.into_iter().min_by(|a, b| left(a).total_cmp(&left(b)));
        centres.push(best.expect("a few were drawn").clone());
    }
    centres
}

/// The mean of the points of every cluster. A cluster without points has its centre at 0, because
/// the reciprocal of its size is looked up as 0.
pub fn means(points: &[Point], assigned: &[usize], count: usize) -> Vec<Point> {
    let dimension = points.first().map_or(0, Vec::len);
    let mut sums = vec![vec![0.0; dimension]; count];
    let mut sizes = vec![0.0f64; count];
    for (point, &cluster) in points.iter().zip(assigned) {
        sums[cluster].iter_mut().zip(point).for_each(|(sum, x)| *sum += x);
        sizes[cluster] += 1.0;
    }
    for (sum, size) in sums.iter_mut().zip(sizes) {
        sum.iter_mut().for_each(|x| *x /= size.max(1.0));
    }
    sums
}

/// Several iterations: the centres after each of them.
pub fn lloyd(points: &[Point], start: &[Point], iterations: usize) -> Vec<Vec<Point>> {
    let mut history: Vec<Vec<Point>> = vec![];
    for _ in 0..iterations {
        let centres = history.last().map_or(start, Vec::as_slice);
        history.push(means(points, &assign(points, centres), centres.len()));
    }
    history
}
