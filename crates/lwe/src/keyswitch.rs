//! LWE key switch (PEGASUS.KS, Fig. 9): from an LWE secret of any dimension to one of dimension
//! `n`, with keys packed into ring ciphertexts.

use bellerophon_ring::{DigitGadget, Ntt, NttTable, Poly, Result, sample, try_map};
use rand::CryptoRng;
use zeroize::Zeroizing;

use crate::ciphertext::Ciphertext;
use crate::error;
use crate::params::Params;
use crate::secret::SecretKey;

/// The compressed key-switching key: one seed and the bodies.
///
/// Block `j` of the source secret is the polynomial `sum_l s[j n + l] X^l`. For each block and each
/// digit `t` the key has a ring encryption of `g_t` times the block, under the target secret and
/// modulo `q`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeededKeySwitchKey {
    source: usize,
    gadget: DigitGadget,
    seed: sample::Seed,
    bodies: Vec<Poly<Ntt>>,
}

impl SeededKeySwitchKey {
    /// Generates the key from `source`, the secret of the input ciphertexts, which may have any
    /// dimension, to the LWE secret `target`.
    pub fn generate<R: CryptoRng + ?Sized>(
        params: &Params,
        source: &SecretKey,
        target: &SecretKey,
        rng: &mut R,
    ) -> Result<Self> {
        target.check(params.spec().dimension)?;
        let (ring, gadget) = (params.lwe_ring(), params.key_switch_gadget());
        let n = params.spec().dimension;
        let noise = sample::Gaussian::new(params.spec().sigma)?;
        let seed = sample::Seed::random(rng);
        let secret = Zeroizing::new(ring.forward(ring.from_signed(target.coefficients())));
        let mut bodies = Vec::new();
        for block in source.coefficients().chunks(n) {
            // Step 1: the block as a polynomial, padded with zeros.
            let mut coefficients = Zeroizing::new(vec![0; n]);
            coefficients[..block.len()].copy_from_slice(block);
            let message = Zeroizing::new(ring.forward(ring.from_signed(&coefficients)));
            // Step 2: for each digit t, body = e + g_t block - mask z.
            for factor in gadget.factors() {
                let mut body = ring.forward(ring.from_signed(&noise.sample(n, rng)));
                let mut scaled = Zeroizing::new(Poly::clone(&message));
                ring.mul_residues_assign(&mut scaled, &[factor]);
                ring.add_assign(&mut body, &scaled);
                // The mask is public, so the product reveals the secret: it is erased on drop.
                let mask = sample::uniform_from_seed(ring, &seed, bodies.len() as u64);
                let mut masked = Zeroizing::new(mask);
                ring.mul_assign(&mut masked, &secret);
                ring.sub_assign(&mut body, &masked);
                bodies.push(body);
            }
        }
        Ok(Self { source: source.dimension(), gadget: *gadget, seed, bodies })
    }

    /// Expands the masks from the seed.
    pub fn expand(&self, params: &Params) -> Result<KeySwitchKey> {
        check(&self.gadget, &self.bodies, params)?;
        let masks = (0..self.bodies.len())
            .map(|row| sample::uniform_from_seed(params.lwe_ring(), &self.seed, row as u64))
            .collect();
        let Self { source, gadget, seed, bodies } = self.clone();
        Ok(KeySwitchKey { source, gadget, seed, bodies, masks })
    }

    /// The key from its stored fields.
    pub(crate) fn from_parts(
        params: &Params,
        source: usize,
        seed: sample::Seed,
        bodies: Vec<Poly<Ntt>>,
    ) -> Result<Self> {
        let gadget = *params.key_switch_gadget();
        check(&gadget, &bodies, params)?;
        let (found, needed) = (bodies.len(), Self::rows(params, source));
        if source == 0 || found != needed {
            let remedy = "give one body for each digit of each block of the source secret";
            return Err(error::dimension(found, needed.max(1), remedy));
        }
        Ok(Self { source, gadget, seed, bodies })
    }

    /// The number of bodies of a key with this source dimension: one for each digit of each block
    /// of `n` coefficients.
    pub(crate) fn rows(params: &Params, source: usize) -> usize {
        source.div_ceil(params.spec().dimension).saturating_mul(params.key_switch_gadget().digits())
    }

    /// The dimension of the source secret.
    pub fn source_dimension(&self) -> usize {
        self.source
    }

