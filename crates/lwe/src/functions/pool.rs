//! Max-pooling of images.

use bellerophon_ring::Result;

use super::compare::Pick;
use crate::error;
use crate::lwe_vec::LweVec;
use crate::pbs::Evaluator;

/// Fails unless patches of `window` by `window` tile an image of `len` values in rows of `columns`.
pub fn check_pooling(len: usize, columns: usize, window: usize) -> Result<()> {
    let covered = window > 0
        && columns > 0
        && columns.is_multiple_of(window)
        && columns.checked_mul(window).is_some_and(|band| len.is_multiple_of(band));
    if covered { Ok(()) } else { Err(error::image(len, columns, window)) }
}

impl Evaluator<'_> {
    /// Max-pooling: the largest value of every `window` by `window` patch of an image. Image and
    /// patches are in row-major order.
    ///
    /// It takes `window^2 - 1` look-ups for each patch: 3 for 2 by 2 in 2 batches, 15 for 4 by 4 in
    /// 4 batches. The scaled maximum of PEGASUS (section V.A) takes one more look-up to remove its
    /// factor `window^2`, which also multiplies the range and with it the index error.
    pub fn max_pool(&self, image: &LweVec, columns: usize, window: usize) -> Result<LweVec> {
        let len = image.len();
        check_pooling(len, columns, window)?;
        // Step 1: the positions of the first value of every patch.
        let rows = len / columns;
        let corners: Vec<usize> = (0..rows / window)
            .flat_map(|i| (0..columns / window).map(move |j| (i * columns + j) * window))
            .collect();
        // Step 2: lane k has the k-th value of every patch.
        let lanes: Result<Vec<_>> = (0..window * window)
            .map(|k| {
                let offset = k / window * columns + k % window;
                let positions: Vec<_> = corners.iter().map(|corner| corner + offset).collect();
                image.select(&positions)
            })
            .collect();
        // Step 3: the maximum over the lanes.
        self.tournament(&lanes?, Pick::Largest)
    }
}

#[cfg(test)]
mod tests {
    use bellerophon_ring::ErrorKind;

    use crate::encoding::Headroom;
    use crate::params::tests::insecure;
    use crate::testing::{Count, Setup};

    #[test]
    fn patches_and_their_look_ups() {
        let mut s = Setup::new(insecure(32, 1024, false));
        let encoding = s.fit(0.0..=1.0, 1e6, Headroom::comparators(4));
        let (rows, columns) = (8, 12);
        let pixel = |i: usize| f64::from((i as u32).wrapping_mul(2654435761) >> 16) / 65536.0;
        let image: Vec<f64> = (0..rows * columns).map(pixel).collect();
        let x = s.encrypt(&image, 0.0..=1.0, encoding);
        let told = Count::default();
        let watch = |done, total| told.tell(done, total);
        let evaluator = s.evaluator().observed(&watch);
        for (window, look_ups) in [(2, 3), (4, 15)] {
            let pooled = evaluator.max_pool(&x, columns, window).unwrap();
            let patches = rows * columns / (window * window);
            assert_eq!(pooled.len(), patches);
            assert_eq!(told.told(), (look_ups * patches, look_ups * patches));
            let bound = 6.0 * pooled.variance().sqrt();
            let got = pooled.decrypt(&s.ring).unwrap();
            for (place, got) in got.into_iter().enumerate() {
                let across = columns / window;
                let (top, left) = (place / across * window, place % across * window);
                let mut expected = 0.0f64;
                for i in top..top + window {
                    for j in left..left + window {
                        expected = expected.max(image[i * columns + j]);
                    }
                }
                assert!((got - expected).abs() < bound, "{window} {place}: {got} {expected}");
            }
        }
        for (columns, window) in [(12, 0), (0, 2), (10, 2), (12, 5), (96, 2), (1 << 63, 2)] {
            let error = evaluator.max_pool(&x, columns, window).unwrap_err();
            assert!(
                error.is(&ErrorKind::Shape, "max-pooling of 96 values in rows of"),
                "{columns} {window}"
            );
        }
    }
}
