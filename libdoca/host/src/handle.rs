//! Converts between C's pointers and this library's objects.
//!
//! Every object that C has a pointer to begins with a [`Tag`]. A call with NULL or with an object
//! of another kind gives `INVALID_VALUE`. Destroying an object frees it.
//!
//! An object from before a fork is refused with `BAD_STATE` and stays untouched: its connections
//! and threads are the parent's.

use std::ffi::{CStr, c_char};
use std::ptr;
use std::rc::Rc;

use urom_abi::DocaError;
use urom_os::fork::{Inherited, Maker};

/// The kinds of objects. Other memory hardly begins with the first value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(super) enum ObjectKind {
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

/// The first word of an object: its kind, and the process that made it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub(super) struct Tag(u64);

impl Tag {
    pub(super) fn of<T: Object>() -> Tag {
        Tag(u64::from(Maker::here().bits()) << 32 | u64::from(T::KIND as u32))
    }

    fn maker(self) -> Maker {
        Maker::from_bits((self.0 >> 32) as u32)
    }

    /// The tag of an object.
    ///
    /// # Safety
    /// `pointer` is NULL, or points to at least 8 readable bytes.
    #[inline]
    unsafe fn at<C>(pointer: *const C) -> Option<Tag> {
        // SAFETY: the caller's promise.
        (!pointer.is_null()).then(|| unsafe { pointer.cast::<Tag>().read_unaligned() })
    }
}

/// An object that C has a pointer to.
///
/// # Safety
/// The type is `repr(C)`, its first field is `Tag::of::<Self>()`, and no other type has its kind.
pub(super) unsafe trait Object {
    const KIND: ObjectKind;
}

/// A type of C whose pointers stand for objects of this library, or for texts.
pub(super) trait Opaque {
    type Found<'a>;

    /// The object of a pointer.
    ///
    /// # Safety
    /// As [`borrow`].
    unsafe fn find<'a>(pointer: *const Self) -> Result<Self::Found<'a>, DocaError>;
}

/// A text, or `None` for NULL. The host keeps it unchanged during the call.
impl Opaque for c_char {
    type Found<'a> = Option<&'a CStr>;

    unsafe fn find<'a>(pointer: *const c_char) -> Result<Self::Found<'a>, DocaError> {
        // SAFETY: not NULL, and DOCA demands a C string of the host.
        Ok((!pointer.is_null()).then(|| unsafe { CStr::from_ptr(pointer) }))
    }
}

