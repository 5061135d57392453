//! Parses bytes: plain text, digits, or a file.

use std::fs::File;
use std::io::Read;

/// Limit in bytes of a file. Messages are shorter.
const MOST: usize = (1 << 24) - 1;

/// Parses bytes: plain or after `text:`; `hex:` or `0x` and digits; `@` and a file's path.
pub fn bytes(text: &str) -> Result<Vec<u8>, String> {
    match raw(text) {
        Some(bytes) => bytes,
        None => match text.strip_prefix("0x") {
            Some(digits) => hex(digits),
            None => Ok(text.strip_prefix("text:").unwrap_or(text).as_bytes().to_vec()),
        },
    }
}

/// Parses `hex:..` and `@file`, which every type accepts.
pub(super) fn raw(text: &str) -> Option<Result<Vec<u8>, String>> {
    if let Some(digits) = text.strip_prefix("hex:") {
        return Some(hex(digits));
    }
    let file = text.strip_prefix('@')?;
    Some(contents(file).map_err(|why| {
        let file = file.escape_debug();
        format!(
            "the file `{file}` cannot be read: {why}; write `text:@..` for a text that begins with \
             `@`"
        )
    }))
}

/// Reads a file, which may be a pipe, up to the limit of a message.
fn contents(file: &str) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    let read = File::open(file).and_then(|file| file.take(MOST as u64 + 1).read_to_end(&mut bytes));
    match read.map_err(|error| error.to_string())? > MOST {
        true => Err(format!("it has more than {MOST} bytes, which no message can have")),
        false => Ok(bytes),
    }
}

fn hex(digits: &str) -> Result<Vec<u8>, String> {
    let byte = |pair: &[u8]| {
        let [high, low] =
            [*pair.first()?, *pair.get(1)?].map(|digit| char::from(digit).to_digit(16));
        u8::try_from(high? * 16 + low?).ok()
    };
    digits.as_bytes().chunks(2).map(byte).collect::<Option<_>>().ok_or_else(|| {
        let digits = digits.escape_debug();
        format!("`{digits}` is not a row of bytes: write two hexadecimal digits for each")
    })
}
