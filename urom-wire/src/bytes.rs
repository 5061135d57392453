//! Byte strings in messages, written and read as a whole: serde would handle them byte by byte.

use serde::{Deserialize, Deserializer, Serializer};

/// For `#[serde(serialize_with)]`.
pub(super) fn serialize<S: Serializer>(
    bytes: &impl AsRef<[u8]>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.serialize_bytes(bytes.as_ref())
}

/// For `#[serde(deserialize_with)]`. Needs the message in memory, where it always is here.
pub(super) fn deserialize<'de, D, B>(deserializer: D) -> Result<B, D::Error>
where
    D: Deserializer<'de>,
    B: From<&'de [u8]>,
{
    <&[u8]>::deserialize(deserializer).map(B::from)
}
