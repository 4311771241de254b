//! One seed for all secret keys of a client.

use std::fmt;

use bellerophon_lookup::LookupSecrets;
use bellerophon_mlwe::SecretKey;
use bellerophon_pir::{self as pir, bfv};
use bellerophon_ring::{
    Result,
    sample::SecretRng,
    wire::{Fingerprint, Fingerprinted},
};
use rand::CryptoRng;
use zeroize::{Zeroize, Zeroizing};

use crate::client::{ClientKey, system_rng};
use crate::params::Params;

/// The context of the derivation in BLAKE3; the purpose follows.
const CONTEXT: &str = "bellerophon 2026-11-27 secret of a client: ";

/// 32 random bytes from which the secret keys of a client derive, so that a backup of them is a
/// backup of all keys.
///
/// Every secret has a generator of its own (ChaCha20), whose key is BLAKE3 in the mode
/// `derive_key`: of the seed and the fingerprint of the parameters, under a context that names the
/// secret (`slots`, `look-ups`, `private look-up`). The keys of two purposes or two parameter sets
/// are therefore independent, and one of them tells nothing of the seed. The derivation is a
/// format: the same seed gives the same keys in every version of this library (`docs/FORMAT.md`).
///
/// Nothing else derives from the seed. Evaluation keys, public keys and encryptions draw masks and
/// errors afresh from the generator of the call, as do the secrets that only evaluation keys use
/// (those of bootstrapping, of the ring bridge and of NTRU): two key sets of one client share no
/// mask and no error.
///
/// The bytes are overwritten on drop and not shown by `Debug`.
///
/// ```
/// use bellerophon::{MasterSeed, prelude::*};
/// # fn main() -> bellerophon::Result<()> {
/// let params = Params::preset(Preset::Insecure(Toy::Functions))?;
/// let seed = MasterSeed::generate();
/// let client = ClientKey::from_seed(&params, &seed)?;
/// let kept = MasterSeed::new(*seed.expose()); // stored where nobody else reads
/// assert_eq!(ClientKey::from_seed(&params, &kept)?.id(), client.id());
/// # Ok(())
/// # }
/// ```
pub struct MasterSeed(Zeroizing<[u8; 32]>);

impl MasterSeed {
    /// Wraps bytes that were read from storage. They must come from a cryptographic generator: a
    /// passphrase is no seed.
    pub fn new(bytes: [u8; 32]) -> Self {
        Self(Zeroizing::new(bytes))
    }

    /// A seed from the operating system.
    pub fn generate() -> Self {
        Self::generate_with(&mut system_rng())
    }

    /// A seed from a given generator of `rand` 0.10 ([`bellerophon::rand`](crate::rand)).
    pub fn generate_with<R: CryptoRng + ?Sized>(rng: &mut R) -> Self {
        let mut bytes = Zeroizing::new([0; 32]);
        rng.fill_bytes(&mut *bytes);
        Self(bytes)
    }

    /// The bytes, for storage. They are secret: wipe every copy.
    pub fn expose(&self) -> &[u8; 32] {
        &self.0
    }

    /// The secret of private look-up with these parameters.
    pub fn private_lookup(&self, params: &bfv::Params) -> Result<pir::Client> {
        let mut rng = self.generator("private look-up", params.fingerprint());
        pir::Client::generate(params, &mut rng)
    }

    /// The generator of the secret of one purpose and one parameter set. It serves that secret
    /// alone.
    fn generator(&self, purpose: &str, fingerprint: Fingerprint) -> SecretRng {
        let mut hasher = blake3::Hasher::new_derive_key(&format!("{CONTEXT}{purpose}"));
        hasher.update(&*self.0).update(fingerprint.as_bytes());
        let mut derived = hasher.finalize();
        let key = Zeroizing::new(*derived.as_bytes());
        derived.zeroize();
        hasher.zeroize();
        SecretRng::new(&key)
    }
}

impl fmt::Debug for MasterSeed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MasterSeed (redacted)")
    }
}

impl ClientKey {
    /// The secret keys of a seed ([`MasterSeed`]): the same seed and parameters give the same keys,
    /// with the same identity.
    pub fn from_seed(params: &Params, seed: &MasterSeed) -> Result<Self> {
        let generator = |purpose| seed.generator(purpose, params.fingerprint());
        let slots = SecretKey::generate(params.ckks().lattice(), &mut generator("slots"))?;
        let lookups = match params.optional_lookups() {
            Some(lookups) => Some(LookupSecrets::generate(lookups, &mut generator("look-ups"))?),
            None => None,
        };
        Ok(Self::from_secrets(params, slots, lookups))
    }
}

#[cfg(test)]
mod tests {
    use bellerophon_mlwe::Security;
    use bellerophon_ring::sample::ternary;
    use rand::Rng;

    use super::*;
    use crate::format::SecretBytes;
    use crate::needs::Needs;
    use crate::preset::{Preset, Toy};

    fn seed(byte: u8) -> MasterSeed {
        MasterSeed::new([byte; 32])
    }

    fn exact() -> bfv::Params {
        let spec = bfv::ParamsSpec::lookup(257).unwrap();
        bfv::Params::new(bfv::ParamsSpec { degree: 64, security: Security::Insecure, ..spec })
            .unwrap()
    }

