//! NTRU ciphertexts and their external product (Xiang et al., CRYPTO 2023, as in
//! `pegasus-ntru`, section 3.1).
//!
//! An NTRU encryption of `u` under an invertible ternary `f` is the one polynomial
//! `c = (g + u) / f` modulo `Q`, `g` fresh and ternary: its phase is `c f = u + g`. An NTRU'
//! encryption of a small `v` is `g_t / f + B_t v` for each constant `B_t` of a digit gadget. The
//! gadget decomposition is `c = sum_t h_t B_t + e`. The external product is the sum of digits times
//! rows, and its phase is `v phase(c) + sum_t h_t g_t - e f v`.
//!
//! [`NtruContext`] holds ring, digits and constants of a parameter set. Secrets and keys are
//! internal to the engine.
//!
//! `c` is the ring ciphertext `(0, c)` under `f`. After scaling from `Q` to `q0`, one ring key
//! switch `f -> z` gives the same output form as every other engine. Only `z` decrypts it, so `f`
//! is erased after key generation.
//!
//! Security falls as the ratio of `Q` to the width of `g` grows. A wider `g` with a proportionally
//! larger `Q` gains nothing: the noise relative to `Q` stays the same, and the keys grow. Therefore
//! `g` is ternary, and `Q` is as large as security allows. With optimal digits the noise grows with
//! `sqrt(Q)` for one digit and with `Q^(1/3)` for two, so relative to `Q` it falls.
//!
//! Security rests on decision NTRU at a `Q` far beyond the fatigue point, for thousands of rows
//! under one `f`, some of which encrypt functions of `f`. These are assumptions in addition to LWE;
//! `docs/ntru.md` states them.

mod automorphism;
mod ciphertext;
mod secret;
pub(crate) mod switch;
#[cfg(test)]
pub(crate) mod testing;

use bellerophon_ring::{
    Coeff, DigitGadget, Modulus, MonomialTable, Ntt, NttTable, Poly, Result, Ring,
};

pub(crate) use automorphism::NtruAutomorphismKey;
pub(crate) use ciphertext::{NtruGadgetCiphertext, row, secret_monomial};
pub(crate) use secret::NtruSecret;

use crate::engine::{NtruRotation, NtruSpec};
use crate::error;

/// The rings, digits and constants of the NTRU engine of one parameter set.
#[derive(Debug)]
pub(crate) struct NtruContext {
    spec: NtruSpec,
    ring: Ring,
    gadget: DigitGadget,
    monomials: MonomialTable,
    table_ring: Ring,
    switch_gadget: DigitGadget,
    /// `q0^-1` modulo `Q` and `Q^-1` modulo `q0`.
    inverses: [u64; 2],
}

impl NtruContext {
    pub(crate) fn new(degree: usize, q0: Modulus, spec: NtruSpec) -> Result<Self> {
        // Step 1: validate the modulus and the rotation.
        let refuse =
            |field, found: String, needed: &str| Err(error::parameter(field, found, needed.into()));
        let q = Modulus::new(spec.modulus)?;
        if q == q0 {
            let needed = "a prime other than ring_modulus";
            return refuse("engine.modulus", spec.modulus.to_string(), needed);
        }
        match spec.rotation {
            NtruRotation::Ternary if spec.count > 4 => {
                let needed = "one to four digits";
                return refuse("engine.count", spec.count.to_string(), needed);
            }
            NtruRotation::Any { window } if window == 0 || window >= degree / 2 => {
                let needed = "1 up to half the degree, exclusive";
                return refuse("engine.rotation.window", window.to_string(), needed);
            }
            _ => {}
        }
        // Step 2: rings, gadgets and constants.
        let ring = Ring::new(degree, &[q])?;
        Ok(Self {
            spec,
            gadget: DigitGadget::new(q, spec.base_log, spec.count)?,
            monomials: MonomialTable::new(ring.table(0)),
            ring,
            table_ring: Ring::new(degree, &[q0])?,
            switch_gadget: DigitGadget::new(q0, spec.switch_base_log, spec.switch_count)?,
            inverses: [q.inv(q.reduce(q0.value()))?, q0.inv(q0.reduce(q.value()))?],
        })
    }

    /// The specification that the context was built from.
    pub(crate) fn spec(&self) -> &NtruSpec {
        &self.spec
    }

    /// The ring modulo `Q`.
    pub(crate) fn ring(&self) -> &Ring {
        &self.ring
    }

    /// The digits of the external product.
    pub(crate) fn gadget(&self) -> &DigitGadget {
        &self.gadget
    }

    /// The ring modulo `q0`.
    pub(crate) fn table_ring(&self) -> &Ring {
        &self.table_ring
    }

    /// The digits of the ring key switch `f -> z` modulo `q0`.
    pub(crate) fn switch_gadget(&self) -> &DigitGadget {
        &self.switch_gadget
    }

    /// The monomials `X^k` in NTT form.
    pub(crate) fn monomials(&self) -> &MonomialTable {
        &self.monomials
    }

    /// `N`, the words of a polynomial.
    pub(crate) fn degree(&self) -> usize {
        self.ring.degree()
    }

    /// The NTT table of `Q`.
    pub(crate) fn table(&self) -> &NttTable {
        self.ring.table(0)
    }

    /// Words of all digits of one polynomial.
    pub(crate) fn digit_words(&self) -> usize {
        self.gadget.digits() * self.degree()
    }

    /// The digits of a polynomial in NTT form.
    pub(crate) fn decompose(&self, x: &[u64], digits: &mut [u64]) {
        self.table().signed_digits(&self.gadget, x, digits);
        digits.chunks_exact_mut(self.degree()).for_each(|digit| self.table().forward(digit));
    }

