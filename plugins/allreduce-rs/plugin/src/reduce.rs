//! The terms of a call, and the combination of two lists of elements.

use allreduce_protocol::{Element, Operation};
use bytemuck::Pod;
use half::bf16;
use urom_abi::Described;
use zerocopy::{Immutable, IntoBytes, TryFromBytes};

/// The parameters of a call, which must be the same at all members.
#[derive(Clone, Copy, Debug, PartialEq, TryFromBytes, IntoBytes, Immutable, Described)]
#[repr(C)]
pub(crate) struct Terms {
    pub(crate) element: Element,
    pub(crate) operation: Operation,
    pub(crate) bytes: u64,
}

impl Terms {
    /// Combines each element of `into` with the element of `other`, the left or right operand.
    pub(crate) fn reduce(self, into: &mut [u8], other: &[u8], is_left: bool) {
        macro_rules! with {
            ($sum:expr, $min:expr, $max:expr) => {
                match self.operation {
                    Operation::Sum => each(into, other, is_left, $sum),
                    Operation::Min => each(into, other, is_left, $min),
                    Operation::Max => each(into, other, is_left, $max),
                }
            };
        }
        match self.element {
            Element::F32 => with!(|a: f32, b| a + b, f32::min, f32::max),
            Element::F64 => with!(|a: f64, b| a + b, f64::min, f64::max),
            Element::I32 => with!(i32::wrapping_add, <i32 as Ord>::min, <i32 as Ord>::max),
            Element::U64 => with!(u64::wrapping_add, <u64 as Ord>::min, <u64 as Ord>::max),
            Element::Bf16 => with!(|a: bf16, b| a + b, bf16::min, bf16::max),
        }
    }
}

fn each<T: Pod>(into: &mut [u8], other: &[u8], is_left: bool, combine: impl Fn(T, T) -> T) {
    let pairs = into.chunks_exact_mut(size_of::<T>()).zip(other.chunks_exact(size_of::<T>()));
    for (own, other) in pairs {
        let [a, b] = [&*own, other].map(bytemuck::pod_read_unaligned::<T>);
        let both = if is_left { combine(b, a) } else { combine(a, b) };
        own.copy_from_slice(bytemuck::bytes_of(&both));
    }
}
