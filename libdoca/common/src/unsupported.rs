//! Functions that C programs link and this project does not have: representors, PCI function kinds,
//! log backends in memory or of the system's log.
//!
//! Each returns `INVALID_VALUE` for a NULL pointer, else `NOT_SUPPORTED`. It reads and writes
//! nothing behind its pointers.

use std::ffi::{c_char, c_int, c_uint};

use urom_abi::DocaError;
use urom_abi::host::{Dev, DevInfo};
use urom_log::backend::Backend;

// There never is one of these structures.
pub(crate) enum DevRep {}
pub(crate) enum DevInfoRep {}

/// `enum doca_pci_func_type`.
pub(crate) type PciFuncType = c_uint;
/// `log_flush_callback`.
pub(crate) type Flush = Option<unsafe extern "C" fn(buffer: *mut c_char)>;

/// An argument: only pointers can be missing.
trait Argument {
    fn is_missing(&self) -> bool {
        false
    }
}

impl Argument for usize {}
impl Argument for u32 {}
impl Argument for c_int {}

impl<T> Argument for *const T {
    fn is_missing(&self) -> bool {
        self.is_null()
    }
}

impl<T> Argument for *mut T {
    fn is_missing(&self) -> bool {
        self.is_null()
    }
}

impl<T> Argument for Option<T> {
    fn is_missing(&self) -> bool {
        self.is_none()
    }
}

macro_rules! unsupported {
    ($(fn $name:ident($($argument:ident: $ty:ty),*);)*) => {
        $(
            #[doc = concat!("`", stringify!($name), "`: `NOT_SUPPORTED`.")]
            #[unsafe(no_mangle)]
            pub(crate) extern "C" fn $name($($argument: $ty),*) -> DocaError {
                let is_missing = false $(|| $argument.is_missing())*;
                if is_missing { DocaError::INVALID_VALUE } else { DocaError::NOT_SUPPORTED }
            }
        )*
    };
}

unsupported! {
    fn doca_devinfo_get_pci_func_type(info: *const DevInfo, kind: *mut PciFuncType);
    fn doca_devinfo_get_sf_index(info: *const DevInfo, index: *mut u32);
    fn doca_devinfo_rep_create_list(dev: *mut Dev, filter: c_int, list: *mut *mut *mut DevInfoRep, count: *mut u32);
    fn doca_devinfo_rep_destroy_list(list: *mut *mut DevInfoRep);
    fn doca_devinfo_rep_get_vuid(info: *const DevInfoRep, vuid: *mut c_char, size: u32);
    fn doca_devinfo_rep_is_equal_pci_addr(info: *const DevInfoRep, address: *const c_char, is_equal: *mut u8);
    fn doca_dev_rep_open(info: *mut DevInfoRep, rep: *mut *mut DevRep);
    fn doca_log_backend_create_with_buf(buf: *mut c_char, capacity: u32, flush: Flush, backend: *mut *mut Backend);
    fn doca_log_backend_create_with_buf_sdk(buf: *mut c_char, capacity: u32, flush: Flush, backend: *mut *mut Backend);
    fn doca_log_backend_create_with_syslog(name: *const c_char, backend: *mut *mut Backend);
    fn doca_log_backend_create_with_syslog_sdk(name: *const c_char, backend: *mut *mut Backend);
}
