//! Byte strings in messages, written and read whole: serde would take them byte by byte.

use serde::{Deserialize, Deserializer, Serializer};

/// For `#[serde(serialize_with)]`.
pub(crate) fn serialize<S: Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_bytes(bytes)
}

/// For `#[serde(deserialize_with)]`. Works where the message is in memory, which it always is here.
pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u8>, D::Error> {
    <&[u8]>::deserialize(deserializer).map(<[u8]>::to_vec)
}