    /// The seed of the masks.
    pub(crate) fn seed(&self) -> &sample::Seed {
        &self.seed
    }

    /// The bodies, block by block and digit by digit.
    pub(crate) fn bodies(&self) -> &[Poly<Ntt>] {
        &self.bodies
    }

    /// Fails unless the key belongs to these parameters.
    pub(crate) fn check(&self, params: &Params) -> Result<()> {
        check(&self.gadget, &self.bodies, params)
    }

    /// Serialized bytes: the seed, and the bodies packed to the bits of `q`.
    pub fn byte_len(&self, params: &Params) -> usize {
        seeded_byte_len(&self.bodies, params)
    }
}

/// Serialized bytes of a seed and of bodies packed to the bits of `q`.
fn seeded_byte_len(bodies: &[Poly<Ntt>], params: &Params) -> usize {
    let words: usize = bodies.iter().map(Poly::degree).sum();
    32 + (words * params.modulus().bits() as usize).div_ceil(8)
}

/// An expanded key-switching key.
#[derive(Debug, Clone)]
pub struct KeySwitchKey {
    source: usize,
    gadget: DigitGadget,
    /// The seed of the masks.
    seed: sample::Seed,
    bodies: Vec<Poly<Ntt>>,
    masks: Vec<Poly<Ntt>>,
}

impl KeySwitchKey {
    /// Serialized bytes of the compressed key: the seed, and the bodies packed to the bits of `q`.
    pub fn seeded_byte_len(&self, params: &Params) -> usize {
        seeded_byte_len(&self.bodies, params)
    }

    /// The compressed key.
    pub fn compress(&self) -> SeededKeySwitchKey {
        SeededKeySwitchKey {
            source: self.source,
            gadget: self.gadget,
            seed: self.seed,
            bodies: self.bodies.clone(),
        }
    }

    /// Switches a ciphertext modulo `q` to dimension `n` (Fig. 9). The added noise is
    /// [`noise::key_switch`](crate::noise::key_switch).
    pub fn apply(&self, params: &Params, value: &Ciphertext) -> Result<Ciphertext> {
        check(&self.gadget, &self.bodies, params)?;
        value.check(self.source, params.modulus())?;
        let (table, gadget) = (params.lwe_ring().table(0), params.key_switch_gadget());
        let (n, q) = (params.spec().dimension, params.modulus());
        let mut sums = [vec![0; n], vec![0; n]];
        let mut partial = vec![0; n];
        let mut coefficients = vec![0; n];
        let mut digits = vec![0; n * gadget.digits()];
        for (j, block) in value.a().chunks(n).enumerate() {
            // Step 1: the polynomial a[jn] - sum_(l >= 1) a[jn + l] X^(n - l). The constant
            // coefficient of its product with block j of the secret is their inner product.
            coefficients.fill(0);
            coefficients[0] = block[0];
            for (l, &x) in block.iter().enumerate().skip(1) {
                coefficients[n - l] = q.neg(x);
            }
            // Step 2: gadget decomposition, and the inner product of the digits with the key.
            table.signed_digits(gadget, &coefficients, &mut digits);
            digits.chunks_exact_mut(n).for_each(|digit| table.forward(digit));
            let rows = j * gadget.digits()..(j + 1) * gadget.digits();
            for (sum, key) in sums.iter_mut().zip([&self.bodies, &self.masks]) {
                multiply(table, &digits, &key[rows.clone()], &mut partial);
                table.add_assign(sum, &partial);
            }
        }
        // Step 3: coefficient 0, plus the body of the input.
        sums.iter_mut().for_each(|sum| table.inverse(sum));
        let mut out = crate::sample_extraction::sample_extract(q, &sums[0], &sums[1], 0)?;
        out.add_constant(value.b() as i64);
        Ok(out)
    }

    /// Switches many ciphertexts, on the threads of the active pool.
    pub fn apply_batch(&self, params: &Params, values: &[Ciphertext]) -> Result<Vec<Ciphertext>> {
        try_map(values, |value| self.apply(params, value))
    }
}

