//! Messages, also incomplete ones, and handshakes with equal, different or missing keys.

use super::*;
use crate::control::HostToDaemon;
use crate::hello::ProtocolRange;
use crate::key::Key;
use crate::peer_timeout::PeerTimeout;
use tokio::io::{DuplexStream, duplex};
use tokio::time::{Instant, sleep};

#[tokio::test(start_paused = true)]
async fn a_message_arrives_as_it_was_sent() {
    let (mut a, mut b) = duplex(64);
    let sent = send(&mut a, &HostToDaemon::Group { request: 5, gid: 7 });
    let (sent, got) = tokio::join!(sent, receive(&mut b, PeerTimeout::default()));
    sent.unwrap();
    assert!(matches!(got.unwrap(), HostToDaemon::Group { request: 5, gid: 7 }));
}

#[tokio::test(start_paused = true)]
async fn silence_closing_and_garbage_are_distinguished() {
    async fn end(stream: &mut DuplexStream) -> StreamError {
        receive::<HostToDaemon>(stream, PeerTimeout::default()).await.unwrap_err()
    }
    let (a, mut b) = duplex(64);
    assert!(matches!(end(&mut b).await, StreamError::Silent(_)));
    drop(a);
    assert!(matches!(end(&mut b).await, StreamError::Closed));
    for bytes in [&[0xff; 4][..], &[1, 0, 0, 0, 99], &[2, 0, 0, 0, 0, 0]] {
        let (mut a, mut b) = duplex(64);
        a.write_all(bytes).await.unwrap();
        assert!(matches!(end(&mut b).await, StreamError::Garbage(_)), "{bytes:?}");
    }
}

const HELLO_AND_OPENING: usize = HELLO_LEN + OPENING_LEN;

fn secret() -> Secret {
    Key::random().unwrap().daemon_secret()
}

async fn host(stream: &mut DuplexStream, secret: Option<&Secret>) -> Result<u16, StreamError> {
    handshake(stream, Hello::new(Role::Host), Role::Daemon, secret, PeerTimeout::default()).await
}

async fn daemon(stream: &mut DuplexStream, secret: Option<&Secret>) -> Result<u16, StreamError> {
    handshake(stream, Hello::new(Role::Daemon), Role::Host, secret, PeerTimeout::default()).await
}

async fn both(
    of_host: Option<&Secret>,
    of_daemon: Option<&Secret>,
) -> (Result<u16, StreamError>, Result<u16, StreamError>) {
    let (mut a, mut b) = duplex(256);
    let host = async move { host(&mut a, of_host).await };
    let daemon = async move { daemon(&mut b, of_daemon).await };
    tokio::join!(host, daemon)
}

fn key_error(result: Result<u16, StreamError>) -> KeyError {
    match result {
        Err(StreamError::Key(error)) => error,
        other => panic!("an error about the key, not {other:?}"),
    }
}

fn hello_and_opening(role: Role, keyed: u8, challenge: [u8; 32]) -> Vec<u8> {
    [Hello::new(role).as_bytes(), Opening { keyed, challenge }.as_bytes()].concat()
}

async fn rest(stream: &mut DuplexStream) -> Vec<u8> {
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).await.unwrap();
    bytes
}

