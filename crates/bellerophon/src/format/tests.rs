//! Every way in which bytes of one object can be wrong, on one of each type.

use bellerophon_ckks::{Ciphertext, KeyLevels};
use bellerophon_lookup::{Bridge, Engine};
use bellerophon_mlwe::Security;
use bellerophon_ring::ErrorKind;
use proptest::prelude::*;
use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;

use super::*;
use crate::client::ClientKey;
use crate::error::refusal;
use crate::needs::Needs;
use crate::preset::{Preset, Toy};

mod encoded;
mod keys;

/// Parameters, and the secret key that a seed makes.
fn world(preset: Preset, seed: u64) -> (Params, ClientKey) {
    let params = Params::preset(preset).unwrap();
    let client = ClientKey::generate_with(&params, &mut rng(seed)).unwrap();
    (params, client)
}

fn rng(seed: u64) -> ChaCha20Rng {
    ChaCha20Rng::seed_from_u64(seed)
}

fn ciphertext(client: &ClientKey, seed: u64) -> Ciphertext {
    let level = client.params().levels();
    client.encrypt_with(&[0.5, -0.25, 3.0], -4.0..=4.0, level, &mut rng(seed)).unwrap()
}

/// A server states what it needs in bytes, and the client makes exactly those keys.
#[test]
fn needs_come_back_if_the_parameters_serve_them() {
    let (params, client) = world(Preset::Insecure(Toy::Functions), 1);
    let needs = Needs::new().rotate([1, -2]).sums(10).statistics(4, 1).map().bridge(Bridge::Ring);
    let sent = Encoded::new(&params, &needs).unwrap();
    let back: Needs = sent.decode(&params).unwrap();
    assert_eq!(back, needs);
    let keys = client.evaluation_keys_with(&back, &mut rng(2)).unwrap();
    assert_eq!(keys.byte_len(), params.evaluation_key_bytes(&needs).unwrap());
    // Others than the parameters serve are neither written nor read.
    let many = Needs::new().sums(params.slots() + 1);
    let refused = to_bytes(&params, &many);
    assert!(refusal(&refused).is(&ErrorKind::Unsupported, "' cannot serve `Needs::sums`"));
    let bytes = to_bytes(&params, &Needs::new().sums(1)).unwrap();
    let at = Header::LEN + 3 + 8 + 1 + 4 + 3 + 8 + 1;
    assert_eq!(bytes[at - 1..at + 4], [1, 1, 0, 0, 0]);
    for (most, name) in [(0u32, "sums"), (u32::MAX, "sums")] {
        let mut object = bytes[Header::LEN..bytes.len() - 32].to_vec();
        object[at - Header::LEN..][..4].copy_from_slice(&most.to_le_bytes());
        let mut sealed = [&bytes[..Header::LEN], &object].concat();
        sealed.extend(blake3::hash(&sealed).as_bytes());
        let refused = from_bytes::<Needs>(&params, &sealed);
        let unserved = format!("cannot serve `Needs::{name}`");
        let refused = refusal(&refused);
        assert!(refused.is(&ErrorKind::Unsupported, &unserved), "{most}: {refused}");
    }
    for cut in 0..bytes.len() {
        assert!(from_bytes::<Needs>(&params, &bytes[..cut]).is_err(), "{cut}");
    }
    // Another parameter set, of other levels.
    let other = Params::preset(Preset::Insecure(Toy::Bootstrapping)).unwrap();
    assert!(
        refusal(&from_bytes::<Needs>(&other, &bytes))
            .is(&ErrorKind::ParamsMismatch, "read the sender's parameters first, or")
    );
}

/// Bytes of a server choose neither NTRU nor temporary ranks.
#[test]
fn needs_from_bytes_take_the_word_of_the_client() {
    let (params, client) = world(Preset::Insecure(Toy::Functions), 1);
    type Accept = fn(Needs) -> Needs;
    let hoisted = KeyLevels::default().rotate_hoisted(1);
    let ntru = Needs::new().map_with([Engine::Ntru]);
    for (needs, allow, accept) in [
        (&ntru, "allow_ntru", Needs::allow_ntru as Accept),
        (
            &Needs::new().rotate_any(),
            "allow_temporary_ranks",
            Needs::allow_temporary_ranks as Accept,
        ),
        (
            &Needs::new().keys(&hoisted).allow_temporary_ranks(),
            "allow_temporary_ranks",
            Needs::rotate_any as Accept,
        ),
    ] {
        client.evaluation_keys_with(needs, &mut rng(2)).unwrap();
        let back: Needs = from_bytes(&params, &to_bytes(&params, needs).unwrap()).unwrap();
        let refused = client.evaluation_keys(&back).map(|_| ());
        assert!(
            refusal(&refused).is(&ErrorKind::Request, "whoever owns the secret key decides on")
        );
        let message = refused.unwrap_err().to_string();
        assert!(message.contains(allow), "{message}");
        let refused = client.reducing_keys(&back).map(|_| ());
        assert!(
            refusal(&refused).is(&ErrorKind::Request, "whoever owns the secret key decides on")
        );
        // Their size is known before the client decides.
        params.evaluation_key_bytes(&back).unwrap();
        client.evaluation_keys_with(&accept(back), &mut rng(2)).unwrap();
    }
    // A key request that was read may ask for a temporary rank as well.
    let refused = client.evaluation_keys(&Needs::new().keys(&hoisted)).map(|_| ());
    assert!(refusal(&refused).is(&ErrorKind::Request, "whoever owns the secret key decides on"));
}

