//! Descriptors handed over at a worker's socket.

use std::cell::RefCell;
use std::fs::File;
use std::io::IoSlice;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::os::unix::net::UnixStream as StdUnixStream;

use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};
use tokio::net::UnixStream;
use tokio::runtime::{Builder, Runtime};

use super::memory::within;
use super::prepare;
use crate::memory::receive_handed;

const LEN: usize = 24;

const MEMORY: usize = 64 << 10;

struct Rig {
    runtime: Runtime,
    file: File,
}

impl Rig {
    fn new() -> Rig {
        let runtime = Builder::new_current_thread().enable_all().build().expect("a runtime");
        let mut rig = Rig { runtime, file: File::open("/dev/null").expect("a file") };
        // Opened once, and kept.
        prepare();
        rig.visit(1, LEN, &[0; LEN]);
        rig
    }
}

/// The first byte is the number of descriptors, the second the split position; the bytes to send
/// follow. Only a whole slip is accepted, with its descriptors, and no descriptor leaks.
pub fn memory_handover(input: &[u8]) {
    thread_local! {
        static RIG: RefCell<Rig> = RefCell::new(Rig::new());
    }
    let &[how, cut, ref bytes @ ..] = input else { return };
    RIG.with_borrow_mut(|rig| {
        let before = rig.lowest();
        within(MEMORY, || rig.visit(usize::from(how % 4), usize::from(cut), bytes));
        // Other tests open files concurrently.
        assert!(cfg!(test) || rig.lowest() == before, "a descriptor is left behind");
    });
}

impl Rig {
    /// The number of the next new descriptor.
    fn lowest(&self) -> i32 {
        rustix::io::dup(&self.file).expect("a descriptor").as_raw_fd()
    }

    fn visit(&mut self, count: usize, cut: usize, bytes: &[u8]) {
        let (theirs, ours) = StdUnixStream::pair().expect("a pair");
        ours.set_nonblocking(true).expect("a socket");
        let (first, second) = bytes.split_at(cut.min(bytes.len()));
        let fds = [self.file.as_fd(); 3];
        send(&theirs, first, &fds[..count]);
        send(&theirs, second, &[]);
        drop(theirs);
        let handed = self.runtime.block_on(async {
            let ours = UnixStream::from_std(ours).expect("a socket");
            receive_handed(&ours).await
        });
        match handed {
            Ok(handed) => {
                // The kernel does not join a message with descriptors to an earlier one.
                assert!(bytes.len() >= LEN && (count == 0 || first.is_empty() || cut >= LEN));
                let slip = handed.slip;
                let shown = [&slip.token.to_le_bytes()[..], &slip.share.to_le_bytes()].concat();
                assert_eq!(shown, bytes[..LEN]);
                let expected = if first.is_empty() { 0 } else { count };
                assert_eq!(handed.fds.len(), expected);
                assert_eq!(handed.process, Some(std::process::id() as i32));
            }
            Err(error) => {
                assert_eq!(error.kind(), std::io::ErrorKind::InvalidData, "{error}");
                assert!(first.len().max(bytes.len() * usize::from(count == 0)) < LEN);
            }
        }
    }
}

fn send(stream: &StdUnixStream, bytes: &[u8], fds: &[BorrowedFd<'_>]) {
    if bytes.is_empty() {
        return;
    }
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(3))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    if !fds.is_empty() {
        control.push(SendAncillaryMessage::ScmRights(fds));
    }
    // Bytes that do not fit are not sent.
    let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
    let _ = sendmsg(stream, &[IoSlice::new(bytes)], &mut control, flags);
}
