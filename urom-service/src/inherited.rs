//! Descriptors inherited from the program's parent.

/// Sets close-on-exec on all open descriptors except the standard streams: service managers, shells
/// and test harnesses leave descriptors open, which plugins could use.
pub(crate) fn close_at_exec() {
    // Kernels before 5.11 cannot do this in one call.
    let open = std::fs::read_dir("/proc/self/fd").into_iter().flatten().flatten();
    let numbers = open.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    for number in numbers.filter(|number| *number > libc::STDERR_FILENO) {
        // SAFETY: the call changes a descriptor's flag, not memory; it fails on a closed one.
        unsafe { libc::fcntl(number, libc::F_SETFD, libc::FD_CLOEXEC) };
    }
}
