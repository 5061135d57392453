//! The control stream between a service context and its daemon.

use std::collections::HashMap;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::mpsc::SyncSender;
use std::time::Duration;

use tokio::sync::mpsc;

use urom_abi::DocaError;
use urom_abi::cpu::CpuSet;
use urom_abi::plugin::PluginInfo;
use urom_wire::awake::sleep;
use urom_wire::control::{CONNECT_DEADLINE, DaemonToHost, Failure, HostToDaemon, PluginEntry};
use urom_wire::hello::Role;
use urom_wire::key::Key;
use urom_wire::peer_timeout::PeerTimeout;
use urom_wire::stream::StreamError;

use crate::address::DaemonAddress;
use crate::event::{EngineEvent, Mailbox};
use crate::failure::{failure, stream_code};
use crate::stream::DaemonStream;

/// How long to retry a refused connection: scripts start daemon and program together.
const STARTING: Duration = Duration::from_secs(2);

/// The first retry delay. It doubles after each refusal.
const FIRST_PAUSE: Duration = Duration::from_millis(20);

pub(super) struct DaemonRequest {
    /// Builds the message with the request's number.
    build: Box<dyn FnOnce(u64) -> HostToDaemon + Send>,
    /// Receives the answer. Dropped if the daemon is lost.
    on_answer: Box<dyn FnOnce(Result<DaemonToHost, Failure>) + Send>,
}

impl DaemonRequest {
    pub(super) fn new(
        build: impl FnOnce(u64) -> HostToDaemon + Send + 'static,
        on_answer: impl FnOnce(Result<DaemonToHost, Failure>) + Send + 'static,
    ) -> DaemonRequest {
        DaemonRequest { build: Box::new(build), on_answer: Box::new(on_answer) }
    }
}

#[derive(Debug)]
pub(super) struct Welcome {
    pub(super) plugins: Vec<PluginEntry>,
    pub(super) cpus: CpuSet,
    pub(super) max_message: usize,
    pub(super) daemon: SocketAddr,
}

impl Welcome {
    pub(super) fn plugins(&self) -> Vec<PluginInfo> {
        let infos = self.plugins.iter().filter_map(|entry| {
            let info = PluginInfo::new(entry.id, entry.build.version, &entry.name);
            if info.is_none() {
                log!(warn, "the plugin name {:?} is of no use: left out", entry.name);
            }
            info
        });
        infos.collect()
    }
}

pub(super) struct Daemon {
    pub(super) address: DaemonAddress,
    pub(super) key: Option<Key>,
    pub(super) peer_timeout: PeerTimeout,
}

/// Connects to a daemon, passes on its welcome, and relays requests until the stream ends.
pub(super) async fn serve(
    to: Daemon,
    run: u64,
    mailbox: Arc<Mailbox>,
    requests: mpsc::UnboundedReceiver<DaemonRequest>,
    welcomed: SyncSender<Result<Welcome, Failure>>,
) {
    let within = to.peer_timeout.at_least(CONNECT_DEADLINE);
    let connected = within.wait(connect(&to)).await;
    let result = connected.unwrap_or_else(|_| Err(to.address.no_answer(within)));
    let (stream, welcome) = match result {
        Ok(connected) => connected,
        Err(failure) => {
            // The starting call waits for this.
            let _ = welcomed.send(Err(failure));
            return;
        }
    };
    let daemon = welcome.daemon;
    if welcomed.send(Ok(welcome)).is_err() {
        return;
    }
    let end = answer(stream, requests, daemon).await;
    mailbox.post((run, EngineEvent::Ended(end)));
}

async fn connect(
    Daemon { address, key, peer_timeout }: &Daemon,
) -> Result<(DaemonStream, Welcome), Failure> {
    let secret = key.as_ref().map(Key::daemon_secret);
    let (mut waited, mut pause, mut cut_off) = (Duration::ZERO, FIRST_PAUSE, None);
    loop {
        let (mut tried, mut again) = (Vec::new(), false);
        for candidate in address.resolve().await? {
            match DaemonStream::open(candidate, Role::Daemon, secret.as_ref(), *peer_timeout).await
            {
                Ok(stream) => match welcome(address, stream).await {
                    // Without a key, the daemon may close the stream before it reads the handshake.
                    Err(failure) if failure.code == DocaError::CONNECTION_RESET => {
                        again = true;
                        cut_off = Some(failure);
                    }
                    welcomed => return welcomed,
                },
                Err(error) => {
                    again |= matches!(&error, StreamError::Io(error)
                        if error.kind() == io::ErrorKind::ConnectionRefused);
                    tried.push((candidate, error));
                }
            }
        }
        if !again || waited + pause > STARTING {
            return Err(cut_off.unwrap_or_else(|| address.refused(&tried)));
        }
        // Polls: a remote port's opening does not cause an event.
        sleep(pause).await;
        waited += pause;
        pause *= 2;
    }
}

