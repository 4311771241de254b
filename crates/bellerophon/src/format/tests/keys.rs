//! Sets of evaluation keys, streamed and from a file.

use std::{fs, io::Read, path::PathBuf};

use bellerophon_circuits::CircuitOps;
use bellerophon_ckks::{Ciphertext, CkksOps, Published, SeededCiphertext};
use bellerophon_lookup::{Bridge, Engine};
use bellerophon_mlwe::Security;
use bellerophon_ring::ErrorKind;

use super::{super::*, rng, world};
use crate::client::ClientKey;
use crate::error::refusal;
use crate::evaluator::Evaluator;
use crate::keys::EvaluationKeys;
use crate::needs::Needs;
use crate::preset::{Preset, Toy};

fn written(keys: &EvaluationKeys) -> (Vec<u8>, ContentHash) {
    let mut bytes = Vec::new();
    let name = keys.write_to(&mut bytes).unwrap();
    (bytes, name)
}

#[test]
fn an_exchange_computes_what_one_program_would() {
    let (params, client) = world(Preset::Insecure(Toy::Bootstrapping), 1);
    let needs = Needs::new().multiply().rotate([1, -3]).rotate_any().conjugate().bootstrap();
    let keys = client.evaluation_keys_with(&needs, &mut rng(2)).unwrap();
    let (bytes, name) = written(&keys);
    assert_eq!(bytes[bytes.len() - 32..], name.0);
    // Envelopes, and what else is said of each of some 80 keys.
    assert!((keys.byte_len()..keys.byte_len() + 20_000).contains(&bytes.len()));

    // What the server reads is what the client had: it writes the same bytes.
    let received = Params::from_bytes(&params.to_bytes().unwrap(), Security::Insecure).unwrap();
    let limit = bytes.len() as u64;
    let (back, found) = EvaluationKeys::read_named(&received, &mut &bytes[..], limit).unwrap();
    assert_eq!(found, name);
    assert!(written(&back).0 == bytes);

    let x = client
        .encrypt_seeded_with(&[0.5, -0.25, 0.75], -1.0..=1.0, params.levels(), &mut rng(3))
        .unwrap();
    let x: SeededCiphertext = from_bytes(&received, &to_bytes(&params, &x).unwrap()).unwrap();
    let x = x.expand(received.ckks()).unwrap();
    let compute = |keys: EvaluationKeys| {
        let server = Evaluator::new(keys).unwrap();
        // The rotation moves a value into the padding, which the bootstrap would clear.
        let whole = server.with_len(server.square(&x).unwrap(), 4).unwrap();
        let y = server.rotate(&whole, 1).unwrap();
        let y = server.rotate(&server.bootstrap(&y).unwrap(), 2).unwrap();
        to_bytes(&received, &server.publish(&y, -1.0..=1.0).unwrap()).unwrap()
    };
    let answer = compute(back);
    assert!(answer == compute(keys));
    let y = client.decrypt(&from_bytes::<Published>(&params, &answer).unwrap()).unwrap();
    for (found, expected) in y.iter().zip([0.0, 0.25, 0.0625, 0.5625]) {
        assert!((found - expected).abs() < 1e-3, "{y:?}");
    }
}

/// A header that states more than the parameters imply ends the download, whatever the caller
/// allows.
#[test]
fn excessive_lengths_are_refused_at_the_header() {
    struct Endless<'b> {
        bytes: &'b [u8],
        read: usize,
    }

    impl Read for Endless<'_> {
        fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
            let known = self.bytes.len().saturating_sub(self.read).min(out.len());
            out.fill(0);
            out[..known].copy_from_slice(&self.bytes[self.bytes.len().min(self.read)..][..known]);
            self.read += out.len();
            Ok(out.len())
        }
    }

    let arithmetic = Needs::new().multiply().rotate([1]).rotate_any();
    let tables = Needs::new().map().bridge(Bridge::Ring).bridge(Bridge::Linear);
    for (preset, needs) in [
        (Preset::Insecure(Toy::Functions), arithmetic.clone()),
        (Preset::Insecure(Toy::Functions), tables),
        (Preset::Insecure(Toy::Bootstrapping), arithmetic.bootstrap()),
        (Preset::Insecure(Toy::Tables), Needs::new().functional()),
    ] {
        let (params, client) = world(preset, 1);
        let (bytes, name) = written(&client.evaluation_keys_with(&needs, &mut rng(2)).unwrap());
        // The keys themselves are within their limits.
        let found = EvaluationKeys::read_named(&params, &mut &bytes[..], u64::MAX).unwrap().1;
        assert_eq!(found, name);
        let (mut at, mut kinds) = (0, std::collections::BTreeSet::new());
        while at + ContentHash::LEN < bytes.len() {
            let header = Header::parse(&bytes[at..]).unwrap();
            // One of each type, since those in front are read again each time.
            if kinds.insert(header.kind) {
                let mut lying = bytes[..at + Header::LEN].to_vec();
                lying[at + 48..].copy_from_slice(&(1u64 << 40).to_le_bytes());
                let mut reader = Endless { bytes: &lying, read: 0 };
                let refused = EvaluationKeys::read_from(&params, &mut reader, u64::MAX);
                let error = refusal(&refused);
                let limit = error.message().split("the reader allows ").nth(1);
                let limit = limit.and_then(|limit| limit.parse::<u64>().ok());
                let limit = limit.unwrap_or_else(|| panic!("{:#06x}: {error}", header.kind));
                assert!(limit >= header.total() && limit < 1 << 30, "{:#06x}", header.kind);
                assert_eq!(reader.read, lying.len());
            }
            at += header.total() as usize;
        }
        assert!(kinds.len() > 1);
    }
}

