//! Structures with the same bytes in memory and on the wire; numbers are little-endian.

use std::fmt;

use bytemuck::{Pod, Zeroable};

/// A structure sent as its memory: `repr(C)`, of bytes and of this module's numbers.
pub trait Plain: Pod {
    fn as_bytes(&self) -> &[u8] {
        bytemuck::bytes_of(self)
    }

    fn as_mut_bytes(&mut self) -> &mut [u8] {
        bytemuck::bytes_of_mut(self)
    }

    fn read(bytes: &[u8]) -> Option<Self> {
        bytemuck::try_pod_read_unaligned(bytes).ok()
    }
}

macro_rules! numbers {
    ($($name:ident $native:ty,)*) => {$(
        /// A little-endian number of alignment 1.
        #[derive(Clone, Copy, Default, PartialEq, Eq, Pod, Zeroable)]
        #[repr(transparent)]
        pub struct $name([u8; size_of::<$native>()]);

        impl $name {
            pub const fn get(self) -> $native {
                <$native>::from_le_bytes(self.0)
            }
        }

        impl From<$native> for $name {
            fn from(value: $native) -> $name {
                $name(value.to_le_bytes())
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.get().fmt(f)
            }
        }
    )*};
}

numbers! {
    U16 u16,
    U32 u32,
    U64 u64,
    U128 u128,
}
