//! Objects in structs that `serde` writes and reads.

use bellerophon_ckks::Published;
use bellerophon_ring::ErrorKind;
use bincode::config::standard;
use bincode::serde::{decode_from_slice, encode_to_vec};
use serde::{Deserialize, Serialize};

use super::*;
use crate::error::refusal;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Request {
    user: String,
    values: Encoded<Ciphertext>,
}

#[test]
fn encoded_objects_come_back_in_text_and_binary() {
    let (params, client) = world(Preset::Insecure(Toy::Functions), 1);
    let x = ciphertext(&client, 2);
    let values = Encoded::new(&params, &x).unwrap();
    assert_eq!(values.as_ref(), to_bytes(&params, &x).unwrap());
    let request = Request { user: "anne".into(), values };
    let text = serde_json::to_string(&request).unwrap();
    let binary = encode_to_vec(&request, standard()).unwrap();
    let len = request.values.as_ref().len();
    assert!(text.len() < 2 * len + 100 && binary.len() < len + 100);
    let from_text: Request = serde_json::from_str(&text).unwrap();
    let (from_binary, _): (Request, usize) = decode_from_slice(&binary, standard()).unwrap();
    for back in [from_text, from_binary] {
        assert_eq!(back, request);
        assert_eq!(back.values.decode(&params).unwrap(), x);
    }
}

#[test]
fn bytes_are_checked_by_decode_and_not_before() {
    let (params, client) = world(Preset::Insecure(Toy::Functions), 1);
    let good = Encoded::new(&params, &ciphertext(&client, 2)).unwrap();
    // Damaged, empty, of another type, of other parameters.
    let mut damaged = good.as_ref().to_vec();
    damaged[1000] ^= 1;
    for bytes in [damaged, vec![], good.as_ref()[..100].to_vec()] {
        let text = serde_json::to_string(&Encoded::<Ciphertext>::from(bytes)).unwrap();
        let read: Encoded<Ciphertext> = serde_json::from_str(&text).unwrap();
        assert!(matches!(refusal(&read.decode(&params)).kind(), ErrorKind::Bytes));
    }
    let other = Encoded::<Published>::from(Vec::from(good.clone()));
    let refused = other.decode(&params);
    assert!(refusal(&refused).is(&ErrorKind::Bytes, "): read them as the type that was written"));
    let refused = good.decode(&Params::preset(Preset::Insecure(Toy::Bootstrapping)).unwrap());
    assert!(
        refusal(&refused).is(&ErrorKind::ParamsMismatch, "read the sender's parameters first, or")
    );
    // Text that is no bytes.
    for bad in ["\"0\"", "\"0g\"", "\"é0\"", "\"+1\"", "7", "[1, 2]"] {
        assert!(serde_json::from_str::<Encoded<Ciphertext>>(bad).is_err(), "{bad}");
    }
    let shown = format!("{good:?}");
    assert_eq!(shown, format!("Encoded({} bytes)", good.as_ref().len()));
}
