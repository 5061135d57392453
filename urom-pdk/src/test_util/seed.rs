//! Arbitrary messages from bytes, and strategies for proptest.

use std::fmt;

use proptest::arbitrary::any;
use proptest::collection::vec;
use proptest::strategy::Strategy;
use urom_abi::test_util::arbitrary::{Arbitrary, Unstructured};

/// The source bytes of arbitrary messages, from a fuzzer or from proptest ([`seeds`]). Commands
/// borrow their payloads, so proptest cannot create them: it creates the seed, which the command
/// borrows. The same seed makes the same messages. The guide's page on testing has examples.
#[derive(Clone, PartialEq, Eq)]
pub struct Seed(Vec<u8>);

impl Seed {
    /// Creates a seed of these bytes. An empty seed makes every number 0.
    pub fn new(bytes: &[u8]) -> Seed {
        Seed(bytes.to_vec())
    }

    /// Returns the bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// Makes a command, a notification, an enum of them, or another [`Arbitrary`] type.
    ///
    /// # Panics
    /// When no bytes make one: an impossible codec or payload length.
    pub fn make<'a, T: Arbitrary<'a>>(&'a self) -> T {
        let made = T::arbitrary(&mut Unstructured::new(&self.0));
        made.or_else(|_| T::arbitrary(&mut Unstructured::new(&[]))).unwrap_or_else(|error| {
            panic!("no {} could be made up: {error}", std::any::type_name::<T>())
        })
    }
}

impl fmt::Debug for Seed {
    /// The expression for a test that repeats proptest's finding.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Seed::new(&{:?})", self.0)
    }
}

/// Returns seeds with enough bytes for every field, sometimes with long payloads.
pub fn seeds() -> impl Strategy<Value = Seed> {
    let (usual, long) = (vec(any::<u8>(), 0..300), vec(any::<u8>(), 300..6000));
    proptest::prop_oneof![9 => usual, 1 => long].prop_map(Seed)
}

/// Returns arbitrary messages that borrow nothing: commands without payloads, and notifications.
pub fn messages<T>() -> impl Strategy<Value = T>
where
    T: for<'a> Arbitrary<'a> + fmt::Debug + 'static,
{
    seeds().prop_map(|seed| seed.make::<T>())
}
