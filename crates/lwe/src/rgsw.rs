//! RGSW ciphertexts: their gadget, a special modulus or digits, and the encryption of their rows.
//!
//! An RGSW encryption of a small `m` under `z` has `2 d` rows, `d` the digits of a component. Row
//! `t` of component 0 is a ring encryption of `g_t m`, row `t` of component 1 one of `g_t m z`.
//! `external_product.rs` multiplies by them.

use bellerophon_ring::{DigitGadget, Modulus, MonomialTable, Ntt, Poly, Result, Ring, sample};
use rand::CryptoRng;
use zeroize::Zeroizing;

use crate::engine::RgswGadget;
use crate::error;
use crate::secret::SecretKey;

/// The rings, digits and constants of the external product of one parameter set.
#[derive(Debug)]
pub struct RgswContext {
    ring: Ring,
    monomials: Vec<MonomialTable>,
    pub(crate) gadget: Gadget,
}

#[derive(Debug)]
pub(crate) enum Gadget {
    /// `q'^-1` modulo `q0`.
    SpecialModulus {
        inverse: u64,
    },
    Digits(DigitGadget),
}

impl RgswContext {
    pub(crate) fn new(degree: usize, q0: Modulus, gadget: RgswGadget) -> Result<Self> {
        let (ring, gadget) = match gadget {
            // The rows are modulo q0 q', and mod-down divides products by q'.
            RgswGadget::SpecialModulus { modulus } => {
                let special = Modulus::new(modulus)?;
                if modulus < q0.value() {
                    // The noise of a step is q0 / q' times the noise of the key.
                    return Err(error::parameter(
                        "gadget.modulus",
                        modulus.to_string(),
                        format!("a special prime above q0 = {}", q0.value()),
                    ));
                }
                let ring = Ring::new(degree, &[q0, special])?;
                (ring, Gadget::SpecialModulus { inverse: q0.inv(q0.reduce(modulus))? })
            }
            // The rows are modulo q0.
            RgswGadget::Digits { base_log, count } => {
                if count > 2 {
                    return Err(error::parameter(
                        "gadget.count",
                        count.to_string(),
                        "1 or 2 digits: with more a special modulus is faster".into(),
                    ));
                }
                let digits = DigitGadget::new(q0, base_log, count)?;
                (Ring::new(degree, &[q0])?, Gadget::Digits(digits))
            }
        };
        let monomials = (0..ring.limbs()).map(|i| MonomialTable::new(ring.table(i))).collect();
        Ok(Self { ring, monomials, gadget })
    }

    /// The ring of the rows: modulo `q0` or `q0 q'`.
    pub fn ring(&self) -> &Ring {
        &self.ring
    }

    /// The monomials `X^k` in NTT form, one table for each prime of the ring.
    pub(crate) fn monomials(&self) -> &[MonomialTable] {
        &self.monomials
    }

    /// The number of digits of a component.
    pub fn digits(&self) -> usize {
        match &self.gadget {
            Gadget::SpecialModulus { .. } => 1,
            Gadget::Digits(gadget) => gadget.digits(),
        }
    }

    /// The digit gadget, unless the gadget is a special modulus.
    pub(crate) fn digit_gadget(&self) -> Option<&DigitGadget> {
        match &self.gadget {
            Gadget::SpecialModulus { .. } => None,
            Gadget::Digits(gadget) => Some(gadget),
        }
    }

    /// The number of rows of an RGSW ciphertext: twice [`digits`](Self::digits), those of `b`
    /// first.
    pub(crate) fn rows(&self) -> usize {
        2 * self.digits()
    }

    /// The gadget constant `g_t` modulo every prime of the ring.
    fn factor(&self, t: usize) -> Vec<u64> {
        match &self.gadget {
            // g_0 = q', which is 0 modulo q'.
            Gadget::SpecialModulus { .. } => {
                vec![self.ring.modulus(0).reduce(self.ring.modulus(1).value()), 0]
            }
            Gadget::Digits(gadget) => vec![gadget.factors()[t]],
        }
    }
}

/// The constants for encrypting rows: the secret and its multiples by the gadget constants.
pub(crate) struct RowEncryptor<'p> {
    ring: &'p Ring,
    noise: sample::Gaussian,
    secret: Zeroizing<Poly<Ntt>>,
    /// The plaintexts of the rows of an encryption of 1: all `g_t`, then all `g_t z`.
    units: Vec<Zeroizing<Poly<Ntt>>>,
}

impl<'p> RowEncryptor<'p> {
    pub(crate) fn new(context: &'p RgswContext, sigma: f64, secret: &SecretKey) -> Result<Self> {
        secret.check(context.ring().degree())?;
        let ring = context.ring();
        let secret = Zeroizing::new(ring.forward(ring.from_signed(secret.coefficients())));
        // Row t of component 0 encrypts g_t, row t of component 1 encrypts g_t z.
        let mut one = vec![0; ring.degree()];
        one[0] = 1;
        let one = Zeroizing::new(ring.forward(ring.from_signed(&one)));
        let units = [&one, &secret]
            .into_iter()
            .flat_map(|component| {
                (0..context.digits()).map(|t| {
                    let mut unit = component.clone();
                    ring.mul_residues_assign(&mut unit, &context.factor(t));
                    unit
                })
            })
            .collect();
        let noise = sample::Gaussian::new(sigma)?;
        Ok(Self { ring, noise, secret, units })
    }

    /// The body for a mask: `e + m unit_row - mask z`.
    pub(crate) fn body<R: CryptoRng + ?Sized>(
        &self,
        row: usize,
        mask: &Poly<Ntt>,
        message: &Poly<Ntt>,
        rng: &mut R,
    ) -> Poly<Ntt> {
        let ring = self.ring;
        let mut body = ring.forward(ring.from_signed(&self.noise.sample(ring.degree(), rng)));
        ring.mul_add_assign(&mut body, message, &self.units[row]);
        // The mask is public, so the product reveals the secret: it is erased on drop.
        let mut masked = Zeroizing::new(Poly::clone(mask));
        ring.mul_assign(&mut masked, &self.secret);
        ring.sub_assign(&mut body, &masked);
        body
    }
}

#[cfg(test)]
mod tests {
    use bellerophon_ring::ErrorKind;
    use rand::SeedableRng;
    use rand_chacha::ChaCha20Rng;

    use super::*;
    use crate::error::refusal;
    use crate::params::Params;
    use crate::params::tests::insecure;

    #[test]
    fn secrets_of_other_dimensions_are_refused() {
        let mut rng = ChaCha20Rng::seed_from_u64(2);
        let params = Params::new(insecure(8, 64, false)).unwrap();
        let lwe = SecretKey::generate_lwe(&params, &mut rng).unwrap();
        assert!(RowEncryptor::new(params.rgsw().unwrap(), 3.2, &lwe).is_err());
    }

    #[test]
    fn gadgets_that_cannot_work_are_refused() {
        let q0 = Modulus::new(insecure(8, 64, false).ring_modulus).unwrap();
        let small = bellerophon_ring::prime::ntt_primes_below(64, 30, 1, &[]).unwrap()[0];
        let special = RgswGadget::SpecialModulus { modulus: small.value() };
        assert!(
            refusal(&RgswContext::new(64, q0, special))
                .is(&ErrorKind::Parameters, "is not supported: need")
        );
        let digits = RgswGadget::Digits { base_log: 5, count: 3 };
        assert!(
            refusal(&RgswContext::new(64, q0, digits))
                .is(&ErrorKind::Parameters, "is not supported: need")
        );
    }
}
