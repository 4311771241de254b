//! Noise model: coefficient variances for every operation, and high-probability bounds in the
//! canonical embedding.
//!
//! `N` is the ring degree, `r` the rank, `|s|^2` the expected number of nonzero coefficients of the
//! whole secret, and `sigma` the error width. A *variance* is that of one coefficient of the noise
//! polynomial in the phase, not divided by any scale. Independent contributions add. Rounding
//! errors are uniform in `[-1/2, 1/2]` (variance 1/12). Centred digits of uniform polynomials have
//! variance `Q'_j^2 / 12`.

use std::ops::RangeInclusive;

use crate::params::Params;

mod dpad;
pub mod measured;

pub(crate) use dpad::{dpad_relinearize, dpad_relinearize_rescale};
pub use dpad::{hoisted_rotations, trace};

/// Range of a declared noise: its square is representable in any unit of messages.
pub const DECLARED_LOG2: RangeInclusive<i32> = -300..=300;

/// `log2` of a standard deviation, rounded up to an integer. Programs declare the noise of a
/// published result in this form: the declared variance then reveals no more than a power of four.
/// `None` if `deviation` is not positive and finite, or outside [`DECLARED_LOG2`].
pub fn declared_log2(deviation: f64) -> Option<i32> {
    let exact = deviation.log2();
    let ends = (f64::from(*DECLARED_LOG2.start()), f64::from(*DECLARED_LOG2.end()));
    if !(ends.0..=ends.1).contains(&exact) {
        return None;
    }
    // `log2` rounds. Compare with the power itself, so that a deviation is never rounded down.
    let floor = exact.floor();
    Some(floor as i32 + i32::from(floor.exp2() < deviation))
}

/// Fresh secret-key encryption: `sigma^2`.
pub fn fresh_secret(params: &Params) -> f64 {
    params.spec().sigma.powi(2)
}

/// Fresh public-key encryption modulo `Q P'`, divided by `P'`, the product of as many special
/// primes as make its noise negligible against the rounding:
/// `sigma^2 (2/3 r N + 1 + |s|^2) / P'^2 + (|s|^2 + 1) / 12`.
///
/// The noise of the phase modulo `Q P'` is `<v, e> + e_0 + <e', s>` with `v` uniform ternary.
pub fn fresh_public(params: &Params) -> f64 {
    let divisor = params.p().at_limbs(params.encryption_primes()).log2_modulus();
    public_product(params) * (-2.0 * divisor).exp2() + rounding(params)
}

/// The part of [`fresh_public`] before the division: `sigma^2 (2/3 r N + 1 + |s|^2)`.
pub(crate) fn public_product(params: &Params) -> f64 {
    let dimension = params.dimension() as f64;
    params.spec().sigma.powi(2) * (dimension * 2.0 / 3.0 + 1.0 + params.secret_norm2())
}

/// Rounding of every polynomial of a ciphertext in mod-down or rescale: `(|s|^2 + 1) / 12`.
pub fn rounding(params: &Params) -> f64 {
    (params.secret_norm2() + 1.0) / 12.0
}

/// Rescale of noise of variance `variance` by the last of `limbs` primes:
/// `variance / q^2 + (|s|^2 + 1) / 12`.
pub fn rescale(params: &Params, limbs: usize, variance: f64) -> f64 {
    variance / (params.q().modulus(limbs - 1).value() as f64).powi(2) + rounding(params)
}

/// Noise added by a key switch from rank `r1` at `limbs` limbs:
/// `r1 N sigma^2 sum_j (Q'_j / P)^2 / 12 + (|s2|^2 + 1) / 12`, where `params` are those of the
/// output.
///
/// Each of the `r1 d` digits multiplies the error of its own row; mod-down adds one rounding.
pub fn key_switch(params: &Params, from_rank: usize, limbs: usize) -> f64 {
    switched_digits(params, from_rank as f64, limbs) + rounding(params)
}

