//! PMIx's C library, loaded at run time: the subset of PMIx 2 to 5 that exchanges one key.

use std::ffi::{CStr, c_char, c_int};
use std::mem::{offset_of, size_of};
use std::ptr;

use libloading::os::unix::{Library as Handle, RTLD_GLOBAL, RTLD_NOW, Symbol};
use urom_abi::DocaError;

use super::super::Error;

const FILE: &str = "libpmix.so.2";

/// `pmix_status_t`: 0 is success, errors are negative.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(transparent)]
pub(super) struct PmixStatus(c_int);

impl PmixStatus {
    const SUCCESS: PmixStatus = PmixStatus(0);
    pub(super) const TIMEOUT: PmixStatus = PmixStatus(-24);
    /// `PMIX_ERR_UNREACH`: the server does not answer.
    pub(super) const UNREACHABLE: PmixStatus = PmixStatus(-25);
    pub(super) const NOT_FOUND: PmixStatus = PmixStatus(-46);
}

const KEY_SIZE: usize = 512;

/// `PMIX_RANK_WILDCARD`: the whole job.
const ALL_RANKS: u32 = 0xFFFF_FFFE;

/// `pmix_proc_t`.
#[derive(Clone, Copy)]
#[repr(C)]
pub(super) struct Proc {
    pub(super) job: [c_char; 256],
    pub(super) rank: u32,
}

/// `PMIX_JOB_SIZE`: the number of processes in the job.
pub(super) const JOB_SIZE: &CStr = c"pmix.job.size";

/// `PMIX_TIMEOUT`: the limit of a look-up, in seconds.
const TIMEOUT: &CStr = c"pmix.timeout";

/// `PMIX_GLOBAL`: visible to all processes of the job.
const GLOBAL: u8 = 3;

const INT: u16 = 6;
const UINT32: u16 = 14;
const BYTES: u16 = 27;

/// `pmix_byte_object_t`.
#[derive(Clone, Copy)]
#[repr(C)]
struct PmixBytes {
    bytes: *mut c_char,
    size: usize,
}

/// The union in `pmix_value_t`: the used alternatives, and its size.
#[repr(C)]
union PmixData {
    int: c_int,
    uint32: u32,
    bytes: PmixBytes,
    _size: [u64; 3],
}

/// `pmix_value_t`.
#[repr(C)]
struct PmixValue {
    kind: u16,
    data: PmixData,
}

/// `pmix_info_t`.
#[repr(C)]
struct Info {
    key: [c_char; KEY_SIZE],
    flags: u32,
    value: PmixValue,
}

const _: () = {
    assert!(size_of::<Proc>() == 260 && align_of::<Proc>() == 4 && offset_of!(Proc, rank) == 256);
    assert!(
        size_of::<PmixValue>() == 32
            && align_of::<PmixValue>() == 8
            && offset_of!(PmixValue, data) == 8
    );
    assert!(size_of::<PmixBytes>() == 16 && offset_of!(PmixBytes, size) == 8);
    assert!(size_of::<Info>() == 552 && offset_of!(Info, flags) == 512);
    assert!(offset_of!(Info, value) == 520);
};

type Get = unsafe extern "C" fn(
    *const Proc,
    *const c_char,
    *const Info,
    usize,
    *mut *mut PmixValue,
) -> PmixStatus;

pub(super) struct PmixLibrary {
    init: unsafe extern "C" fn(*mut Proc, *const Info, usize) -> PmixStatus,
    get: Get,
    put: unsafe extern "C" fn(u8, *const c_char, *mut PmixValue) -> PmixStatus,
    commit: unsafe extern "C" fn() -> PmixStatus,
    finalize: unsafe extern "C" fn(*const Info, usize) -> PmixStatus,
    destruct: unsafe extern "C" fn(*mut PmixValue),
    text: unsafe extern "C" fn(PmixStatus) -> *const c_char,
}

impl PmixLibrary {
    pub(super) fn load() -> Result<PmixLibrary, Error> {
        // SAFETY: the system's loader finds the launcher's library; its initialisers run as in any
        // program linked to it. PMIx's components look up its symbols, so these are global.
        let handle = unsafe { Handle::open(Some(FILE), RTLD_NOW | RTLD_GLOBAL) };
        let handle = handle.map_err(|error| {
            let reason = std::error::Error::source(&error).map(ToString::to_string);
            let reason = reason.unwrap_or_else(|| error.to_string());
            let advice = match reason.contains("No such file") {
                true => {
                    ". Install it (Debian's package libpmix2), or add its directory to LD_LIBRARY_PATH"
                }
                false => "",
            };
            let text = format!(
                "the launcher offers PMIx, but its library cannot be loaded: {reason}{advice}"
            );
            Error::new(DocaError::NOT_FOUND, text)
        })?;
        macro_rules! function {
            ($name:literal) => {
                // SAFETY: the field has the function's type in the headers since PMIx 2
                // (`PMIx_Value_destruct`: 4.2).
                unsafe { symbol(&handle, $name) }?
            };
        }
        let library = PmixLibrary {
            init: function!(c"PMIx_Init"),
            get: function!(c"PMIx_Get"),
            put: function!(c"PMIx_Put"),
            commit: function!(c"PMIx_Commit"),
            finalize: function!(c"PMIx_Finalize"),
            destruct: function!(c"PMIx_Value_destruct"),
            text: function!(c"PMIx_Error_string"),
        };
        std::mem::forget(handle);
        Ok(library)
    }

