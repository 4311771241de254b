//! Products of ciphertexts: tensor and relinearisation (DPad-HE sections 2.3 and 3.1.1).

use bellerophon_ring::{Finish, Ntt, Poly};
use rand::CryptoRng;
use zeroize::Zeroizing;

use crate::ciphertext::check_divisors;
use crate::keyswitch::{KeySwitchKey, SeededKeySwitchKey};
use crate::{Ciphertext, Error, KeyId, Params, Result, SecretKey};

/// The product of two ciphertexts before relinearisation: `(r + 1)(r + 2) / 2` polynomials with
/// phase `c + sum_i l_i s_i + sum_{i <= j} t_ij s_i s_j`.
#[derive(Debug, Clone, PartialEq)]
pub struct Tensor {
    pub(crate) constant: Poly<Ntt>,
    pub(crate) linear: Vec<Poly<Ntt>>,
    /// `t_ij`, `i <= j`, in the order `11, 12, .., 1r, 22, .., rr`.
    pub(crate) quadratic: Vec<Poly<Ntt>>,
    pub(crate) fingerprint: u64,
    pub(crate) key: KeyId,
}

impl Tensor {
    /// `x y`.
    ///
    /// # Errors
    /// Unless both have the same parameters, key and limbs.
    pub fn product(params: &Params, x: &Ciphertext, y: &Ciphertext) -> Result<Self> {
        x.check_pair(params, "multiply", y)?;
        Ok(Self::of(params, x, y))
    }

    /// `x^2`.
    ///
    /// # Errors
    /// [`Error::ParamsMismatch`] under other parameters.
    pub fn square(params: &Params, x: &Ciphertext) -> Result<Self> {
        params.check("square", x.fingerprint)?;
        Ok(Self::of(params, x, x))
    }

    /// The product of ciphertexts that belong together.
    fn of(params: &Params, x: &Ciphertext, y: &Ciphertext) -> Self {
        let linear = x.a.iter().zip(&y.a).map(|(xa, ya)| vec![(&x.b, ya), (&y.b, xa)]);
        let quadratic = index_pairs(x.rank()).map(|(i, j)| match i == j {
            true => vec![(&x.a[i], &y.a[i])],
            false => vec![(&x.a[i], &y.a[j]), (&x.a[j], &y.a[i])],
        });
        let sums: Vec<_> =
            std::iter::once(vec![(&x.b, &y.b)]).chain(linear).chain(quadratic).collect();
        let sums: Vec<&[_]> = sums.iter().map(Vec::as_slice).collect();
        let mut products = params.q().prefix(x.limbs()).sums_of_products(&sums).into_iter();
        Self {
            constant: products.next().expect("the product of the bodies"),
            linear: products.by_ref().take(x.rank()).collect(),
            quadratic: products.collect(),
            fingerprint: x.fingerprint,
            key: x.key,
        }
    }

    /// Limbs.
    pub fn limbs(&self) -> usize {
        self.constant.limbs()
    }

    /// The polynomials `c, l_1, .., l_r` that need no relinearisation.
    pub fn linear(&self) -> impl Iterator<Item = &Poly<Ntt>> {
        std::iter::once(&self.constant).chain(&self.linear)
    }

    /// `t_ij`, `i <= j`, in the order `11, 12, .., 1r, 22, .., rr`.
    pub fn quadratic(&self) -> &[Poly<Ntt>] {
        &self.quadratic
    }

    /// `self += other`: sums of products can share one relinearisation.
    pub fn add_assign(&mut self, params: &Params, other: &Self) -> Result<()> {
        let op = "add products";
        params.check(op, self.fingerprint)?;
        params.check(op, other.fingerprint)?;
        if self.key != other.key {
            return Err(Error::KeyMismatch { op, found: other.key, needed: self.key });
        }
        if self.limbs() != other.limbs() {
            let needed = self.limbs().to_string();
            return Err(Error::Limbs { op, found: other.limbs(), needed });
        }
        let ring = params.q().prefix(self.limbs());
        ring.add_assign(&mut self.constant, &other.constant);
        let pairs = self.linear.iter_mut().zip(&other.linear);
        for (x, y) in pairs.chain(self.quadratic.iter_mut().zip(&other.quadratic)) {
            ring.add_assign(x, y);
        }
        Ok(())
    }

