//! Limits on lists, byte strings and texts in messages. One byte of a message may become dozens in
//! memory, so a limit on the message does not limit the memory.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{Error, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

/// For `#[serde(deserialize_with)]`: reads at most `MAX` elements, and fails at the next.
pub(super) fn list<'de, D, T, const MAX: usize>(deserializer: D) -> Result<Vec<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    Few::<T, MAX>::deserialize(deserializer).map(|few| few.0)
}

pub(super) fn list_if_any<'de, D, T, const MAX: usize>(
    deserializer: D,
) -> Result<Option<Vec<T>>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    Ok(Option::<Few<T, MAX>>::deserialize(deserializer)?.map(|few| few.0))
}

pub(super) fn bytes<'de, D: Deserializer<'de>, const MAX: usize>(
    deserializer: D,
) -> Result<Vec<u8>, D::Error> {
    short::<_, _, MAX>(super::bytes::deserialize(deserializer)?)
}

pub(super) fn text<'de, D: Deserializer<'de>, const MAX: usize>(
    deserializer: D,
) -> Result<String, D::Error> {
    short::<_, _, MAX>(String::deserialize(deserializer)?)
}

fn short<E: Error, T: AsRef<[u8]>, const MAX: usize>(found: T) -> Result<T, E> {
    match found.as_ref().len() {
        len if len > MAX => Err(E::custom(format_args!("{len} bytes where {MAX} may be"))),
        _ => Ok(found),
    }
}

struct Few<T, const MAX: usize>(Vec<T>);

impl<'de, T: Deserialize<'de>, const MAX: usize> Deserialize<'de> for Few<T, MAX> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Few<T, MAX>, D::Error> {
        deserializer.deserialize_seq(BoundedVisitor(PhantomData))
    }
}

struct BoundedVisitor<T, const MAX: usize>(PhantomData<T>);

impl<'de, T: Deserialize<'de>, const MAX: usize> Visitor<'de> for BoundedVisitor<T, MAX> {
    type Value = Few<T, MAX>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "at most {MAX} elements")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Few<T, MAX>, A::Error> {
        let mut all = Vec::new();
        while let Some(element) = elements.next_element()? {
            if all.len() == MAX {
                return Err(A::Error::invalid_length(MAX + 1, &self));
            }
            all.push(element);
        }
        Ok(Few(all))
    }
}