#[test]
fn key_sets_out_of_order_or_mixed_are_refused() {
    let params = Params::preset(Preset::Insecure(Toy::Functions)).unwrap();
    let needs = Needs::new().multiply().rotate([1]);
    let write = |seed: u64| {
        let client = ClientKey::generate_with(&params, &mut rng(seed)).unwrap();
        written(&client.evaluation_keys_with(&needs, &mut rng(9)).unwrap()).0
    };
    let (own, foreign) = (write(1), write(2));
    let limit = own.len() as u64;
    let read = |bytes: &[u8]| EvaluationKeys::read_from(&params, &mut &bytes[..], limit);
    read(&own).unwrap();
    // List, relinearization key, rotation key, hash.
    let mut starts = vec![0];
    for _ in 0..3 {
        let start = starts[starts.len() - 1];
        starts.push(start + Header::parse(&own[start..]).unwrap().total() as usize);
    }
    assert_eq!(own.len(), starts[3] + 32);
    let splice = |parts: [&[u8]; 4]| parts.concat();
    let part = |of: &[u8], i: usize| {
        of[starts[i]..starts.get(i + 1).copied().unwrap_or(of.len())].to_vec()
    };
    let [list, relin, galois, hash] = [0, 1, 2, 3].map(|i| part(&own, i));
    // Another order, a key of somebody else, another hash, an end that is missing.
    let refused = read(&splice([&list, &galois, &relin, &hash]));
    assert!(refusal(&refused).is(&ErrorKind::Bytes, "): read them as the type that was written"));
    let refused = read(&splice([&list, &part(&foreign, 1), &galois, &hash]));
    assert!(
        refusal(&refused)
            .is(&ErrorKind::KeyMismatch, "use operands and keys of one secret key, or")
    );
    let refused = read(&splice([&list, &relin, &galois, &part(&foreign, 3)]));
    assert!(refusal(&refused).is(&ErrorKind::Bytes, "the bytes are damaged: their hash is"));
    for cut in [0, 31, starts[1], starts[2] + 40, own.len() - 1] {
        assert!(matches!(refusal(&read(&own[..cut])).kind(), ErrorKind::Bytes), "{cut}");
    }
    let refused = EvaluationKeys::read_from(&params, &mut &own[..], limit / 2);
    assert!(refusal(&refused).is(&ErrorKind::Bytes, "bytes: the reader allows"));
}

#[test]
fn look_up_keys_come_back_on_all_engines_and_bridges() {
    let (params, client) = world(Preset::Insecure(Toy::Functions), 1);
    let x = super::ciphertext(&client, 2);
    let all = [
        Needs::new().map_with([Engine::Rgsw]),
        Needs::new().map_with([Engine::Ntru]),
        Needs::new().map().bridge(Bridge::Linear),
        Needs::new().map_with([Engine::Corrected]),
    ];
    for (i, needs) in all.into_iter().enumerate() {
        let keys = client.evaluation_keys_with(&needs, &mut rng(3)).unwrap();
        let (bytes, name) = written(&keys);
        assert!((keys.byte_len()..keys.byte_len() + 20_000).contains(&bytes.len()), "{i}");
        let limit = bytes.len() as u64;
        let (back, found) = EvaluationKeys::read_named(&params, &mut &bytes[..], limit).unwrap();
        assert_eq!((found, back.byte_len()), (name, keys.byte_len()));
        assert!(written(&back).0 == bytes, "{i}");
        let compute = |keys: EvaluationKeys| {
            let server = Evaluator::new(keys).unwrap();
            let y = server.map(&x, |x| x.max(0.0)).unwrap();
            to_bytes(&params, &y).unwrap()
        };
        assert!(compute(back) == compute(keys), "{i}");
    }
}