    /// `self += x` for a ciphertext of as many limbs, whose phase adds to that of the product: what a
    /// sum has beside products enters before the relinearisation, and shares its division.
    ///
    /// # Errors
    /// As for [`add_assign`](Self::add_assign).
    pub fn add_ciphertext_assign(&mut self, params: &Params, x: &Ciphertext) -> Result<()> {
        let op = "add to a product";
        params.check(op, self.fingerprint)?;
        params.check(op, x.fingerprint)?;
        if self.key != x.key {
            return Err(Error::KeyMismatch { op, found: x.key, needed: self.key });
        }
        if self.limbs() != x.limbs() {
            let needed = self.limbs().to_string();
            return Err(Error::Limbs { op, found: x.limbs(), needed });
        }
        let ring = params.q().prefix(self.limbs());
        ring.add_assign(&mut self.constant, &x.b);
        self.linear.iter_mut().zip(&x.a).for_each(|(l, a)| ring.add_assign(l, a));
        Ok(())
    }

    /// `self *= 2`.
    ///
    /// # Errors
    /// [`Error::ParamsMismatch`] under other parameters.
    pub fn double_assign(&mut self, params: &Params) -> Result<()> {
        params.check("double a product", self.fingerprint)?;
        let ring = params.q().prefix(self.limbs());
        let twos = vec![2; self.limbs()];
        let polys = std::iter::once(&mut self.constant).chain(&mut self.linear);
        for poly in polys.chain(&mut self.quadratic) {
            ring.mul_residues_assign(poly, &twos);
        }
        Ok(())
    }
}

/// The pairs `i <= j < rank` in the order of [`Tensor`] and of relinearisation keys.
pub(crate) fn index_pairs(rank: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..rank).flat_map(move |i| (i..rank).map(move |j| (i, j)))
}

/// The key that turns `s (x) s` into `s`.
#[derive(Debug, Clone, PartialEq)]
pub struct RelinKey {
    key: KeySwitchKey,
}

/// A [`RelinKey`] with its uniform part as a seed.
#[derive(Debug, Clone, PartialEq)]
pub struct SeededRelinKey {
    key: SeededKeySwitchKey,
}

impl RelinKey {
    /// The key for products of up to `limbs` limbs.
    pub fn generate<R: CryptoRng + ?Sized>(
        secret: &SecretKey,
        limbs: usize,
        rng: &mut R,
    ) -> Result<Self> {
        let params = secret.params();
        let ring = params.gadget().ring(params.limbs());
        let products: Vec<Zeroizing<Poly<Ntt>>> = index_pairs(params.rank())
            .map(|(i, j)| {
                let mut product = Zeroizing::new(secret.ntt(i).clone());
                ring.mul_assign(&mut product, secret.ntt(j));
                product
            })
            .collect();
        let products: Vec<&Poly<Ntt>> = products.iter().map(|poly| &**poly).collect();
        let key = KeySwitchKey::generate(&products, secret.into(), secret, limbs, rng)?;
        Ok(Self { key })
    }

    /// The switching key.
    pub fn key(&self) -> &KeySwitchKey {
        &self.key
    }

    /// The most limbs that an input may have.
    pub fn limbs(&self) -> usize {
        self.key.limbs()
    }

    /// The form that travels.
    pub fn compress(&self) -> SeededRelinKey {
        SeededRelinKey { key: self.key.compress() }
    }

    /// `(c, l) + KeySwitch(t)`.
    ///
    /// # Errors
    /// If the product belongs to another key or has more limbs than the key.
    pub fn relinearise(&self, params: &Params, tensor: Tensor) -> Result<Ciphertext> {
        self.divide("relinearise", params, &tensor, 0)
    }

    /// [`relinearise`](Self::relinearise) and a rescaling by the last `primes` primes in one
    /// division: the inner product and `P` times the rest of the product are divided by `P` and
    /// these primes at once, with one rounding where the two steps have one each.
    ///
    /// Noise: [`noise::relinearise_rescale`](crate::noise::relinearise_rescale).
    ///
    /// # Errors
    /// As for [`relinearise`](Self::relinearise), [`Error::Limbs`] unless a limb is left, and
    /// [`Error::Parameter`] if `primes` and the special primes are more than
    /// [`BaseConverter::MAX_SOURCES`](bellerophon_ring::BaseConverter::MAX_SOURCES).
    pub fn relinearise_rescale(
        &self,
        params: &Params,
        tensor: Tensor,
        primes: usize,
    ) -> Result<Ciphertext> {
        let op = "relinearise and rescale";
        if primes >= tensor.limbs() {
            let needed = format!("more than the {primes} to divide by");
            return Err(Error::Limbs { op, found: tensor.limbs(), needed });
        }
        self.divide(op, params, &tensor, primes)
    }

