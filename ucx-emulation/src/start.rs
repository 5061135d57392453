//! Library start: detects whether emulation is needed and logs it.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Once;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicUsize, Ordering};

use crate::arena::ARENA;
use crate::note::note;
use crate::{fork, malloc, real};

/// Environment variable with the minimum size of exportable blocks.
pub(crate) const THRESHOLD: &str = "UROM_EMULATION_THRESHOLD";

const DEVICES: &str = "UROM_EMULATION_DEVICES";

const DEFAULT_THRESHOLD: usize = 4096;

static EMULATING: AtomicBool = AtomicBool::new(false);

/// Error number if the arena could not be opened; 0 if it is open.
static FAILURE: AtomicI32 = AtomicI32::new(0);

static SIZE: AtomicUsize = AtomicUsize::new(DEFAULT_THRESHOLD);

/// The loader calls it before `main`, after it has initialised the C library.
#[cfg(not(test))]
#[used]
#[unsafe(link_section = ".init_array")]
static START: extern "C" fn() = {
    extern "C" fn start() {
        // After a panic emulation stays off.
        let _ = std::panic::catch_unwind(open);
    }
    start
};

pub(crate) fn is_emulating() -> bool {
    EMULATING.load(Ordering::Relaxed)
}

pub(crate) fn threshold() -> usize {
    SIZE.load(Ordering::Relaxed)
}

fn open() {
    if device(&devices()).is_none() {
        EMULATING.store(true, Ordering::Relaxed);
        match wanted(std::env::var_os(THRESHOLD)) {
            Ok(size) => SIZE.store(size, Ordering::Relaxed),
            Err(line) => note!("{line}"),
        }
        // The C library's function must be known before the arena has blocks.
        let _ = real::malloc_usable_size();
        match ARENA.open().and_then(|()| fork::watch()) {
            Ok(()) => malloc::use_arena_from(threshold()),
            Err(error) => FAILURE.store(error.raw_os_error(), Ordering::Relaxed),
        }
    }
    // Most programs that a shell starts do not use UCX.
    if real::ucp_init_version().is_some() {
        say_once();
    }
}

pub(crate) fn say_once() {
    static SAID: Once = Once::new();
    SAID.call_once(|| {
        if let Some(device) = device(&devices()) {
            note!("nothing is emulated: there is an RDMA device, {}", device.display());
            return;
        }
        note!(
            "without an RDMA device, UCX's exported memory handles are emulated between the \
             processes of user {} on this machine, for blocks of malloc() of at least {} bytes",
            rustix::process::geteuid().as_raw(),
            threshold()
        );
        let failure = FAILURE.load(Ordering::Relaxed);
        if failure != 0 {
            let error = rustix::io::Errno::from_raw_os_error(failure);
            note!("this process can import memory and not export it: it lacks an arena: {error}");
        }
    });
}

fn devices() -> PathBuf {
    std::env::var_os(DEVICES).map_or_else(|| "/sys/class/infiniband".into(), PathBuf::from)
}

fn device(directory: &Path) -> Option<PathBuf> {
    Some(std::fs::read_dir(directory).ok()?.next()?.ok()?.path())
}

fn wanted(value: Option<OsString>) -> Result<usize, String> {
    let Some(value) = value else { return Ok(DEFAULT_THRESHOLD) };
    let size = value.to_str().and_then(|text| text.trim().parse().ok()).filter(|size| *size != 0);
    size.ok_or_else(|| {
        format!(
            "{THRESHOLD}={} is not a number of bytes, 1 or more: it is {DEFAULT_THRESHOLD}",
            value.display()
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_threshold_is_a_number_of_bytes() {
        assert_eq!(wanted(None), Ok(4096));
        for (text, size) in [("1", 1), ("65536", 65536), (" 100 ", 100)] {
            assert_eq!(wanted(Some(text.into())), Ok(size));
        }
        for text in ["", "0", "-1", "4k", "99999999999999999999999"] {
            let line = wanted(Some(text.into())).expect_err("it is not a size");
            assert!(line.contains(&format!("{THRESHOLD}={text} ")), "{line}");
        }
    }

    #[test]
    fn any_entry_is_a_device_and_no_directory_has_none() {
        assert_eq!(device(Path::new("/nowhere/at/all")), None);
        let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
        assert!(device(&directory).is_some());
        assert_eq!(device(&directory.join("lib.rs")), None);
    }
}