    /// The external product `x = sum_t digit_t row_t` in coefficient form, with the digits of `x`.
    /// `rows` holds the rows one after the other, and `digits` is scratch space.
    pub(crate) fn multiply(&self, x: &mut [u64], rows: &[u64], digits: &mut [u64]) {
        let n = self.degree();
        // Step 1: gadget decomposition. Step 2: inner product with the rows. Step 3: inverse NTT.
        self.decompose(x, digits);
        let pairs: Vec<_> = digits.chunks_exact(n).zip(rows.chunks_exact(n)).collect();
        self.table().sum_of_products(x, &pairs);
        self.table().inverse(x);
    }

    /// Modulus switch from `q0` to `Q`: `x Q / q0`, rounded.
    pub(crate) fn scaled_from_table(&self, x: Poly<Coeff>) -> Poly<Coeff> {
        scale(&self.table_ring, &self.ring, self.inverses[0], x)
    }

    /// Modulus switch from `Q` to `q0`: `x q0 / Q`, rounded. Phases and their noise scale alike,
    /// and the rounding adds the variance `|f|^2 / 12`.
    pub(crate) fn scaled_to_table(&self, x: Poly<Coeff>) -> Poly<Coeff> {
        scale(&self.ring, &self.table_ring, self.inverses[1], x)
    }

    /// Fails with the operation's name unless the degree is that of the ring.
    pub(crate) fn check_degree(&self, found: usize) -> Result<()> {
        if found != self.degree() {
            let remedy = "use polynomials and keys of one parameter set";
            return Err(error::dimension(found, self.degree(), remedy));
        }
        Ok(())
    }

    /// Fails with the operation's name unless degree and modulus are those of the ring.
    pub(crate) fn check(&self, degree: usize, modulus: &Modulus) -> Result<()> {
        self.check_degree(degree)?;
        let own = self.gadget.modulus();
        if modulus != own {
            return Err(error::parameter(
                "engine.modulus",
                modulus.value().to_string(),
                format!("{}, the modulus of these parameters", own.value()),
            ));
        }
        Ok(())
    }

    /// The polynomial with these secret coefficients, in NTT form.
    pub(crate) fn forward(&self, coefficients: &[i64]) -> Poly<Ntt> {
        self.ring.forward(self.ring.from_signed(coefficients))
    }
}

/// `round(x to / from)` modulo `to`, where `inverse` is `from^-1` modulo `to`. Let `t` be the
/// centred residue of `x to` modulo `from`. The quotient is `(x to - t) / from`, which equals
/// `-t / from` modulo `to`.
fn scale(from: &Ring, to: &Ring, inverse: u64, mut x: Poly<Coeff>) -> Poly<Coeff> {
    // Step 1: t = x to modulo from.
    let q = from.modulus(0);
    from.mul_residues_assign(&mut x, &[q.reduce(to.modulus(0).value())]);
    // Step 2: (0 - t) from^-1 modulo to, with t centred.
    let zero = to.zero::<Coeff>();
    let mut out = to.zero();
    let table = to.table(0);
    table.add_scaled_difference(out.limb_mut(0), zero.limb(0), x.limb(0), q, inverse);
    out
}

#[cfg(test)]
mod tests {
    use bellerophon_ring::{prime, sample};
    use rand::SeedableRng;
    use rand_chacha::ChaCha20Rng;

    use super::*;
    use crate::engine::Engine;
    use crate::params::Params;
    use crate::params::tests::{insecure_ntru, insecure_ntru_that_drops};

    /// Secrets of another degree or modulus. The digits affect keys, but not secrets.
    #[test]
    fn secrets_of_other_parameters_are_refused() {
        let mut rng = ChaCha20Rng::seed_from_u64(2);
        let form = NtruRotation::Ternary;
        let small = insecure_ntru(8, 32, form);
        let mut modulus = insecure_ntru(8, 64, form);
        if let Engine::Ntru(ntru) = &mut modulus.engine {
            ntru.modulus = prime::ntt_primes_below(64, 44, 2, &[]).unwrap()[1].value();
        }
        let specs =
            [insecure_ntru(8, 64, form), small, modulus, insecure_ntru_that_drops(8, 64, form)];
        let params = specs.map(|spec| Params::new(spec).unwrap());
        let context = params[0].ntru().unwrap();
        for (i, other) in params.iter().enumerate() {
            let secret = NtruSecret::generate(other.ntru().unwrap(), &mut rng).unwrap();
            let key = NtruAutomorphismKey::generate(context, &secret, 5, &mut rng);
            assert_eq!(key.is_ok(), i == 0 || i == 3, "{i}");
        }
    }

    #[test]
    fn scaling_rounds_to_nearest_in_both_directions() {
        let params = Params::new(insecure_ntru(8, 64, NtruRotation::Ternary)).unwrap();
        let context = params.ntru().unwrap();
        let mut rng = ChaCha20Rng::seed_from_u64(1);
        for up in [false, true] {
            let (from, to) = if up {
                (&context.ring, &context.table_ring)
            } else {
                (&context.table_ring, &context.ring)
            };
            let mut x = from.inverse(sample::uniform(from, &mut rng));
            let (p, q) = (from.modulus(0).value(), to.modulus(0).value());
            let edges = [0, 1, p / 2, p / 2 + 1, p - 1];
            x.limb_mut(0)[..5].copy_from_slice(&edges);
            let y = if up {
                context.scaled_to_table(x.clone())
            } else {
                context.scaled_from_table(x.clone())
            };
            for (&x, &y) in x.limb(0).iter().zip(y.limb(0)) {
                let exact = (2 * x as u128 * q as u128 + p as u128) / (2 * p as u128);
                assert_eq!(y, (exact % q as u128) as u64, "{up} {x}");
            }
        }
    }
}
