//! Stored objects of every type: each keeps its meaning, and is written as the same bytes. The
//! tests also read invalid bytes of every kind that a peer may send.
//!
//! `vectors/README.md` says how the files were made.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::LazyLock,
};

use crate::common::refusal;
use bellerophon::{
    ErrorKind, EvaluationKeys, Result,
    circuits::bootstrap::BootstrapKeys,
    ckks::{self, SeededCiphertext},
    format::{self, Context, Header, SecretBytes},
    mlwe::{
        self, GaloisKey, KeyId, KeySwitchKey, ModRaiseKey, PublicKey, RankReduceKey, RelinKeys,
        RelinStrategy, SecretKey, Security,
    },
    prelude::*,
    ring::wire::Wire,
};
use proptest::prelude::*;
use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;

mod integers;
mod lookups;
mod rank_sets;
mod ranks;

/// What was encrypted.
const VALUES: [f64; 3] = [0.5, -0.25, 3.0];

static ANY: Security = Security::Insecure;

/// Reads an object, and writes it again.
type Reader = fn(&Stored, &[u8]) -> Result<Vec<u8>>;

/// Every type: its folder, how many files that has, its reader.
fn types() -> impl Iterator<Item = (&'static str, usize, Reader)> {
    TYPES.into_iter().chain(integers::TYPES).chain(lookups::TYPES).chain(ranks::TYPES)
}

const TYPES: [(&str, usize, Reader); 19] = [
    ("evaluation_keys", 3, |s, b| key_set(&s.params, b)),
    ("evaluation_keys_bootstrapping", 1, |s, b| key_set(&s.bootstrapping, b)),
    ("fresh_lattice_ciphertext", 2, |s, b| again::<mlwe::SeededCiphertext, _>(&s.params, b)),
    ("fresh_vector", 2, |s, b| again::<SeededCiphertext, _>(&s.params, b)),
    ("galois_key", 2, |s, b| again::<GaloisKey, _>(&s.params, b)),
    ("lattice_ciphertext", 2, |s, b| again::<mlwe::Ciphertext, _>(&s.params, b)),
    ("lattice_params", 3, |_, b| again::<mlwe::Params, _>(&ANY, b)),
    ("params", 4, |_, b| again::<Params, _>(&ANY, b)),
    ("provided_vector", 2, |s, b| again::<Provided, _>(&s.params, b)),
    ("public_key", 1, |s, b| again::<PublicKey, _>(&s.params, b)),
    ("raising_key", 1, |s, b| again::<ModRaiseKey, _>(&s.params, b)),
    ("rank_key", 1, |s, b| again::<RankReduceKey, _>(&s.params, b)),
    ("bootstrapping_keys", 1, |s, b| {
        again::<BootstrapKeys, _>(s.bootstrapping.bootstrapper().unwrap().raising(), b)
    }),
    ("relinearisation_keys", 2, |s, b| again::<RelinKeys, _>(&s.route, b)),
    ("secret_key", 1, |s, b| {
        let key = ClientKey::from_secret_bytes(&s.params, &SecretBytes::new(b.to_vec()))?;
        Ok(key.to_secret_bytes()?.expose().to_vec())
    }),
    ("slot_params", 4, |_, b| again::<ckks::Params, _>(&ANY, b)),
    ("switching_key", 2, |s, b| again::<KeySwitchKey, _>(&s.params, b)),
    ("published_vector", 2, |s, b| again::<Published, _>(&s.params, b)),
    ("vector", 3, |s, b| again::<Ciphertext, _>(&s.params, b)),
];

fn again<T, P>(params: &P, bytes: &[u8]) -> Result<Vec<u8>>
where
    T: Wire,
    P: Context<T::Params>,
{
    format::to_bytes(params, &format::from_bytes::<T>(params, bytes)?)
}

fn key_set(params: &Params, mut bytes: &[u8]) -> Result<Vec<u8>> {
    let keys = EvaluationKeys::read_from(params, &mut bytes, 1 << 20)?;
    let mut again = Vec::new();
    keys.write_to(&mut again)?;
    again.extend(bytes);
    Ok(again)
}