/// Fails unless a key with these digits and bodies belongs to these parameters.
fn check(gadget: &DigitGadget, bodies: &[Poly<Ntt>], params: &Params) -> Result<()> {
    let needed = params.spec().dimension;
    if let Some(found) = bodies.iter().map(Poly::degree).find(|&found| found != needed) {
        let remedy = "use the key of these parameters";
        return Err(error::dimension(found, needed, remedy));
    }
    let own = params.key_switch_gadget();
    if gadget != own {
        let print = |of: &DigitGadget| {
            format!("{} of {} bits modulo {}", of.digits(), of.base_log(), of.modulus().value())
        };
        return Err(error::parameter(
            "key_switch_digits",
            format!("{} in the key", print(gadget)),
            format!("the key of these parameters, {}", print(own)),
        ));
    }
    Ok(())
}

/// `out = sum_t digits_t key_t`.
fn multiply(table: &NttTable, digits: &[u64], key: &[Poly<Ntt>], out: &mut [u64]) {
    let pairs: Vec<_> =
        digits.chunks_exact(table.degree()).zip(key.iter().map(|row| row.limb(0))).collect();
    table.sum_of_products(out, &pairs);
}

#[cfg(test)]
mod tests {
    use bellerophon_mlwe::security::SecretKind;
    use bellerophon_ring::ErrorKind;
    use rand::SeedableRng;
    use rand_chacha::ChaCha20Rng;

    use super::*;
    use crate::encrypt::{encrypt, phase};
    use crate::error::refusal;
    use crate::params::ParamsSpec;
    use crate::params::tests::insecure;

    /// From shorter, equal and longer secrets.
    #[test]
    fn phases_survive_switches_from_any_dimension() {
        let mut rng = ChaCha20Rng::seed_from_u64(1);
        let params = Params::new(insecure(64, 64, false)).unwrap();
        let target = SecretKey::generate_lwe(&params, &mut rng).unwrap();
        for source in [1, 63, 64, 65, 200, 1024] {
            let secret = SecretKey::generate(source, SecretKind::Ternary, &mut rng).unwrap();
            let seeded = SeededKeySwitchKey::generate(&params, &secret, &target, &mut rng).unwrap();
            assert_eq!(seeded.byte_len(&params), 32 + source.div_ceil(64) * 14 * 64 * 28 / 8);
            let key = seeded.expand(&params).unwrap();
            for message in [0, 1 << 26, -(1 << 26), -(1 << 27) + 60_000] {
                let value = encrypt(params.modulus(), &secret, message, 1.0, &mut rng).unwrap();
                let switched = key.apply(&params, &value).unwrap();
                assert_eq!(switched.dimension(), 64);
                let error = phase(&switched, &target).unwrap() - message;
                assert!(error.abs() < 8192, "{source}: {error}");
            }
        }
    }

    #[test]
    fn wrong_operands_are_refused() {
        let mut rng = ChaCha20Rng::seed_from_u64(2);
        let params = Params::new(insecure(64, 64, false)).unwrap();
        let secret = SecretKey::generate(128, SecretKind::Ternary, &mut rng).unwrap();
        let wrong = SeededKeySwitchKey::generate(&params, &secret, &secret, &mut rng);
        assert!(refusal(&wrong).is(&ErrorKind::Shape, "dimension 128 where 64 is needed"));
        let target = SecretKey::generate_lwe(&params, &mut rng).unwrap();
        let key = SeededKeySwitchKey::generate(&params, &secret, &target, &mut rng).unwrap();
        let other = Params::new(ParamsSpec { key_switch_digits: 7, ..insecure(64, 64, false) });
        let other = other.unwrap();
        let error = key.expand(&other).unwrap_err();
        assert!(error.is(&ErrorKind::Parameters, "parameter key_switch_digits ="), "{error}");
        let key = key.expand(&params).unwrap();
        let value = Ciphertext::trivial(*params.modulus(), 128, 0);
        assert_eq!(key.apply(&other, &value), Err(error));
        let short = Ciphertext::trivial(*params.modulus(), 64, 0);
        assert!(refusal(&key.apply(&params, &short)).is(&ErrorKind::Shape, "is needed"));
        let wide = Ciphertext::trivial(*params.ring_modulus(), 128, 0);
        assert!(
            refusal(&key.apply(&params, &wide))
                .is(&ErrorKind::ParamsMismatch, "is needed; switch the modulus first")
        );
        let batch = [Ciphertext::trivial(*params.modulus(), 128, 7), short];
        assert!(key.apply_batch(&params, &batch).is_err());
        assert_eq!(key.apply_batch(&params, &batch[..1]).unwrap().len(), 1);
    }
}
