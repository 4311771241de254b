//! Products of ciphertexts before relinearization (DPad-HE sections 2.3 and 3.1.1).

use bellerophon_ring::{Ntt, Poly, Result};

use crate::ciphertext::{Ciphertext, Operand};
use crate::key_id::KeyIdent;
use crate::params::Params;

/// The product of two ciphertexts before relinearization: `(r + 1)(r + 2) / 2` polynomials with
/// phase `c + sum_i l_i s_i + sum_{i <= j} t_ij s_i s_j`.
#[derive(Debug, Clone, PartialEq)]
pub struct Tensor {
    pub(crate) constant: Poly<Ntt>,
    pub(crate) linear: Vec<Poly<Ntt>>,
    /// `t_ij`, `i <= j`, in the order `11, 12, .., 1r, 22, .., rr`.
    pub(crate) quadratic: Vec<Poly<Ntt>>,
    pub(crate) ident: KeyIdent,
}

impl Tensor {
    /// `x y`.
    pub fn product(params: &Params, x: &Ciphertext, y: &Ciphertext) -> Result<Self> {
        x.operand().check(params, y.operand())?;
        Ok(Self::of(params, x, y))
    }

    /// `x^2`.
    pub fn square(params: &Params, x: &Ciphertext) -> Result<Self> {
        params.check(x.ident.fingerprint)?;
        Ok(Self::of(params, x, x))
    }

    /// The product of operands that are already checked.
    fn of(params: &Params, x: &Ciphertext, y: &Ciphertext) -> Self {
        // All sums of products in one pass: factors are read into the cache once.
        let Terms { linear, quadratic } = Terms::of(x, y);
        let sums: Vec<&[_]> = linear.iter().chain(&quadratic).map(Vec::as_slice).collect();
        let mut products = params.q().at_limbs(x.limbs()).sums_of_products(&sums).into_iter();
        Self {
            constant: products.next().expect("the product of the bodies"),
            linear: products.by_ref().take(x.rank()).collect(),
            quadratic: products.collect(),
            ident: x.ident,
        }
    }

    fn operand(&self) -> Operand {
        Operand { ident: self.ident, limbs: self.limbs() }
    }

    /// Number of limbs.
    pub fn limbs(&self) -> usize {
        self.constant.limbs()
    }

    /// `self += other`: a sum of products needs one relinearization only.
    pub fn add_assign(&mut self, params: &Params, other: &Self) -> Result<()> {
        self.operand().check(params, other.operand())?;
        let ring = params.q().at_limbs(self.limbs());
        // Term by term: constant, linear, quadratic.
        ring.add_assign(&mut self.constant, &other.constant);
        let pairs = self.linear.iter_mut().zip(&other.linear);
        for (x, y) in pairs.chain(self.quadratic.iter_mut().zip(&other.quadratic)) {
            ring.add_assign(x, y);
        }
        Ok(())
    }

    /// `self += x` for a ciphertext of the same number of limbs: the phase is the sum of both
    /// phases. Terms that are no products are added before the relinearization and share its
    /// division.
    pub fn add_ciphertext_assign(&mut self, params: &Params, x: &Ciphertext) -> Result<()> {
        self.operand().check(params, x.operand())?;
        let ring = params.q().at_limbs(self.limbs());
        // The body adds to the constant term, the masks to the linear ones.
        ring.add_assign(&mut self.constant, &x.b);
        self.linear.iter_mut().zip(&x.a).for_each(|(l, a)| ring.add_assign(l, a));
        Ok(())
    }

    /// `self *= 2`.
    pub fn double_assign(&mut self, params: &Params) -> Result<()> {
        params.check(self.ident.fingerprint)?;
        let ring = params.q().at_limbs(self.limbs());
        let twos = vec![2; self.limbs()];
        // A constant factor multiplies every term.
        let polys = std::iter::once(&mut self.constant).chain(&mut self.linear);
        for poly in polys.chain(&mut self.quadratic) {
            ring.mul_residues_assign(poly, &twos);
        }
        Ok(())
    }
}

/// The terms of a [`Tensor`], each a sum of products.
pub(crate) struct Terms<'a> {
    /// `c, l_1, .., l_r`.
    pub(crate) linear: Vec<Products<'a>>,
    /// `t_ij`, in the order of [`Tensor::quadratic`].
    pub(crate) quadratic: Vec<Products<'a>>,
}