pub(super) async fn welcome(
    address: &DaemonAddress,
    mut stream: DaemonStream,
) -> Result<(DaemonStream, Welcome), Failure> {
    let daemon = stream.peer;
    match stream.next().await {
        Ok(DaemonToHost::Welcome { plugins, cpus, max_message }) => {
            let cpus = cpus.parse().map_err(|error| {
                failure!(
                    IO_FAILED,
                    "the daemon at {daemon} named its CPUs in an unknown form: {error}"
                )
            })?;
            let max_message = usize::try_from(max_message).unwrap_or(usize::MAX);
            Ok((stream, Welcome { plugins, cpus, max_message, daemon }))
        }
        Ok(DaemonToHost::Refused(failure)) => Err(failure),
        Ok(other) => Err(failure!(
            IO_FAILED,
            "the daemon at {daemon} began with `{}` instead of a welcome: use the same release on \
             both",
            other.name()
        )),
        Err(error) => Err(address.not_welcomed(daemon, &error)),
    }
}

/// Relays requests and answers. `None` if the context closed its end.
pub(super) async fn answer(
    mut stream: DaemonStream,
    mut requests: mpsc::UnboundedReceiver<DaemonRequest>,
    daemon: SocketAddr,
) -> Option<Failure> {
    let mut waiting = HashMap::new();
    let mut last_request = 0;
    loop {
        tokio::select! {
            request = requests.recv() => {
                let Some(DaemonRequest { build, on_answer }) = request else {
                    stream.close().await;
                    return None;
                };
                last_request += 1;
                waiting.insert(last_request, on_answer);
                stream.send(build(last_request)).await;
            }
            message = stream.next() => match message {
                Ok(DaemonToHost::Refused(failure)) => return Some(failure),
                Ok(message) => {
                    let number = message.request();
                    if let Some(on_answer) = number.and_then(|number| waiting.remove(&number)) {
                        on_answer(match message {
                            DaemonToHost::Failed { failure, .. } => Err(failure),
                            message => Ok(message),
                        });
                    }
                }
                Err(error) => {
                    return Some(failure!(
                        code = stream_code(&error),
                        "the UROM daemon at {daemon} was lost: {error}; start the context again \
                         when uromd runs"
                    ));
                }
            },
        }
    }
}

/// Timeout of a caller's request: the daemon's deadline plus a margin for the control thread.
pub(super) const ANSWER_DEADLINE: Duration = Duration::from_millis(4500);

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::duplex;
    use tokio::net::TcpSocket;
    use tokio::time::Instant;
    use urom_wire::hello::Hello;
    use urom_wire::stream::{handshake, send};

    fn at(address: SocketAddr) -> Daemon {
        Daemon {
            address: DaemonAddress::embedded(address),
            key: None,
            peer_timeout: PeerTimeout::default(),
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_daemon_that_begins_to_listen_a_little_later_is_waited_for() {
        // Bound but not listening, so connections are refused.
        let socket = TcpSocket::new_v4().unwrap();
        socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
        let to = at(socket.local_addr().unwrap());
        let daemon = async {
            sleep(STARTING / 2).await;
            // The test needs real I/O from here on.
            tokio::time::resume();
            let (mut host, _) = socket.listen(1).unwrap().accept().await.unwrap();
            handshake(
                &mut host,
                Hello::new(Role::Daemon),
                Role::Host,
                None,
                PeerTimeout::default(),
            )
            .await
            .unwrap();
            let welcome = DaemonToHost::Welcome {
                plugins: Vec::new(),
                cpus: "0-3".to_owned(),
                max_message: 4096,
            };
            send(&mut host, &welcome).await.unwrap();
            host
        };
        let (connected, _host) = tokio::join!(connect(&to), daemon);
        assert_eq!(connected.unwrap().1.cpus.to_string(), "0-3");
    }

    #[tokio::test(start_paused = true)]
    async fn a_refused_connection_is_reported_within_two_seconds() {
        let socket = TcpSocket::new_v4().unwrap();
        socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
        let begin = Instant::now();
        let to = at(socket.local_addr().unwrap());
        let failure = connect(&to).await.map(|(_, welcome)| welcome).unwrap_err();
        assert_eq!(failure.code, DocaError::NOT_CONNECTED);
        assert!(
            begin.elapsed() > FIRST_PAUSE && begin.elapsed() <= STARTING,
            "{:?}",
            begin.elapsed()
        );
    }

    #[tokio::test]
    async fn a_message_instead_of_a_welcome_is_named_and_not_shown() {
        let somewhere = ([127, 0, 0, 1], 5000).into();
        let failure = || Failure::new(DocaError::FULL, "hidden ".repeat(1000));
        let words = [
            (
                DaemonToHost::Started { request: 1, id: 7, address: somewhere, token: 123_456_789 },
                "Started",
            ),
            (DaemonToHost::Group { request: 1, ids: vec![123_456_789; 1000] }, "Group"),
            (DaemonToHost::Failed { request: 1, failure: failure() }, "Failed"),
        ];
        for (word, name) in words {
            let (ours, mut theirs) = duplex(1 << 20);
            send(&mut theirs, &word).await.unwrap();
            let stream = DaemonStream::carry(ours, somewhere, PeerTimeout::default());
            let Err(failure) = welcome(&DaemonAddress::embedded(somewhere), stream).await else {
                panic!("{name}")
            };
            assert_eq!(failure.code, DocaError::IO_FAILED);
            assert!(failure.text.contains(name) && failure.text.len() < 200, "{failure}");
            assert!(
                !failure.text.contains("123456789") && !failure.text.contains("hidden"),
                "{failure}"
            );
        }
    }
}
