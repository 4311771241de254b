//! Noise flooding before the switch from slots to LWE values.

use bellerophon_circuits::dft::{Coefficients, SlotsToCoeffs};
use bellerophon_ckks as ckks;
use bellerophon_ckks::{
    Ciphertext, CiphertextMeta, Metadata,
    noise::Noise,
    noise_flooding::{DecryptionBudget, Flooding, NoiseBound},
};
use bellerophon_mlwe as mlwe;
use bellerophon_ring::{Poly, Result, sample::Gaussian};
use rand::CryptoRng;
use zeroize::Zeroizing;

/// `-log2` of the probability that the noise of some value exceeds the bound that the flooding
/// hides.
const TAIL_BITS: f64 = 64.0;

/// The flooding of a vector: the bound on its noise, the budget that counts it, and the generator.
pub struct Flood<'r> {
    bound: &'r NoiseBound,
    budget: &'r mut DecryptionBudget,
    rng: &'r mut dyn CryptoRng,
}

impl<'r> Flood<'r> {
    /// Flooding on the terms of a budget, from which the vector is taken as soon as it is flooded;
    /// `bound` bounds the noise of the vector. The generator must be secret and serve no other
    /// vector.
    pub fn new(
        bound: &'r NoiseBound,
        budget: &'r mut DecryptionBudget,
        rng: &'r mut dyn CryptoRng,
    ) -> Self {
        Self { bound, budget, rng }
    }

    /// Refuses vectors that do not match the bound, or that the budget does not cover.
    pub(super) fn check(&self, params: &ckks::Params, x: &Ciphertext) -> Result<()> {
        self.budget.check(x.lattice().ident().key)?;
        self.bound.check(params, x)
    }

    /// The standard deviation of the flooding noise of a vector whose domain has its middle at
    /// `center`.
    pub(super) fn deviation(&self, s2c: &SlotsToCoeffs, center: f64) -> Result<f64> {
        deviation(self.budget.flooding(), self.bound, s2c, center)
    }

    /// Adds Gaussian noise to the body.
    pub(super) fn apply(
        &mut self,
        params: &ckks::Params,
        x: Coefficients,
        deviation: f64,
    ) -> Result<Coefficients> {
        // Step 1: the tracked noise includes the flooding.
        let meta = *x.meta();
        let meta = CiphertextMeta { noise: meta.noise + deviation * deviation, ..meta };
        let lattice = x.into_lattice();
        let (key, ring) = (lattice.ident().key, lattice.ring(params.lattice()));
        // Step 2: a discrete Gaussian in every coefficient of the body. It is erased on drop.
        let noise =
            Gaussian::new(deviation)?.sample(params.lattice().spec().degree, &mut *self.rng);
        let noise: Zeroizing<Poly<_>> = Zeroizing::new(ring.forward(ring.from_signed(&noise)));
        let (mut b, a) = lattice.into_parts();
        ring.add_assign(&mut b, &noise);
        let inner = mlwe::Ciphertext::new(params.lattice(), b, a, key)?;
        // Step 3: the vector counts as a result from here on.
        self.budget.spend();
        Coefficients::from_parts(params, inner, meta)
    }
}

/// The standard deviation that hides the noise of a vector with a given bound, in its coefficients
/// after SlotsToCoeffs.
///
/// The noise of the program: a noise polynomial of length `t` has slots whose squares sum to
/// `N t^2 / 2`, and SlotsToCoeffs turns the slots into coefficients at another scale.
///
/// The noise of SlotsToCoeffs: variance `v` in each of `count` coefficients. Its operations are the
/// same for every program, so its errors are taken as independent. Its length is below
/// `sqrt(count) (tail sqrt(v) + 1/2)`, where `tail = sqrt(2 ln(2^65 count))` standard deviations
/// are exceeded by some coefficient with probability at most `2^-64`. Products of roundings and a
/// secret are sub-Gaussian there.
pub(crate) fn deviation(
    terms: &Flooding,
    bound: &NoiseBound,
    s2c: &SlotsToCoeffs,
    center: f64,
) -> Result<f64> {
    // Step 1: the noise that SlotsToCoeffs of all slots adds.
    let Metadata { level, meta } = *bound.metadata();
    let bounds = meta.bounds.map(|range| range.shift(-center));
    let quiet = Metadata { level, meta: CiphertextMeta { bounds, noise: Noise::NONE, ..meta } };
    let added = s2c.lowered(&quiet)?.meta;
    // Step 2: the length of the program's noise, and that of SlotsToCoeffs with its tail.
    let of_slots = bound.length() * (added.slots as f64).sqrt();
    let count = meta.len as f64;
    let tail = (2.0 * (count.ln() + (TAIL_BITS + 1.0) * std::f64::consts::LN_2)).sqrt();
    let of_s2c = count.sqrt() * (tail * added.noise.total.sqrt() + 0.5);
    // Step 3: the deviation that hides their sum on these terms.
    Ok(terms.deviation(of_slots * added.scale / meta.scale + of_s2c))
}
