//! PEGASUS.LT (Fig. 5): the product of a plain matrix and an encrypted vector, plus a plain vector.

use bellerophon_ckks::{
    Bounds, Ciphertext, CiphertextMeta, CkksOps, Evaluator, Interval, noise::Noise,
};
use bellerophon_mlwe as mlwe;
#[cfg(doc)]
use bellerophon_ring::ErrorKind;
use bellerophon_ring::{Result, Ring};

use super::{
    layout::Layout,
    noise,
    products::{InnerSum, Products},
    tall_diagonals::{Matrix, Tiling},
};
use crate::error;

/// `M z + t` for an encrypted `z`, given as its rotations by `0, 1, .. G - 1` to the left.
///
/// The layout maps the rows of `M` to slots of the result. The result is at `level` with the scale
/// of `z` and has the slots of the layout. The transform takes one level. It rotates by `G` and, if
/// there are fewer rows than columns, by `l, 2l, 4l, ..` to sum up columns
/// ([`rotation_steps`](crate::linear_bridge::rotation_steps) lists all possible steps).
///
/// The range of the result is the largest sum of magnitudes over a row, times the carried bound of
/// `z`.
///
/// # Errors
/// [`ErrorKind::Level`] if the input has too few limbs.
pub fn linear_transform<M: Matrix + ?Sized>(
    evaluator: &Evaluator,
    rotations: &[Ciphertext],
    matrix: &M,
    offsets: &[f64],
    layout: &Layout,
    level: usize,
) -> Result<Ciphertext> {
    // The range of M z: the largest L1 norm of a row times the bound of z.
    let row_norm =
        |row: usize| (0..matrix.columns()).map(|j| matrix.entry(row, j).abs()).sum::<f64>();
    let norm = (0..matrix.rows()).map(row_norm).fold(0.0, f64::max);
    let bound = rotations.iter().map(|ct| ct.meta().bounds.slots().bound()).fold(0.0, f64::max);
    let range = Interval::real(-norm * bound, norm * bound)?;
    let scale = rotations.first().map_or(1.0, |x| x.meta().scale);
    let product = Product { level, scale, range };
    let transform = Transform::new(evaluator, rotations, matrix, layout, product)?;
    transform.apply(offsets)
}

/// What the product `M z` has to be.
pub(super) struct Product {
    pub(super) level: usize,
    pub(super) scale: f64,
    pub(super) range: Interval,
}

/// A transform with checked shapes.
pub(crate) struct Transform<'t, M: ?Sized> {
    evaluator: &'t Evaluator,
    rotations: &'t [Ciphertext],
    matrix: &'t M,
    layout: &'t Layout,
    tiling: Tiling,
    ring: Ring,
    /// Scale of the encoded diagonals.
    scale: f64,
    range: Interval,
}

impl<'t, M: Matrix + ?Sized> Transform<'t, M> {
    /// Checks the shapes.
    pub(crate) fn new(
        evaluator: &'t Evaluator,
        rotations: &'t [Ciphertext],
        matrix: &'t M,
        layout: &'t Layout,
        product: Product,
    ) -> Result<Self> {
        let Product { level, scale, range } = product;
        // Step 1: matrix, layout and slots.
        let Some(first) = rotations.first() else {
            return Err(error::no_rows());
        };
        let shape = |what, found, needed| Err(error::shape(what, found, needed));
        if matrix.rows() != layout.rows() {
            let needed = format!("the {} rows of the layout", layout.rows());
            return shape("number of rows", matrix.rows(), needed);
        }
        let params = evaluator.params();
        let most = params.max_slots();
        if layout.slots() > most {
            return shape("number of slots", layout.slots(), format!("at most {most}"));
        }
        let columns = first.meta().slots;
        if matrix.columns() == 0 || matrix.columns() > columns {
            let needed = format!("1 to the {columns} slots of the input");
            return shape("number of columns", matrix.columns(), needed);
        }
        let tiling = Tiling::new(layout.slots(), columns, rotations.len())?;
        // Step 2: the rotations. If there is no level above, the needed limbs exceed those of the
        // chain.
        let needed = match level < params.max_level() {
            true => params.limbs_at(level + 1),
            false => params.limbs() + 1,
        };
        for ct in rotations {
            if ct.meta().slots != columns {
                return shape(
                    "number of slots of a rotation",
                    ct.meta().slots,
                    columns.to_string(),
                );
            }
            if ct.meta().scale != first.meta().scale
                || ct.lattice().ident().key != first.lattice().ident().key
            {
                let needed = "those of the first rotation".into();
                return shape("scale or key of a rotation", 0, needed);
            }
            if ct.level() <= level || ct.lattice().limbs() < needed {
                return Err(error::key_level(level, needed, ct.lattice().limbs()));
            }
        }
        // Step 3: the scale of the diagonals, such that rescaling gives the scale of the result.
        let ring = params.ring(params.limbs_at(level + 1)).clone();
        let scale = params.divisor(level + 1) * (scale / first.meta().scale);
        Ok(Self { evaluator, rotations, matrix, layout, tiling, ring, scale, range })
    }