/// Implements [`Object`] for a type, and [`Opaque`] for its structure of C.
macro_rules! object {
    ($type:ty, $kind:ident $(, $opaque:ty)?) => {
        // SAFETY: `repr(C)` with its tag in front, as the definition above shows; `ObjectKind`
        // lists each kind with its one type.
        unsafe impl $crate::handle::Object for $type {
            const KIND: $crate::handle::ObjectKind = $crate::handle::ObjectKind::$kind;
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

/// Gives C a reference to an object, until [`withdraw`].
pub(super) fn publish<T: Object, C>(object: Rc<T>) -> *mut C {
    Rc::into_raw(object).cast_mut().cast()
}

/// The object behind a pointer of C.
///
/// # Safety
/// The pointer is NULL or came from this library, and its object is not destroyed while the result
/// is used. DOCA demands both of the host, and one thread at a time for each object.
#[inline]
pub(super) unsafe fn borrow<'a, T: Object, C>(pointer: *const C) -> Result<&'a T, DocaError> {
    // SAFETY: all objects of this library begin with a tag.
    let tag = unsafe { Tag::at(pointer) };
    let tag = tag.filter(|tag| tag.0 as u32 == T::KIND as u32).ok_or(DocaError::INVALID_VALUE)?;
    tag.maker().check()?;
    // SAFETY: `Object` demands that an object with this kind is a `T`.
    Ok(unsafe { &*pointer.cast::<T>() })
}

/// A reference of the library's own to a published object: for calls that keep it, or run the
/// host's functions, which may destroy it.
///
/// # Safety
/// As [`borrow`]; the object came from [`publish`].
pub(super) unsafe fn share<T: Object, C>(pointer: *const C) -> Result<Rc<T>, DocaError> {
    // SAFETY: the caller's promise.
    unsafe { borrow::<T, C>(pointer) }?;
    let object = pointer.cast::<T>();
    // SAFETY: `publish` made the pointer with `Rc::into_raw`, and the host's reference exists.
    unsafe { Rc::increment_strong_count(object) };
    // SAFETY: the reference that the line above counted.
    Ok(unsafe { Rc::from_raw(object) })
}

/// Takes the host's reference to a published object back.
///
/// # Safety
/// As [`share`]; the host does not use the pointer again, which DOCA demands of it.
pub(super) unsafe fn withdraw<T: Object, C>(pointer: *const C) -> Result<Rc<T>, DocaError> {
    // SAFETY: the caller's promise.
    unsafe { borrow::<T, C>(pointer) }?;
    // SAFETY: `publish` made the pointer with `Rc::into_raw`, for this one call.
    Ok(unsafe { Rc::from_raw(pointer.cast::<T>()) })
}

/// Takes the host's reference to a published object back, if `may_go` agrees.
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

/// Writes a text about an object, or why it is refused if it was made before a fork; the whole
/// length.
///
/// # Safety
/// As [`borrow`] for the object, and [`put_text`] for the place.
pub(super) unsafe fn put_text_of<C: Opaque>(
    pointer: *const C,
    text: impl FnOnce(C::Found<'_>) -> Option<String>,
    place: *mut c_char,
    capacity: usize,
) -> usize {
    // SAFETY: the caller's promise.
    let text = match unsafe { C::find(pointer) } {
        Ok(found) => text(found),
        Err(_) => {
            // SAFETY: the caller's promise.
            let tag = unsafe { Tag::at(pointer) };
            let inherited = tag.and_then(|tag| tag.maker().check().err());
            inherited.map(|why| format!("{why}: {}", Inherited::HINT))
        }
    };
    // SAFETY: the caller's promise.
    text.map_or(0, |text| unsafe { put_text(&text, place, capacity) })
}

/// Writes a result.
///
/// # Safety
/// `place` is NULL or can be written to.
#[inline]
pub(super) unsafe fn put<T>(place: *mut T, value: T) -> Result<(), DocaError> {
    present(place)?;
    // SAFETY: not NULL, and the caller promises the rest.
    unsafe { place.write(value) };
    Ok(())
}

/// `INVALID_VALUE` for NULL. Checks places of results before anything is made that would be lost.
#[inline]
pub(super) fn present<T>(place: *const T) -> Result<(), DocaError> {
    if place.is_null() { Err(DocaError::INVALID_VALUE) } else { Ok(()) }
}

/// Writes as much of a text as fits to the caller's place, without a NUL; its whole length.
///
/// # Safety
/// `place` is NULL or has `capacity` bytes, and the text is not in it.
unsafe fn put_text(text: &str, place: *mut c_char, capacity: usize) -> usize {
    if !place.is_null() {
        let len = text.len().min(capacity);
        // SAFETY: the caller's promise.
        unsafe { place.cast::<u8>().copy_from_nonoverlapping(text.as_ptr(), len) };
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[repr(C)]
    struct Sample(Tag);
    object!(Sample, Pool);

    #[test]
    fn an_object_is_found_by_its_kind_and_freed_with_its_last_reference() {
        let object = Rc::new(Sample(Tag::of::<Sample>()));
        let weak = Rc::downgrade(&object);
        let pointer: *mut u8 = publish(object);
        // SAFETY: a published object.
        let shared: Rc<Sample> = unsafe { share(pointer) }.unwrap();
        // SAFETY: as above; not used again.
        drop(unsafe { withdraw::<Sample, _>(pointer) }.unwrap());
        assert_eq!(as_c(&*shared), pointer);
        drop(shared);
        assert!(weak.upgrade().is_none());
    }
}
