//! From LWE values under the secret of the small ring to slots.

#[cfg(doc)]
use bellerophon_ring::ErrorKind;
use std::borrow::Borrow;

use bellerophon_circuits::{
    dft::{self, Coefficients},
    eval_mod::{Mod1, Mod1Output},
};
use bellerophon_ckks::{
    Bounds, Ciphertext, CiphertextMeta, CkksOps, Evaluator, Interval, noise::Noise,
};
use bellerophon_lwe as lwe;
use bellerophon_mlwe::{self as mlwe, noise};
use bellerophon_repack::{pack_values, ring_packing::packed_values_noise};
use bellerophon_ring::{Ntt, Poly, Result, Ring};

use super::{
    bridge::{C2S_LEVELS, RingBridge},
    keys::{PACKING_N, RingBridgeKeys},
    reduction::Reduction,
};
use crate::{error, linear_bridge::layout::Layout};

impl RingBridge {
    /// Moves the values of LWE ciphertexts of dimension `n'` and modulus `q0` to the slots of one
    /// vector: `output.amplitude` times the [`Reduction`] of each phase. Slots without a value hold
    /// about zero.
    ///
    /// Values of different tables, in any layout, share one packing. Vectors of more than `n' / 2`
    /// slots take one packing in the small ring for each `n' / 2` slots, and one CoeffsToSlots.
    /// Blocks that repeat their rows may be at most `n' / 2` slots apart.
    ///
    /// The result is at `level`, up to [`highest_level`](Self::highest_level). A lower level is
    /// faster, unless the primes of the levels of the reduction differ too much in size; then the
    /// reduction starts at a higher level and its result is dropped. The result carries the full
    /// range of the reduction. If a tighter range of the values is known, state it with
    /// [`Ciphertext::assume_range_with_padding`]. The carried noise excludes that of the LWE
    /// values.
    ///
    /// # Errors
    /// [`ErrorKind::Level`] above [`highest_level`](Self::highest_level); [`ErrorKind::MissingKey`]
    /// for one of [`RingBridge::keys`].
    #[expect(
        clippy::too_many_arguments,
        reason = "two keys, the values and four choices for the result"
    )]
    pub fn lwe_to_slots<V: Borrow<lwe::Ciphertext>>(
        &self,
        evaluator: &Evaluator,
        keys: &RingBridgeKeys,
        values: &[V],
        layout: &Layout,
        reduction: Reduction,
        output: Mod1Output,
        level: usize,
    ) -> Result<Ciphertext> {
        // Step 1: the layout fits the values and the slots.
        if values.len() != layout.rows() {
            let (found, needed) = (values.len(), format!("the {} of the layout", layout.rows()));
            return Err(error::shape("number of values", found, needed));
        }
        let most = self.params.max_slots();
        if layout.slots() > most {
            let (found, needed) = (layout.slots(), format!("at most {most}"));
            return Err(error::shape("number of slots", found, needed));
        }
        // Step 2: ring packing, and the switch to the sparse secret.
        let above = self.start(reduction, level)?;
        let mod1 = self.reduction(reduction);
        let slots = layout.slots().max(self.spec.degree / 2);
        let packed = self.packed(keys, values, layout, slots)?;
        // Step 3: mod raise.
        let top = above + C2S_LEVELS;
        let repeats = self.repeats(layout.slots());
        let raised = self.coefficients(keys, &packed, slots, repeats, top, mod1)?;
        // Step 4: CoeffsToSlots; real parts hold the phases.
        let z = self.to_slots(slots, top, reduction)?.apply(evaluator, &raised)?;
        let t = self.real_part(evaluator, &z, mod1)?;
        // Step 5: EvalMod removes the multiples of q0.
        let reduced = mod1.apply(evaluator, &t, output)?;
        // Step 6: the metadata of the layout.
        let (inner, mut meta) = evaluator.drop_to_level(&reduced, level)?.into_parts();
        // Repetitions of a value share the noise of its packing, so averaging does not reduce it.
        meta.noise = meta.noise * (slots / layout.slots()) as f64;
        meta.slots = layout.slots();
        let padded = layout.rows() < layout.slots();
        let bounds = Bounds::padded(meta.bounds.values, padded);
        (meta.len, meta.bounds) = match layout.is_prefix() {
            true => (layout.rows(), bounds),
            false => (layout.slots(), bounds.mixed()),
        };
        Ciphertext::from_parts(&self.params, inner, meta)
    }

    /// How often [`lwe_to_slots`](Self::lwe_to_slots) repeats the vector of a layout of `slots`
    /// slots: it moves at least `n' / 2` coefficients.
    pub(crate) fn repeats(&self, slots: usize) -> usize {
        (self.spec.degree / 2 / slots.max(1)).max(1)
    }

    /// Variance that packing, the key switch to `z'` and mod raise add to a phase modulo `q0`, for
    /// values that are repeated `repeats` times ([`repeats`](Self::repeats)).
    pub(crate) fn raising_noise(&self, repeats: usize) -> f64 {
        // A repeated value sums the noise of as many coefficients. Beside that of the value itself,
        // these add two thirds of the square of their number.
        let repetition = (repeats as f64).powi(2) * 2.0 / 3.0;
        let packed = packed_values_noise(&self.dense, PACKING_N, 0.0);
        packed.expect("two divides the degree")
            + repetition * noise::automorphism(&self.dense, 1)
            + noise::key_switch(&self.sparse, 1, 1)
            + noise::mod_raise(self.params.lattice(), 1, 1)
    }

    /// All values in coefficients of the large ring, modulo `q0`, under `z'(X^(N/n'))`. The value
    /// of slot `i` of `slots` is at [`dft::place`]. A layout of fewer slots is repeated as a whole.
    fn packed(
        &self,
        keys: &RingBridgeKeys,
        values: &[impl Borrow<lwe::Ciphertext>],
        layout: &Layout,
        slots: usize,
    ) -> Result<mlwe::Ciphertext> {
        // Step 1: groups of values whose positions are equal modulo N / n': one packing each.
        let (degree, stride) = (self.params.lattice().spec().degree, self.subring.factor());
        let mut groups: Vec<Vec<(usize, &lwe::Ciphertext)>> = vec![Vec::new(); stride];
        for (&slot, value) in layout.positions().iter().zip(values) {
            let position = dft::place(degree, slots, slot);
            groups[position % stride].push((position / stride, value.borrow()));
        }
        // Step 2: a repetition by some slots is a shift by some coefficients, the same for all
        // values.
        let further = layout.repeats().iter().flat_map(|distance| {
            (*distance..slots).step_by(layout.slots()).map(|slot| dft::place(degree, slots, slot))
        });
        let further: Vec<usize> = further.collect();
        if let Some(&found) = further.iter().find(|&position| position % stride > 0) {
            let needed = format!("a multiple of {stride}: blocks of at most n' / 2 slots");
            return Err(error::shape("place of a repeated value", found, needed));
        }
        // Step 3: for each group pack, repeat, switch to z', embed into the large ring, and shift.
        let mut sum: Option<mlwe::Ciphertext> = None;
        for (rest, group) in groups.into_iter().enumerate().filter(|(_, group)| !group.is_empty()) {
            let mut small = pack_values(&self.dense, &keys.packing, keys.id, PACKING_N, group)?;
            if further.len() > 1 {
                let exponents = further.iter().map(|position| position / stride);
                small.mul_plain_assign(&self.dense, &ones(self.dense.q(), exponents))?;
            }
            let small = keys.to_sparse.switch(&self.sparse, &small)?;
            let mut large = self.subring.embed_subring(&small)?;
            if rest > 0 {
                large.mul_plain_assign(&self.low, &ones(self.low.q(), [rest]))?;
            }
            match &mut sum {
                Some(sum) => sum.add_assign(&self.low, &large)?,
                None => sum = Some(large),
            }
        }
        sum.ok_or_else(error::no_rows)
    }

    /// Mod raise: the same coefficients plus multiples of `q0`, modulo the primes of a level, under
    /// the secret of the slots.
    fn coefficients(
        &self,
        keys: &RingBridgeKeys,
        packed: &mlwe::Ciphertext,
        slots: usize,
        repeats: usize,
        level: usize,
        mod1: &Mod1,
    ) -> Result<Coefficients> {
        // The raise reaches the top of the chain; CoeffsToSlots starts at `level`.
        let mut raised = keys.raise.mod_raise(self.params.lattice(), packed, 1)?;
        raised.truncate(self.params.limbs_at(level))?;
        let meta = CiphertextMeta {
            scale: self.params.divisor(0) * mod1.width(),
            slots,
            len: slots,
            bounds: Bounds::all(Interval::complex(mod1.bound() / mod1.width())?),
            noise: Noise::new(self.raising_noise(repeats)),
        };
        Coefficients::from_parts(&self.params, raised, meta)
    }

    /// Half the sum with the conjugate, which cancels the other half of the coefficients.
    fn real_part(&self, evaluator: &Evaluator, z: &Ciphertext, mod1: &Mod1) -> Result<Ciphertext> {
        // 2 Re(z): amplitudes double, so the variance quadruples.
        let limbs = z.lattice().limbs();
        let noise = z.meta().noise * 4.0 + noise::automorphism(self.params.lattice(), limbs);
        let (inner, meta) = evaluator.add(z, &evaluator.conjugate(z)?)?.into_parts();
        let bound = mod1.bound() / mod1.width();
        let bounds = Bounds::all(Interval::real(-bound, bound)?);
        let meta = CiphertextMeta { scale: 2.0 * meta.scale, bounds, noise, ..meta };
        Ciphertext::from_parts(&self.params, inner, meta)
    }
}

/// The sum of the monomials with the given exponents, in NTT form.
fn ones(ring: &Ring, exponents: impl IntoIterator<Item = usize>) -> Poly<Ntt> {
    let mut coefficients = vec![0; ring.degree()];
    exponents.into_iter().for_each(|exponent| coefficients[exponent] = 1);
    ring.forward(ring.from_signed(&coefficients))
}
