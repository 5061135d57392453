//! The words of a payload, and numbers of elements.

use super::Plain;

/// The type of a payload's address, length or selector word: an unsigned integer.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the address, the length or the selector of a payload",
    label = "not an unsigned integer",
    note = "such a word is a `u8`, `u16`, `u32` or `u64`"
)]
pub trait Word: Plain + Count + Into<u64> {
    /// Converts `value`; `None` when it does not fit.
    fn from_u64(value: u64) -> Option<Self>;
}

/// The number of elements of a payload, from other fields: an integer, or an `Option` of one.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the length of a payload",
    label = "neither an integer nor an `Option` of one",
    note = "`len` is an expression over the fields before the payload that gives an integer, or an `Option` of one"
)]
pub trait Count: Copy {
    /// Returns the number; `None` when it is too large for a payload.
    fn count(self) -> Option<usize>;
}

macro_rules! words {
    ($($ty:ident)*) => {$(
        impl Word for $ty {
            #[inline(always)]
            fn from_u64(value: u64) -> Option<Self> {
                value.try_into().ok()
            }
        }
    )*};
}

macro_rules! counts {
    ($($ty:ident)*) => {$(
        impl Count for $ty {
            #[inline(always)]
            fn count(self) -> Option<usize> {
                self.try_into().ok()
            }
        }
    )*};
}

words!(u8 u16 u32 u64);
counts!(u8 u16 u32 u64 u128 usize i8 i16 i32 i64 i128 isize);

impl<C: Count> Count for Option<C> {
    #[inline(always)]
    fn count(self) -> Option<usize> {
        self.and_then(C::count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_holds_what_fits_it() {
        assert_eq!((u8::from_u64(255), u8::from_u64(256)), (Some(255), None));
        assert_eq!((u16::from_u64(65_535), u16::from_u64(65_536)), (Some(65_535), None));
        assert_eq!((u32::from_u64(1 << 31), u32::from_u64(1 << 32)), (Some(1 << 31), None));
        assert_eq!(u64::from_u64(u64::MAX), Some(u64::MAX));
    }

    #[test]
    fn a_count_is_any_integer_that_is_not_negative() {
        assert_eq!((7u8.count(), 7i64.count(), Some(7u32).count()), (Some(7), Some(7), Some(7)));
        assert_eq!((u64::MAX.count(), i32::MAX.count()), (Some(usize::MAX), Some(0x7fff_ffff)));
        assert_eq!(((-1i8).count(), i64::MIN.count()), (None, None));
        assert_eq!((None::<u8>.count(), Some(-2i32).count()), (None, None));
        assert_eq!(((1u128 << 64).count(), (1i128 << 65).count()), (None, None));
    }
}
