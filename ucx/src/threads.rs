//! The thread that UCX starts for itself.

use std::sync::mpsc::channel;
use std::thread::Builder;

use crate::status::{Result, Status};

/// The threads that a process must be able to start: UCX's, and some of the program's that start
/// at the same time.
const SPARE: usize = 3;

/// Checks that this process may start some more threads. UCX aborts a process that cannot start its
/// own.
pub(crate) fn require() -> Result<()> {
    let start = || {
        let (end, ended) = channel::<()>();
        // It ends with the sender.
        let wait = move || ended.recv().is_ok();
        Ok::<_, std::io::Error>((end, Builder::new().spawn(wait)?))
    };
    let started: std::io::Result<Vec<_>> = std::iter::repeat_with(start).take(SPARE).collect();
    match started {
        Ok(threads) => {
            for (end, thread) in threads {
                drop(end);
                // It has nothing that can fail.
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