    pub(super) fn init(&self) -> Result<Proc, PmixStatus> {
        let mut process = Proc { job: [0; 256], rank: 0 };
        // SAFETY: PMIx writes to the local structure. The attributes are empty.
        done(unsafe { (self.init)(&mut process, ptr::null(), 0) })?;
        Ok(process)
    }

    pub(super) fn finalize(&self) {
        // SAFETY: the attributes are empty. The process ends, so an error is ignored.
        let _ = unsafe { (self.finalize)(ptr::null(), 0) };
    }

    pub(super) fn publish(&self, key: &CStr, value: &[u8]) -> Result<(), PmixStatus> {
        let bytes = PmixBytes { bytes: value.as_ptr().cast_mut().cast(), size: value.len() };
        let mut value = PmixValue { kind: BYTES, data: PmixData { bytes } };
        // SAFETY: PMIx copies key and value before it returns, and does not write to the bytes.
        done(unsafe { (self.put)(GLOBAL, key.as_ptr(), &mut value) })?;
        // SAFETY: PMIx is initialised by an earlier `init`.
        done(unsafe { (self.commit)() })
    }

    /// The bytes that `process` published under `key`. Launchers wait up to `seconds` for the first
    /// value of a process, some longer on another node. `pmix.immediate` is not usable: under Slurm
    /// it never finds a value of another node.
    pub(super) fn bytes(
        &self,
        process: &Proc,
        key: &CStr,
        seconds: c_int,
    ) -> Result<Vec<u8>, PmixStatus> {
        let value = PmixValue { kind: INT, data: PmixData { int: seconds } };
        let mut timeout = Info { key: [0; KEY_SIZE], flags: 0, value };
        for (target, byte) in timeout.key.iter_mut().zip(TIMEOUT.to_bytes()) {
            *target = byte.cast_signed();
        }
        self.value(process, key, &[timeout], |value| {
            if value.kind != BYTES {
                return None;
            }
            // SAFETY: `kind` selects this alternative.
            let PmixBytes { bytes, size } = unsafe { value.data.bytes };
            if bytes.is_null() {
                return Some(Vec::new());
            }
            // SAFETY: PMIx allocated that many bytes, and they are freed later.
            Some(unsafe { std::slice::from_raw_parts(bytes.cast::<u8>(), size) }.to_vec())
        })
    }

    pub(super) fn number(&self, process: &Proc, key: &CStr) -> Result<u32, PmixStatus> {
        let job = Proc { rank: ALL_RANKS, ..*process };
        self.value(&job, key, &[], |value| {
            if value.kind != UINT32 {
                return None;
            }
            // SAFETY: `kind` selects this alternative.
            Some(unsafe { value.data.uint32 })
        })
    }

    fn value<T>(
        &self,
        process: &Proc,
        key: &CStr,
        attributes: &[Info],
        read: impl FnOnce(&PmixValue) -> Option<T>,
    ) -> Result<T, PmixStatus> {
        let mut value = ptr::null_mut();
        // SAFETY: all arguments outlive the call; PMIx writes its value's pointer to the local
        // variable.
        done(unsafe {
            let (attributes, count) = (attributes.as_ptr(), attributes.len());
            (self.get)(process, key.as_ptr(), attributes, count, &mut value)
        })?;
        // SAFETY: on success it is NULL or a value owned by this function.
        let Some(found) = (unsafe { value.as_ref() }) else { return Err(PmixStatus::NOT_FOUND) };
        let result = read(found);
        // SAFETY: this function owns the value. Its parts are freed once, here.
        unsafe { (self.destruct)(value) };
        // SAFETY: PMIx allocated the value with `malloc`, and it is freed once.
        unsafe { libc::free(value.cast()) };
        result.ok_or(PmixStatus::NOT_FOUND)
    }

    pub(super) fn describe(&self, status: PmixStatus) -> String {
        // SAFETY: PMIx returns a string in static memory for every status.
        let text = unsafe { (self.text)(status) };
        // SAFETY: as above, unless NULL.
        let text = (!text.is_null()).then(|| unsafe { CStr::from_ptr(text) });
        let text = text.map(CStr::to_string_lossy).unwrap_or_default();
        format!("PMIx error {}: {text}", status.0)
    }
}

fn done(status: PmixStatus) -> Result<(), PmixStatus> {
    if status == PmixStatus::SUCCESS { Ok(()) } else { Err(status) }
}

/// # Safety
/// `T` is the type of the function `name`.
unsafe fn symbol<T: Copy>(handle: &Handle, name: &CStr) -> Result<T, Error> {
    // SAFETY: the caller vouches that the symbol of this name has the type `T`.
    let found: Result<Symbol<T>, _> = unsafe { handle.get(name) };
    found.map(|symbol| *symbol).map_err(|_| {
        let name = name.to_string_lossy();
        let text = format!(
            "{FILE} lacks the function {name}: it is older than PMIx 4.2. Install a newer one, or \
             meet by a rendezvous"
        );
        Error::new(DocaError::NOT_SUPPORTED, text)
    })
}

#[cfg(test)]
#[path = "layout_tests.rs"]
mod tests;
