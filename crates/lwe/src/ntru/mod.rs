//! NTRU ciphertexts and their external product (Xiang et al., CRYPTO 2023, as in
//! `pegasus-ntru`, section 3.1).
//!
//! An NTRU encryption of `u` under an invertible ternary `f` is the one polynomial
//! `c = (g + u) / f` modulo `Q`, `g` fresh and ternary: its phase is `c f = u + g`. An NTRU'
//! encryption of a small `v` is `g_t / f + B_t v` for each constant `B_t` of a digit gadget. With
//! the digits `c = sum_t h_t B_t + e` the sum of digits times rows has the phase
//! `v phase(c) + sum_t h_t g_t - e f v`: the external product.
//!
//! | type | what it is |
//! | --- | --- |
//! | [`NtruContext`] | ring, digits and constants of a parameter set |
//! | [`NtruSecret`] | `f` with its inverse |
//! | [`NtruCiphertext`], [`NtruGadgetCiphertext`] | NTRU and NTRU' |
//! | [`NtruAutomorphismKey`] | `X -> X^g` of a ciphertext: NTRU' of `f(X^g) / f` |
//!
//! `c` is the ring ciphertext `(0, c)` under `f`. So one ring key switch `f -> z`, after scaling
//! from `Q` to `q0`, brings a rotated table where every other engine leaves it, and no secret but
//! `z` is needed afterwards: `f` lives as long as the generation of its keys.
//!
//! Security falls with `Q` over the width of `g`. A wider `g` at a `Q` as much larger gains nothing:
//! the same noise relative to `Q`, in more bytes. So `g` is ternary, and `Q` as large as security
//! allows: at the best digits the noise grows with `sqrt(Q)` for one digit and with `Q^(1/3)` for
//! two, so relative to `Q` it falls.
//!
//! Security rests on decision NTRU at a `Q` far beyond the fatigue point, for thousands of rows under one
//! `f`, some of which encrypt functions of `f`: assumptions beside LWE, which the page `docs/ntru.md` states.

mod automorphism;
mod ciphertext;
mod secret;
pub(crate) mod switch;

pub use automorphism::NtruAutomorphismKey;
pub use ciphertext::{NtruCiphertext, NtruGadgetCiphertext};
pub(crate) use ciphertext::{row, secret_monomial};
pub use secret::NtruSecret;

use bellerophon_ring::{Coeff, DigitGadget, Modulus, MonomialTable, Ntt, NttTable, Poly, Ring};

use crate::{Error, NtruRotation, NtruSpec, Result};

/// The rings, digits and constants of the NTRU engine of one parameter set.
#[derive(Debug)]
pub struct NtruContext {
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
        let refuse = |field, found: String, needed: &str| {
            Err(Error::Parameter { field, found, needed: needed.into() })
        };
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

    /// The literal.
    pub fn spec(&self) -> &NtruSpec {
        &self.spec
    }

    /// The ring modulo `Q`.
    pub fn ring(&self) -> &Ring {
        &self.ring
    }

    /// The digits of the external product.
    pub fn gadget(&self) -> &DigitGadget {
        &self.gadget
    }

    /// The ring modulo `q0`.
    pub fn table_ring(&self) -> &Ring {
        &self.table_ring
    }

    /// The digits of the ring key switch `f -> z` modulo `q0`.
    pub fn switch_gadget(&self) -> &DigitGadget {
        &self.switch_gadget
    }

    pub(crate) fn monomials(&self) -> &MonomialTable {
        &self.monomials
    }

    /// `N`, the words of a polynomial.
    pub(crate) fn degree(&self) -> usize {
        self.ring.degree()
    }

    pub(crate) fn table(&self) -> &NttTable {
        self.ring.table(0)
    }

    /// Words of the digits of one polynomial.
    pub(crate) fn digit_words(&self) -> usize {
        self.gadget.digits() * self.degree()
    }

    /// The digits of a polynomial in NTT form.
    pub(crate) fn decompose(&self, x: &[u64], digits: &mut [u64]) {
        self.table().signed_digits(&self.gadget, x, digits);
        digits.chunks_exact_mut(self.degree()).for_each(|digit| self.table().forward(digit));
    }

    /// `x = sum_t digit_t row_t` in coefficient form, with the digits of `x`; `rows` holds the
    /// rows one after the other, `digits` is scratch.
    pub(crate) fn multiply(&self, x: &mut [u64], rows: &[u64], digits: &mut [u64]) {
        let n = self.degree();
        self.decompose(x, digits);
        let pairs: Vec<_> = digits.chunks_exact(n).zip(rows.chunks_exact(n)).collect();
        self.table().sum_of_products(x, &pairs);
        self.table().inverse(x);
    }

    /// A polynomial modulo `q0` times `Q / q0`, rounded.
    pub(crate) fn scaled_from_table(&self, x: Poly<Coeff>) -> Poly<Coeff> {
        scale(&self.table_ring, &self.ring, self.inverses[0], x)
    }

