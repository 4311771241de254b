//! The tables of bounds on the modulus. [`security`](super) says how they were computed and how
//! they are read.

/// The error width at which the ring tables were computed.
pub const TABLE_SIGMA: f64 = 3.2;

/// Dimension, then the largest `log2(QP)` for 110, 128, 192, 256 bits (default model) and for 128
/// bits (BDGL16): uniform ternary secret, `sigma = 3.2`.
pub(super) const TERNARY: [(usize, [u32; 5]); 8] = [
    (1024, [30, 26, 17, 13, 27]),
    (2048, [61, 53, 36, 27, 54]),
    (4096, [123, 106, 73, 56, 108]),
    (8192, [247, 214, 147, 114, 218]),
    (16384, [498, 430, 297, 230, 438]),
    (32768, [1006, 868, 596, 462, 881]),
    (65536, [2028, 1747, 1199, 929, 1777]),
    (131072, [3999, 3522, 2410, 1865, 3576]),
];

/// The weights of the columns of [`SPARSE`].
pub(super) const SPARSE_WEIGHTS: [usize; 7] = [32, 64, 128, 192, 256, 512, 1024];

/// Dimension, then the largest `log2(QP)` for 128 bits by weight, `sigma = 3.2`: the estimator's
/// default model and the hybrid attack with rotations. Zero means that no bound is known. The
/// estimator was run up to weight 256, and its bound there holds for the larger weights.
pub(super) const SPARSE: [(usize, [u32; 7]); 7] = [
    (1024, [0, 17, 24, 25, 25, 25, 25]),
    (2048, [0, 27, 45, 50, 51, 51, 51]),
    (4096, [19, 58, 86, 96, 101, 104, 104]),
    (8192, [37, 113, 167, 187, 197, 209, 209]),
    (16384, [77, 229, 333, 370, 388, 416, 416]),
    (32768, [162, 468, 669, 739, 774, 829, 833]),
    (65536, [345, 961, 1351, 1481, 1553, 1659, 1680]),
];

/// Dimension and the largest `log2(q / sigma)` for 128 bits (default model): LWE under a uniform
/// ternary secret.
pub(super) const LWE_TERNARY: [(usize, f64); 10] = [
    (512, 11.7),
    (600, 14.0),
    (640, 15.0),
    (700, 16.6),
    (768, 18.3),
    (800, 19.2),
    (900, 21.8),
    (1024, 25.0),
    (1280, 31.6),
    (1536, 38.3),
];

/// Linear interpolation over the first column; `None` outside the rows.
pub(super) fn interpolate(rows: &[(usize, f64)], x: usize) -> Option<f64> {
    let above = rows.iter().position(|&(row, _)| row >= x)?;
    let (x1, y1) = rows[above];
    if x1 == x {
        return Some(y1);
    }
    let (x0, y0) = rows[above.checked_sub(1)?];
    Some(y0 + (y1 - y0) * (x - x0) as f64 / (x1 - x0) as f64)
}