/// The part of a key switch that the digits contribute: `r1 N sigma^2 sum_j (Q'_j / P)^2 / 12`.
fn switched_digits(params: &Params, components: f64, limbs: usize) -> f64 {
    divided_digits(params, components, limbs, params.p().log2_modulus())
}

/// As [`switched_digits`], with digits of the same size and `P = 2^log2_p`.
pub(crate) fn divided_digits(params: &Params, components: f64, limbs: usize, log2_p: f64) -> f64 {
    let gadget = params.gadget();
    // Digit j has variance Q'_j^2 / 12, and mod-down divides by P.
    let digits: f64 = (0..gadget.digits(limbs))
        .map(|j| (2.0 * (gadget.log2_digit(j, limbs) - log2_p)).exp2() / 12.0)
        .sum();
    components * params.degree() as f64 * params.spec().sigma.powi(2) * digits
}

/// Noise added by ModRaise from `q_0`, with a key from a secret of rank `r'`
/// ([`ModRaiseKey::mod_raise`](crate::ModRaiseKey::mod_raise)):
/// `r' N sigma^2 (factor q_0 / P)^2 / 12 + (|s|^2 + 1) / 12`, where `params` are those of the
/// output.
pub fn mod_raise(params: &Params, from_rank: usize, factor: i64) -> f64 {
    // The single digit is `factor` times a uniform residue modulo q_0.
    let log2_input = (params.q().modulus(0).value() as f64 * factor as f64).abs().log2();
    let input = (2.0 * (log2_input - params.p().log2_modulus())).exp2() / 12.0;
    let products = (from_rank * params.degree()) as f64 * params.spec().sigma.powi(2);
    products * input + rounding(params)
}

/// Noise added by an automorphism: a key switch of `r` components. The noise of the input is
/// permuted.
pub fn automorphism(params: &Params, limbs: usize) -> f64 {
    key_switch(params, params.rank(), limbs)
}

/// Noise added by relinearization: a key switch of `r (r + 1) / 2` components.
pub(crate) fn relinearize(params: &Params, limbs: usize) -> f64 {
    key_switch(params, params.rank() * (params.rank() + 1) / 2, limbs)
}

/// Noise of a product after relinearization and rescale by the last `primes` primes in one
/// division. The noise `variance` of the product and the digits' part of the key switch are divided
/// by `D^2`, where `D` is the product of those primes. One rounding is added.
pub(crate) fn relinearize_rescale(
    params: &Params,
    limbs: usize,
    primes: usize,
    variance: f64,
) -> f64 {
    let divisor = log2_divisor(params, limbs, primes);
    // The digits' part alone: the one rounding follows the division.
    let products = relinearize(params, limbs) - rounding(params);
    (variance + products) * (-2.0 * divisor).exp2() + rounding(params)
}

/// `log2` of the product of the last `primes` of `limbs` primes.
fn log2_divisor(params: &Params, limbs: usize, primes: usize) -> f64 {
    match primes {
        0 => 0.0,
        _ => params.q().slice(limbs - primes..limbs).log2_modulus(),
    }
}

/// Noise of a product before relinearization: `N (M_x^2 V_y + M_y^2 V_x + V_x V_y)`, where `M^2` is
/// the mean square of the coefficients of a message and `V` the variance of its noise. Each operand
/// is given as `(M^2, V)`.
#[cfg(test)]
pub(crate) fn product(params: &Params, x: (f64, f64), y: (f64, f64)) -> f64 {
    let ((mx, vx), (my, vy)) = (x, y);
    params.degree() as f64 * (mx * vy + my * vx + vx * vy)
}

/// High-probability bounds on `|e|_can`, the largest magnitude of a noise polynomial at the
/// primitive `2N`-th roots of unity: six standard deviations of one evaluation, 16 for a product of
/// two Gaussians.
///
/// From Full-RNS HEAAN, appendix A.2, and DPad-HE, lemma 3.1. Both are heuristic and generous.
pub mod canonical {
    use crate::params::Params;

