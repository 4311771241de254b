//! What bytes are that are no object: files of another kind, and objects that a program on the way
//! took for text.

/// Bytes that are looked at.
const LOOKED_AT: usize = 256;

/// Beginnings of files of another kind, and what they are.
const BEGINNINGS: [(&[u8], &str); 9] = [
    (b"BELLLOCK", "a secret under a passphrase: read it with `SecretBytes::decrypt`"),
    (b"BELLEROP", "an object without a passphrase: read it as what it was written as"),
    (b"QkVMTE", "base64 digits: decode them first"),
    (b"\x1f\x8b", "a compressed file: unpack it first"),
    (b"PK\x03\x04", "a compressed file: unpack it first"),
    (b"\x28\xb5\x2f\xfd", "a compressed file: unpack it first"),
    (b"\xff\xfe", "text in UTF-16"),
    (b"\xfe\xff", "text in UTF-16"),
    (b"%PDF", "a PDF file"),
];

/// What bytes look like that do not begin with the expected magic word, if it can be told.
pub(crate) fn looks_like(bytes: &[u8]) -> Option<&'static str> {
    if let Some((_, what)) = BEGINNINGS.iter().find(|(start, _)| bytes.starts_with(start)) {
        return Some(what);
    }
    let text = text(bytes)?.trim_start_matches('\u{feff}').trim();
    if text.starts_with(['{', '[', '"']) {
        return Some("JSON: read it with serde (`Encoded`)");
    }
    // A number of decimal digits is text.
    let letters = text.bytes().any(|digit| digit.is_ascii_alphabetic());
    let hexadecimal =
        text.len() >= 8 && letters && text.bytes().all(|digit| digit.is_ascii_hexdigit());
    match hexadecimal {
        true => Some("hexadecimal digits: decode them first"),
        false => text.chars().all(|c| !c.is_control() || c.is_whitespace()).then_some("text"),
    }
}

/// Whether a program decoded an object as text and wrote the text: replacement characters, a
/// byte-order mark, UTF-16 or UTF-8 where bytes of any value are due.
pub(crate) fn decoded(bytes: &[u8], magic: &[u8; 8]) -> bool {
    // UTF-16: every byte of the magic word beside a zero, with or without a byte-order mark.
    let wide = |skipped: usize| {
        let word = bytes.iter().skip(skipped).step_by(2);
        bytes.len() >= skipped + 15 && word.take(8).eq(magic)
    };
    let behind_mark = bytes.strip_prefix(b"\xef\xbb\xbf");
    (0..4).any(wide)
        || behind_mark.is_some_and(|rest| rest.starts_with(magic))
        || bytes.starts_with(magic) && text(bytes).is_some_and(|text| !text.is_ascii())
}

/// The first bytes as UTF-8, without a character that the end cuts.
fn text(bytes: &[u8]) -> Option<&str> {
    let bytes = &bytes[..bytes.len().min(LOOKED_AT)];
    match std::str::from_utf8(bytes) {
        Ok(text) => Some(text),
        Err(error) if error.error_len().is_none() => {
            let whole = &bytes[..error.valid_up_to()];
            std::str::from_utf8(whole).ok().filter(|text| !text.is_empty())
        }
        Err(_) => None,
    }
}