/// The files, and what belongs to them.
struct Stored {
    folder: PathBuf,
    params: Params,
    bootstrapping: Params,
    /// Slots with tables and both bridges.
    tables: Params,
    /// Slots with functional bootstrapping.
    functional: Params,
    client: ClientKey,
    /// The client's secret, the same backwards, and both as a secret of rank 2.
    secrets: [SecretKey; 3],
    route: RelinStrategy,
    ranks: rank_sets::Ranks,
}

impl Stored {
    fn open() -> Self {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/vectors");
        let bytes = |name: &str| fs::read(folder.join(name)).unwrap();
        let [params, bootstrapping, tables, functional] = [0, 1, 2, 3]
            .map(|i| Params::from_bytes(&bytes(&format!("params/{i}.bin")), ANY).unwrap());
        let secret = SecretBytes::new(bytes("secret_key/0.bin"));
        let client = ClientKey::from_secret_bytes(&params, &secret).unwrap();
        let lattice = params.ckks().lattice();
        // Behind header, identity and length: two bytes for each coefficient.
        let mut coefficients: Vec<i64> = secret.expose()[Header::LEN + 24..]
            [..2 * lattice.spec().degree]
            .chunks_exact(2)
            .map(|word| i64::from(i16::from_le_bytes([word[0], word[1]])))
            .collect();
        let own = SecretKey::restore(lattice, &coefficients, client.id()).unwrap();
        coefficients.reverse();
        let other = SecretKey::restore(lattice, &coefficients, KeyId(2)).unwrap();
        let both = [own.all_coefficients(), other.all_coefficients()].concat();
        let larger = mlwe::Params::new(mlwe::ParamsSpec { rank: 2, ..lattice.spec().clone() });
        let both = SecretKey::restore(&larger.unwrap(), &both, KeyId(3)).unwrap();
        let route = RelinStrategy::new(lattice, 1, Some((2, lattice.spec().p.clone()))).unwrap();
        let secrets = [own, other, both];
        let ranks = rank_sets::Ranks::new(lattice.spec().degree);
        Self { params, bootstrapping, tables, functional, client, secrets, route, ranks, folder }
    }

    fn bytes(&self, name: &str) -> Vec<u8> {
        fs::read(self.folder.join(name)).unwrap()
    }

    fn read<T, P>(&self, params: &P, name: &str) -> T
    where
        T: Wire,
        P: Context<T::Params>,
    {
        format::from_bytes(params, &self.bytes(name)).unwrap_or_else(|e| panic!("{name}: {e}"))
    }

    fn keys(&self, params: &Params, name: &str) -> EvaluationKeys {
        EvaluationKeys::read_from(params, &mut &self.bytes(name)[..], 1 << 20).unwrap()
    }

    fn lattice(&self) -> &mlwe::Params {
        self.params.ckks().lattice()
    }

    /// [`VALUES`] in slots, as a ciphertext of a lattice.
    fn encrypted(&self, limbs: usize, secret: &SecretKey) -> mlwe::Ciphertext {
        secret.encrypt(self.plaintext(limbs).poly(), &mut rng()).unwrap()
    }

    fn plaintext(&self, limbs: usize) -> ckks::Plaintext {
        let slots = self.params.ckks();
        let range = ckks::Interval::real(-4.0, 4.0).unwrap();
        ckks::Encoder::new(slots).encode(&VALUES, range, slots.scale(), limbs).unwrap()
    }

    /// That a ciphertext of the client's lattice holds values, encoded as [`VALUES`] were.
    #[track_caller]
    fn holds(&self, ct: mlwe::Ciphertext, expected: &[f64]) {
        let fresh = self.client.encrypt_with(&VALUES, -4.0..=4.0, 1, &mut rng()).unwrap();
        let (_, meta) = fresh.into_parts();
        let ct = ckks::Ciphertext::from_parts(self.params.ckks(), ct, meta).unwrap();
        close(&self.client.decrypt(&ct).unwrap(), expected);
    }
}

fn rng() -> ChaCha20Rng {
    ChaCha20Rng::seed_from_u64(1)
}

#[track_caller]
fn close(found: &[f64], expected: &[f64]) {
    let close = found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-3);
    assert!(found.len() == expected.len() && close, "{found:?}, not {expected:?}");
}

/// The files, opened once for all tests.
fn stored() -> &'static Stored {
    static STORED: LazyLock<Stored> = LazyLock::new(Stored::open);
    &STORED
}