    fn divide(
        &self,
        op: &'static str,
        params: &Params,
        tensor: &Tensor,
        primes: usize,
    ) -> Result<Ciphertext> {
        params.check(op, tensor.fingerprint)?;
        check_divisors(params.p().limbs() + primes)?;
        if tensor.key != self.key.shape().from.key {
            let (found, needed) = (tensor.key, self.key.shape().from.key);
            return Err(Error::KeyMismatch { op, found, needed });
        }
        let finish = Finish { addends: tensor.linear().map(Some).collect(), primes, map: None };
        Ok(self.key.finish(&self.key.digits(params, &tensor.quadratic)?, &finish))
    }

    /// `relinearise(x y)`.
    pub fn multiply(&self, params: &Params, x: &Ciphertext, y: &Ciphertext) -> Result<Ciphertext> {
        self.relinearise(params, Tensor::product(params, x, y)?)
    }

    /// `relinearise(x^2)`.
    pub fn square(&self, params: &Params, x: &Ciphertext) -> Result<Ciphertext> {
        self.relinearise(params, Tensor::square(params, x)?)
    }
}

impl SeededRelinKey {
    /// The key with its uniform part expanded.
    pub fn expand(&self, params: &Params) -> Result<RelinKey> {
        Ok(RelinKey { key: self.key.expand(params)? })
    }

    /// The switching key.
    pub fn key(&self) -> &SeededKeySwitchKey {
        &self.key
    }

    /// Bytes of the switching key, packed.
    pub fn byte_len(&self, params: &Params) -> usize {
        self.key.byte_len(params)
    }

