//! The socket with connections that send nothing or too much, or are too many.

use std::ffi::OsString;
use std::io::{IoSlice, Read, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};
use tokio::sync::mpsc;
use urom_abi::WorkerId;
use urom_wire::memory::{confirm_taken, hand_over};

use super::super::handover::{Handover, HandoverSocket, LIMIT};
use super::*;
use crate::handshakes::MAX_HANDSHAKES;

const SLIP: Slip = Slip { token: TOKEN, share: 3 };

fn open(file: Option<&Path>) -> (PathBuf, mpsc::Receiver<Handover>) {
    let socket = HandoverSocket::open(WorkerId(5), file).unwrap();
    let address = PathBuf::from(OsString::from_vec(socket.address()));
    let (events, visitors) = mpsc::channel(100);
    tokio::spawn(socket.keep(events, |visitor| visitor));
    (address, visitors)
}

fn slip() -> Vec<u8> {
    [&SLIP.token.to_le_bytes()[..], &SLIP.share.to_le_bytes()].concat()
}

fn descriptors() -> usize {
    let name = "/memfd:of-the-socket";
    let links = std::fs::read_dir("/proc/self/fd")
        .unwrap()
        .filter_map(|entry| std::fs::read_link(entry.ok()?.path()).ok());
    links.filter(|link| link.to_string_lossy().starts_with(name)).count()
}

#[tokio::test]
async fn a_socket_has_an_abstract_name_or_a_file_that_is_removed_with_it() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("urom-1-5");
    // Left by a killed worker.
    drop(std::os::unix::net::UnixListener::bind(&file).unwrap());
    for file in [None, Some(&*file)] {
        let (address, mut visitors) = open(file);
        let visit = async {
            let Handover { handed, stream } = visitors.recv().await.unwrap();
            confirm_taken(&stream).unwrap();
            handed
        };
        let fd = memfd(10, SealFlags::empty());
        let fds = [fd.as_fd()];
        let (given, handed) = tokio::join!(hand_over(&address, SLIP, &fds), visit);
        given.unwrap();
        assert_eq!((handed.slip, handed.fds.len()), (SLIP, 1));
    }
    let socket = HandoverSocket::open(WorkerId(5), Some(&file)).unwrap();
    assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o666);
    drop(socket);
    assert!(!file.exists());
    let missing = folder.path().join("no/such/folder");
    assert!(HandoverSocket::open(WorkerId(5), Some(&missing)).is_err());
}

#[tokio::test]
async fn bytes_that_are_no_slip_are_not_accepted() {
    let (address, mut visitors) = open(None);
    for bytes in [&b""[..], b"GET / HTTP/1.1\r\n\r\n", &slip()[..23]] {
        let mut stream = connect(&address);
        stream.write_all(bytes).unwrap();
        drop(stream);
    }
    let stream = connect(&address);
    (&stream).write_all(&slip()).unwrap();
    let visitor = visitors.recv().await.unwrap();
    assert!(visitor.handed.slip == SLIP && visitor.handed.fds.is_empty());
    assert!(visitors.is_empty());
}

#[tokio::test]
async fn of_many_descriptors_those_of_a_ring_are_kept_and_none_is_left_behind() {
    let (address, mut visitors) = open(None);
    let name = "of-the-socket";
    let fds: Vec<OwnedFd> = std::iter::repeat_with(|| memfd_create(name, MemfdFlags::CLOEXEC))
        .take(20)
        .collect::<Result<_, _>>()
        .unwrap();
    for count in [1, 2, 3, 20] {
        let stream = connect(&address);
        let fds: Vec<BorrowedFd<'_>> = fds[..count].iter().map(AsFd::as_fd).collect();
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(20))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        assert!(control.push(SendAncillaryMessage::ScmRights(&fds)));
        let bytes = slip();
        sendmsg(&stream, &[IoSlice::new(&bytes)], &mut control, SendFlags::empty()).unwrap();
        let visitor = visitors.recv().await.unwrap();
        let kept = visitor.handed.fds.len();
        assert_eq!((kept, descriptors()), (count.min(3), 20 + kept), "{count}");
    }
}

/// A handover overtakes all silent connections.
#[tokio::test(start_paused = true)]
async fn visitors_that_say_nothing_are_sent_away() {
    let (address, mut visitors) = open(None);
    let begin = tokio::time::Instant::now();
    let mut silent = Vec::new();
    for _ in 0..3 {
        silent.extend((0..MAX_HANDSHAKES).map(|_| connect(&address)));
        let last = connect(&address);
        (&last).write_all(&slip()).unwrap();
        let visitor = visitors.recv().await.unwrap();
        assert_eq!(visitor.handed.slip, SLIP);
    }
    assert_eq!(begin.elapsed(), std::time::Duration::ZERO);
    // The oldest connection was closed.
    assert_eq!(silent[0].read(&mut [0]).unwrap(), 0);
    // Without further connections, all are closed in the end.
    let last = silent.last_mut().unwrap();
    last.set_nonblocking(true).unwrap();
    assert_eq!(last.read(&mut [0]).unwrap_err().kind(), std::io::ErrorKind::WouldBlock);
    tokio::time::sleep(2 * LIMIT).await;
    assert_eq!(last.read(&mut [0]).unwrap(), 0);
}

fn connect(address: &Path) -> UnixStream {
    use std::os::linux::net::SocketAddrExt;
    use std::os::unix::ffi::OsStrExt;
    let name = address.as_os_str().as_bytes();
    let address = std::os::unix::net::SocketAddr::from_abstract_name(&name[1..]).unwrap();
    UnixStream::connect_addr(&address).unwrap()
}