#[test]
fn every_file_is_read_and_written_as_it_was() {
    let stored = stored();
    let mut folders: Vec<String> = fs::read_dir(&stored.folder)
        .unwrap()
        .map(|entry| entry.unwrap())
        .filter(|entry| entry.file_type().unwrap().is_dir())
        .map(|entry| entry.file_name().into_string().unwrap())
        .collect();
    folders.sort();
    let mut names: Vec<&str> = types().map(|(name, ..)| name).collect();
    names.sort_unstable();
    assert_eq!(folders, names);
    for (name, count, read) in types() {
        assert_eq!(fs::read_dir(stored.folder.join(name)).unwrap().count(), count, "{name}");
        for i in 0..count {
            let bytes = stored.bytes(&format!("{name}/{i}.bin"));
            let again = read(stored, &bytes).unwrap_or_else(|e| panic!("{name} {i}: {e}"));
            assert_eq!(again, bytes, "{name} {i}");
        }
    }
}

/// What stood in headers when the files were written: of the set, and of its lattice.
const FINGERPRINTS: [&str; 2] = [
    "7409ec5e97aa48d2075893e25779e773676b3794b49156cee97616ab1685df6d",
    "ecd8516d5e1435ad9dd73a9a12a428a726eacb8c0cf191b2e96740b668a7c0ba",
];

/// The same of the set with bootstrapping.
const BOOTSTRAPPING: &str = "1a1139215333697e43105a4bd6d287bb91fb49bc032e659e203ec89239680d4c";

#[test]
fn parameter_sets_are_what_they_were() {
    let stored = stored();
    let prints = [stored.params.fingerprint(), stored.lattice().fingerprint()];
    assert_eq!(prints.map(|print| format!("{print:?}")), FINGERPRINTS);
    assert_eq!(format!("{:?}", stored.bootstrapping.fingerprint()), BOOTSTRAPPING);
    let lattice: mlwe::Params = stored.read(&ANY, "lattice_params/0.bin");
    assert_eq!(lattice.spec(), stored.lattice().spec());
    assert_eq!((lattice.spec().degree, lattice.q().limbs(), lattice.p().limbs()), (16, 4, 2));
    let larger: mlwe::Params = stored.read(&ANY, "lattice_params/1.bin");
    assert_eq!(larger.spec(), stored.secrets[2].params().spec());
    let sparse: mlwe::Params = stored.read(&ANY, "lattice_params/2.bin");
    assert_eq!(sparse.spec().secret, mlwe::SecretKind::Sparse(4));
    let slots: ckks::Params = stored.read(&ANY, "slot_params/0.bin");
    assert!(slots == *stored.params.ckks());
    let routed: ckks::Params = stored.read(&ANY, "slot_params/1.bin");
    assert_eq!(*routed.relin_strategy(), stored.route);
    let bootstrapping: ckks::Params = stored.read(&ANY, "slot_params/2.bin");
    assert!(bootstrapping == *stored.bootstrapping.ckks());
}

#[test]
fn vectors_hold_what_they_held() {
    let stored = stored();
    let (params, client) = (&stored.params, &stored.client);
    for name in ["vector/0.bin", "vector/1.bin"] {
        let ct: Ciphertext = stored.read(params, name);
        close(&client.decrypt(&ct).unwrap(), &VALUES);
    }
    for (name, level) in [("provided_vector/0.bin", 3), ("provided_vector/1.bin", 1)] {
        let provided: Provided = stored.read(params, name);
        close(&client.decrypt(&provided).unwrap(), &VALUES);
        let range = provided.range();
        assert_eq!((provided.level(), range.lo(), range.hi()), (level, -4.0, 4.0));
    }
    let published: Published = stored.read(params, "published_vector/0.bin");
    close(&client.decrypt(&published).unwrap(), &VALUES);
    let said = published.as_ref();
    assert_eq!((said.range().lo(), said.range().hi(), published.log2_noise()), (-4.0, 4.0, -2));
    let complex: Ciphertext = stored.read(params, "vector/2.bin");
    let slots = params.ckks();
    let found: Vec<ckks::Complex64> =
        ckks::decrypt_values(slots, &complex, &stored.secrets[0]).unwrap();
    assert!((found[0] - ckks::Complex64::new(0.5, 1.0)).norm() < 1e-3, "{found:?}");
    for name in ["fresh_vector/0.bin", "fresh_vector/1.bin"] {
        let fresh: SeededCiphertext = stored.read(params, name);
        close(&client.decrypt(&fresh.expand(slots).unwrap()).unwrap(), &VALUES);
    }
    for name in ["lattice_ciphertext/0.bin", "lattice_ciphertext/1.bin"] {
        stored.holds(stored.read(params, name), &VALUES);
    }
    for name in ["fresh_lattice_ciphertext/0.bin", "fresh_lattice_ciphertext/1.bin"] {
        let fresh: mlwe::SeededCiphertext = stored.read(params, name);
        stored.holds(fresh.expand(stored.lattice()).unwrap(), &VALUES);
    }
}

