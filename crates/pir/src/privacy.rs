//! Circuit privacy: a bound on what the client learns besides its values.

#[cfg(doc)]
use bellerophon_ring::ErrorKind;
use bellerophon_ring::{Poly, Result, error::operation};
use rand::CryptoRng;
use zeroize::Zeroizing;

use super::query::Shape;
use crate::bfv::{Ciphertext, LOG2_FAILURE, Params, noise};
use crate::error;

/// The distance of a private response from one that does not depend on the function.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CircuitPrivacy {
    /// Bits of the uniform noise that is added to every coefficient.
    pub flood_bits: u32,
    /// `log2` of a bound on the statistical distance of the bodies of the whole response, given its
    /// masks, from bodies that depend only on the client's values. It is 0 where the bound is void.
    /// The masks themselves are hidden by the RLWE assumption, and only from clients that follow
    /// the protocol.
    pub log2_distance: f64,
    /// The variance of all noise except the flooding, modulo the first prime.
    pub(crate) variance: f64,
}

/// Standard deviations that bound the noise: it exceeds them with a probability below `2^-64`.
const DEVIATIONS: f64 = 9.5;

/// Factor of the variance where the noise has half of the threshold.
pub(crate) const HALF_OF_THE_ROOM: f64 = 4.0;

/// Uniform noise is drawn in words of 128 bits.
const MOST_BITS: f64 = 126.0;

/// The circuit privacy that the parameters achieve for queries of this shape.
///
/// A packed body is `b = -a s + Q m / t + e`. The masks `a` look uniform to the client by the RLWE
/// assumption: every product is re-randomised under an ephemeral secret of the server. Noise
/// flooding adds a uniform number of `[-2^(f - 1), 2^(f - 1))` to every coefficient of `b`. The
/// coefficient is then within a distance of `|e| / 2^f` of one that does not depend on `e`. All
/// coefficients of the response together are within
///
/// ```text
/// ciphertexts N (E / 2^f + 2^-63),    E = 9.5 standard deviations of e,
/// ```
///
/// where `f`, at most 126, is the largest that leaves half of `Q / 2t` free. The rescale to the
/// first prime and the truncation that follow depend on nothing else. At `N = 2^11` there is no
/// headroom for flooding, and the bound is void; [`ParamsSpec::flooding`] has headroom.
/// `docs/private-lookup.md` has a table of distances.
///
/// Distances of several answers add up ([`PrivacyBudget`](super::PrivacyBudget)).
///
/// [`ParamsSpec::flooding`]: crate::bfv::ParamsSpec::flooding
///
/// # Errors
/// [`ErrorKind::Noise`] if half of the threshold is too small for the noise itself.
pub fn circuit_privacy(params: &Params, shape: &Shape) -> Result<CircuitPrivacy> {
    operation("circuit_privacy", || {
        // Step 1: the noise without flooding must fit half of the threshold.
        let limbs = params.limbs();
        let input = shape.selected_noise(params) + noise::public_zero(params);
        let packed = noise::packed(params, limbs, 1, input)?;
        let variance = noise::to_one_limb(params, limbs, packed);
        let log2_failure = noise::log2_failure(params, HALF_OF_THE_ROOM * variance);
        if log2_failure > LOG2_FAILURE {
            return Err(error::noise(log2_failure, LOG2_FAILURE));
        }
        let above = params.ring().log2_modulus() - params.ring().modulus(0).log2();
        // Step 2: 2^(f - 1) is at most half of the threshold modulo Q.
        let log2_threshold = noise::threshold(params).log2() + above;
        let flood_bits = log2_threshold.floor().clamp(1.0, MOST_BITS) as u32;
        // Step 3: the distances of all coefficients add up.
        let coefficients = (shape.response_ciphertexts() * params.degree()) as f64;
        let each = DEVIATIONS * packed.sqrt() * (-f64::from(flood_bits)).exp2() + 2f64.powi(-63);
        let log2_distance = (coefficients * each).log2().min(0.0);
        Ok(CircuitPrivacy { flood_bits, log2_distance, variance })
    })
}

/// Adds uniform noise of the stated bits to the body.
pub(crate) fn flood<R: CryptoRng + ?Sized>(
    params: &Params,
    mut ct: Ciphertext,
    privacy: &CircuitPrivacy,
    rng: &mut R,
) -> Ciphertext {
    let (ring, bits) = (ct.ring(params), privacy.flood_bits);
    let draw = |_| {
        let random = i128::from(rng.next_u64()) << 64 | i128::from(rng.next_u64());
        // An arithmetic shift keeps the highest `bits` bits as a signed number.
        random >> (128 - bits)
    };
    let noise = Zeroizing::new((0..params.degree()).map(draw).collect::<Vec<i128>>());
    let noise: Zeroizing<Poly<_>> = Zeroizing::new(ring.forward(ring.from_signed_wide(&noise)));
    ring.add_assign(&mut ct.b, &noise);
    ct
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bfv::ParamsSpec;
    use crate::query_layout::QueryLayout;

    /// The table of the page on private look-up.
    #[test]
    fn distances_are_those_documented() {
        let domains = [13, 16, 20, 24].map(|log2: u32| 1usize << log2);
        let documented: [(usize, u64, [f64; 4]); 12] = [
            (1, 2, [-50.0, -50.0, -50.0, -50.0]),
            (1, 257, [-49.9, -49.9, -49.9, -49.8]),
            (1, 65537, [-42.6, -41.1, -39.1, -37.1]),
            (1, 1 << 20, [-34.6, -33.1, -31.1, -29.1]),
            (1, 1 << 24, [-26.6, -25.1, -23.1, -21.1]),
            (1, 1 << 32, [-10.6, -9.1, -7.1, -5.1]),
            (2048, 2, [-50.0, -50.0, -50.0, -50.0]),
            (2048, 257, [-49.9, -49.9, -49.9, -49.9]),
            (2048, 65537, [-46.3, -45.7, -44.0, -42.1]),
            (2048, 1 << 20, [-39.5, -38.1, -36.1, -34.1]),
            (2048, 1 << 24, [-31.5, -30.1, -28.1, -26.1]),
            (2048, 1 << 32, [-15.5, -14.1, -12.1, -10.1]),
        ];
        for (points, plain, row) in documented {
            let params = Params::new(ParamsSpec::flooding(plain).unwrap()).unwrap();
            let distance = |form, domain| {
                let shape = Shape::new(&params, form, &[domain], points).unwrap();
                circuit_privacy(&params, &shape).unwrap().log2_distance
            };
            let found = domains.map(|domain| distance(QueryLayout::Compact, domain));
            let near = found.iter().zip(row).all(|(found, stated)| (found - stated).abs() < 0.051);
            assert!(near, "t = {plain}, {points} points: {found:?}");
            if points == 1 {
                let paper = domains.map(|domain| distance(QueryLayout::Paper, domain));
                assert!(paper.iter().zip(found).all(|(a, b)| (a - b).abs() < 0.01), "{paper:?}");
            }
        }
    }
}
