//! Conversions between C pointers and objects, which begin with an [`ObjectTag`]. NULL and other
//! kinds give `INVALID_VALUE`; an object from before a fork gives `BAD_STATE`.

use std::ffi::{CStr, c_char};
use std::ptr;
use std::rc::Rc;

use urom_abi::DocaError;
use urom_os::fork::{Inherited, Maker};

/// The kinds of objects. Unrelated memory rarely starts with the first value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(super) enum HandleKind {
    Buffer = 0x5552_4f01,
    Command,
    Context,
    Device,
    DeviceInfo,
    Element,
    Graph,
    Instance,
    Inventory,
    Local,
    Map,
    Node,
    Pe,
    Pool,
    Query,
    RemoteNet,
}

/// The first word of an object: its kind and the process that created it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub(super) struct ObjectTag(u64);

impl ObjectTag {
    pub(super) fn of<T: Object>() -> ObjectTag {
        ObjectTag(u64::from(Maker::here().bits()) << 32 | u64::from(T::KIND as u32))
    }

    fn maker(self) -> Maker {
        Maker::from_bits((self.0 >> 32) as u32)
    }

    /// # Safety
    /// `pointer` is NULL, or points to at least 8 readable bytes.
    #[inline]
    unsafe fn at<C>(pointer: *const C) -> Option<ObjectTag> {
        // SAFETY: the caller's promise.
        (!pointer.is_null()).then(|| unsafe { pointer.cast::<ObjectTag>().read_unaligned() })
    }
}

/// # Safety
/// The type is `repr(C)`, its first field is `ObjectTag::of::<Self>()`, and its kind is unique.
pub(super) unsafe trait Object {
    const KIND: HandleKind;
}

/// A C type whose pointers denote objects of this library or texts.
pub(super) trait Opaque {
    type Found<'a>;

    /// # Safety
    /// As [`borrow`].
    unsafe fn find<'a>(pointer: *const Self) -> Result<Self::Found<'a>, DocaError>;
}

/// A C string that the host keeps unchanged during the call; `None` for NULL.
impl Opaque for c_char {
    type Found<'a> = Option<&'a CStr>;

    unsafe fn find<'a>(pointer: *const c_char) -> Result<Self::Found<'a>, DocaError> {
        // SAFETY: not NULL, and a C string by DOCA's contract.
        Ok((!pointer.is_null()).then(|| unsafe { CStr::from_ptr(pointer) }))
    }
}

/// Implements [`Object`] for a type and [`Opaque`] for its C type.
macro_rules! object {
    ($type:ty, $kind:ident $(, $opaque:ty)?) => {
        // SAFETY: the type is `repr(C)` with its tag first, and `HandleKind` has one kind per type.
        unsafe impl $crate::handle::Object for $type {
            const KIND: $crate::handle::HandleKind = $crate::handle::HandleKind::$kind;
        }
        $(
            impl $crate::handle::Opaque for $opaque {
                type Found<'a> = &'a $type;

                #[inline]
                unsafe fn find<'a>(
                    pointer: *const $opaque,
                ) -> Result<&'a $type, urom_abi::DocaError> {
                    // SAFETY: the caller's promise.
                    unsafe { $crate::handle::borrow(pointer) }
                }
            }
        )?
    };
}
pub(super) use object;

#[inline]
pub(super) fn as_c<T: Object, C>(object: &T) -> *mut C {
    ptr::from_ref(object).cast_mut().cast()
}

/// Returns a C pointer that owns a reference, until [`withdraw`].
pub(super) fn publish<T: Object, C>(object: Rc<T>) -> *mut C {
    Rc::into_raw(object).cast_mut().cast()
}

/// Returns the object behind a C pointer.
///
/// # Safety
/// The pointer is NULL or from this library, its object lives as long as the result, and only one
/// thread uses it at a time. DOCA demands this of the host.
#[inline]
pub(super) unsafe fn borrow<'a, T: Object, C>(pointer: *const C) -> Result<&'a T, DocaError> {
    // SAFETY: all objects of this library begin with a tag.
    let tag = unsafe { ObjectTag::at(pointer) };
    let tag = tag.filter(|tag| tag.0 as u32 == T::KIND as u32).ok_or(DocaError::INVALID_VALUE)?;
    tag.maker().check()?;
    // SAFETY: `Object` demands that an object with this kind is a `T`.
    Ok(unsafe { &*pointer.cast::<T>() })
}

