//! Byte strings in messages, copied as a whole: serde would process single bytes.

use serde::{Deserialize, Deserializer, Serializer};

pub(super) fn serialize<S: Serializer>(
    bytes: &impl AsRef<[u8]>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.serialize_bytes(bytes.as_ref())
}

/// Requires the message in memory.
pub(super) fn deserialize<'de, D, B>(deserializer: D) -> Result<B, D::Error>
where
    D: Deserializer<'de>,
    B: From<&'de [u8]>,
{
    <&[u8]>::deserialize(deserializer).map(B::from)
}