    /// The derivation is a format: these values never change. They were computed by another
    /// program, after `docs/FORMAT.md`: sixteen ternary coefficients of each generator, and the
    /// word behind.
    #[test]
    fn generators_are_those_of_the_format() {
        let known: [(&str, [i64; 16], u64); 3] = [
            (
                "slots",
                [-1, 0, 1, -1, 1, 0, 0, 0, -1, 1, 1, -1, -1, -1, -1, -1],
                0xf21d_15e1_13dc_2c20,
            ),
            (
                "look-ups",
                [-1, 0, 0, 0, 0, 0, 1, 0, -1, 0, 0, 0, -1, 1, 1, -1],
                0xae3d_9407_77ed_8269,
            ),
            (
                "private look-up",
                [0, 1, -1, -1, 1, -1, 1, 0, -1, 0, 1, -1, 0, 1, 0, 1],
                0xde0b_d78c_1528_1a5a,
            ),
        ];
        for (purpose, coefficients, word) in known {
            let mut generator = seed(7).generator(purpose, Fingerprint::from_bytes([1; 32]));
            assert_eq!(*ternary(16, &mut generator), coefficients, "{purpose}");
            assert_eq!(generator.next_u64(), word, "{purpose}");
        }
    }

    /// Each secret comes from the generator of its purpose, and of its own parameters.
    #[test]
    fn keys_of_a_seed_are_drawn_from_its_generators() {
        for preset in [Preset::Insecure(Toy::Functions), Preset::Insecure(Toy::Bootstrapping)] {
            let params = Params::preset(preset).unwrap();
            let (lattice, print) = (params.ckks().lattice(), params.fingerprint());
            let slots =
                SecretKey::generate(lattice, &mut seed(7).generator("slots", print)).unwrap();
            let lookups = params.optional_lookups().map(|lookups| {
                LookupSecrets::generate(lookups, &mut seed(7).generator("look-ups", print)).unwrap()
            });
            let expected = ClientKey::from_secrets(&params, slots, lookups);
            let client = ClientKey::from_seed(&params, &seed(7)).unwrap();
            let [own, other] = [&client, &expected].map(|key| key.to_secret_bytes().unwrap());
            assert_eq!(own.expose(), other.expose());
            assert_ne!(client.id(), ClientKey::from_seed(&params, &seed(8)).unwrap().id());
        }
        let exact = exact();
        let mut generator = seed(7).generator("private look-up", exact.fingerprint());
        let expected = pir::Client::generate(&exact, &mut generator).unwrap();
        let client = seed(7).private_lookup(&exact).unwrap();
        let [own, other] =
            [&client, &expected].map(|client| SecretBytes::of(&exact, client).unwrap());
        assert_eq!(own.expose(), other.expose());
    }

    /// Whole keys never change: hashes of their secret bytes, which depend on the fingerprints of
    /// the sets, the samplers and the order in which they draw. Another program computed them,
    /// after `docs/FORMAT.md`, from the fingerprints.
    #[test]
    fn keys_of_a_seed_never_change() {
        let hash = |bytes: SecretBytes| blake3::hash(bytes.expose()).to_string();
        let known = [
            (
                Preset::Insecure(Toy::Functions),
                "e05e7a6aa8cb784bdbfd74e22bf56391348562ae23eb76dd6c06f360a1660747",
            ),
            (
                Preset::Insecure(Toy::Bootstrapping),
                "d2b743281f8e79a4aca3bda8367ceaca9bf75d81a84af82abcc7bc49ec63614f",
            ),
            (Preset::Functions, "84e5e55f9553d2991c305155fa394b03ad93b3d0a9355cf1307e20d35bc80a3e"),
        ];
        for (preset, known) in known {
            let client = ClientKey::from_seed(&Params::preset(preset).unwrap(), &seed(7)).unwrap();
            assert_eq!(hash(client.to_secret_bytes().unwrap()), known, "{preset:?}");
        }
        let client = seed(7).private_lookup(&exact()).unwrap();
        let known = "0d9e57bf9ad42621d6ee7662f7099c0e368581735c82d1da060942f8323bc767";
        assert_eq!(hash(SecretBytes::of(&exact(), &client).unwrap()), known);
    }

    #[test]
    fn purposes_parameters_and_seeds_are_told_apart() {
        let first = |seed: &MasterSeed, purpose, print| seed.generator(purpose, print).next_u64();
        let prints = [Fingerprint::NONE, Fingerprint::from_bytes([1; 32])];
        let mut found = std::collections::BTreeSet::new();
        for byte in [0, 1] {
            for purpose in ["slots", "look-ups", "private look-up"] {
                found.extend(prints.map(|print| first(&seed(byte), purpose, print)));
            }
        }
        assert_eq!(found.len(), 12);
        assert_eq!(format!("{:?}", seed(77)), "MasterSeed (redacted)");
        let rng = &mut system_rng();
        let drawn = MasterSeed::generate_with(rng);
        assert_ne!(drawn.expose(), MasterSeed::generate_with(rng).expose());
    }

    /// Keys of one client share nothing random, although its secrets derive from one seed.
    #[test]
    fn evaluation_keys_are_drawn_afresh() {
        let params = Params::preset(Preset::Insecure(Toy::Functions)).unwrap();
        let [one, other] = [0; 2].map(|_| ClientKey::from_seed(&params, &seed(7)).unwrap());
        let keys = |client: &ClientKey| {
            let mut bytes = vec![];
            let keys = client.evaluation_keys(&Needs::new().multiply()).unwrap();
            keys.write_to(&mut bytes).unwrap();
            bytes
        };
        let [a, b, c] = [keys(&one), keys(&one), keys(&other)];
        for (x, y) in [(&a, &b), (&a, &c), (&b, &c)] {
            let equal = x.iter().zip(y.iter()).filter(|(x, y)| x == y).count();
            // Headers and identities are equal, and by chance one byte of 256.
            assert!(equal < x.len() / 100 + 400, "{equal} of {}", x.len());
        }
    }
}
