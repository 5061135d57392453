//! The handshake on a control stream.

use crate::plain::Plain;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, duplex, split};

use super::memory::within;
use super::program::Program;
use super::{now, stream};
use crate::hello::{HELLO_LEN, Hello, HelloError, OLDEST_PROTOCOL, PROTOCOL, Role};
use crate::key::Secret;
use crate::peer_timeout::PeerTimeout;
use crate::proof::{OPENING_LEN, PROOF_LEN};
use crate::stream::{StreamError, handshake};

const PAIRS: [(Role, Role); 6] = [
    (Role::Host, Role::Daemon),
    (Role::Host, Role::Worker),
    (Role::Daemon, Role::Host),
    (Role::Daemon, Role::Worker),
    (Role::Worker, Role::Host),
    (Role::Worker, Role::Daemon),
];

const MEMORY: usize = 16 << 10;

/// The first byte selects the ends, and whether with a key; the others are the peer's bytes. They
/// are refused unless they are the expected hello, with a common protocol and a compatible UCX, and
/// with an opening without a key; bytes fixed in advance cannot contain a proof.
pub fn hello(input: &[u8]) {
    let Some((choice, theirs)) = input.split_first() else { return };
    let (me, expected) = PAIRS[usize::from(choice & 0x7f) % PAIRS.len()];
    // Daemon and worker need no key: they share a socket pair.
    let has_key = choice & 0x80 != 0 && [me, expected].contains(&Role::Host);
    let secret = has_key.then(|| secret(1));
    let mut stream = stream(theirs);
    let ours = Hello::new(me);
    let result = within(MEMORY, || {
        now(handshake(&mut stream, ours, expected, secret.as_ref(), PeerTimeout::default()))
    });
    assert!(stream.writer().starts_with(ours.as_bytes()), "every end sends its hello");
    let is_hello = theirs.get(..HELLO_LEN).and_then(|bytes| agreed(bytes, expected));
    let is_right =
        is_hello.is_some() && theirs.len() >= HELLO_LEN + OPENING_LEN && theirs[HELLO_LEN] == 0;
    match result {
        Ok(protocol) => {
            assert!(is_right && secret.is_none(), "{theirs:?} was taken for a {expected}");
            assert_eq!(Some(protocol), is_hello);
            let left = theirs.len() - HELLO_LEN - OPENING_LEN;
            assert_eq!(stream.reader().len(), left, "nothing is read behind an opening");
        }
        Err(error) => {
            assert!(!is_right || secret.is_some(), "{theirs:?} was refused: {error}");
            if theirs.len() < HELLO_LEN || !theirs.starts_with(b"UROM") {
                assert!(matches!(error, StreamError::Hello(HelloError::NotUrom)), "{error}");
            }
            let sent = stream.writer().len();
            let is_host = me == Role::Host;
            assert!(
                sent == HELLO_LEN + OPENING_LEN || is_host,
                "a service sends an unknown host no proof"
            );
            assert!(!error.to_string().is_empty());
        }
    }
}

/// The common protocol if the bytes are a hello of that role. The last part of UCX's version is
/// arbitrary.
fn agreed(theirs: &[u8], expected: Role) -> Option<u16> {
    let mut right = Hello::new(expected).as_bytes().to_vec();
    for at in [4, 5, 16, 17, 18, 19] {
        right[at] = theirs[at];
    }
    let [oldest, newest] = [4, 18].map(|at| u16::from_le_bytes([theirs[at], theirs[at + 1]]));
    let newest = if newest == 0 { oldest } else { newest };
    let is_common = oldest <= newest && oldest <= PROTOCOL && newest >= OLDEST_PROTOCOL;
    (theirs == right && is_common).then_some(newest.min(PROTOCOL))
}

/// A handshake of two ends over a wire that changes bytes: the first byte of the input selects the
/// keys, the others the changes. With the same key, an end that received changed bytes refuses;
/// with different keys, an end with a key never continues.
pub fn key_handshake(input: &[u8]) {
    let mut program = Program::new(input);
    let choice = program.small();
    let service = if choice & 1 == 0 { Role::Daemon } else { Role::Worker };
    // Each end's secret; 0 means none.
    let [of_host, of_service] = [choice >> 1 & 3, choice >> 3 & 3].map(|number| number.min(2));
    let mut wire = Wire::default();
    while let Some(step) = program.byte() {
        let at = usize::from(program.small()) % (HELLO_LEN + OPENING_LEN + PROOF_LEN);
        let change = Change { at, with: program.small(), cut: step & 2 != 0 };
        if step & 1 == 0 { wire.to_service.push(change) } else { wire.to_host.push(change) }
    }
    let meeting = async {
        let (host, near_host) = duplex(256);
        let (peer, near_service) = duplex(256);
        let held = [of_host, of_service].map(|number| (number > 0).then(|| secret(number)));
        let end = async |mut stream, me, expected, secret| {
            handshake(&mut stream, Hello::new(me), expected, secret, PeerTimeout::default()).await
        };
        let ((from_host, to_host), (from_service, to_service)) =
            (split(near_host), split(near_service));
        let host = end(host, Role::Host, service, held[0].as_ref());
        let peer = end(peer, service, Role::Host, held[1].as_ref());
        let forth = carry(from_host, to_service, &wire.to_service);
        let back = carry(from_service, to_host, &wire.to_host);
        tokio::join!(host, peer, forth, back)
    };
    let (host, peer, told_service, told_host) = within(MEMORY, || now(meeting));
    if of_host != of_service {
        // An end without a key accepts all bytes.
        assert!(host.is_err() || of_host == 0, "the host has another key: {host:?}");
        assert!(peer.is_err() || of_service == 0, "the service has another key: {peer:?}");
        let is_untouched = told_service.is_none() && told_host.is_none();
        assert!(!is_untouched || (host.is_err() && peer.is_err()), "{host:?}, {peer:?}");
    } else if of_host != 0 {
        // The service's proof is sent last, so changing it does not affect the service.
        let early = HELLO_LEN + OPENING_LEN;
        let is_right = told_service.is_none() && told_host.is_none_or(|at| at >= early);
        assert_eq!(peer.is_ok(), is_right, "the service: {peer:?}");
        assert_eq!(host.is_ok(), peer.is_ok() && told_host.is_none(), "the host: {host:?}");
    } else if told_service.is_none() && told_host.is_none() {
        assert!(host.is_ok() && peer.is_ok(), "{host:?}, {peer:?}");
    }
}

struct Change {
    at: usize,
    with: u8,
    /// No bytes from `at` on arrive.
    cut: bool,
}

#[derive(Default)]
struct Wire {
    to_service: Vec<Change>,
    to_host: Vec<Change>,
}

/// Carries one direction's bytes until the sender closes. Returns the first changed or lost
/// position.
async fn carry(
    mut from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
    changes: &[Change],
) -> Option<usize> {
    let (mut at, mut first) = (0, None);
    while let Ok(byte) = from.read_u8().await {
        let mut changed = byte;
        for change in changes.iter().filter(|change| change.at == at) {
            if change.cut {
                let _ = to.shutdown().await;
                return first.or(Some(at));
            }
            changed ^= change.with;
        }
        if changed != byte {
            first = first.or(Some(at));
        }
        at += 1;
        if to.write_all(&[changed]).await.is_err() {
            break;
        }
    }
    let _ = to.shutdown().await;
    first
}

fn secret(number: u8) -> Secret {
    postcard::from_bytes(&[number; 32]).expect("a secret is 32 bytes")
}
