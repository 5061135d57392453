//! The other side of the private table: `libdoca_urom` joins when it is loaded.

use std::ffi::{CStr, c_int};
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

use urom_abi::host::join::{Head, OfCommon, OfUrom};
use urom_abi::log::{Level, Line};
use urom_log::sdk::{self, SdkBackends};
use urom_log::{Origin, Output, guard_or};

/// The `libdoca_urom` of this process, once there is one. It is never unloaded.
static UROM: AtomicPtr<OfUrom> = AtomicPtr::new(ptr::null_mut());

static COMMON: OfCommon = OfCommon { head: Head::of::<OfCommon>(), wants, write };

/// The functions of the `libdoca_urom` in this process.
#[inline]
pub(crate) fn joined() -> Option<&'static OfUrom> {
    // SAFETY: null, or a table that `urom_libdoca_join` has checked, which is static.
    unsafe { UROM.load(Ordering::Acquire).as_ref() }
}

/// Takes the table of a `libdoca_urom` that was just loaded, and gives this library's. See
/// [`urom_abi::host::join::Join`].
#[unsafe(no_mangle)]
unsafe extern "C" fn urom_libdoca_join(urom: *const OfUrom) -> *const OfCommon {
    guard_or(ptr::null(), || {
        // SAFETY: null, or a table, which begins like this in every release.
        let Some(head) = (unsafe { urom.cast::<Head>().as_ref() }) else { return ptr::null() };
        if *head != Head::of::<OfUrom>() {
            tracing::error!(
                target: "urom_library",
                "libdoca_urom and libdoca_common are of different releases of the UROM kit: install both from one"
            );
            return ptr::null();
        }
        let place = UROM.compare_exchange(
            ptr::null_mut(),
            urom.cast_mut(),
            Ordering::AcqRel,
            Ordering::Acquire,
        );
        if place.is_err_and(|other| !ptr::eq(other, urom)) {
            tracing::error!(
                target: "urom_library",
                "a second libdoca_urom was loaded: one libdoca_common works with one of them. Use the files of one prefix"
            );
            return ptr::null();
        }
        // SAFETY: of this format, by its beginning, and static.
        sdk::also_tell(unsafe { (*urom).limits_changed });
        &raw const COMMON
    })
}

/// Loads the `libdoca_urom` beside this library, for a program that is not linked with it and calls
/// `function`. `None` when that fails; a log line says why.
pub(crate) fn load(function: &str) -> Option<&'static OfUrom> {
    const FILE: &CStr = c"libdoca_urom.so.2";
    const MODE: c_int = libc::RTLD_NOW | libc::RTLD_LOCAL;
    // SAFETY: the file is as trustworthy as this library, beside which it lies. It joins as it is
    // loaded.
    if unsafe { libc::dlopen(FILE.as_ptr(), MODE) }.is_null() {
        // SAFETY: what the loader says of the call above, in this thread's memory; or null.
        let said = unsafe { libc::dlerror() };
        let said = if said.is_null() {
            "no reason given".into()
        } else {
            // SAFETY: a C string until the next call of the loader.
            unsafe { CStr::from_ptr(said) }.to_string_lossy()
        };
        tracing::error!(target: "urom_library", "{function} needs {FILE:?}, which cannot be loaded: {said}");
    }
    // It is loaded and did not join when it is of another release, which the log has.
    joined()
}

extern "C" fn wants(level: u32) -> bool {
    guard_or(false, || Level::from_number(level).is_some_and(|level| SdkBackends.wants(level)))
}

unsafe extern "C" fn write(line: *const Line) {
    guard_or((), || {
        // SAFETY: the caller's line, for the time of the call.
        let line = unsafe { &*line };
        let Some(level) = Level::from_number(line.level) else { return };
        // SAFETY: a text of the line.
        let [file, function, text] =
            [line.file, line.source, line.text].map(|text| unsafe { text.get() });
        let function = Some(&*function).filter(|function| !function.is_empty());
        SdkBackends.write(&Origin { level, file: &file, line: line.line, function }, &text);
    });
}