    /// Wraps a stored switching key.
    ///
    /// # Errors
    /// [`Error::Rank`] unless it goes from `r (r + 1) / 2` components to `r`;
    /// [`Error::ParamsMismatch`] or [`Error::KeyMismatch`] unless it stays under one secret.
    pub fn from_key(key: SeededKeySwitchKey) -> Result<Self> {
        let shape = key.shape();
        shape.check_one_secret("assemble a relinearisation key")?;
        let needed = shape.to_rank * (shape.to_rank + 1) / 2;
        if shape.from_rank != needed {
            let op = "assemble a relinearisation key";
            return Err(Error::Rank { op, found: shape.from_rank, needed });
        }
        Ok(Self { key })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{assert_close, message, params, rng};
    use crate::{measure, noise};

    #[test]
    fn products_relinearise_at_every_rank() {
        for (rank, special) in [(1, 1), (1, 3), (2, 2), (3, 2)] {
            let params = params(512, rank, 5, special);
            let secret = SecretKey::generate(&params, &mut rng(1)).unwrap();
            let key = RelinKey::generate(&secret, 4, &mut rng(2)).unwrap();
            assert_eq!(key.compress().expand(&params).unwrap(), key);
            for limbs in [2, 4] {
                let (x, y) = (message(&params, limbs, 7), message(&params, limbs, 8));
                let cx = secret.encrypt(&x, &mut rng(3)).unwrap();
                let cy = secret.encrypt(&y, &mut rng(4)).unwrap();
                let ring = params.q().prefix(limbs);
                let mut expected = cx.phase(&secret).unwrap();
                ring.mul_assign(&mut expected, &cy.phase(&secret).unwrap());
                let product = key.multiply(&params, &cx, &cy).unwrap();
                let stats = measure::noise(&secret, &product, &expected).unwrap();
                assert_close(stats.variance, noise::relinearise(&params, limbs), 1.35);
                // Against the exact product of the messages: the formula for products.
                let mut exact = x.clone();
                ring.mul_assign(&mut exact, &y);
                let mean_square = |m: &Poly<Ntt>| {
                    let m = ring.inverse(m.clone());
                    measure::NoiseStats::of(measure::centered_f64(&ring, &m)).variance
                };
                let fresh = noise::fresh_secret(&params);
                let predicted = noise::relinearise(&params, limbs)
                    + noise::product(&params, (mean_square(&x), fresh), (mean_square(&y), fresh));
                let stats = measure::noise(&secret, &product, &exact).unwrap();
                assert_close(stats.variance, predicted, 1.35);
                // Rescaled in the same division: one rounding, and nothing of the product's noise.
                for primes in 1..limbs.min(3) {
                    let tensor = Tensor::product(&params, &cx, &cy).unwrap();
                    let fused = key.relinearise_rescale(&params, tensor, primes).unwrap();
                    assert_eq!(fused.limbs(), limbs - primes);
                    let divided = bellerophon_ring::rescale(&ring, (*expected).clone(), primes);
                    let stats = measure::noise(&secret, &fused, &divided).unwrap();
                    // The quotient that it is compared with is rounded too.
                    let predicted =
                        noise::relinearise_rescale(&params, limbs, primes, 0.0) + 1.0 / 12.0;
                    assert_close(stats.variance, predicted, 1.35);
                }
                // Squares.
                let square = key.square(&params, &cx).unwrap();
                assert_eq!(square, key.multiply(&params, &cx, &cx).unwrap());
                // Sums share one relinearisation.
                let mut sum = Tensor::product(&params, &cx, &cy).unwrap();
                sum.add_assign(&params, &Tensor::square(&params, &cx).unwrap()).unwrap();
                let both = key.relinearise(&params, sum).unwrap();
                let mut expected_sum = cx.phase(&secret).unwrap();
                ring.mul_assign(&mut expected_sum, &cx.phase(&secret).unwrap());
                ring.add_assign(&mut expected_sum, &expected);
                let stats = measure::noise(&secret, &both, &expected_sum).unwrap();
                assert_close(stats.variance, noise::relinearise(&params, limbs), 1.35);
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
        let ct = secret.encrypt(&scaled, &mut rng(3)).unwrap().rescale(&params).unwrap();
        assert_eq!(ct.limbs(), 2);
        let mut expected = m;
        expected.truncate(2);
        let stats = measure::noise(&secret, &ct, &expected).unwrap();
        let predicted = noise::rescale(&params, 3, noise::fresh_secret(&params));
        assert_close(stats.variance, predicted, 1.35);
        assert!(stats.max < noise::canonical::rescale(&params));
        let one = ct.rescale(&params).unwrap();
        assert!(matches!(one.clone().rescale(&params), Err(Error::Limbs { found: 1, .. })));
        assert!(matches!(one.rescale_by(&params, 0), Err(Error::Limbs { found: 1, .. })));
    }

    #[test]
    fn refuses_foreign_factors() {
        let params = params(64, 1, 3, 1);
        let secret = SecretKey::generate(&params, &mut rng(1)).unwrap();
        let other = SecretKey::generate(&params, &mut rng(2)).unwrap();
        let key = RelinKey::generate(&secret, 2, &mut rng(2)).unwrap();
        let encrypt =
            |key: &SecretKey, limbs| key.encrypt(&message(&params, limbs, 1), &mut rng(1)).unwrap();
        let (x, y) = (encrypt(&secret, 2), encrypt(&other, 2));
        let refused = key.multiply(&params, &x, &y);
        assert!(matches!(refused, Err(Error::KeyMismatch { .. })));
        let refused = key.square(&params, &y);
        assert!(matches!(refused, Err(Error::KeyMismatch { .. })));
        let refused = key.square(&params, &encrypt(&secret, 3));
        assert!(matches!(refused, Err(Error::Limbs { found: 3, .. })));
        let tensor = Tensor::square(&params, &x).unwrap();
        let refused = key.relinearise_rescale(&params, tensor, 2);
        assert!(matches!(refused, Err(Error::Limbs { found: 2, .. })));
        let between = KeySwitchKey::between(&secret, &other, 2, &mut rng(5)).unwrap();
        let refused = SeededRelinKey::from_key(between.compress());
        assert!(matches!(refused, Err(Error::KeyMismatch { .. })));
        let refused = crate::SeededGaloisKey::from_parts(&params, 5, between.compress());
        assert!(matches!(refused, Err(Error::KeyMismatch { .. })));
        let refused = key.multiply(&params, &x, &encrypt(&secret, 1));
        assert!(matches!(refused, Err(Error::Limbs { found: 1, .. })));
    }
}
