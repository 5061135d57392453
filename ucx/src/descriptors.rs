//! Checks that a process can open more files: UCX aborts, and tokio panics, without descriptors.

use std::io;
use std::os::fd::OwnedFd;

use rustix::event::{EventfdFlags, eventfd};
use rustix::io::{Errno, fcntl_dupfd_cloexec};
use rustix::process::{Resource, getrlimit};

use crate::status::{Result, Status};

const OF_A_WORKER: usize = 24;

/// Checks that this process can open `needed` more files now. Another thread may still use them up.
///
/// # Errors
/// The limit is too low; the message names it.
#[doc(hidden)]
pub fn require_descriptors(needed: usize) -> io::Result<()> {
    let mut held: Vec<OwnedFd> = Vec::with_capacity(needed);
    while held.len() < needed {
        let next = match held.first() {
            None => eventfd(0, EventfdFlags::CLOEXEC),
            Some(first) => fcntl_dupfd_cloexec(first, 0),
        };
        match next {
            Ok(next) => held.push(next),
            Err(Errno::MFILE) => return Err(io::Error::other(too_few(held.len(), needed))),
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

fn too_few(free: usize, needed: usize) -> String {
    let limit = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    format!(
        "too many open files: this process may have {limit} open, and can open {free} more where \
         it needs {needed}: raise the limit (`ulimit -n`, LimitNOFILE=)"
    )
}

pub(crate) fn require_for(what: &str) -> Result<()> {
    require_descriptors(OF_A_WORKER)
        .map_err(|error| Status::EXCEEDS_LIMIT.during(format!("{what}: {error}")))
}
