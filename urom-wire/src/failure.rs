//! A failure that crosses a stream.

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};
use urom_abi::DocaError;

/// How long the text of a failure may be, in bytes.
pub const LONGEST_TEXT: usize = 2048;

const CUT: &str = " ...";

/// A failure that crosses a stream: the code that ends the host's call or task, and a sentence for
/// people.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{text}")]
pub struct Failure {
    /// A `doca_error_t` other than success: tasks end with it.
    #[serde(deserialize_with = "a_failures")]
    pub code: u32,
    /// What failed, on what, and what to do.
    pub text: String,
}

fn a_failures<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u32, D::Error> {
    match u32::deserialize(deserializer)? {
        0 => Err(D::Error::custom("a failure with the code of success")),
        code => Ok(code),
    }
}

impl Failure {
    /// A failure with a code and a sentence, which is cut at [`LONGEST_TEXT`]: it may quote what a
    /// host sent, and failures wait for as long as a host does not read them.
    pub fn new(code: DocaError, text: impl Into<String>) -> Failure {
        let mut text = text.into();
        if text.len() > LONGEST_TEXT {
            text.truncate(cut(&text, LONGEST_TEXT - CUT.len()).len());
            text.push_str(CUT);
            text.shrink_to_fit();
        }
        Failure { code: code.0, text }
    }

    pub fn code(&self) -> DocaError {
        DocaError(self.code)
    }
}

/// As much of the text as `most` bytes hold, to the end of a character.
pub fn cut(text: &str, most: usize) -> &str {
    (0..=most.min(text.len())).rev().find_map(|end| text.get(..end)).unwrap_or("")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_text_is_cut_between_two_characters() {
        for (text, kept) in
            [("x".repeat(LONGEST_TEXT), LONGEST_TEXT), ("x".repeat(LONGEST_TEXT + 1), LONGEST_TEXT)]
        {
            assert_eq!(Failure::new(DocaError::DRIVER, text).text.len(), kept);
        }
        let text =
            Failure::new(DocaError::DRIVER, format!("x{}", "\u{20ac}".repeat(LONGEST_TEXT))).text;
        assert!(
            text.len() <= LONGEST_TEXT
                && text.len() > LONGEST_TEXT - 4
                && text.ends_with("\u{20ac} ..."),
            "{text}"
        );
    }
}
