//! The page's descriptor, as the first message on the stream from the daemon to a worker. Without
//! one, nothing but the worker reads its counters.

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};

use super::MetricsPage;

/// The byte that carries the descriptor, if there is one.
const MARK: u8 = b'M';

/// # Errors
/// The system's error.
pub(crate) fn send(stream: &UnixStream, page: Option<&OwnedFd>) -> io::Result<()> {
    let fds: Vec<_> = page.iter().map(|page| page.as_fd()).collect();
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    if !fds.is_empty() {
        control.push(SendAncillaryMessage::ScmRights(&fds));
    }
    sendmsg(stream, &[IoSlice::new(&[MARK])], &mut control, SendFlags::NOSIGNAL)?;
    Ok(())
}

/// Receives the page from a stream that blocks.
///
/// # Errors
/// The system's error, or `InvalidData` if the stream begins with something else.
pub(crate) fn receive(stream: &UnixStream) -> io::Result<MetricsPage> {
    let mut mark = [0];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let mut parts = [IoSliceMut::new(&mut mark)];
    recvmsg(stream, &mut parts, &mut control, RecvFlags::CMSG_CLOEXEC)?;
    let fds = control.drain().filter_map(|message| match message {
        RecvAncillaryMessage::ScmRights(fds) => Some(fds),
        _ => None,
    });
    let page = fds.flatten().last();
    match page {
        _ if mark != [MARK] => Err(io::ErrorKind::InvalidData.into()),
        Some(page) => MetricsPage::open(&page),
        None => MetricsPage::private(),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn a_page_arrives_before_the_bytes_that_follow_it() {
        let (mut ours, theirs) = UnixStream::pair().unwrap();
        let (page, fd) = MetricsPage::create().unwrap();
        send(&ours, Some(&fd)).unwrap();
        ours.write_all(b"next").unwrap();
        receive(&theirs).unwrap().header().hosts.set(9);
        assert_eq!(page.header().hosts.get(), 9);
        let mut next = [0; 4];
        std::io::Read::read_exact(&mut &theirs, &mut next).unwrap();
        assert_eq!(&next, b"next");
    }

    #[test]
    fn a_worker_without_a_page_counts_for_itself() {
        let (ours, theirs) = UnixStream::pair().unwrap();
        send(&ours, None).unwrap();
        let page = receive(&theirs).unwrap();
        page.header().hosts.add(1);
        assert_eq!(page.header().hosts.get(), 1);
    }

    #[test]
    fn a_stream_that_begins_otherwise_or_ends_is_refused() {
        let (mut ours, theirs) = UnixStream::pair().unwrap();
        ours.write_all(b"x").unwrap();
        assert_eq!(receive(&theirs).unwrap_err().kind(), io::ErrorKind::InvalidData);
        drop(ours);
        assert_eq!(receive(&theirs).unwrap_err().kind(), io::ErrorKind::InvalidData);
    }
}
