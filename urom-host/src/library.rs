//! Which DOCA library is called: a table of its functions.

use std::ffi::c_char;
use std::fmt;
use std::ptr::NonNull;

use urom_abi::DocaError;
use urom_abi::host::{Api, Ctx, Extensions};

use crate::error::{Error, Result};

/// A DOCA UROM host library: everything above calls only through it.
///
/// Objects of different libraries cannot be mixed; a service, its workers and their progress engines use one.
#[derive(Clone, Copy)]
pub struct Library {
    api: &'static Api,
}

impl Library {
    /// The library that this project builds in: its own service, embedded or as the daemon `uromd`.
    #[cfg(feature = "builtin")]
    pub fn builtin() -> Library {
        Library { api: urom_service::library::api() }
    }

    /// Any other library.
    ///
    /// # Safety
    /// Every function of the table behaves as its documentation in [`urom_abi::host`] and DOCA's says: objects live
    /// until they are destroyed, a task's memory until it is released, callbacks are called inside
    /// `doca_pe_progress` and nowhere else.
    pub unsafe fn from_table(api: &'static Api) -> Library {
        Library { api }
    }

    pub(crate) fn api(self) -> &'static Api {
        self.api
    }

    pub(crate) fn extensions(self) -> Option<&'static Extensions> {
        self.api.extensions.as_ref()
    }

    /// Why a context failed, as a code; `SUCCESS` when it did not, or when the library does not say.
    ///
    /// # Safety
    /// As for [`failure`](Self::failure).
    pub(crate) unsafe fn failure_code(self, ctx: NonNull<Ctx>) -> DocaError {
        let Some(extensions) = self.extensions() else { return DocaError::SUCCESS };
        // SAFETY: the caller vouches for `ctx`.
        unsafe { (extensions.urom_ctx_get_failure_code)(ctx.as_ptr()) }
    }

    /// Why a context failed, in the library's words; empty when it has none.
    ///
    /// # Safety
    /// `ctx` is a live context of this library, and no other thread changes it meanwhile.
    pub(crate) unsafe fn failure(self, ctx: NonNull<Ctx>) -> String {
        let Some(extensions) = self.extensions() else { return String::new() };
        let mut text = vec![0u8; 512];
        loop {
            let room = text.len();
            // SAFETY: the caller vouches for `ctx`; `room` bytes can be written.
            let length = unsafe {
                (extensions.urom_ctx_get_failure)(ctx.as_ptr(), text.as_mut_ptr().cast::<c_char>(), room)
            };
            if length <= room {
                text.truncate(length);
                return String::from_utf8_lossy(&text).into_owned();
            }
            text.resize(length, 0);
        }
    }
}

impl PartialEq for Library {
    fn eq(&self, other: &Library) -> bool {
        std::ptr::eq(self.api, other.api)
    }
}

impl Eq for Library {}

impl fmt::Debug for Library {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Library").field("extensions", &self.extensions().is_some()).finish_non_exhaustive()
    }
}

/// What a library gave out together with `SUCCESS`: a NULL there is its mistake, not this program's.
pub(crate) fn non_null<T>(pointer: *mut T, what: &'static str) -> Result<NonNull<T>> {
    NonNull::new(pointer).ok_or_else(|| {
        Error::new(DocaError::UNEXPECTED, what).why("the library reported success with a NULL pointer")
    })
}
