//! The thread that UCX starts for itself.

use std::sync::mpsc::channel;
use std::thread::Builder;

use crate::status::{Result, Status};

const SPARE: usize = 3;

/// Checks that this process can start some threads: UCX aborts if it cannot start its own.
pub(crate) fn require() -> Result<()> {
    let start = || {
        let (end, ended) = channel::<()>();
        // The thread ends when the sender is dropped.
        let wait = move || ended.recv().is_ok();
        Ok::<_, std::io::Error>((end, Builder::new().spawn(wait)?))
    };
    let started: std::io::Result<Vec<_>> = std::iter::repeat_with(start).take(SPARE).collect();
    match started {
        Ok(threads) => {
            for (end, thread) in threads {
                drop(end);
                let _ = thread.join();
            }
            Ok(())
        }
        Err(error) => Err(Status::NO_RESOURCE.during(format!(
            "making a context: there can be no more threads: {error}; see the limit (`ulimit -u`, \
             TasksMax=, `--pids-limit` of a container)"
        ))),
    }
}
