//! A failure in a control message.

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use urom_abi::{DocaError, DocaStatus};

pub const LONGEST_TEXT: usize = 2048;

const CUT: &str = " ...";

/// A failure in a control message: the code for the host's call or task, and a sentence for people.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{text}")]
pub struct Failure {
    #[serde(serialize_with = "write_code", deserialize_with = "read_code")]
    pub code: DocaError,
    pub text: String,
}

fn write_code<S: Serializer>(code: &DocaError, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_u32(code.code())
}

fn read_code<'de, D: Deserializer<'de>>(deserializer: D) -> Result<DocaError, D::Error> {
    let code = DocaStatus(u32::deserialize(deserializer)?);
    code.check().err().ok_or_else(|| D::Error::custom("a failure with the code of success"))
}

impl Failure {
    /// Cuts the text at [`LONGEST_TEXT`]: it may quote a host's data, and waits for the host.
    pub fn new(code: DocaError, text: impl Into<String>) -> Failure {
        let mut text = text.into();
        if text.len() > LONGEST_TEXT {
            text.truncate(cut(&text, LONGEST_TEXT - CUT.len()).len());
            text.push_str(CUT);
            text.shrink_to_fit();
        }
        Failure { code, text }
    }
}

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