#[test]
fn tables_come_in_the_parts_that_their_dimension_has() {
    let (params, client) = world(Preset::Insecure(Toy::Functions), 1);
    let needs = Needs::new().map_with([Engine::Rgsw]);
    let (mut bytes, _) = written(&client.evaluation_keys_with(&needs, &mut rng(3)).unwrap());
    let list = Header::parse(&bytes).unwrap().total() as usize - ContentHash::LEN;
    // Behind the number of parts of the tables stands the ring bridge.
    let count = list - 8;
    assert_eq!(bytes[count..list], [1, 0, 0, 0, 6, 0, 0, 0]);
    for other in [0, 2, 255] {
        bytes[count] = other;
        let hash = blake3::hash(&bytes[..list]);
        bytes[list..list + ContentHash::LEN].copy_from_slice(hash.as_bytes());
        let refused = EvaluationKeys::read_from(&params, &mut &bytes[..], 1 << 30);
        let reason = refused.map(drop).unwrap_err().to_string();
        assert!(reason.contains("the wrong number of parts"), "{other}: {reason}");
    }
}

/// A file that goes with the test.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str, bytes: &[u8]) -> Self {
        let path = std::env::temp_dir().join(format!("bellerophon-{}-{name}", std::process::id()));
        fs::write(&path, bytes).unwrap();
        Self(path)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

#[test]
fn keys_in_a_file_are_read_when_they_are_needed() {
    let (params, client) = world(Preset::Insecure(Toy::Functions), 1);
    let steps = [1, 2, 3, 5];
    let needs = Needs::new().multiply().rotate(steps);
    let keys = client.evaluation_keys_with(&needs, &mut rng(2)).unwrap();
    let (bytes, name) = written(&keys);
    let one = keys.arithmetic.galois_keys().iter().next().unwrap().key().memory_len();
    let x = super::ciphertext(&client, 3);
    let compute = |server: &Evaluator| -> Vec<Ciphertext> {
        let mut all = server.rotate_many(&x, &[1, 2, 3]).unwrap();
        all.push(server.sum_of_rotations(&[(&x, &[1, 3])]).unwrap());
        all.push(server.rotate(&server.square(&x).unwrap(), 1).unwrap());
        all
    };
    let expected = compute(&Evaluator::new(keys).unwrap());
    let file = Scratch::new("whole", &bytes);
    for budget in [0, one, 2 * one + 1, usize::MAX] {
        let (stored, found) = EvaluationKeys::open(&params, &file.0, budget).unwrap();
        assert_eq!(found, name);
        assert_eq!(stored.arithmetic.galois_keys().iter().count(), 0);
        assert!(written(&stored).0 == bytes);
        let server = Evaluator::new(stored).unwrap();
        assert!(compute(&server) == expected, "{budget}");
    }
}

#[test]
fn files_that_are_damaged_or_change_are_refused() {
    let (params, client) = world(Preset::Insecure(Toy::Functions), 1);
    let keys = client.evaluation_keys_with(&Needs::new().rotate([1, 2]), &mut rng(2)).unwrap();
    let (bytes, _) = written(&keys);
    let x = super::ciphertext(&client, 3);
    let start = Header::parse(&bytes).unwrap().total() as usize;
    let key = Header::parse(&bytes[start..]).unwrap();
    // In the residues of the first key: noticed when it is used, and only then.
    let mut damaged = bytes.clone();
    damaged[start + 1000] ^= 1;
    let file = Scratch::new("damaged", &damaged);
    let (stored, _) = EvaluationKeys::open(&params, &file.0, usize::MAX).unwrap();
    let server = Evaluator::new(stored).unwrap();
    let outcomes = [1, 2].map(|step| server.rotate(&x, step));
    assert_eq!(outcomes.iter().filter(|outcome| outcome.is_ok()).count(), 1);
    let failed = outcomes.into_iter().find_map(|outcome| outcome.err()).unwrap();
    assert!(failed.is(&ErrorKind::Io, "the stored key of the automorphism X -> X^"), "{failed}");
    // Another key in the place of one that was announced.
    let file = Scratch::new("changed", &bytes);
    let (stored, _) = EvaluationKeys::open(&params, &file.0, 0).unwrap();
    let server = Evaluator::new(stored).unwrap();
    let (first, second) = (start, start + key.total() as usize);
    let mut swapped = bytes.clone();
    swapped[first..second].copy_from_slice(&bytes[second..second + key.total() as usize]);
    fs::write(&file.0, &swapped).unwrap();
    assert!([1, 2].iter().any(|&step| server.rotate(&x, step).is_err()));
    // A header that lies, an end that is missing, a hash that does not fit.
    let mut long = bytes.clone();
    long[start + Header::LEN - 8..start + Header::LEN].copy_from_slice(&(1u64 << 40).to_le_bytes());
    let mut other = bytes.clone();
    *other.last_mut().unwrap() ^= 1;
    let more = [&bytes[..], &[0]].concat();
    let cut = &bytes[..bytes.len() - 40];
    for (i, wrong) in [&long[..], cut, &other, &more, &[]].into_iter().enumerate() {
        let file = Scratch::new(&format!("wrong{i}"), wrong);
        let refused = EvaluationKeys::open(&params, &file.0, 0);
        assert!(matches!(refusal(&refused).kind(), ErrorKind::Bytes), "{i}");
    }
    assert!(EvaluationKeys::open(&params, "no such file", 0).is_err());
}