#[test]
fn keys_of_the_lattice_do_what_they_did() {
    let stored = stored();
    let (params, lattice) = (&stored.params, stored.lattice());
    let [own, other, both] = &stored.secrets;
    let public: PublicKey = stored.read(params, "public_key/0.bin");
    let ct = public.encrypt(lattice, stored.plaintext(3).poly(), &mut rng()).unwrap();
    stored.holds(ct, &VALUES);
    for (name, from, limbs) in [("switching_key/0.bin", other, 4), ("switching_key/1.bin", both, 2)]
    {
        let key: KeySwitchKey = stored.read(params, name);
        stored.holds(key.switch(lattice, &stored.encrypted(limbs, from)).unwrap(), &VALUES);
    }
    // Four slots, one empty; one to the left, and conjugated.
    let key: GaloisKey = stored.read(params, "galois_key/0.bin");
    let turned = key.apply(lattice, &stored.encrypted(4, own)).unwrap();
    stored.holds(turned, &[-0.25, 3.0, 0.0]);
    let key: GaloisKey = stored.read(params, "galois_key/1.bin");
    stored.holds(key.apply(lattice, &stored.encrypted(2, own)).unwrap(), &VALUES);
    let key: RankReduceKey = stored.read(params, "rank_key/0.bin");
    stored.holds(key.reduce(lattice, &stored.encrypted(3, both)).unwrap(), &VALUES);
    // Raised by multiples of the lowest prime, which vanish below again.
    let key: ModRaiseKey = stored.read(params, "raising_key/0.bin");
    let mut raised = key.mod_raise(lattice, &stored.encrypted(1, both), 1).unwrap();
    assert_eq!(raised.limbs(), 3);
    raised.truncate(1).unwrap();
    stored.holds(raised, &VALUES);
    let routed: ckks::Params = stored.read(&ANY, "slot_params/1.bin");
    for (name, level) in [("relinearisation_keys/0.bin", 3), ("relinearisation_keys/1.bin", 1)] {
        let key: RelinKeys = stored.read(&stored.route, name);
        let mut keys = ckks::EvaluationKeys::none(&routed, own.id());
        keys.insert_relinearization(key).unwrap();
        let x = stored.client.encrypt_with(&VALUES, -4.0..=4.0, level, &mut rng()).unwrap();
        let y = ckks::Evaluator::new(&routed, &keys).unwrap().square(&x).unwrap();
        close(&stored.client.decrypt(&y).unwrap(), &VALUES.map(|v| v * v));
    }
}

#[test]
fn key_sets_do_what_they_did() {
    let stored = stored();
    let (params, client) = (&stored.params, &stored.client);
    let x: Ciphertext = stored.read(params, "vector/0.bin");
    let few = Evaluator::new(stored.keys(params, "evaluation_keys/0.bin")).unwrap();
    let y = few.rotate(&few.square(&x).unwrap(), 1).unwrap();
    close(&client.decrypt(&y).unwrap(), &[0.0625, 9.0, 0.0]);
    let many = Evaluator::new(stored.keys(params, "evaluation_keys/1.bin")).unwrap();
    let full: Vec<f64> = (0..8).map(f64::from).collect();
    let x = client.encrypt_with(&full, 0.0..=8.0, 3, &mut rng()).unwrap();
    for step in [1, 3, -1, -2] {
        let y = many.rotate(&many.conjugate(&x).unwrap(), step).unwrap();
        let expected: Vec<f64> = (0..8).map(|i| full[(i + step).rem_euclid(8) as usize]).collect();
        close(&client.decrypt(&y).unwrap(), &expected);
    }
    assert_eq!(stored.keys(params, "evaluation_keys/2.bin").id(), client.id());
    // The keys of bootstrapping, alone and in a set.
    let bootstrapper = stored.bootstrapping.bootstrapper().unwrap();
    let own: BootstrapKeys = stored.read(bootstrapper.raising(), "bootstrapping_keys/0.bin");
    let set = stored.keys(&stored.bootstrapping, "evaluation_keys_bootstrapping/0.bin");
    assert_eq!((set.id(), set.byte_len()), (own.secret_id(), own.byte_len()));
}

