//! The first bytes on a control stream: who is there, and whether both hold the same key.

use crate::plain::Plain;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, duplex, split};

use super::memory::within;
use super::program::Program;
use super::{now, stream};
use crate::hello::{HELLO_LEN, Hello, HelloError, Role};
use crate::key::Secret;
use crate::patience::Patience;
use crate::proof::{OPENING_LEN, PROOF_LEN};
use crate::stream::{StreamError, greet};

/// Who may be on the other end of whom.
const PAIRS: [(Role, Role); 6] = [
    (Role::Host, Role::Daemon),
    (Role::Host, Role::Worker),
    (Role::Daemon, Role::Host),
    (Role::Daemon, Role::Worker),
    (Role::Worker, Role::Host),
    (Role::Worker, Role::Daemon),
];

const MEMORY: usize = 16 << 10;

/// The first byte says who greets whom, and whether with a key; the others are what the other end
/// says. It is refused unless it is that end's hello, from a UCX that this one understands, and
/// says that there is no key; bytes that were there before this end spoke cannot prove that
/// somebody holds one.
pub fn hello(input: &[u8]) {
    let Some((choice, theirs)) = input.split_first() else { return };
    let (me, expected) = PAIRS[usize::from(choice & 0x7f) % PAIRS.len()];
    // Daemon and worker share no key: they are ends of a socket pair.
    let has_key = choice & 0x80 != 0 && [me, expected].contains(&Role::Host);
    let secret = has_key.then(|| secret(1));
    let mut stream = stream(theirs);
    let ours = Hello::new(me);
    let heard = within(MEMORY, || {
        now(greet(&mut stream, ours, expected, secret.as_ref(), Patience::default()))
    });
    assert!(stream.writer().starts_with(ours.as_bytes()), "every end says who it is");
    let right = Hello::new(expected);
    // The last part of UCX's version may be any.
    let is_hello = theirs.get(..HELLO_LEN - 4) == Some(&right.as_bytes()[..HELLO_LEN - 4]);
    let is_right = is_hello && theirs.len() >= HELLO_LEN + OPENING_LEN && theirs[HELLO_LEN] == 0;
    match heard {
        Ok(()) => {
            assert!(is_right && secret.is_none(), "{theirs:?} was taken for a {expected}");
            let left = theirs.len() - HELLO_LEN - OPENING_LEN;
            assert_eq!(stream.reader().len(), left, "nothing is read behind an opening");
        }
        Err(error) => {
            assert!(!is_right || secret.is_some(), "{theirs:?} was refused: {error}");
            if theirs.len() < HELLO_LEN || !theirs.starts_with(b"UROM") {
                assert!(matches!(error, StreamError::Hello(HelloError::NotUrom)), "{error}");
            }
            let said = stream.writer().len();
            let is_host = me == Role::Host;
            assert!(
                said == HELLO_LEN + OPENING_LEN || is_host,
                "a service proves nothing to a stranger"
            );
            assert!(!error.to_string().is_empty());
        }
    }
}

/// Two ends that greet each other, and a wire between them that changes bytes: the first byte of
/// the input says who has which key, the others where and how. Where the ends hold the same key, an
/// end that was told something else than was said refuses; where they do not, one that holds a key
/// does not go on, whatever it is told.
pub fn greeting(input: &[u8]) {
    let mut program = Program::new(input);
    let choice = program.small();
    let service = if choice & 1 == 0 { Role::Daemon } else { Role::Worker };
    // Which secret an end has: 0 is none.
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
            greet(&mut stream, Hello::new(me), expected, secret, Patience::default()).await
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
        // An end without a key believes what it is told.
        assert!(host.is_err() || of_host == 0, "the host has another key: {host:?}");
        assert!(peer.is_err() || of_service == 0, "the service has another key: {peer:?}");
        let is_untouched = told_service.is_none() && told_host.is_none();
        assert!(!is_untouched || (host.is_err() && peer.is_err()), "{host:?}, {peer:?}");
    } else if of_host != 0 {
        // The last that is said is the service's proof: it comes too late for what the service
        // thinks.
        let early = HELLO_LEN + OPENING_LEN;
        let is_right = told_service.is_none() && told_host.is_none_or(|at| at >= early);
        assert_eq!(peer.is_ok(), is_right, "the service: {peer:?}");
        assert_eq!(host.is_ok(), peer.is_ok() && told_host.is_none(), "the host: {host:?}");
    } else if told_service.is_none() && told_host.is_none() {
        assert!(host.is_ok() && peer.is_ok(), "{host:?}, {peer:?}");
    }
}

/// What a wire does to the bytes of one direction.
struct Change {
    at: usize,
    with: u8,
    /// Nothing of that direction arrives from there on.
    cut: bool,
}

#[derive(Default)]
struct Wire {
    to_service: Vec<Change>,
    to_host: Vec<Change>,
}

/// Carries the bytes of one direction until its sender is done. Where the first is that was
/// changed, or did not arrive.
async fn carry(
    mut from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
    changes: &[Change],
) -> Option<usize> {
    let (mut at, mut first) = (0, None);
    while let Ok(said) = from.read_u8().await {
        let mut told = said;
        for change in changes.iter().filter(|change| change.at == at) {
            if change.cut {
                let _ = to.shutdown().await;
                return first.or(Some(at));
            }
            told ^= change.with;
        }
        if told != said {
            first = first.or(Some(at));
        }
        at += 1;
        if to.write_all(&[told]).await.is_err() {
            break;
        }
    }
    let _ = to.shutdown().await;
    first
}

fn secret(number: u8) -> Secret {
    postcard::from_bytes(&[number; 32]).expect("a secret is 32 bytes")
}
