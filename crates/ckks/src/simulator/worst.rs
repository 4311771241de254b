//! Statements and iterated bootstrapping in the worst case.

use std::f64::consts::FRAC_1_SQRT_2;

use super::{SimCiphertext, Simulator};
use crate::{
    Bounds, CiphertextMeta, CkksOps, Interval, Result, bootstrap::iterated::check_rounds,
    noise::Noise, origins::Relation,
};

impl Simulator {
    /// `x` with stated metadata. A statement cannot lower the bound on the error against the exact
    /// program, and a slightly different scale raises it.
    pub(super) fn with_metadata_bound(
        &self,
        x: SimCiphertext,
        meta: CiphertextMeta,
    ) -> SimCiphertext {
        let known = self.rules().taken_for(&x.metadata, meta.scale);
        let noise = Noise { excess: meta.noise.excess, ..meta.noise.max(known) };
        x.with(CiphertextMeta { noise, ..meta })
    }

    /// Iterated bootstrapping (Meta-BTS); see
    /// [`CkksOps::bootstrap_iterated`](crate::CkksOps::bootstrap_iterated).
    ///
    /// Each round bootstraps the difference of the vector and the result so far, as a message
    /// without noise. No slot of it exceeds `N / sqrt(2)` times its length `|e|_2 / sqrt(N)`. An
    /// evaluator states a smaller range, from the average noise, and scales the difference up
    /// further. As long as that range holds, its result is at least as exact as this bound.
    ///
    /// If all slots of the ring are complex values, a round corrects the whole error of the round
    /// before. Otherwise it reads only the part that the values consist of (real parts, or one
    /// period of repeating slots). The other part stays in the noise polynomial: the noise that
    /// bootstraps add, without the errors of S2C and of the approximation.
    pub(super) fn bootstrapped_iterated(
        &self,
        x: &SimCiphertext,
        rounds: usize,
    ) -> Result<SimCiphertext> {
        check_rounds(rounds)?;
        // Step 1: drop to the input level of the bootstrap.
        let least = self.bootstrapper().map_or(0, |b| b.input_level());
        let x = self.drop_to_level(x, least.min(x.metadata.level))?;
        let CiphertextMeta { scale, slots, bounds, noise, .. } = x.metadata.meta;
        if rounds == 1 {
            return self.bootstrap_to(&x, scale);
        }
        let clear = x.metadata.meta.is_clear();
        let bounds = Bounds::padded(bounds.values, x.metadata.meta.len < slots);
        let real = bounds.slots().is_real();
        let whole = !real && slots == self.params.max_slots();

        // Step 2: the first bootstrap. Its message is the vector as it is, noise included.
        let message = x.with(CiphertextMeta {
            noise: Noise { excess: noise.excess, ..Noise::NONE },
            ..x.metadata.meta
        });
        let mut result = self.bootstrap_to(&message, scale)?;
        let added = |x: &SimCiphertext| -> Result<Noise> {
            Ok(self.prepared()?.bounded(self.rules(), &x.metadata, scale)?.added)
        };

        // Step 3: every further round bootstraps the remainder and adds it to the result.
        // `remaining` is the error of the values, `uncorrected` the noise in the part that rounds
        // do not read.
        let (mut remaining, mut uncorrected) = (Noise::NONE, added(&message)?);
        for _ in 1..rounds {
            let known = self.drop_to_level(&result, x.metadata.level)?;
            let rest = self.sub(&message, &known)?;
            let length = rest.metadata.meta.noise.total.sqrt() / scale;
            let most = self.params.lattice().spec().degree as f64 * FRAC_1_SQRT_2 * length;
            let range = if real { Interval::real(-most, most)? } else { Interval::complex(most)? };
            // Padding that the bootstrap has cleared still has all of its range there.
            let padding = if clear { range } else { rest.metadata.meta.bounds.padding };
            let of_rest = Bounds { values: range, padding };
            let meta = CiphertextMeta { bounds: of_rest, noise: Noise::NONE, ..rest.metadata.meta };
            let rest = rest.with(meta);
            let bootstrapped = self.bootstrap_to(&rest, scale)?;
            remaining = bootstrapped.metadata.meta.noise;
            if !whole {
                remaining = self.noise_model.sum(remaining, uncorrected, Relation::Related);
                uncorrected = self.noise_model.sum(uncorrected, added(&rest)?, Relation::Related);
            }
            let sum = self.add(&result, &bootstrapped)?;
            result = sum.with(CiphertextMeta { bounds, noise: remaining, ..sum.metadata.meta });
        }

        // Step 4: the noise of the input, which was part of the message, on top.
        let noise = self.noise_model.sum(remaining, noise, Relation::Related);
        Ok(result.with(CiphertextMeta { noise, ..result.metadata.meta }))
    }
}
