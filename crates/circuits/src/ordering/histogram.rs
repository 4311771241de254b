//! Histograms: counts of values between edges.

use super::{Comparator, unit::Unit};
use crate::error;
use bellerophon_ckks::{Bounds, CiphertextMeta, CkksOps, Interval, Result};

impl Comparator {
    /// The number of values in each bin: slot `i` counts those from `edges[i]` up to, but without,
    /// `edges[i + 1]`. An edge belongs to the bin above it; the last edge belongs to the last bin
    /// if it is the end of the declared range, and to no bin otherwise.
    ///
    /// Values of a comparator [`of_integers`](Self::of_integers) are counted so exactly. Other
    /// values closer to an edge than the margin count in part in both bins, one half each if equal
    /// to the edge: the error of a count is at most half of the number of values within the margin
    /// of its edges. All others together have an error of at most twice `len` times the
    /// [`error`](Self::error) of a count. The sum of all bins of edges that enclose the range is
    /// exact up to noise.
    ///
    /// Each edge inside the declared range takes one comparison of the whole vector.
    ///
    /// Takes [`levels`](Self::levels) levels and one more; all comparisons are at the same levels.
    pub fn histogram<A: CkksOps>(
        &self,
        a: &A,
        x: &A::Ciphertext,
        edges: &[f64],
    ) -> Result<A::Ciphertext> {
        a.composed("histogram", || {
            let bins = check_edges(edges, a.params().max_slots())?;
            let CiphertextMeta { len, slots, bounds, .. } = a.metadata(x).meta;
            let unit = Unit::of(bounds.values, &self.sign)?;
            self.check_integers(bounds.values, len)?;
            let filler = self.filler(&unit, bounds.values);
            let u = self.ready(a, unit.entered(a, x, filler)?)?;
            // Step 1: the number of values not below each edge; all or none at the ends of the
            // range.
            let width = bins.next_power_of_two().max(slots);
            let mut counts = vec![];
            let mut weights: Vec<Vec<f64>> = vec![];
            let mut known = vec![0.0; bins];
            for (i, &edge) in edges.iter().enumerate() {
                // An edge starts a bin and ends the one before.
                let mut weight = vec![0.0; bins];
                if i < bins {
                    weight[i] += 1.0;
                }
                if i > 0 {
                    weight[i - 1] -= 1.0;
                }
                let boundary = self.boundary(edge);
                let closed = i == bins && edge == bounds.values.hi();
                if boundary <= bounds.values.lo() {
                    known.iter_mut().zip(&weight).for_each(|(known, w)| *known += w * len as f64);
                } else if boundary <= bounds.values.hi() && !closed {
                    let count = self.positives(
                        a,
                        &a.add_scalar(&u, -unit.place(boundary))?,
                        len,
                        filler - unit.place(boundary),
                    )?;
                    counts.push(a.with_len(a.repeated(count, width)?, bins)?);
                    weights.push(weight);
                }
            }
            // Step 2: a bin is the count from its lower edge minus the count from its upper edge.
            let counts = if counts.is_empty() {
                let any = a.with_len(a.repeated(u, width)?, bins)?;
                a.mul_values(&any, &vec![0.0; bins])?
            } else {
                a.dot_values(&counts.iter().collect::<Vec<_>>(), &weights)?
            };
            let counts = a.add_values(&counts, &known)?;
            let beyond = 2.0 * self.count_error() * len as f64;
            let range = Interval::real(-beyond, len as f64 + beyond)?;
            let meta = a.metadata(&counts).meta;
            self.check_count(&meta, len)?;
            let bounds = Bounds::padded(range, bins < meta.slots);
            Ok(a.with_metadata(counts, CiphertextMeta { bounds, ..meta }))
        })
    }
}

/// The number of bins.
fn check_edges(edges: &[f64], slots: usize) -> Result<usize> {
    if let Some(index) = edges.iter().position(|edge| !edge.is_finite()) {
        let count = edges.len();
        return Err(error::non_finite("edge", index, count));
    }
    let bins = edges.len().saturating_sub(1);
    if bins == 0 || bins > slots {
        let reason = format!("{bins} bins between {} edges: need 1 to {slots} bins", edges.len());
        return Err(error::shape(reason));
    }
    if let Some(i) = edges.windows(2).position(|pair| pair[0] >= pair[1]) {
        let (left, right) = (edges[i], edges[i + 1]);
        let reason = format!(
            "the edge at position {i} of {} is {left:?}, the next one {right:?}: need edges that \
             increase",
            edges.len()
        );
        return Err(error::shape(reason));
    }
    Ok(bins)
}
