//! The same changes to fresh ciphertexts, given to the readers of both libraries.

use std::{
    fmt,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
};

use bellerophon::{
    ckks::SeededCiphertext,
    format::{self, Header},
};
use bellerophon_fuzz::{HEAP, WIDE, envelope, mutate::Mutator};
use fhe::bfv::{BfvParameters, BfvParametersBuilder, Ciphertext, Encoding, Plaintext, SecretKey};
use fhe_traits::{DeserializeParametrized, FheEncoder, FheEncrypter, Serialize as _};
use rand_chacha::{ChaCha20Rng, rand_core::SeedableRng};
use serde::Serialize;

/// What became of all inputs of a reader.
#[derive(Serialize, Default)]
pub struct Row {
    name: String,
    /// Bytes of the ciphertext that was changed.
    bytes: usize,
    tried: usize,
    refused: usize,
    panicked: usize,
    /// Read as an object, which is written as the bytes that were read.
    accepted: usize,
    /// Read as an object, which is written as others: something was ignored.
    ignored: usize,
    /// The most bytes on the heap for a byte read, of inputs of 1000 bytes and more.
    memory: f64,
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, bytes, tried, refused, panicked, accepted, ignored, memory } = self;
        write!(
            f,
            "{name:<30} {bytes:>7} {tried:>6} {refused:>8} {panicked:>9} {accepted:>9} \
             {ignored:>8} {memory:>7.2}"
        )
    }
}

/// Reads bytes; what it read, written again.
type Reader<'r> = &'r dyn Fn(&[u8]) -> Option<Vec<u8>>;

/// Gives `count` changed inputs to a reader.
fn judge(
    name: &str,
    whole: &[u8],
    read: Reader,
    mut change: impl FnMut() -> Vec<u8>,
    count: usize,
) -> Row {
    assert!(read(whole).as_deref() == Some(whole), "{name}: the ciphertext itself is not read");
    let mut row = Row { name: name.into(), bytes: whole.len(), tried: count, ..Row::default() };
    for _ in 0..count {
        let bytes = loop {
            let changed = change();
            if changed != whole {
                break changed;
            }
        };
        let before = HEAP.current_usage();
        HEAP.reset_peak_usage();
        let read = catch_unwind(AssertUnwindSafe(|| read(&bytes)));
        let peak = HEAP.peak_usage().saturating_sub(before);
        if bytes.len() >= 1000 {
            row.memory = row.memory.max(peak as f64 / bytes.len() as f64);
        }
        match read {
            Err(_) => row.panicked += 1,
            Ok(None) => row.refused += 1,
            Ok(Some(again)) if again == bytes => row.accepted += 1,
            Ok(Some(_)) => row.ignored += 1,
        }
    }
    row
}

/// Parameters of the peer, of the degree of ours and with primes of as many bits, and a fresh
/// ciphertext.
fn peer() -> (Arc<BfvParameters>, Vec<u8>) {
    let mut rng = ChaCha20Rng::seed_from_u64(2);
    let mut builder = BfvParametersBuilder::new();
    builder.set_degree(1024).set_plaintext_modulus(65537).set_moduli_sizes(&[50, 40, 40, 40]);
    let params = builder.build_arc().expect("parameters of the peer");
    let secret = SecretKey::random(&params, &mut rng);
    let message =
        Plaintext::try_encode(&[1u64, 2, 3], Encoding::poly(), &params).expect("a message");
    let fresh: Ciphertext = secret.try_encrypt(&message, &mut rng).expect("a ciphertext");
    (params, fresh.to_bytes())
}

/// All readers, each with the changes that `seed` makes.
pub fn rows(count: usize, seed: u64) -> Vec<Row> {
    // Panics are counted.
    std::panic::set_hook(Box::new(|_| ()));
    let ours = &WIDE.params;
    let fresh = WIDE
        .client
        .encrypt_seeded_with(
            &[1.0, 2.0, 3.0],
            -4.0..=4.0,
            ours.levels(),
            &mut bellerophon_fuzz::rng(1),
        )
        .expect("a ciphertext");
    let whole = format::to_bytes(ours, &fresh).expect("its bytes");
    let read = |bytes: &[u8]| {
        let object: SeededCiphertext = format::from_bytes(ours, bytes).ok()?;
        format::to_bytes(ours, &object).ok()
    };
    let header = Header::parse(&whole).expect("a header");
    let object = envelope::object(&whole);
    let (params, theirs) = peer();
    let read_theirs = |bytes: &[u8]| Some(Ciphertext::from_bytes(bytes, &params).ok()?.to_bytes());
    let [mut first, mut second, mut third] = [(); 3].map(|()| Mutator::new(seed));
    vec![
        judge("bellerophon, as sent", &whole, &read, || first.object(&whole, &whole), count),
        judge(
            "bellerophon, hash made again",
            &whole,
            &read,
            || {
                let object = second.object(object, object);
                envelope::seal(header.kind, *header.fingerprint.as_bytes(), &object)
            },
            count,
        ),
        judge("fhe 0.1.1", &theirs, &read_theirs, || third.object(&theirs, &theirs), count),
    ]
}
