//! `doca_log.h`: sources, backends and levels. What they mean is written at [`urom_log`].

use std::ffi::c_int;

use urom_abi::DocaError;
use urom_log::backend::{BACKENDS, Backend, End, Kind};
use urom_log::sdk::{self, SdkBackends};
use urom_log::{Sink, guard, guard_or};

urom_log::export_doca_log!();

/// When the library is loaded, whatever function of it is called first then, what it has to say
/// finds its way.
#[used]
// SAFETY: the section holds addresses of functions without arguments. This one needs only the
// memory allocator.
#[unsafe(link_section = ".init_array")]
static ON_LOAD: extern "C" fn() = {
    extern "C" fn on_load() {
        guard_or((), || sdk::install(&SdkBackends));
    }
    on_load
};

#[unsafe(no_mangle)]
pub(crate) extern "C" fn doca_log_backend_create_standard() -> DocaError {
    guard(|| BACKENDS.create_standard())
}

/// Makes a backend of a sink that is one, and tells its address.
///
/// # Safety
/// `backend` is null or may be written.
unsafe fn create(
    kind: Kind,
    sink: Option<Sink>,
    backend: *mut *mut Backend,
) -> Result<(), DocaError> {
    let (Some(sink), false) = (sink, backend.is_null()) else {
        return Err(DocaError::INVALID_VALUE);
    };
    let made = BACKENDS.create(kind, sink);
    // SAFETY: not null, and the caller promises the place.
    unsafe { backend.write(made.cast_mut()) };
    Ok(())
}

macro_rules! with_file {
    ($($name:ident $kind:ident;)*) => {$(
        #[unsafe(no_mangle)]
        pub(crate) unsafe extern "C" fn $name(file: *mut libc::FILE, backend: *mut *mut Backend) -> DocaError {
            guard(|| {
                // SAFETY: the caller promises an open stream, or null.
                let sink = unsafe { Sink::stream(file) };
                // SAFETY: the caller promises the place, or null.
                unsafe { create(Kind::$kind, sink, backend) }
            })
        }
    )*};
}

with_file! {
    doca_log_backend_create_with_file Program;
    doca_log_backend_create_with_file_sdk Sdk;
}

macro_rules! with_fd {
    ($($name:ident $kind:ident;)*) => {$(
        #[unsafe(no_mangle)]
        pub(crate) unsafe extern "C" fn $name(descriptor: c_int, backend: *mut *mut Backend) -> DocaError {
            // SAFETY: the caller promises the place, or null.
            guard(|| unsafe { create(Kind::$kind, Sink::descriptor(descriptor), backend) })
        }
    )*};
}

with_fd! {
    doca_log_backend_create_with_fd Program;
    doca_log_backend_create_with_fd_sdk Sdk;
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn doca_log_backend_set_sdk_level(
    backend: *mut Backend,
    level: u32,
) -> DocaError {
    guard(|| BACKENDS.set_sdk_level(backend, level))
}

macro_rules! limits {
    ($($name:ident $end:ident $strict:literal;)*) => {$(
        #[unsafe(no_mangle)]
        pub(crate) extern "C" fn $name(backend: *mut Backend, level: u32) -> DocaError {
            guard(|| BACKENDS.set_limit(backend, End::$end, level, $strict))
        }
    )*};
}

limits! {
    doca_log_backend_set_level_lower_limit Lower false;
    doca_log_backend_set_level_lower_limit_strict Lower true;
    doca_log_backend_set_level_upper_limit Upper false;
    doca_log_backend_set_level_upper_limit_strict Upper true;
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn doca_log_level_set_global_lower_limit(level: u32) -> DocaError {
    guard(|| BACKENDS.set_global_limit(End::Lower, level))
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn doca_log_level_get_global_lower_limit() -> u32 {
    guard_or(0, || BACKENDS.global_limit(End::Lower))
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn doca_log_level_set_global_upper_limit(level: u32) -> DocaError {
    guard(|| BACKENDS.set_global_limit(End::Upper, level))
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn doca_log_level_get_global_upper_limit() -> u32 {
    guard_or(0, || BACKENDS.global_limit(End::Upper))
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn doca_log_level_set_global_sdk_limit(level: u32) -> DocaError {
    guard(|| BACKENDS.set_global_sdk_limit(level))
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn doca_log_level_get_global_sdk_limit() -> u32 {
    guard_or(0, || BACKENDS.global_sdk_limit())
}
