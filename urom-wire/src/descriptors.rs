//! Checks that a process may open enough files. UCX aborts a process that has no descriptor left.

use rustix::process::{Resource, getrlimit};

/// The descriptors of a daemon or worker with one peer, or of a host with one service, and some
/// spare ones.
pub const LEAST: u64 = 64;

pub fn require() -> Result<(), String> {
    judge(getrlimit(Resource::Nofile).current)
}

fn judge(limit: Option<u64>) -> Result<(), String> {
    match limit {
        Some(limit) if limit < LEAST => Err(format!(
            "this process may have {limit} files open, and needs {LEAST} or more: raise the limit (`ulimit -n`, \
             LimitNOFILE=)"
        )),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_that_is_too_low_is_named() {
        assert_eq!((judge(None), judge(Some(LEAST))), (Ok(()), Ok(())));
        assert!(judge(Some(16)).unwrap_err().contains("may have 16 files open, and needs 64"));
    }
}
