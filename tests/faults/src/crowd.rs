//! Many hosts from the daemon's view: lasting control connections, played by one thread.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, ensure};
use tokio::net::TcpStream;
use tokio::runtime::Runtime;
use tokio::sync::{Semaphore, mpsc};
use tokio::task::JoinSet;
use urom_wire::control::{DaemonToHost, HEARTBEAT, HostToDaemon};
use urom_wire::hello::{Hello, Role};
use urom_wire::key::Key;
use urom_wire::peer_timeout::PeerTimeout;
use urom_wire::stream;

#[derive(Debug)]
pub(crate) struct Crowd {
    runtime: Runtime,
    /// One task for each host; it ends with an error when its connection ends.
    ends: JoinSet<Result<()>>,
}

impl Crowd {
    /// Connects `count` hosts to a daemon at the same time. `meanwhile` runs once all are
    /// connected, before their handshakes are awaited. Returns the time until the last handshake.
    pub(crate) fn come(
        daemon: SocketAddr,
        key: Option<&Key>,
        count: usize,
        meanwhile: impl FnOnce() -> Result<()>,
    ) -> Result<(Crowd, Duration)> {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
        let key = key.cloned().map(Arc::new);
        let begin = Instant::now();
        let (welcomed, mut welcomes) = mpsc::unbounded_channel();
        let connected = Arc::new(Semaphore::new(0));
        let mut ends = JoinSet::new();
        for _ in 0..count {
            let (key, welcomed) = (key.clone(), welcomed.clone());
            let connected = Arc::clone(&connected);
            let host = async move {
                let stream = TcpStream::connect(daemon).await.context("connecting")?;
                connected.add_permits(1);
                stay(stream, key.as_deref(), &welcomed).await
            };
            ends.spawn_on(host, runtime.handle());
        }
        runtime.block_on(async {
            let all = u32::try_from(count).context("a count")?;
            tokio::time::timeout(crate::process::TIMEOUT, connected.acquire_many(all))
                .await
                .map_err(|_| anyhow!("not all of {count} hosts could connect"))??
                .forget();
            anyhow::Ok(())
        })?;
        meanwhile()?;
        runtime.block_on(async {
            for number in 0..count {
                tokio::select! {
                    Some(()) = welcomes.recv() => {}
                    Some(end) = ends.join_next() => {
                        let error = end?.err().map_or_else(|| "it left".to_owned(), |error| format!("{error:#}"));
                        return Err(anyhow!("a host was not welcomed, after {number} of {count} were: {error}"));
                    }
                }
            }
            Ok(())
        })?;
        Ok((Crowd { runtime, ends }, begin.elapsed()))
    }

    pub(crate) fn is_there(&mut self) -> Result<()> {
        let gone = self.runtime.block_on(async { self.ends.try_join_next() });
        ensure!(gone.is_none(), "a host was lost: {gone:?}");
        Ok(())
    }
}

async fn stay(
    mut stream: TcpStream,
    key: Option<&Key>,
    welcomed: &mpsc::UnboundedSender<()>,
) -> Result<()> {
    let peer_timeout = PeerTimeout::default();
    let secret = key.map(Key::daemon_secret);
    let hello = Hello::new(Role::Host);
    stream::handshake(&mut stream, hello, Role::Daemon, secret.as_ref(), peer_timeout)
        .await
        .context("handshake")?;
    let first =
        stream::receive(&mut stream, peer_timeout).await.context("waiting for the welcome")?;
    ensure!(matches!(first, DaemonToHost::Welcome { .. }), "the daemon said {}", first.name());
    welcomed.send(())?;
    let (mut reader, mut writer) = stream.into_split();
    let hear = async {
        loop {
            let said: Result<DaemonToHost, _> = stream::receive(&mut reader, peer_timeout).await;
            said.context("listening")?;
        }
    };
    let beat = async {
        loop {
            tokio::time::sleep(HEARTBEAT).await;
            stream::send(&mut writer, &HostToDaemon::Ping).await.context("sending")?;
        }
    };
    tokio::select! {
        end = hear => end,
        end = beat => end,
    }
}
