//! Properties of any bytes, tested on chosen, arbitrary, truncated and corrupted messages, and on
//! the committed inputs of the fuzz targets.

mod corpus;
mod corruptions;
mod programs;
mod properties;
mod samples;

#[global_allocator]
static ALLOCATOR: robustness::CountingAllocator = robustness::CountingAllocator;

/// Discards the plugins' log of some 100,000 lines on standard error, unless `UROM_LOUD=1` is set
/// to debug a crash.
fn quiet() {
    #[cfg(not(miri))]
    if std::env::var_os("UROM_LOUD").is_none() {
        let nothing = std::fs::File::create("/dev/null").expect("/dev/null");
        // SAFETY: both descriptors are open.
        let code = unsafe { libc::dup2(std::os::fd::AsRawFd::as_raw_fd(&nothing), 2) };
        assert_eq!(code, 2);
    }
}