    /// Public-key encryption modulo `Q` as in the paper (its ephemeral secret has variance 1/2):
    /// `8 sqrt(2) sigma N + 6 sigma sqrt(N) + 16 sigma sqrt(h N)`. Encryption modulo `Q P'`,
    /// [`fresh_public`](super::fresh_public), is far below this bound.
    pub fn fresh(params: &Params) -> f64 {
        let (n, sigma) = (params.dimension() as f64, params.spec().sigma);
        let h = params.secret_norm2();
        8.0 * 2f64.sqrt() * sigma * n + 6.0 * sigma * n.sqrt() + 16.0 * sigma * (h * n).sqrt()
    }

    /// Rounding of a ciphertext: `B_rs = sqrt(N / 3) (3 + 8 sqrt(h))`.
    pub fn rescale(params: &Params) -> f64 {
        let (n, h) = (params.degree() as f64, params.secret_norm2());
        (n / 3.0).sqrt() * (3.0 + 8.0 * h.sqrt())
    }

    /// Relinearization as in the paper, `sqrt((l + 1) / 2) P^-1 Q_l B_ks + sqrt(k) B_rs` with
    /// `B_ks = 8 sigma N / sqrt(3)`: one digit, approximate conversions, rank 1.
    pub fn single_digit_relinearize(params: &Params, limbs: usize) -> f64 {
        let quotient =
            (params.q().at_limbs(limbs).log2_modulus() - params.p().log2_modulus()).exp2();
        let switch = 8.0 * params.spec().sigma * params.degree() as f64 / 3f64.sqrt();
        (limbs as f64 / 2.0).sqrt() * quotient * switch
            + (params.p().limbs() as f64).sqrt() * rescale(params)
    }

    /// A product before relinearization, of messages of canonical norms `nu` with noise below `B`:
    /// `nu_1 B_2 + nu_2 B_1 + B_1 B_2` (lemma 3 of HEAAN).
    pub fn product(nu_1: f64, b_1: f64, nu_2: f64, b_2: f64) -> f64 {
        nu_1 * b_2 + nu_2 * b_1 + b_1 * b_2
    }

    /// Appendix A.1, "Fast Conversion" and "Approximate Modulus Raising": the converted polynomial
    /// is `a + Q e`, with `|e| <= limbs / 2` for every coefficient if digits are centred. Digits in
    /// `[0, q_i)` shift `e` by the same amount.
    #[cfg(test)]
    pub(crate) fn raising(limbs: usize) -> f64 {
        limbs as f64 / 2.0
    }

    /// Appendix A.1, "Approximate Modulus Reduction": the error of every coefficient is at most
    /// `k / 2`, where `k` is the number of special primes, with centred digits. An exact conversion
    /// ([`bellerophon_ring::ModDown::apply`]) has an error of at most 1/2 for every `k`.
    #[cfg(test)]
    pub(crate) fn reduction(special: usize) -> f64 {
        special as f64 / 2.0
    }

    /// DPad-HE lemma 3.1, a key switch from rank `r1` to the rank `r2` of `params`:
    /// `8 d sigma r1 n / (sqrt(3) P) max_j Q'_j + sqrt(3 n) + 8 sqrt(2) r2 n / 3`.
    ///
    /// The last term assumes a uniform ternary secret, as the lemma does.
    #[cfg(test)]
    pub(crate) fn key_switch(params: &Params, from_rank: usize, limbs: usize) -> f64 {
        let gadget = params.gadget();
        let digits = gadget.digits(limbs);
        let largest =
            (0..digits).map(|j| gadget.log2_digit(j, limbs)).fold(f64::NEG_INFINITY, f64::max);
        let n = params.degree() as f64;
        let products =
            8.0 * digits as f64 * params.spec().sigma * from_rank as f64 * n / 3f64.sqrt();
        products * (largest - params.p().log2_modulus()).exp2()
            + (3.0 * n).sqrt()
            + 8.0 * 2f64.sqrt() * params.rank() as f64 * n / 3.0
    }