#[test]
fn secret_keys_come_back_where_they_belong() {
    for preset in [Preset::Insecure(Toy::Functions), Preset::Insecure(Toy::Bootstrapping)] {
        let (params, client) = world(preset, 1);
        let ct = ciphertext(&client, 2);
        let secret = client.to_secret_bytes().unwrap();
        let shown = format!("{secret:?}");
        assert_eq!(shown, format!("SecretBytes({} bytes)", secret.expose().len()));
        let back = ClientKey::from_secret_bytes(&params, &secret).unwrap();
        assert_eq!(back.id(), client.id());
        assert_eq!(back.decrypt(&ct).unwrap(), client.decrypt(&ct).unwrap());
        assert_eq!(back.to_secret_bytes().unwrap().expose(), secret.expose());
        let other = match preset {
            Preset::Insecure(Toy::Functions) => {
                Params::preset(Preset::Insecure(Toy::Bootstrapping)).unwrap()
            }
            _ => Params::preset(Preset::Insecure(Toy::Functions)).unwrap(),
        };
        let refused = ClientKey::from_secret_bytes(&other, &secret);
        assert!(
            refusal(&refused)
                .is(&ErrorKind::ParamsMismatch, "read the sender's parameters first, or")
        );
    }
}

#[test]
fn the_header_is_checked_before_anything_else() {
    let (params, client) = world(Preset::Insecure(Toy::Functions), 1);
    let bytes = to_bytes(&params, &ciphertext(&client, 2)).unwrap();
    let header = Header::parse(&bytes).unwrap();
    assert_eq!(header.kind, Ciphertext::KIND);
    assert_eq!(header.total(), bytes.len() as u64);
    let changed = |at: usize, new: &[u8]| {
        let mut changed = bytes.clone();
        changed[at..at + new.len()].copy_from_slice(new);
        from_bytes::<Ciphertext>(&params, &changed).unwrap_err()
    };
    assert!(changed(0, b"X").is(&ErrorKind::Bytes, "not an object of Bellerophon"));
    for found in [0, 2, 5] {
        let refused = changed(8, &[found as u8]);
        let words = format!("format version {found}: this library reads version 1");
        assert!(refused.is(&ErrorKind::Bytes, &words), "{refused}");
    }
    assert!(changed(10, &[9]).is(&ErrorKind::Bytes, "the bytes hold"));
    assert!(changed(12, &[1]).is(&ErrorKind::Bytes, "reserved bits of the header are set"));
    // Every byte of the fingerprint counts.
    for (at, byte) in bytes.iter().enumerate().take(48).skip(16) {
        assert_eq!(*changed(at, &[!byte]).kind(), ErrorKind::ParamsMismatch, "{at}");
    }
    for len in [0, 1, u64::MAX - 64, u64::MAX] {
        assert!(changed(48, &len.to_le_bytes()).is(&ErrorKind::Bytes, "but the header states"));
    }
    assert!(changed(64, &[!bytes[64]]).is(&ErrorKind::Bytes, "the bytes are damaged"));
    let last = changed(bytes.len() - 1, &[!bytes[bytes.len() - 1]]);
    assert!(last.is(&ErrorKind::Bytes, "the bytes are damaged"));
    let mut longer = bytes.clone();
    longer.push(0);
    let refused = from_bytes::<Ciphertext>(&params, &longer);
    assert!(refusal(&refused).is(&ErrorKind::Bytes, "truncated, or more than one object"));
}