#[test]
fn no_type_is_taken_for_another() {
    let stored = stored();
    for (name, ..) in types() {
        let bytes = stored.bytes(&format!("{name}/0.bin"));
        for (other, _, read) in types().filter(|(other, ..)| *other != name) {
            let refused = read(stored, &bytes);
            let refused = refusal(&refused);
            let plain = refused.is(&ErrorKind::Bytes, "but the reader expects")
                || *refused.kind() == ErrorKind::ParamsMismatch;
            assert!(plain, "{name} as {other}: {refused:?}");
        }
    }
}

/// The first envelope of the bytes with other contents, its length and hash right again. (The hash
/// of a set of keys is not: the first envelope is judged before.)
fn sealed_again(bytes: &[u8], change: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let end = Header::parse(bytes).unwrap().total() as usize;
    let mut object = bytes[Header::LEN..end - 32].to_vec();
    change(&mut object);
    let mut sealed = bytes[..Header::LEN - 8].to_vec();
    sealed.extend((object.len() as u64).to_le_bytes());
    sealed.extend(object);
    let hash = blake3::hash(&sealed);
    [&sealed, &hash.as_bytes()[..], &bytes[end..]].concat()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Cut short, or with some bits turned, no object of any type is read.
    #[test]
    fn damaged_bytes_are_refused(
        cut in any::<prop::sample::Index>(),
        flips in prop::collection::vec((any::<prop::sample::Index>(), 0..8u32), 1..4),
    ) {
        let stored = stored();
        for (name, _, read) in types() {
            let whole = stored.bytes(&format!("{name}/0.bin"));
            prop_assert!(read(stored, &whole[..cut.index(whole.len())]).is_err(), "{}", name);
            let mut bytes = whole.clone();
            for (at, bit) in &flips {
                bytes[at.index(whole.len())] ^= 1 << bit;
            }
            prop_assert!(bytes == whole || read(stored, &bytes).is_err(), "{}", name);
        }
    }

    /// Behind a header and a hash that are right, a number that is out of all bounds is refused, or
    /// is one that the object may have.
    #[test]
    fn huge_numbers_behind_a_right_hash(
        at in any::<prop::sample::Index>(),
        number in prop::sample::select(
            vec![u64::MAX, i64::MAX as u64, u64::from(u32::MAX), 1 << 40],
        ),
        width in 1..=8usize,
        length in any::<u64>(),
    ) {
        let stored = stored();
        for (name, _, read) in types() {
            let whole = stored.bytes(&format!("{name}/0.bin"));
            let bytes = sealed_again(&whole, |object| {
                let at = at.index(object.len().min(160));
                let width = width.min(object.len() - at);
                object[at..at + width].copy_from_slice(&number.to_le_bytes()[..width]);
            });
            match read(stored, &bytes) {
                Ok(again) => prop_assert!(again == bytes, "{} is written as other bytes", name),
                Err(error) => prop_assert!(!error.to_string().is_empty()),
            }
            let mut lying = whole.clone();
            lying[Header::LEN - 8..Header::LEN].copy_from_slice(&length.to_le_bytes());
            prop_assert!(lying == whole || read(stored, &lying).is_err(), "{}", name);
        }
    }

    /// An object that is longer or shorter than it should be is refused, whatever its header says.
    #[test]
    fn other_lengths_behind_a_right_hash(
        at in any::<prop::sample::Index>(),
        more in prop::collection::vec(any::<u8>(), 1..40),
    ) {
        let stored = stored();
        for (name, _, read) in types() {
            let whole = stored.bytes(&format!("{name}/0.bin"));
            let longer = sealed_again(&whole, |object| object.extend(&more));
            prop_assert!(read(stored, &longer).is_err(), "{}", name);
            let shorter = sealed_again(&whole, |object| object.truncate(at.index(object.len())));
            prop_assert!(read(stored, &shorter).is_err(), "{}", name);
        }
    }
}