    /// Fig. 5, from step 3 on.
    pub(crate) fn apply(&self, offsets: &[f64]) -> Result<Ciphertext> {
        if offsets.len() != self.layout.rows() {
            return Err(error::shape(
                "number of offsets",
                offsets.len(),
                format!("the {} rows of the layout", self.layout.rows()),
            ));
        }
        let products = self.products();
        let (batch, mut end) = (products.batch(), self.tiling.giant_steps());
        // Step 3 by Horner's rule, from the last giant step down: one rotation by G between two of
        // them.
        let step = self.tiling.baby_steps() as i64;
        let mut sum: Option<Ciphertext> = None;
        while end > 0 {
            let start = end.saturating_sub(batch);
            for inner in products.inner_sums(start..end)?.into_iter().rev() {
                let inner = self.unscaled(inner)?;
                sum = Some(match sum {
                    Some(sum) => self.joined(self.evaluator.rotate(&sum, step)?, &inner)?,
                    None => inner,
                });
            }
            end = start;
        }
        let mut sum = sum.expect("there is a giant step");
        // Step 7: sums of columns, from the rotation by l on.
        for step in self.tiling.column_sums() {
            let rotated = self.evaluator.rotate(&sum, step as i64)?;
            sum = self.joined(rotated, &sum)?;
        }
        // Steps 5 and 9: rescale, and add t.
        let sum = self.evaluator.rescale(&self.finished(sum)?)?;
        let placed = self.layout.place(offsets);
        self.evaluator.add_values(&sum, &placed[..sum.len()])
    }

    /// A sum of partial results. All carry the range of the final result: a partial sum that wraps
    /// around modulo `Q` unwraps in the final sum.
    fn joined(&self, x: Ciphertext, y: &Ciphertext) -> Result<Ciphertext> {
        let params = self.evaluator.params();
        let (mut inner, mut meta) = x.into_parts();
        inner.add_assign(params.lattice(), y.lattice())?;
        meta.noise += y.meta().noise;
        meta.bounds = Bounds::all(self.range);
        Ciphertext::from_parts(params, inner, meta)
    }

    /// The result with the slots and the length of the layout.
    fn finished(&self, sum: Ciphertext) -> Result<Ciphertext> {
        let (inner, meta) = sum.into_parts();
        let (slots, rows) = (self.layout.slots(), self.layout.rows());
        let len = if self.layout.is_prefix() { rows } else { slots };
        // Slots without a row hold zero: padding behind the values, values between them.
        let bounds = Bounds::padded(self.range, rows < slots);
        let bounds = if len == rows { bounds } else { bounds.mixed() };
        let meta = CiphertextMeta { slots, len, bounds, ..meta };
        Ciphertext::from_parts(self.evaluator.params(), inner, meta)
    }

    fn products(&self) -> Products<'_, M> {
        Products {
            params: self.evaluator.params(),
            rotations: self.rotations,
            matrix: self.matrix,
            layout: self.layout,
            tiling: self.tiling,
            ring: &self.ring,
            scale: self.scale,
        }
    }

    /// An inner sum as a ciphertext, before rescaling.
    fn unscaled(&self, inner: InnerSum) -> Result<Ciphertext> {
        let (params, scale) = (self.evaluator.params(), self.scale);
        // The noise of all products of one giant step adds up.
        let noise = inner
            .mean_squares
            .iter()
            .zip(self.rotations)
            .map(|(&mean_square, ct)| noise::product(mean_square, scale, ct.meta()))
            .fold(Noise::NONE, |sum, one| sum + one);
        let slots = self.tiling.length();
        let meta = CiphertextMeta {
            scale: self.rotations[0].meta().scale * scale,
            slots,
            len: slots,
            bounds: Bounds::all(self.range),
            noise,
        };
        // The first polynomial is the body, the others are masks.
        let mut polys = inner.polys;
        let masks = polys.split_off(1);
        let body = polys.remove(0);
        let key = self.rotations[0].lattice().ident().key;
        let inner = mlwe::Ciphertext::new(params.lattice(), body, masks, key)?;
        Ciphertext::from_parts(params, inner, meta)
    }
}