    /// A polynomial modulo `Q` times `q0 / Q`, rounded: phases and their noise scale, and the
    /// rounding adds `|f|^2 / 12`.
    pub(crate) fn scaled_to_table(&self, x: Poly<Coeff>) -> Poly<Coeff> {
        scale(&self.ring, &self.table_ring, self.inverses[1], x)
    }

    /// Fails with the operation's name unless the degree is that of the ring.
    pub(crate) fn check_degree(&self, op: &'static str, found: usize) -> Result<()> {
        if found != self.degree() {
            let remedy = "use polynomials and keys of one parameter set";
            return Err(Error::Dimension { op, found, needed: self.degree(), remedy });
        }
        Ok(())
    }

    /// Fails with the operation's name unless degree and modulus are those of the ring.
    pub(crate) fn check(&self, op: &'static str, degree: usize, modulus: &Modulus) -> Result<()> {
        self.check_degree(op, degree)?;
        let own = self.gadget.modulus();
        if modulus != own {
            return Err(Error::Parameter {
                field: "engine.modulus",
                found: format!("{} in {op}", modulus.value()),
                needed: format!("{}, the modulus of these parameters", own.value()),
            });
        }
        Ok(())
    }

    /// Fails with the operation's name unless a key of this degree and these digits is of this
    /// context.
    pub(crate) fn check_key(
        &self,
        op: &'static str,
        degree: usize,
        gadget: &DigitGadget,
    ) -> Result<()> {
        self.check(op, degree, gadget.modulus())?;
        if *gadget != self.gadget {
            let print =
                |of: &DigitGadget| format!("{} digits of {} bits", of.digits(), of.base_log());
            return Err(Error::Parameter {
                field: "engine.count",
                found: format!("{} in {op}", print(gadget)),
                needed: format!("a key of these parameters, {}", print(&self.gadget)),
            });
        }
        Ok(())
    }

    /// The polynomial with these secret coefficients, in NTT form.
    pub(crate) fn forward(&self, coefficients: &[i64]) -> Poly<Ntt> {
        self.ring.forward(self.ring.from_signed(coefficients))
    }
}

/// `round(x to / from)` modulo `to`, `inverse` being `from^-1` there: with `t` the residue of
/// `x to` modulo `from`, centred, the quotient is `(x to - t) / from`, that is `-t / from`.
fn scale(from: &Ring, to: &Ring, inverse: u64, mut x: Poly<Coeff>) -> Poly<Coeff> {
    let q = from.modulus(0);
    from.mul_residues_assign(&mut x, &[q.reduce(to.modulus(0).value())]);
    let nothing = to.zero::<Coeff>();
    let mut out = to.zero();
    let table = to.table(0);
    table.add_scaled_difference(out.limb_mut(0), nothing.limb(0), x.limb(0), q, inverse);
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Engine, Params,
        params::tests::{insecure_ntru, insecure_ntru_that_drops},
    };
    use bellerophon_ring::{prime, sample};
    use rand::SeedableRng;
    use rand_chacha::ChaCha20Rng;

    /// Secrets, ciphertexts and keys of another degree or modulus, and keys of other digits.
    #[test]
    fn operands_of_other_parameters_are_refused() {
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
        let all = params.each_ref().map(|params| {
            let context = params.ntru().unwrap();
            let (n, rng) = (context.degree(), &mut rng);
            let secret = NtruSecret::generate(context, rng).unwrap();
            let c = NtruCiphertext::encrypt(context, &secret, &vec![0; n], rng).unwrap();
            let key = NtruGadgetCiphertext::encrypt(context, &secret, &vec![0; n], rng).unwrap();
            let turn = NtruAutomorphismKey::generate(context, &secret, 5, rng).unwrap();
            (secret, c, key, turn)
        });
        let (context, (secret, c, key, turn)) = (params[0].ntru().unwrap(), &all[0]);
        let zeros = [0; 64];
        for (i, (other_secret, other_c, other_key, other_turn)) in all.iter().enumerate() {
            // With other digits secrets and ciphertexts are the same; keys are not.
            let (same, same_key) = (i == 0 || i == 3, i == 0);
            let by_secret = [
                NtruCiphertext::encrypt(context, other_secret, &zeros, &mut rng).is_ok(),
                NtruGadgetCiphertext::encrypt(context, other_secret, &zeros, &mut rng).is_ok(),
                NtruAutomorphismKey::generate(context, other_secret, 5, &mut rng).is_ok(),
                other_secret.phases(context, c).is_ok(),
            ];
            assert_eq!(by_secret, [same; 4], "{i}");
            let by_ciphertext = [
                secret.phases(context, other_c).is_ok(),
                key.product(context, other_c).is_ok(),
                turn.apply(context, other_c).is_ok(),
            ];
            assert_eq!(by_ciphertext, [same; 3], "{i}");
            let by_key = [other_key.product(context, c), other_turn.apply(context, c)];
            assert_eq!(by_key.map(|result| result.is_ok()), [same_key; 2], "{i}");
        }
        assert!(NtruCiphertext::encrypt(context, secret, &[0; 8], &mut rng).is_err());
        assert!(NtruGadgetCiphertext::encrypt(context, secret, &[0; 8], &mut rng).is_err());
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
