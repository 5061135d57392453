//! The use guard of a worker's shared memory. At its end the worker no longer uses the memory.

use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, poll};
use tokio::io::AsyncReadExt;
use tokio::net::UnixStream;
use urom_os::signals;
use urom_wire::awake::timeout;
use urom_wire::memory::{Slip, USE_GUARD, hand_over};

use super::callback::LateCallbacks;

/// Timeout for plugins to return, after which copies end.
const LEAVING: Duration = Duration::from_secs(2);

pub(super) struct UseGuard(UnixStream);

impl UseGuard {
    pub(super) async fn take(socket: &Path, token: u128) -> io::Result<UseGuard> {
        hand_over(socket, Slip { token, share: USE_GUARD }, &[]).await.map(UseGuard)
    }

    /// Waits with a timeout until the worker's copies have ended. Returns whether they have.
    pub(super) async fn copies_end(&mut self) -> bool {
        // The end of the worker also ends its copies.
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

    /// Runs the end callbacks when the worker no longer uses the memory.
    pub(super) fn end(self, late: Arc<LateCallbacks>) {
        let Ok(use_guard) = self.0.into_std().map(OwnedFd::from) else {
            // The state is unknown, so the memory is kept forever.
            return std::mem::forget(late);
        };
        if is_over(&use_guard, false) {
            return late.end();
        }
        // Rare: a plugin keeps memory of a disconnected host. The control thread may end earlier.
        let kept = Arc::clone(&late);
        let watch = move || {
            while !is_over(&use_guard, true) {}
            late.end();
        };
        if let Err(error) = signals::spawn("urom-use-guard", watch) {
            log!(
                warn,
                "memory of this program is kept for ever, as no thread can wait for it: {error}"
            );
            std::mem::forget(kept);
        }
    }
}

/// Returns whether the worker has closed its end; with `waits`, first waits for an event.
fn is_over(use_guard: &OwnedFd, waits: bool) -> bool {
    let mut word = [0];
    if waits {
        let _ = poll(&mut [PollFd::new(use_guard, PollFlags::IN)], None);
    }
    loop {
        match rustix::io::read(use_guard, &mut word) {
            Ok(0) => return true,
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(rustix::io::Errno::AGAIN) => return false,
            Err(_) => return true,
        }
    }
}
