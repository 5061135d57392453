//! Field types, with and without checks of their bytes.

use std::marker::PhantomData;

use zerocopy::{FromZeros, Immutable, IntoBytes, TryFromBytes};

use super::ConstStr;

/// An element of a payload, or any plain field: exactly the [`bytemuck::Pod`] types.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be an element of a UROM payload: not any bytes are a value of it",
    label = "not `bytemuck::Pod`",
    note = "use an unsigned integer of the same size, or a `#[repr(C)]` structure without padding that derives `Clone`, `Copy`, \
            `bytemuck::Pod` and `bytemuck::Zeroable`"
)]
pub trait Plain: bytemuck::Pod {}

#[diagnostic::do_not_recommend]
impl<T: bytemuck::Pod> Plain for T {}

/// Fails the compilation, at the call, when a type cannot be an element of a payload.
#[track_caller]
pub const fn assert_element<T: Plain>(name: &str) {
    if size_of::<T>() == 0 {
        let text = ConstStr::new().text("`").text(name);
        let text = text.text(
            "` lacks bytes, so nothing could count such elements: use a type with at least one",
        );
        panic!("{}", text.as_str());
    }
}

/// A field of a message. `ANY` is true for [`bytemuck::Pod`] types, which accept any bytes,
/// and false for types that [`zerocopy`] checks: `bool`, `char`, and enums and structures that
/// derive its traits. [`AnyBytes`] finds it.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a field of a UROM message: its bytes are not plain data",
    label = "neither `bytemuck::Pod` nor checked by `zerocopy`",
    note = "a structure of numbers: make it `#[repr(C)]` without padding and derive `Clone`, `Copy`, `bytemuck::Pod` and \
            `bytemuck::Zeroable`",
    note = "an enum without fields, or a structure that holds one, a `bool` or a `char`: give it a `#[repr(..)]` and derive \
            `Clone`, `Copy`, and `TryFromBytes`, `IntoBytes` and `Immutable` of `zerocopy`"
)]
pub trait Value<const ANY: bool>: Copy + 'static {
    /// Returns the value of exactly these bytes, unaligned; `None` when they are invalid.
    fn of_bytes(bytes: &[u8]) -> Option<Self>;

    /// Returns the bytes of the value.
    fn bytes(&self) -> &[u8];
}

#[diagnostic::do_not_recommend]
impl<T: bytemuck::Pod> Value<true> for T {
    #[inline(always)]
    fn of_bytes(bytes: &[u8]) -> Option<T> {
        bytemuck::try_pod_read_unaligned(bytes).ok()
    }

    #[inline(always)]
    fn bytes(&self) -> &[u8] {
        bytemuck::bytes_of(self)
    }
}

#[diagnostic::do_not_recommend]
impl<T: TryFromBytes + IntoBytes + Immutable + Copy + 'static> Value<false> for T {
    #[inline(always)]
    fn of_bytes(bytes: &[u8]) -> Option<T> {
        T::try_read_from_bytes(bytes).ok()
    }

    #[inline(always)]
    fn bytes(&self) -> &[u8] {
        self.as_bytes()
    }
}

/// A type with an all-zero value, used for unset fields.
#[diagnostic::on_unimplemented(
    message = "no `{Self}` is all zeros, and a field that is `echo` or `optional` is zero unless it is set",
    label = "without a value of zeros",
    note = "give the enum a value that is 0, and derive `zerocopy::FromZeros` in place of `TryFromBytes`; or remove `echo` or `optional`"
)]
pub trait Zero<const ANY: bool>: Sized {
    /// Returns the all-zero value.
    fn zero() -> Self;
}

#[diagnostic::do_not_recommend]
impl<T: bytemuck::Pod> Zero<true> for T {
    #[inline(always)]
    fn zero() -> T {
        T::zeroed()
    }
}

#[diagnostic::do_not_recommend]
impl<T: FromZeros> Zero<false> for T {
    #[inline(always)]
    fn zero() -> T {
        T::new_zeroed()
    }
}

/// Determines whether any bytes are a valid `T`, with [`NotAnyBytes`] in scope: an inherent
/// constant has priority over a trait's. `T` must be a concrete type.
#[doc(hidden)]
#[derive(Debug)]
pub struct AnyBytes<T>(PhantomData<T>);

impl<T: bytemuck::Pod> AnyBytes<T> {
    pub const ANY: bool = true;
}

/// See [`AnyBytes`].
#[doc(hidden)]
pub trait NotAnyBytes {
    const ANY: bool = false;
}

impl<T> NotAnyBytes for AnyBytes<T> {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_need_no_check_and_truths_do() {
        const { assert!(AnyBytes::<u32>::ANY && AnyBytes::<[u8; 3]>::ANY && AnyBytes::<f64>::ANY) };
        const { assert!(!AnyBytes::<bool>::ANY && !AnyBytes::<[char; 2]>::ANY) };
        assert_eq!(
            (bool::of_bytes(&[1]), bool::of_bytes(&[2]), bool::of_bytes(&[])),
            (Some(true), None, None)
        );
        assert_eq!(char::of_bytes(&[0, 0xd8, 0, 0]), None);
        assert_eq!(
            (<bool as Zero<false>>::zero(), <[u16; 2] as Zero<true>>::zero()),
            (false, [0, 0])
        );
    }
}
