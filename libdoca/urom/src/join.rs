//! Joins `libdoca_common.so` when this library is loaded: see [`urom_abi::host::join`].

use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

use urom_abi::host::join::{Head, OfCommon, OfUrom};
use urom_abi::log::{Level, Line, Text};
use urom_log::{Origin, Output, guard_or, sdk};

#[cfg(not(test))]
#[allow(
    improper_ctypes,
    reason = "both libraries are of one build, as size and format of the tables show"
)]
unsafe extern "C" {
    /// [`urom_abi::host::join::Join`].
    fn urom_libdoca_join(urom: *const OfUrom) -> *const OfCommon;
}

static UROM: OfUrom = OfUrom {
    head: Head::of::<OfUrom>(),
    api: libdoca_host::API,
    memory: libdoca_host::MEMORY,
    task_release: libdoca_host::task_release,
    limits_changed,
};

/// What `libdoca_common` gave; null until then, and when it refused. Its log has the reason then,
/// and no context of this library starts: the functions for that are of another one, to which it is
/// unknown.
static COMMON: AtomicPtr<OfCommon> = AtomicPtr::new(ptr::null_mut());

/// When the library is loaded, whatever function of it is called first then.
#[used]
// SAFETY: the section holds addresses of functions without arguments. This one needs only the
// memory allocator, and `libdoca_common`, which is loaded before.
#[unsafe(link_section = ".init_array")]
static ON_LOAD: extern "C" fn() = {
    extern "C" fn on_load() {
        guard_or((), join);
    }
    on_load
};

fn join() {
    // SAFETY: a static table.
    let common = unsafe { urom_libdoca_join(&UROM) };
    // SAFETY: null, or the static table of a library that took this one's.
    let Some(known) = (unsafe { common.as_ref() }) else { return };
    if known.head == Head::of::<OfCommon>() {
        COMMON.store(common.cast_mut(), Ordering::Release);
        sdk::install(&ToCommon);
    }
}

fn common() -> Option<&'static OfCommon> {
    // SAFETY: null, or a table that was checked, which is static.
    unsafe { COMMON.load(Ordering::Acquire).as_ref() }
}

extern "C" fn limits_changed() {
    guard_or((), sdk::limits_changed);
}

/// This library's messages go to the backends of `libdoca_common`.
struct ToCommon;

impl Output for ToCommon {
    fn wants(&self, level: Level) -> bool {
        common().is_some_and(|common| (common.wants)(level.number()))
    }

    fn write(&self, origin: &Origin<'_>, text: &str) {
        let Some(common) = common() else { return };
        let line = Line {
            level: origin.level.number(),
            line: origin.line,
            file: Text::new(origin.file),
            source: Text::new(origin.function.unwrap_or_default()),
            target: Text::new(""),
            text: Text::new(text),
        };
        // SAFETY: a line that lives for the time of the call.
        unsafe { (common.write)(&line) };
    }
}

/// As where `libdoca_common` refuses: a program of unit tests is not linked with it.
///
/// # Safety
/// It reads nothing.
#[cfg(test)]
unsafe fn urom_libdoca_join(_: *const OfUrom) -> *const OfCommon {
    ptr::null()
}
