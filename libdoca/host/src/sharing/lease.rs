//! The lease of a worker's memory of this process: by it this process learns when the worker uses
//! that memory no more, however the worker is left or lost.

use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, poll};
use tokio::io::AsyncReadExt;
use tokio::net::UnixStream;
use urom_os::signals;
use urom_wire::awake::timeout;
use urom_wire::memory::{LEASE, Slip, hand_over};

use super::told::Late;

/// How long a plugin may take to return, so that the worker copies nothing any more.
const LEAVING: Duration = Duration::from_secs(2);

pub(super) struct Lease(UnixStream);

impl Lease {
    /// Asks for it at the worker's door.
    pub(super) async fn take(door: &Path, ticket: u128) -> io::Result<Lease> {
        hand_over(door, Slip { ticket, share: LEASE }, &[]).await.map(Lease)
    }

    /// Waits until the worker copies nothing of this process any more, but not for ever. Returns
    /// whether that is so.
    pub(super) async fn copies_end(&mut self) -> bool {
        // A worker that is gone copies nothing, either.
        let end = timeout(LEAVING, self.0.read_u8()).await.is_ok();
        if !end {
            log!(
                warn,
                "a worker that this program leaves is held up by a plugin, which may still write to \
                 the memory that was shared with it: that memory is kept until the plugin returns"
            );
        }
        end
    }

    /// Tells of the end of all shares when the worker uses nothing any more.
    pub(super) fn end(self, late: Arc<Late>) {
        let Ok(lease) = self.0.into_std().map(OwnedFd::from) else {
            // Nobody can know: the memory is kept for ever.
            return std::mem::forget(late);
        };
        if is_over(&lease, false) {
            return late.end();
        }
        // Seldom: a plugin keeps memory of a host that has left. The control thread may end before.
        let kept = Arc::clone(&late);
        let watch = move || {
            while !is_over(&lease, true) {}
            late.end();
        };
        let watcher =
            signals::blocked(|| thread::Builder::new().name("urom-lease".to_owned()).spawn(watch));
        if let Err(error) = watcher {
            log!(
                warn,
                "memory of this program is kept for ever: no thread can wait for it: {error}"
            );
            std::mem::forget(kept);
        }
    }
}

/// Whether the worker has closed its end; with `waits`, after it did something.
fn is_over(lease: &OwnedFd, waits: bool) -> bool {
    let mut word = [0];
    if waits {
        let _ = poll(&mut [PollFd::new(lease, PollFlags::IN)], None);
    }
    loop {
        match rustix::io::read(lease, &mut word) {
            Ok(0) => return true,
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(rustix::io::Errno::AGAIN) => return false,
            // The other end is gone.
            Err(_) => return true,
        }
    }
}