/// Pairs of polynomials whose products are summed.
type Products<'a> = Vec<(&'a Poly<Ntt>, &'a Poly<Ntt>)>;

impl<'a> Terms<'a> {
    pub(crate) fn of(x: &'a Ciphertext, y: &'a Ciphertext) -> Self {
        // l_i = b a'_i + b' a_i.
        let masks = x.a.iter().zip(&y.a).map(|(xa, ya)| vec![(&x.b, ya), (&y.b, xa)]);
        // t_ii = a_i a'_i, and t_ij = a_i a'_j + a_j a'_i for i < j.
        let quadratic = index_pairs(x.rank()).map(|(i, j)| match i == j {
            true => vec![(&x.a[i], &y.a[i])],
            false => vec![(&x.a[i], &y.a[j]), (&x.a[j], &y.a[i])],
        });
        Self {
            linear: std::iter::once(vec![(&x.b, &y.b)]).chain(masks).collect(),
            quadratic: quadratic.collect(),
        }
    }
}

/// The pairs `i <= j < rank` in the order of [`Tensor`] and of relinearization keys.
pub(crate) fn index_pairs(rank: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..rank).flat_map(move |i| (i..rank).map(move |j| (i, j)))
}

#[cfg(test)]
mod tests {
    use bellerophon_ring::ErrorKind;

    use super::*;
    use crate::dpad::RelinStrategy;
    use crate::error::refusal;
    use crate::keyswitch::KeySwitchKey;
    use crate::noise::{self, measured};
    use crate::relinearize::RelinKeys;
    use crate::secret::SecretKey;
    use crate::testing::{assert_close, message, params, rng};

    fn keys(secret: &SecretKey, limbs: usize) -> RelinKeys {
        let strategy = RelinStrategy::direct(secret.params());
        RelinKeys::generate(&strategy, secret, limbs, &mut rng(2)).unwrap()
    }

    #[test]
    fn products_relinearize_at_every_rank() {
        for (rank, special) in [(1, 1), (1, 3), (2, 2), (3, 2)] {
            let params = params(512, rank, 5, special);
            let secret = SecretKey::generate(&params, &mut rng(1)).unwrap();
            let keys = keys(&secret, 4);
            for limbs in [2, 4] {
                let (x, y) = (message(&params, limbs, 7), message(&params, limbs, 8));
                let cx = secret.encrypt(&x, &mut rng(3)).unwrap();
                let cy = secret.encrypt(&y, &mut rng(4)).unwrap();
                let ring = params.q().at_limbs(limbs);
                let mut expected = cx.phase(&secret).unwrap();
                ring.mul_assign(&mut expected, &cy.phase(&secret).unwrap());
                let product = keys.multiply(&cx, &cy, 0).unwrap();
                let stats = measured::noise(&secret, &product, &expected).unwrap();
                assert_close(stats.variance, noise::relinearize(&params, limbs), 1.35);
                // Against the exact product of the messages: the formula for products.
                let mut exact = x.clone();
                ring.mul_assign(&mut exact, &y);
                let mean_square = |m: &Poly<Ntt>| {
                    let m = ring.inverse(m.clone());
                    measured::NoiseStats::of(measured::centered_f64(&ring, &m)).variance
                };
                let fresh = noise::fresh_secret(&params);
                let predicted = noise::relinearize(&params, limbs)
                    + noise::product(&params, (mean_square(&x), fresh), (mean_square(&y), fresh));
                let stats = measured::noise(&secret, &product, &exact).unwrap();
                assert_close(stats.variance, predicted, 1.35);
                // Rescaled in the same division: one rounding, and nothing of the product's noise.
                for primes in 1..limbs.min(3) {
                    let tensor = Tensor::product(&params, &cx, &cy).unwrap();
                    let fused = keys.relinearize(tensor, primes).unwrap();
                    assert_eq!(fused.limbs(), limbs - primes);
                    assert_eq!(fused, keys.multiply(&cx, &cy, primes).unwrap());
                    let divided = bellerophon_ring::rescale(&ring, (*expected).clone(), primes);
                    let stats = measured::noise(&secret, &fused, &divided).unwrap();
                    // The quotient that it is compared with is rounded too.
                    let predicted =
                        noise::relinearize_rescale(&params, limbs, primes, 0.0) + 1.0 / 12.0;
                    assert_close(stats.variance, predicted, 1.35);
                }
                // Squares.
                let square = keys.multiply(&cx, &cx, 0).unwrap();
                let tensor = Tensor::square(&params, &cx).unwrap();
                assert_eq!(square, keys.relinearize(tensor, 0).unwrap());
                // Sums share one relinearization.
                let mut sum = Tensor::product(&params, &cx, &cy).unwrap();
                sum.add_assign(&params, &Tensor::square(&params, &cx).unwrap()).unwrap();
                let both = keys.relinearize(sum, 0).unwrap();
                let mut expected_sum = cx.phase(&secret).unwrap();
                ring.mul_assign(&mut expected_sum, &cx.phase(&secret).unwrap());
                ring.add_assign(&mut expected_sum, &expected);
                let stats = measured::noise(&secret, &both, &expected_sum).unwrap();
                assert_close(stats.variance, noise::relinearize(&params, limbs), 1.35);
            }
        }
    }

