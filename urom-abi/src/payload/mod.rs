//! Payloads of messages. A command borrows its payloads, a notification owns them.

mod data;
mod elements;
mod owned;
mod owner;

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};

use crate::wire::Plain;

pub use data::{Data, Received, Registered};
pub use elements::Elements;
pub use owned::Payload;

/// Returns the size of an element. Zero-sized elements cannot be counted, so they do not compile.
pub(crate) const fn unit<T>() -> usize {
    const { assert!(size_of::<T>() > 0, "elements of a payload have at least one byte") };
    size_of::<T>()
}

/// Payloads are compared by their bytes, and ordered element by element like slices.
macro_rules! compared {
    ($($of:ty)*) => {$(
        impl<T> PartialEq for $of {
            fn eq(&self, other: &Self) -> bool {
                self.as_bytes() == other.as_bytes()
            }
        }

        impl<T> Eq for $of {}

        impl<T> Hash for $of {
            fn hash<H: Hasher>(&self, state: &mut H) {
                self.as_bytes().hash(state);
            }
        }

        impl<T: Plain + Ord> PartialOrd for $of {
            fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
                Some(self.cmp(other))
            }
        }

        impl<T: Plain + Ord> Ord for $of {
            fn cmp(&self, other: &Self) -> Ordering {
                self.seen().iter().cmp(other.seen().iter())
            }
        }

        impl<T: Plain + fmt::Debug> fmt::Debug for $of {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_list().entries(self.seen()).finish()
            }
        }
    )*};
}

compared!(Elements<'_, T> Payload<T>);
