//! Descriptors that a program's parent left open.

/// Keeps the descriptors that this process has open, except the standard streams, from the programs
/// that it starts.
///
/// Service managers, shells and test harnesses leave descriptors open. Plugins could use them.
pub(crate) fn close_at_exec() {
    // Kernels before 5.11 have no call for all of them.
    let open = std::fs::read_dir("/proc/self/fd").into_iter().flatten().flatten();
    let numbers = open.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    for number in numbers.filter(|number| *number > libc::STDERR_FILENO) {
        // SAFETY: the call changes a flag of a descriptor, and no memory. One that is closed by now
        // gives an error.
        unsafe { libc::fcntl(number, libc::F_SETFD, libc::FD_CLOEXEC) };
    }
}
