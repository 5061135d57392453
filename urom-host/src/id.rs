//! DOCA's convention for worker ids.

/// Returns a worker's id by DOCA's suggested convention: the task (job) in the upper half; in the
/// lower half the process's local rank modulo the service's cores.
///
/// Processes of one task on one host that share a DPU core then share a worker; other tasks have
/// other workers. `cores` is usually `service.cpus().iter().count()`; 0 counts as 1.
pub const fn worker_id(task_id: u32, local_rank: u32, cores: u32) -> u64 {
    let cores = if cores == 0 { 1 } else { cores };
    (task_id as u64) << 32 | (local_rank % cores) as u64
}

#[cfg(test)]
mod tests {
    use super::worker_id;

    #[test]
    fn no_cores_count_as_one() {
        assert_eq!(worker_id(1, 5, 0), 1 << 32);
    }

    #[test]
    fn the_halves_do_not_touch() {
        assert_eq!(worker_id(u32::MAX, u32::MAX - 1, u32::MAX), 0xffff_ffff_ffff_fffe);
    }
}