#[tokio::test(start_paused = true)]
async fn two_ends_with_one_key_or_none_go_on() {
    let secret = secret();
    for secret in [None, Some(&secret)] {
        let (host, daemon) = both(secret, secret).await;
        host.unwrap();
        daemon.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn both_ends_of_a_stream_learn_the_same_protocol() {
    let secret = secret();
    for (theirs, agreed) in [((14, 0), 14), ((14, 15), 15), ((15, 16), 15)] {
        let theirs = ProtocolRange { oldest: theirs.0, newest: theirs.1 };
        for secret in [None, Some(&secret)] {
            let (mut a, mut b) = duplex(256);
            let old = Hello::new(Role::Host).with_protocols(theirs);
            let timeout = PeerTimeout::default();
            let host = handshake(&mut a, old, Role::Daemon, secret, timeout);
            let (host, daemon) = tokio::join!(host, daemon(&mut b, secret));
            assert_eq!((host.unwrap(), daemon.unwrap()), (agreed, agreed), "{theirs}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn another_key_or_a_secret_of_another_stream_is_refused_with_advice_at_both_sides() {
    let key = Key::random().unwrap();
    let (worker, other) = (key.worker_secret(1), key.worker_secret(2));
    for (host, service) in
        [(&secret(), &secret()), (&worker, &key.daemon_secret()), (&other, &worker)]
    {
        let (host, service) = both(Some(host), Some(service)).await;
        let (host, service) = (key_error(host), key_error(service));
        assert_eq!((host, service), (KeyError::NotTaken(Role::Daemon), KeyError::HostHasAnother));
        for error in [host, service] {
            assert!(error.to_string().contains("use a copy of"), "{error}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_host_whose_proof_is_not_answered_does_not_hear_that_its_key_is_wrong() {
    let secret = secret();
    let (mut a, mut b) = duplex(256);
    let closing = async move {
        b.write_all(&hello_and_opening(Role::Daemon, 1, [7; 32])).await.unwrap();
        b.read_exact(&mut [0; HELLO_AND_OPENING + PROOF_LEN]).await.unwrap();
    };
    let (end, ()) = tokio::join!(host(&mut a, Some(&secret)), closing);
    assert!(matches!(end, Err(StreamError::CutOff(Role::Daemon))), "{end:?}");
}

#[tokio::test(start_paused = true)]
async fn a_key_on_one_side_only_is_refused_by_both() {
    let secret = secret();
    let (host, daemon) = both(None, Some(&secret)).await;
    assert_eq!(key_error(host), KeyError::Missing(Role::Daemon));
    assert_eq!(key_error(daemon), KeyError::HostHasNone);
    let (host, daemon) = both(Some(&secret), None).await;
    assert_eq!(key_error(host), KeyError::NotAsked(Role::Daemon));
    assert_eq!(key_error(daemon), KeyError::HostHasOne);
    let (missing, not_asked) = (KeyError::Missing(Role::Daemon), KeyError::NotAsked(Role::Daemon));
    for error in [missing, KeyError::HostHasNone, not_asked, KeyError::HostHasOne] {
        let text = error.to_string();
        assert!(text.contains("--key-file") && text.contains("UROM_KEY_FILE"), "{text}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_peer_without_a_proof_receives_a_handshake_and_the_refusal_only() {
    let secret = secret();
    let proofs: [&[u8]; 4] = [&[], &[0; PROOF_LEN - 1], &[0; PROOF_LEN], &[0xff; 4 * PROOF_LEN]];
    for proof in proofs {
        for keyed in [0, 1, 2, 255] {
            let (mut a, mut b) = duplex(256);
            let secret = &secret;
            let service = async move { daemon(&mut b, Some(secret)).await };
            let unknown = async {
                a.write_all(&[&hello_and_opening(Role::Host, keyed, [7; 32]), proof].concat())
                    .await
                    .unwrap();
                a.shutdown().await.unwrap();
                rest(&mut a).await
            };
            let (end, received) = tokio::join!(service, unknown);
            assert!(end.is_err());
            if keyed == 1 && proof.len() < PROOF_LEN {
                assert!(matches!(end, Err(StreamError::Closed)));
            }
            let is_refused = keyed == 1 && proof.len() >= PROOF_LEN;
            let expected = if is_refused { &NOT_TAKEN[..] } else { &[] };
            assert_eq!(
                &received[HELLO_AND_OPENING..],
                expected,
                "keyed {keyed}, {} bytes of proof",
                proof.len()
            );
        }
    }
}

/// A handshake through a man in the middle, who may change the host's bytes; returns these.
async fn through(
    secret: &Secret,
    change: impl Fn(&mut Vec<u8>),
) -> (Result<u16, StreamError>, Result<u16, StreamError>, Vec<u8>) {
    let (mut a, mut of_host) = duplex(256);
    let (mut b, mut of_daemon) = duplex(256);
    let host = async move { host(&mut a, Some(secret)).await };
    let daemon = async move { daemon(&mut b, Some(secret)).await };
    let middle = async move {
        let mut message = vec![0; HELLO_AND_OPENING];
        of_host.read_exact(&mut message).await.unwrap();
        change(&mut message);
        of_daemon.write_all(&message).await.unwrap();
        let mut answer = vec![0; HELLO_AND_OPENING];
        of_daemon.read_exact(&mut answer).await.unwrap();
        of_host.write_all(&answer).await.unwrap();
        let mut proof = vec![0; PROOF_LEN];
        of_host.read_exact(&mut proof).await.unwrap();
        // The daemon may have closed the connection.
        let _ = of_daemon.write_all(&proof).await;
        let answer = rest(&mut of_daemon).await;
        of_host.write_all(&answer).await.unwrap();
        [message, proof].concat()
    };
    tokio::join!(host, daemon, middle)
}

#[tokio::test(start_paused = true)]
async fn a_recorded_handshake_opens_no_other_stream() {
    let secret = secret();
    let (host, service, message) = through(&secret, |_| {}).await;
    host.unwrap();
    service.unwrap();
    let (mut a, mut b) = duplex(256);
    a.write_all(&message).await.unwrap();
    assert_eq!(key_error(daemon(&mut b, Some(&secret)).await), KeyError::HostHasAnother);
}

#[tokio::test(start_paused = true)]
async fn a_handshake_that_is_changed_in_transit_is_refused() {
    let secret = secret();
    // The UCX version, the newest protocol, the flag of the key, and both ends of the challenge.
    for (at, error) in [
        (HELLO_LEN - 4, KeyError::HostHasAnother),
        (HELLO_LEN - 1, KeyError::HostHasAnother),
        (HELLO_LEN, KeyError::HostHasNone),
        (HELLO_LEN + 1, KeyError::HostHasAnother),
        (HELLO_AND_OPENING - 1, KeyError::HostHasAnother),
    ] {
        let (host, service, _) = through(&secret, |message| message[at] ^= 1).await;
        assert_eq!(key_error(service), error, "byte {at}");
        match error {
            KeyError::HostHasAnother => {
                assert_eq!(key_error(host), KeyError::NotTaken(Role::Daemon), "byte {at}");
            }
            _ => assert!(
                matches!(host, Err(StreamError::CutOff(Role::Daemon))),
                "byte {at}: {host:?}"
            ),
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_host_is_not_fooled_by_its_own_challenge_and_proof() {
    let secret = secret();
    let (mut a, mut b) = duplex(256);
    let fooled = host(&mut a, Some(&secret));
    let mirror = async move {
        let mut message = vec![0; HELLO_AND_OPENING];
        b.read_exact(&mut message).await.unwrap();
        // Pretends to be a daemon, with the host's own opening.
        b.write_all(Hello::new(Role::Daemon).as_bytes()).await.unwrap();
        b.write_all(&message[HELLO_LEN..]).await.unwrap();
        let mut proof = [0; PROOF_LEN];
        b.read_exact(&mut proof).await.unwrap();
        b.write_all(&proof).await.unwrap();
        b
    };
    let (end, _open) = tokio::join!(fooled, mirror);
    assert_eq!(key_error(end), KeyError::Impostor(Role::Daemon));
}

#[tokio::test(start_paused = true)]
async fn a_service_is_not_fooled_by_its_own_challenge() {
    let secret = secret();
    let (mut a, mut b) = duplex(256);
    let fooled = daemon(&mut a, Some(&secret));
    let mirror = async {
        let mut message = vec![0; HELLO_AND_OPENING];
        b.read_exact(&mut message).await.unwrap();
        b.write_all(Hello::new(Role::Host).as_bytes()).await.unwrap();
        b.write_all(&message[HELLO_LEN..]).await.unwrap();
        b.write_all(&message[HELLO_LEN + 1..]).await.unwrap();
    };
    let (end, ()) = tokio::join!(fooled, mirror);
    assert_eq!(key_error(end), KeyError::HostHasAnother);
}

#[test]
fn no_challenge_comes_twice() {
    let challenges: std::collections::HashSet<_> =
        (0..1000).map(|_| Opening::new(true).unwrap().challenge).collect();
    assert_eq!(challenges.len(), 1000);
}

#[tokio::test(start_paused = true)]
async fn a_silent_peer_and_a_slow_peer_time_out_together() {
    let secret = secret();
    let whole = [hello_and_opening(Role::Host, 1, [7; 32]), vec![0; PROOF_LEN]].concat();
    for sent in [0, 1, HELLO_LEN, HELLO_AND_OPENING - 1, HELLO_AND_OPENING, whole.len() - 1] {
        let (mut a, mut b) = duplex(256);
        let begin = Instant::now();
        // Each single byte arrives in time.
        let drip = async {
            for byte in &whole[..sent] {
                a.write_all(std::slice::from_ref(byte)).await.unwrap();
                sleep(crate::control::PEER_TIMEOUT / 40).await;
            }
            std::future::pending::<()>().await;
        };
        tokio::select! {
            () = drip => {}
            end = daemon(&mut b, Some(&secret)) => {
                assert!(matches!(end, Err(StreamError::Silent(_))), "{sent} bytes: {end:?}");
            }
        }
        assert_eq!(begin.elapsed(), crate::control::PEER_TIMEOUT, "{sent} bytes");
    }
}

#[tokio::test(start_paused = true)]
async fn an_end_with_another_role_gets_the_reason_before_the_stream_is_closed() {
    let (mut a, mut b) = duplex(256);
    let end = async move {
        handshake(&mut a, Hello::new(Role::Worker), Role::Host, None, PeerTimeout::default()).await
    };
    let peer = async { host(&mut b, None).await };
    let (end, peer) = tokio::join!(end, peer);
    end.unwrap();
    assert!(matches!(peer, Err(StreamError::Hello(HelloError::Role { found: Role::Worker, .. }))));
}