    /// DPad-HE lemma 3.2, relinearization through the rank `r^` of `raised` and back to the rank
    /// `r` of `base`. It is lemma 3.1 for `r (r + 1) / 2` components to `r^`, plus lemma 3.1 for
    /// `r^ - r` components back:
    /// `4 mu sigma r (r + 1) n / (sqrt(3) P^) max_j Q''_j`
    /// `+ 8 d sigma (r^ - r) n / (sqrt(3) P) max_j Q'_j`
    /// `+ 2 sqrt(3 n) + 8 sqrt(2) (r^ + r) n / 3`.
    #[cfg(test)]
    pub(crate) fn dpad_relinearize(base: &Params, raised: &Params, limbs: usize) -> f64 {
        let rank = base.rank();
        key_switch(raised, rank * (rank + 1) / 2, limbs)
            + key_switch(base, raised.rank().saturating_sub(rank), limbs)
    }
}

#[cfg(test)]
mod tests {
    use bellerophon_ring::{BaseConverter, ModDown, Modulus, prime};

    use super::*;
    use crate::ciphertext::Ciphertext;
    use crate::dpad::RelinStrategy;
    use crate::encrypt::PublicKey;
    use crate::keyswitch::KeySwitchKey;
    use crate::noise::measured;
    use crate::relinearize::RelinKeys;
    use crate::secret::SecretKey;
    use crate::testing::{canonical_norm, message, params, rng, spec};

    /// The canonical norm of the noise of a ciphertext whose phase should be `expected`.
    fn norm(
        secret: &SecretKey,
        ct: &Ciphertext,
        expected: &bellerophon_ring::Poly<bellerophon_ring::Ntt>,
    ) -> f64 {
        let ring = ct.ring(secret.params());
        let mut noise = (*ct.phase(secret).unwrap()).clone();
        ring.sub_assign(&mut noise, expected);
        canonical_norm(&measured::centered_f64(&ring, &ring.inverse(noise)))
    }

    /// A bound holds and is not vacuous: at most `slack` above the measured value.
    #[track_caller]
    fn assert_bounds(measured: f64, bound: f64, slack: f64) {
        assert!(
            measured < bound && measured * slack > bound,
            "canonical norm {measured}, bound {bound}"
        );
    }

    #[test]
    fn canonical_bounds_hold_and_are_not_idle() {
        let n = 512;
        let params = params(n, 1, 4, 1);
        let secret = SecretKey::generate(&params, &mut rng(1)).unwrap();
        // Appendix A.2, rescaling: a trivial ciphertext has no noise before, but no masks either,
        // so a fresh one is divided, whose noise vanishes against the rounding.
        let m = message(&params, 2, 1);
        let mut scaled = m.clone();
        let last = params.q().modulus(1).value() as i64;
        params.q().at_limbs(2).mul_signed_assign(&mut scaled, last);
        let ct = secret.encrypt(&scaled, &mut rng(2)).unwrap().rescale(&params, 1).unwrap();
        let mut expected = m;
        expected.truncate(1);
        assert_bounds(norm(&secret, &ct, &expected), canonical::rescale(&params), 10.0);
        // Appendix A.2, encryption: ours stays far below since it divides by P.
        let m = message(&params, 4, 1);
        let public = PublicKey::generate(&secret, &mut rng(3));
        let ct = public.encrypt(&params, &m, &mut rng(4)).unwrap();
        assert_bounds(norm(&secret, &ct, &m), canonical::fresh(&params), 500.0);
        // Lemma 3.1 at two ranks.
        for rank in [1, 2] {
            let target = crate::testing::params(n, rank, 4, 1);
            let to = SecretKey::generate(&target, &mut rng(5)).unwrap();
            let key = KeySwitchKey::between(&secret, &to, 4, &mut rng(6)).unwrap();
            let ct = secret.encrypt(&m, &mut rng(7)).unwrap();
            let phase = ct.phase(&secret).unwrap();
            let switched = key.switch(&target, &ct).unwrap();
            let bound = canonical::key_switch(&target, 1, 4);
            assert_bounds(norm(&to, &switched, &phase), bound, 100.0);
        }
    }

