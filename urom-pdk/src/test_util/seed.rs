//! Arbitrary messages out of bytes, and strategies for proptest.

use std::fmt;

use proptest::arbitrary::any;
use proptest::collection::vec;
use proptest::strategy::Strategy;
use urom_abi::test_util::arbitrary::{Arbitrary, Unstructured};

/// Bytes that arbitrary messages are made of: what a fuzzer gives, or proptest ([`seeds`]).
///
/// Commands borrow their payloads, so proptest cannot hand one out; it hands out a seed, which the
/// command borrows. The same seed makes the same messages. The guide's page on testing has
/// examples.
#[derive(Clone, PartialEq, Eq)]
pub struct Seed(Vec<u8>);

impl Seed {
    /// A seed of these bytes. Of none, every number of a message is 0.
    pub fn new(bytes: &[u8]) -> Seed {
        Seed(bytes.to_vec())
    }

    /// The bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// The message that these bytes make: a command, a notification, an enum of them, or anything
    /// else that is [`Arbitrary`].
    ///
    /// # Panics
    /// When they make none and no bytes make none either: a codec that takes hardly any values, or
    /// a length that no payload can have.
    pub fn make<'a, T: Arbitrary<'a>>(&'a self) -> T {
        let made = T::arbitrary(&mut Unstructured::new(&self.0));
        made.or_else(|_| T::arbitrary(&mut Unstructured::new(&[]))).unwrap_or_else(|error| {
            panic!("no {} could be made up: {error}", std::any::type_name::<T>())
        })
    }
}

impl fmt::Debug for Seed {
    /// As it is written in a test that repeats what proptest found.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Seed::new(&{:?})", self.0)
    }
}

/// Seeds: enough bytes for every field of a message, and for payloads up to some thousand bytes now
/// and then.
pub fn seeds() -> impl Strategy<Value = Seed> {
    let (usual, long) = (vec(any::<u8>(), 0..300), vec(any::<u8>(), 300..6000));
    proptest::prop_oneof![9 => usual, 1 => long].prop_map(Seed)
}

/// Arbitrary messages that borrow nothing: commands without payloads, and notifications.
pub fn messages<T>() -> impl Strategy<Value = T>
where
    T: for<'a> Arbitrary<'a> + fmt::Debug + 'static,
{
    seeds().prop_map(|seed| seed.make::<T>())
}