    #[test]
    fn rescaling_divides_phase_and_noise() {
        let params = params(512, 2, 3, 1);
        let secret = SecretKey::generate(&params, &mut rng(1)).unwrap();
        let m = message(&params, 3, 3);
        let mut scaled = m.clone();
        let last = params.q().modulus(2).value();
        params.q().mul_signed_assign(&mut scaled, last as i64);
        let ct = secret.encrypt(&scaled, &mut rng(3)).unwrap().rescale(&params, 1).unwrap();
        assert_eq!(ct.limbs(), 2);
        let mut expected = m;
        expected.truncate(2);
        let stats = measured::noise(&secret, &ct, &expected).unwrap();
        let predicted = noise::rescale(&params, 3, noise::fresh_secret(&params));
        assert_close(stats.variance, predicted, 1.35);
        assert!(stats.max < noise::canonical::rescale(&params));
        let one = ct.rescale(&params, 1).unwrap();
        assert!(refusal(&one.clone().rescale(&params, 1)).is(&ErrorKind::Level, "1 limbs where"));
        assert!(refusal(&one.rescale(&params, 0)).is(&ErrorKind::Level, "1 limbs where"));
    }

    #[test]
    fn refuses_foreign_factors() {
        let params = params(64, 1, 3, 1);
        let secret = SecretKey::generate(&params, &mut rng(1)).unwrap();
        let other = SecretKey::generate(&params, &mut rng(2)).unwrap();
        let keys = keys(&secret, 2);
        let encrypt =
            |key: &SecretKey, limbs| key.encrypt(&message(&params, limbs, 1), &mut rng(1)).unwrap();
        let (x, y) = (encrypt(&secret, 2), encrypt(&other, 2));
        let refused = keys.multiply(&x, &y, 0);
        assert!(matches!(
            &refused,
            Err(e)
                if e.op() == "multiply"
                    && e.is(&ErrorKind::KeyMismatch, "use operands and keys of one secret key, or")
        ));
        let refused = keys.multiply(&y, &y, 0);
        assert!(matches!(
            &refused,
            Err(e)
                if e.op() == "multiply"
                    && e.is(&ErrorKind::KeyMismatch, "use operands and keys of one secret key, or")
        ));
        let refused = keys.multiply(&x, &x, 2);
        assert!(matches!(
            &refused,
            Err(e)
                if e.op() == "multiply"
                && e.is(&ErrorKind::Level, "2 limbs where")
        ));
        let high = encrypt(&secret, 3);
        let refused = keys.multiply(&high, &high, 0);
        assert!(refusal(&refused).is(&ErrorKind::Level, "3 limbs where"));
        let tensor = Tensor::square(&params, &x).unwrap();
        let refused = keys.relinearize(tensor, 2);
        assert!(refusal(&refused).is(&ErrorKind::Level, "2 limbs where"));
        let between = KeySwitchKey::between(&secret, &other, 2, &mut rng(5)).unwrap();
        let refused = crate::galois::GaloisKey::from_parts(&params, 5, between.compress());
        assert!(
            refusal(&refused)
                .is(&ErrorKind::KeyMismatch, "use operands and keys of one secret key, or")
        );
        let refused = keys.multiply(&x, &encrypt(&secret, 1), 0);
        assert!(refusal(&refused).is(&ErrorKind::Level, "1 limbs where"));
    }
}
