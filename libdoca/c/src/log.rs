//! `doca_log.h`: sources, backends and levels. [`urom_log`] documents them.

use std::ffi::c_int;

use urom_abi::{DocaError, DocaStatus};
use urom_log::backend::{BACKENDS, Backend, BackendKind, LevelBound};
use urom_log::sdk::{self, SdkBackends};
use urom_log::{Sink, guard, guard_or};

urom_log::export_doca_log!();

/// Installs the log backends at load time, before any function of the library is called.
#[used]
// SAFETY: the section contains functions without arguments; this one needs only the allocator.
#[unsafe(link_section = ".init_array")]
static ON_LOAD: extern "C" fn() = {
    extern "C" fn on_load() {
        guard_or((), || sdk::install(&SdkBackends));
    }
    on_load
};

/// # Safety
/// `backend` is null or writable.
unsafe fn create(
    kind: BackendKind,
    sink: Option<Sink>,
    backend: *mut *mut Backend,
) -> Result<(), DocaError> {
    let (Some(sink), false) = (sink, backend.is_null()) else {
        return Err(DocaError::INVALID_VALUE);
    };
    let made = BACKENDS.create(kind, sink);
    // SAFETY: not null, and writable by the caller's promise.
    unsafe { backend.write(made.cast_mut()) };
    Ok(())
}

macro_rules! export {
    ($(fn $name:ident($($argument:ident: $type:ty),*) { $call:expr })*) => {$(
        #[unsafe(no_mangle)]
        pub(crate) unsafe extern "C" fn $name($($argument: $type),*) -> DocaStatus {
            guard(|| $call)
        }
    )*};
}

macro_rules! backends {
    ($($kind:ident: $with_file:ident, $with_fd:ident;)*) => { export! {$(
        fn $with_file(file: *mut libc::FILE, backend: *mut *mut Backend) {{
            // SAFETY: an open stream or null, by the caller's promise.
            let sink = unsafe { Sink::stream(file) };
            // SAFETY: writable or null, by the caller's promise.
            unsafe { create(BackendKind::$kind, sink, backend) }
        }}
        fn $with_fd(descriptor: c_int, backend: *mut *mut Backend) {
            // SAFETY: writable or null, by the caller's promise.
            unsafe { create(BackendKind::$kind, Sink::descriptor(descriptor), backend) }
        }
    )*} };
}

backends! {
    Program: doca_log_backend_create_with_file, doca_log_backend_create_with_fd;
    Sdk: doca_log_backend_create_with_file_sdk, doca_log_backend_create_with_fd_sdk;
}

export! {
    fn doca_log_backend_create_standard() { BACKENDS.create_standard() }
    fn doca_log_backend_set_sdk_level(backend: *mut Backend, level: u32) {
        BACKENDS.set_sdk_level(backend, level)
    }
    fn doca_log_backend_set_level_lower_limit(backend: *mut Backend, level: u32) {
        BACKENDS.set_limit(backend, LevelBound::Lower, level, false)
    }
    fn doca_log_backend_set_level_lower_limit_strict(backend: *mut Backend, level: u32) {
        BACKENDS.set_limit(backend, LevelBound::Lower, level, true)
    }
    fn doca_log_backend_set_level_upper_limit(backend: *mut Backend, level: u32) {
        BACKENDS.set_limit(backend, LevelBound::Upper, level, false)
    }
    fn doca_log_backend_set_level_upper_limit_strict(backend: *mut Backend, level: u32) {
        BACKENDS.set_limit(backend, LevelBound::Upper, level, true)
    }
    fn doca_log_level_set_global_lower_limit(level: u32) {
        BACKENDS.set_global_limit(LevelBound::Lower, level)
    }
    fn doca_log_level_set_global_upper_limit(level: u32) {
        BACKENDS.set_global_limit(LevelBound::Upper, level)
    }
    fn doca_log_level_set_global_sdk_limit(level: u32) { BACKENDS.set_global_sdk_limit(level) }
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn doca_log_level_get_global_lower_limit() -> u32 {
    guard_or(0, || BACKENDS.global_limit(LevelBound::Lower))
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn doca_log_level_get_global_upper_limit() -> u32 {
    guard_or(0, || BACKENDS.global_limit(LevelBound::Upper))
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn doca_log_level_get_global_sdk_limit() -> u32 {
    guard_or(0, || BACKENDS.global_sdk_limit())
}