    #[test]
    fn approximate_conversions_err_as_the_appendix_says() {
        // Appendix A.1, with digits of [0, p_i): shifted by the bound.
        let params = params(512, 1, 3, 3);
        let (q, p) = (params.q(), params.p());
        let qp = q.join(p).unwrap();
        let signed: Vec<i64> = (0..512).map(|i| (i * i * i * 7919 - 99) << 20).collect();
        let a = qp.from_signed(&signed);
        // The quotient by P is 0 but for the error.
        let down = ModDown::new(q, p).unwrap();
        let bound = canonical::reduction(3);
        let error = |b| measured::NoiseStats::of(measured::centered_f64(q, &q.inverse(b)));
        let approximate = error(down.apply_approximate(qp.forward(a.clone())));
        assert!(approximate.max <= 2.0 * bound && approximate.max > bound, "{approximate:?}");
        assert!((approximate.mean + bound).abs() < 0.5 * bound, "{approximate:?}");
        assert_eq!(error(down.apply(qp.forward(a))).max, 0.0);
        // Raised from Q to QP: multiples of Q.
        let up = BaseConverter::new(q, p).unwrap().mod_up(&q.from_signed(&signed));
        let excess = measured::centered_f64(&qp, &up);
        let modulus = q.log2_modulus().exp2();
        let e = measured::NoiseStats::of(excess.iter().map(|x| (x / modulus).round()));
        let bound = canonical::raising(3);
        assert!(e.max <= 2.0 * bound && e.max > bound, "{e:?}");
    }

    #[test]
    fn the_bound_of_a_product_holds() {
        let params = params(512, 1, 3, 1);
        let secret = SecretKey::generate(&params, &mut rng(1)).unwrap();
        let relin =
            RelinKeys::generate(&RelinStrategy::direct(&params), &secret, 3, &mut rng(2)).unwrap();
        let (m, sigma) = (message(&params, 3, 1), params.spec().sigma);
        let ct = secret.encrypt(&m, &mut rng(3)).unwrap();
        let mut expected = m.clone();
        params.q().mul_assign(&mut expected, &m);
        let square = relin.multiply(&ct, &ct, 0).unwrap();
        let ring = params.q();
        let nu = canonical_norm(&measured::centered_f64(ring, &ring.inverse(m)));
        // A fresh encryption under the secret key: six deviations of one evaluation.
        let fresh = 6.0 * sigma * 512f64.sqrt();
        let bound = canonical::product(nu, fresh, nu, fresh) + canonical::key_switch(&params, 1, 3);
        assert_bounds(norm(&secret, &square, &expected), bound, 10.0);
    }

    #[test]
    fn the_bound_of_one_digit_holds() {
        // Appendix A.2, multiplication: as many special primes as limbs.
        let mut spec = spec(512, 1, 2, 1);
        let q: Vec<Modulus> = spec.q.iter().map(|&q| Modulus::new(q).unwrap()).collect();
        let p = prime::ntt_primes_below(512, 46, 2, &q).unwrap();
        spec.p = p.iter().map(Modulus::value).collect();
        let params = Params::new(spec).unwrap();
        assert_eq!(params.gadget().digits(2), 1);
        let secret = SecretKey::generate(&params, &mut rng(1)).unwrap();
        let relin =
            RelinKeys::generate(&RelinStrategy::direct(&params), &secret, 2, &mut rng(2)).unwrap();
        let ct = secret.encrypt(&message(&params, 2, 1), &mut rng(3)).unwrap();
        let mut expected = (*ct.phase(&secret).unwrap()).clone();
        let copy = expected.clone();
        params.q().mul_assign(&mut expected, &copy);
        let square = relin.multiply(&ct, &ct, 0).unwrap();
        let bound = canonical::single_digit_relinearize(&params, 2);
        assert_bounds(norm(&secret, &square, &expected), bound, 100.0);
    }
}