/// Returns an owned reference, for calls that store it or run host functions.
///
/// # Safety
/// As [`borrow`]; the object came from [`publish`].
pub(super) unsafe fn share<T: Object, C>(pointer: *const C) -> Result<Rc<T>, DocaError> {
    // SAFETY: the caller's promise.
    unsafe { borrow::<T, C>(pointer) }?;
    let object = pointer.cast::<T>();
    // SAFETY: `publish` made the pointer with `Rc::into_raw`, and the host's reference exists.
    unsafe { Rc::increment_strong_count(object) };
    // SAFETY: the line above counted this reference.
    Ok(unsafe { Rc::from_raw(object) })
}

/// Takes back the host's reference to a published object.
///
/// # Safety
/// As [`share`]; the host does not use the pointer again, which DOCA demands of it.
pub(super) unsafe fn withdraw<T: Object, C>(pointer: *const C) -> Result<Rc<T>, DocaError> {
    // SAFETY: the caller's promise.
    unsafe { borrow::<T, C>(pointer) }?;
    // SAFETY: `publish` made the pointer with `Rc::into_raw`, for this one call.
    Ok(unsafe { Rc::from_raw(pointer.cast::<T>()) })
}

/// Takes back the host's reference if `may_go` succeeds.
///
/// # Safety
/// As [`withdraw`].
pub(super) unsafe fn destroy<T: Object, C>(
    pointer: *const C,
    may_go: impl FnOnce(&T) -> Result<(), DocaError>,
) -> Result<Rc<T>, DocaError> {
    // SAFETY: the caller's promise.
    may_go(unsafe { borrow(pointer) }?)?;
    // SAFETY: the caller's promise.
    unsafe { withdraw(pointer) }
}

/// Writes a text about an object, or an explanation if it is from before a fork.
///
/// # Safety
/// As [`borrow`] for the object, and [`put_text`] for the buffer.
pub(super) unsafe fn put_text_of<C: Opaque>(
    pointer: *const C,
    text: impl FnOnce(C::Found<'_>) -> Option<String>,
    buffer: *mut c_char,
    capacity: usize,
) -> usize {
    // SAFETY: the caller's promise.
    let text = match unsafe { C::find(pointer) } {
        Ok(found) => text(found),
        Err(_) => {
            // SAFETY: the caller's promise.
            let tag = unsafe { ObjectTag::at(pointer) };
            let inherited = tag.and_then(|tag| tag.maker().check().err());
            inherited.map(|why| format!("{why}: {}", Inherited::HINT))
        }
    };
    // SAFETY: the caller's promise.
    text.map_or(0, |text| unsafe { put_text(&text, buffer, capacity) })
}

/// # Safety
/// `target` is NULL or writable.
#[inline]
pub(super) unsafe fn put<T>(target: *mut T, value: T) -> Result<(), DocaError> {
    present(target)?;
    // SAFETY: not NULL, and writable by the caller's promise.
    unsafe { target.write(value) };
    Ok(())
}

/// Returns `INVALID_VALUE` for NULL. Called before creating an object that would leak.
#[inline]
pub(super) fn present<T>(pointer: *const T) -> Result<(), DocaError> {
    if pointer.is_null() { Err(DocaError::INVALID_VALUE) } else { Ok(()) }
}

/// Writes as much of a text as fits, without a NUL. Returns the full length.
///
/// # Safety
/// `buffer` is NULL or has `capacity` bytes, and the text is not in it.
unsafe fn put_text(text: &str, buffer: *mut c_char, capacity: usize) -> usize {
    if !buffer.is_null() {
        let len = text.len().min(capacity);
        // SAFETY: the caller's promise.
        unsafe { buffer.cast::<u8>().copy_from_nonoverlapping(text.as_ptr(), len) };
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[repr(C)]
    struct Sample(ObjectTag);
    object!(Sample, Pool);

    #[test]
    fn an_object_is_found_by_its_kind_and_freed_with_its_last_reference() {
        let object = Rc::new(Sample(ObjectTag::of::<Sample>()));
        let weak = Rc::downgrade(&object);
        let pointer: *mut u8 = publish(object);
        // SAFETY: a published object.
        let shared: Rc<Sample> = unsafe { share(pointer) }.unwrap();
        // SAFETY: a published object, not used again.
        drop(unsafe { withdraw::<Sample, _>(pointer) }.unwrap());
        assert_eq!(as_c(&*shared), pointer);
        drop(shared);
        assert!(weak.upgrade().is_none());
    }
}
