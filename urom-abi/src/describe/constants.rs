//! The constants in expressions of a definition, whose types macros cannot see. Method resolution
//! prefers [`IsNumber`] to [`IsAnything`], in a closure that never runs: its type is the answer.

use std::marker::PhantomData;

/// A constant that the expression of a payload's `len` or `when` uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Constant {
    /// Its path, as written in the definition.
    pub name: &'static str,
    /// Its value as an integer of up to 64 bits, `bool` or `char`; others are compared by name.
    pub value: Option<i128>,
}

#[doc(hidden)]
#[derive(Debug)]
pub struct TypeOf<T>(PhantomData<T>);

impl<T> TypeOf<T> {
    #[must_use]
    pub const fn value(_value: &T) -> TypeOf<T> {
        TypeOf(PhantomData)
    }
}

/// Defines how to read a value of `T`.
///
/// # Safety
/// When `SIGNED` is `Some`, a `T` has at most eight bytes, all of them initialized.
#[doc(hidden)]
pub unsafe trait Reading<T> {
    /// Whether it is signed; `None` for other types than numbers.
    const SIGNED: Option<bool>;
}

// SAFETY: `SIGNED` is `None`.
unsafe impl<T> Reading<T> for () {
    const SIGNED: Option<bool> = None;
}

#[doc(hidden)]
pub trait IsNumber: Sized {
    fn __reading(&self) -> Self;
}

#[doc(hidden)]
pub trait IsAnything {
    fn __reading(&self) {}
}

impl<T> IsAnything for &TypeOf<T> {}

macro_rules! numbers {
    ($signed:literal: $($ty:ty)*) => {$(
        // SAFETY: a primitive type without padding.
        unsafe impl Reading<$ty> for TypeOf<$ty> {
            const SIGNED: Option<bool> = Some($signed);
        }

        impl IsNumber for TypeOf<$ty> {
            fn __reading(&self) -> Self {
                TypeOf(PhantomData)
            }
        }
    )*};
}

numbers!(false: u8 u16 u32 u64 usize bool char);
numbers!(true: i8 i16 i32 i64 isize);

/// `_reading` is never called; its return type selects the reading.
#[doc(hidden)]
#[must_use]
pub const fn constant<T, R: Reading<T>, F: Fn() -> R>(
    name: &'static str,
    value: &T,
    _reading: &F,
) -> Constant {
    let Some(signed) = R::SIGNED else { return Constant { name, value: None } };
    // SAFETY: a number's bytes are initialized and live as long as the reference.
    let bytes = unsafe {
        std::slice::from_raw_parts(std::ptr::from_ref(value).cast::<u8>(), size_of::<T>())
    };
    let mut word = [0; 8];
    word.split_at_mut(bytes.len()).0.copy_from_slice(bytes);
    let number = u64::from_le_bytes(word);
    let unused = 64 - 8 * bytes.len();
    let value =
        if signed { (((number << unused) as i64) >> unused) as i128 } else { number as i128 };
    Constant { name, value: Some(value) }
}

#[cfg(test)]
mod tests {
    use super::*;

    macro_rules! value {
        ($ty:ty, $value:expr) => {{
            const VALUE: $ty = $value;
            const FOUND: Constant =
                constant("VALUE", &VALUE, &|| (&TypeOf::value(&VALUE)).__reading());
            FOUND.value
        }};
    }

    #[test]
    fn numbers_of_every_kind_are_read() {
        assert_eq!(value!(u8, 200), Some(200));
        assert_eq!(value!(u16, 0x0102), Some(0x0102));
        assert_eq!(value!(u64, u64::MAX), Some(u64::MAX.into()));
        assert_eq!(value!(usize, 7), Some(7));
        assert_eq!(value!(i8, -1), Some(-1));
        assert_eq!(value!(i32, i32::MIN), Some(i32::MIN.into()));
        assert_eq!(value!(i64, i64::MIN), Some(i64::MIN.into()));
        assert_eq!(value!(isize, 3), Some(3));
        assert_eq!((value!(bool, true), value!(char, 'a')), (Some(1), Some(97)));
    }

    #[test]
    fn a_constant_that_is_not_a_number_has_no_value() {
        #[derive(Clone, Copy)]
        #[expect(dead_code, reason = "only its type counts")]
        struct Padded(u8, u32);
        assert_eq!(value!(&str, "text"), None);
        assert_eq!(value!(Option<u32>, Some(4)), None);
        assert_eq!(value!(Padded, Padded(1, 2)), None);
        assert_eq!(value!(fn(), || ()), None);
        assert_eq!(value!(u128, 1), None);
    }
}
