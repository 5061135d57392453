//! What must hold for any bytes, on chosen and arbitrary messages, their truncations and
//! corruptions, and on the committed inputs of the fuzz targets.

mod corpus;
mod corruptions;
mod programs;
mod properties;
mod samples;

// Memory is limited.
#[global_allocator]
static ALLOCATOR: robustness::CountingAllocator = robustness::CountingAllocator;

/// Keeps the log of plugins, some 100,000 lines of it, from standard error. What tests say is on
/// standard output; `UROM_LOUD=1` is for what ends the process.
fn quiet() {
    #[cfg(not(miri))]
    if std::env::var_os("UROM_LOUD").is_none() {
        let nothing = std::fs::File::create("/dev/null").expect("/dev/null");
        // SAFETY: two open descriptors.
        let code = unsafe { libc::dup2(std::os::fd::AsRawFd::as_raw_fd(&nothing), 2) };
        assert_eq!(code, 2);
    }
}
