//! Bytes as text: as they are, as digits, or as a file.

use std::fs::File;
use std::io::Read;

use urom_service::daemon::config::MAX_MAX_MESSAGE;

/// How many bytes a message can have.
const MOST: usize = MAX_MAX_MESSAGE;

/// The bytes that a text stands for: itself, `text:` and a text, `hex:` or `0x` and digits, or `@` and a file's path.
pub(crate) fn bytes(text: &str) -> Result<Vec<u8>, String> {
    match raw(text) {
        Some(bytes) => bytes,
        None => match text.strip_prefix("0x") {
            Some(digits) => hex(digits),
            None => Ok(text.strip_prefix("text:").unwrap_or(text).as_bytes().to_vec()),
        },
    }
}

/// The bytes of `hex:..` and `@file`, which stand for themselves in every type.
pub(super) fn raw(text: &str) -> Option<Result<Vec<u8>, String>> {
    if let Some(digits) = text.strip_prefix("hex:") {
        return Some(hex(digits));
    }
    let file = text.strip_prefix('@')?;
    Some(contents(file).map_err(|why| {
        let file = file.escape_debug();
        format!("the file `{file}` cannot be read: {why}; write `text:@..` for a text that begins with `@`")
    }))
}

/// All of a file, which may be a pipe, and is not read further than a message is long.
fn contents(file: &str) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    let opened = File::open(file).map_err(|error| error.to_string())?;
    opened.take(MOST as u64 + 1).read_to_end(&mut bytes).map_err(|error| error.to_string())?;
    match bytes.len() > MOST {
        true => Err(format!("it has more than {MOST} bytes, which no message can have")),
        false => Ok(bytes),
    }
}

fn hex(digits: &str) -> Result<Vec<u8>, String> {
    let wrong = || {
        format!(
            "`{}` is no row of bytes: write two hexadecimal digits for each",
            digits.escape_debug()
        )
    };
    let digits = digits.as_bytes();
    if !digits.len().is_multiple_of(2) {
        return Err(wrong());
    }
    let digit = |byte: u8| char::from(byte).to_digit(16);
    let byte = |pair: &[u8]| match *pair {
        [high, low] => Some((digit(high)? * 16 + digit(low)?) as u8),
        _ => None,
    };
    digits.chunks(2).map(|pair| byte(pair).ok_or_else(wrong)).collect()
}