/// Files of another kind and objects that were taken for text are called what they are, by every
/// reader.
#[test]
fn what_is_no_object_is_called_what_it_is() {
    let (params, client) = world(Preset::Insecure(Toy::Functions), 1);
    let object = to_bytes(&params, &ciphertext(&client, 2)).unwrap();
    let set = params.to_bytes().unwrap();
    let locked = client.to_secret_bytes().unwrap();
    let locked = locked.encrypt("p", PassphraseCost::default(), &mut rng(3)).unwrap();
    let utf16 = |text: &str| text.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<u8>>();
    let latin: String = object.iter().map(|&byte| char::from(byte)).collect();
    let (wide, marked) = (utf16(&latin), [b"\xef\xbb\xbf", &object[..]].concat());
    let [lossy, lossy_set, lossy_secret] =
        [&object, &set, &locked].map(|bytes| String::from_utf8_lossy(bytes).into_owned());
    let cases: [(&[u8], &str); 14] = [
        (b"", "no bytes"),
        (b"BELL", "4 bytes, and an object has at least"),
        (b"{}", "JSON: read it with serde (`Encoded`)"),
        (b" [\"BELLEROP\"]", "JSON"),
        (b"42454c4c45524f50", "hexadecimal digits"),
        (b"a,b\n1,2\n", "Bellerophon: text"),
        (b"QkVMTEVST1ABAAM", "base64"),
        (b"\x1f\x8b\x08\0\0", "compressed"),
        (b"\0\x01\x02\x03", "do not begin with its magic word"),
        (&locked, "`SecretBytes::decrypt`"),
        (lossy.as_bytes(), "binary mode"),
        (latin.as_bytes(), "binary mode"),
        (&wide, "binary mode"),
        (&marked, "binary mode"),
    ];
    for (bytes, word) in cases {
        for read in [
            from_bytes::<Ciphertext>(&params, bytes).map(drop),
            read_from::<Ciphertext>(&params, &mut &bytes[..], 1 << 20).map(drop),
            Params::from_bytes(bytes, Security::Insecure).map(drop),
        ] {
            let text = read.unwrap_err().to_string();
            assert!(text.contains(word), "{word}: {text}");
        }
        if bytes != &locked[..] && !word.contains("binary") {
            let text = SecretBytes::decrypt(bytes, "p").unwrap_err().to_string();
            assert!(text.contains(word), "{word}: {text}");
        }
    }
    // Where only the object holds bytes above 127, and in secrets.
    let refused = Params::from_bytes(lossy_set.as_bytes(), Security::Insecure).unwrap_err();
    assert!(refused.to_string().contains("binary mode"), "{refused}");
    for (bytes, word) in
        [(lossy_secret.as_bytes(), "binary mode"), (&object[..], "an object without a passphrase")]
    {
        let text = SecretBytes::decrypt(bytes, "p").unwrap_err().to_string();
        assert!(text.contains(word), "{word}: {text}");
    }
}

#[test]
fn readers_take_one_object_within_their_allowance() {
    let (params, client) = world(Preset::Insecure(Toy::Functions), 1);
    let (first, second) = (ciphertext(&client, 2), ciphertext(&client, 3));
    let mut bytes = Vec::new();
    let names = [&first, &second].map(|ct| write_to(&params, ct, &mut bytes).unwrap());
    assert_ne!(names[0], names[1]);
    assert_eq!(names[0].to_string().parse::<ContentHash>().unwrap(), names[0]);
    let length = bytes.len() as u64 / 2;
    let mut reader = &bytes[..];
    for ct in [&first, &second] {
        let back: Ciphertext = read_from(&params, &mut reader, length).unwrap();
        assert_eq!(back, *ct);
    }
    assert!(reader.is_empty());
    let refused = read_from::<Ciphertext>(&params, &mut &bytes[..], length - 1);
    let limit = format!("the reader allows {}", length - 1);
    assert!(refusal(&refused).is(&ErrorKind::Bytes, &limit));
    for name in ["", "12", &"g".repeat(64), &"ä".repeat(32), &"0".repeat(65)] {
        assert!(name.parse::<ContentHash>().is_err(), "{name}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Whatever is done to the bytes, nothing comes back but an error, or the object.
    #[test]
    fn damaged_bytes_are_refused(
        cut in any::<prop::sample::Index>(),
        flips in 1..4usize,
        seed in any::<u64>(),
    ) {
        use rand::RngExt;
        let (params, client) = world(Preset::Insecure(Toy::Functions), 1);
        let whole = to_bytes(&params, &ciphertext(&client, 2)).unwrap();
        let cut = cut.index(whole.len());
        prop_assert!(from_bytes::<Ciphertext>(&params, &whole[..cut]).is_err());
        let mut rng = ChaCha20Rng::seed_from_u64(seed);
        let mut bytes = whole.clone();
        for _ in 0..flips {
            let at = rng.random_range(0..bytes.len());
            bytes[at] ^= 1 << rng.random_range(0..8);
        }
        prop_assert!(bytes == whole || from_bytes::<Ciphertext>(&params, &bytes).is_err());
    }
}
