//! The functions that this library intercepts.

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::hint::black_box;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicPtr, Ordering};

use crate::ucp_types::{Attributes, MapParams, PackParams, Status};

/// Defines functions that look up the next definition of a symbol.
macro_rules! real {
    ($($name:ident($($argument:ty),*) $(-> $result:ty)?;)*) => {
        $(
            pub(crate) fn $name() -> Option<unsafe extern "C" fn($($argument),*) $(-> $result)?> {
                static FOUND: AtomicPtr<c_void> = AtomicPtr::new(std::ptr::null_mut());
                let name = concat!(stringify!($name), "\0").as_bytes();
                let found = find(&FOUND, CStr::from_bytes_with_nul(name).ok()?)?;
                // SAFETY: the C header declares this signature under this name.
                Some(unsafe {
                    std::mem::transmute::<
                        *mut c_void,
                        unsafe extern "C" fn($($argument),*) $(-> $result)?,
                    >(found.as_ptr())
                })
            }
        )*
    };
}

real! {
    malloc_usable_size(*mut c_void) -> usize;
    ucp_init_version(c_uint, c_uint, *const c_void, *const c_void, *mut *mut c_void) -> Status;
    ucp_mem_map(*mut c_void, *const MapParams, *mut *mut c_void) -> Status;
    ucp_mem_query(*mut c_void, *mut Attributes) -> Status;
    ucp_mem_unmap(*mut c_void, *mut c_void) -> Status;
    ucp_memh_buffer_release(*mut c_void, *const c_void);
    ucp_memh_pack(*mut c_void, *const PackParams, *mut *mut c_void, *mut usize) -> Status;
    ucp_request_release(*mut c_void);
}

/// Caches only successes: the library may be loaded later.
fn find(found: &AtomicPtr<c_void>, name: &CStr) -> Option<NonNull<c_void>> {
    if let Some(function) = NonNull::new(found.load(Ordering::Acquire)) {
        return Some(function);
    }
    let function = next(libc::RTLD_NEXT, name).or_else(|| {
        // UCX was loaded by `dlopen` with RTLD_LOCAL.
        let file: *const c_char = c"libucp.so.0".as_ptr();
        let how: c_int = libc::RTLD_LAZY | libc::RTLD_NOLOAD;
        // SAFETY: NOLOAD does not load the library or run its code.
        let ucp = NonNull::new(unsafe { libc::dlopen(file, how) })?;
        next(ucp.as_ptr(), name)
    })?;
    found.store(function.as_ptr(), Ordering::Release);
    Some(function)
}

fn next(whose: *mut c_void, name: &CStr) -> Option<NonNull<c_void>> {
    // `black_box` prevents a tail call: `dlsym` inspects its return address.
    // SAFETY: the name is a C string.
    black_box(NonNull::new(unsafe { libc::dlsym(whose, name.as_ptr()) }))
}
