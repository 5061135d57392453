//! Refused offers, and the host's notification of a share's end.

use std::io::{ErrorKind, Read};
use std::os::unix::net::UnixStream;

use urom_wire::memory::COPIES_END;

use super::*;

#[test]
fn offers_that_make_no_sense_are_refused() {
    let mut memories = TestMemories::new();
    let whole = || mapped(7, 4096, memfd(4096, SealFlags::SHRINK));
    let with = |change: fn(&mut MemoryOffer)| {
        let mut shared = whole();
        change(&mut shared.offer);
        shared
    };
    let nothing = HandedOffer { handed: None, ..whole() };
    let no_fd = HandedOffer { handed: handed(None), ..whole() };
    for (shared, code) in [
        // The engine's tests cover other ranges and permissions.
        (with(|offer| offer.len = 0), DocaError::INVALID_VALUE),
        (mapped(7, 4096, memfd(4096, SealFlags::empty())), DocaError::OPERATING_SYSTEM),
        (nothing, DocaError::NOT_FOUND),
        (no_fd, DocaError::NOT_FOUND),
        (with(|offer| offer.location = MemoryLocation::Network), DocaError::NOT_CONNECTED),
        // Nothing is mapped at its address here.
        (with(|offer| offer.location = MemoryLocation::Process), DocaError::IO_FAILED),
        (
            HandedOffer { handed: None, ..with(|offer| offer.location = MemoryLocation::Process) },
            DocaError::NOT_CONNECTED,
        ),
    ] {
        let (text, handed) = (format!("{:?}", shared.offer), shared.handed.is_some());
        let refused = memories.share(1, shared).unwrap_err();
        assert_eq!(refused.code, code, "{text} {handed}: {refused}");
        assert!(refused.text.contains("memory 0x7 cannot be shared: "), "{refused}");
    }
    let garbage = with(|offer| {
        offer.location = MemoryLocation::Network;
        offer.ucx_address = vec![7; 100];
    });
    assert_eq!(memories.share(1, garbage).unwrap_err().code, DocaError::DRIVER);
    assert!(
        memories.ended().is_empty() && memories.share(1, whole()).is_ok(),
        "nothing was kept of them"
    );
}

#[test]
fn a_host_learns_when_nothing_is_copied_and_when_nothing_is_mapped_any_more() {
    let mut memories = TestMemories::new();
    let bytes = *b"in this process.";
    let (mut host, use_guard) = UnixStream::pair().unwrap();
    host.set_nonblocking(true).unwrap();
    let mut says = |most: usize| {
        let mut said = vec![0; most];
        host.read(&mut said).map(|len| said[..len].to_vec()).map_err(|error| error.kind())
    };
    memories.memories.use_guard(1, use_guard.into());
    memories.share(1, of_process(5, &bytes)).unwrap();
    memories.share(1, mapped(7, 4096, memfd(4096, SealFlags::SHRINK))).unwrap();
    let (copied, mapped) = (memories.open(1, 5, 0, 16), memories.open(1, 7, 0, 16));
    assert_eq!(says(1), Err(ErrorKind::WouldBlock));
    memories.memories.close(1);
    assert_eq!(says(2), Ok(vec![COPIES_END]));
    assert_eq!(says(1), Err(ErrorKind::WouldBlock));
    memories.memories.shares.close(mapped.handle).unwrap();
    assert_eq!(says(1), Ok(Vec::new()), "it is closed");
    assert_eq!(memories.ended(), [107]);
    memories.memories.shares.close(copied.handle).unwrap();
    assert_eq!(memories.ended(), [105]);
}
