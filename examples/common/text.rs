//! Text files: the one place where programs read them.

use std::path::Path;

use super::program::Failure;

/// The byte-order marks of UTF-16, in which spreadsheets save "Unicode text".
const UTF_16: [[u8; 2]; 2] = [[0xff, 0xfe], [0xfe, 0xff]];

/// The text of a file, without a byte-order mark.
pub fn read(path: &Path) -> Result<String, Failure> {
    let name = path.display().to_string();
    let bytes = std::fs::read(path).map_err(|e| Failure::input(format!("{name}: {e}")))?;
    decode(&bytes, &name).map(str::to_string)
}

/// The text of UTF-8 bytes, without a byte-order mark. `source` names them in errors.
pub fn decode<'a>(bytes: &'a [u8], source: &str) -> Result<&'a str, Failure> {
    if UTF_16.iter().any(|mark| bytes.starts_with(mark)) {
        let why = format!("{source}: the text is UTF-16; save the file as UTF-8");
        return Err(Failure::input(why));
    }
    let text = std::str::from_utf8(bytes).map_err(|e| {
        let line = bytes[..e.valid_up_to()].iter().filter(|&&byte| byte == b'\n').count() + 1;
        Failure::input(format!("{source}: line {line}: not UTF-8; save the file as UTF-8"))
    })?;
    Ok(text.strip_prefix('\u{feff}').unwrap_or(text))
}
