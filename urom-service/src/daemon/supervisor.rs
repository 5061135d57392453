//! Supervises one worker from its start to its end.

use std::io::ErrorKind;
use std::path::PathBuf;
use std::time::Duration;

use tokio::net::UnixStream;
use tokio::sync::mpsc;
use tracing::{debug, info, warn};
use urom_abi::{DocaError, WorkerId};
use urom_wire::awake::{sleep, timeout};
use urom_wire::control::{DaemonToWorker, Failure, HEARTBEAT};
use urom_wire::hello::{Hello, Role};
use urom_wire::peer_timeout::PeerTimeout;
use urom_wire::relay;
use urom_wire::stream::{StreamError, handshake};

use super::event::DaemonEvent;
use super::launcher::WorkerHandle;
use super::registry::Serial;
use crate::aside::result_of;

pub(crate) const GRACE: Duration = Duration::from_secs(2);

/// How long to wait for the cause of a death, and for the last messages of an ended worker.
const CAUSE: Duration = Duration::from_millis(300);

pub(crate) async fn supervise(
    serial: Serial,
    id: WorkerId,
    launch: impl FnOnce() -> Result<(UnixStream, WorkerHandle), Failure> + Send + 'static,
    outgoing: mpsc::Receiver<DaemonToWorker>,
    events: mpsc::Sender<DaemonEvent>,
    (first_word, peer_timeout): (PeerTimeout, PeerTimeout),
) {
    let launched = result_of("urom-start", launch).await.unwrap_or_else(|why| {
        let text = format!("it could not be started: {why}");
        Err(Failure::new(DocaError::OPERATING_SYSTEM, text))
    });
    let (stream, mut handle) = match launched {
        Ok(launched) => launched,
        Err(failure) => {
            let _ = events.send(DaemonEvent::NotStarted { serial, failure }).await;
            return;
        }
    };
    let over = async {
        handle.ended().await;
        // A child of a plugin may keep the stream open.
        sleep(CAUSE).await;
    };
    let end = tokio::select! {
        // The last message of an ended worker counts, even if this task runs late.
        biased;
        end = talk((serial, id), stream, first_word, outgoing, &events, peer_timeout) => end,
        () = over => None,
    };
    if matches!(end, Some(StreamError::Silent(_))) {
        // Its hosts time out soon, too. Killed earlier, the worker would look crashed to them.
        let _ = events.send(DaemonEvent::WorkerSilent { serial }).await;
        sleep(HEARTBEAT + HEARTBEAT / 2).await;
    }
    if matches!(end, Some(StreamError::Silent(_) | StreamError::Garbage(_) | StreamError::Hello(_)))
    {
        handle.kill();
    }
    let cause = timeout(CAUSE, handle.ended()).await;
    let ended = cause.is_ok();
    let cause = match (end, cause) {
        (Some(StreamError::Closed) | None, cause) => {
            cause.unwrap_or_else(|_| "it closed its stream to the daemon".to_owned())
        }
        (Some(error), Ok(cause)) => format!("{error}; {cause}"),
        (Some(error), Err(_)) => error.to_string(),
    };
    let _ = events.send(DaemonEvent::WorkerGone { serial, cause }).await;
    if !ended {
        see_off(id, handle).await;
    }
}

async fn talk(
    (serial, id): (Serial, WorkerId),
    mut stream: UnixStream,
    first_word: PeerTimeout,
    outgoing: mpsc::Receiver<DaemonToWorker>,
    events: &mpsc::Sender<DaemonEvent>,
    peer_timeout: PeerTimeout,
) -> Option<StreamError> {
    if first_word.wait(stream.readable()).await.is_err() {
        return Some(StreamError::Silent(first_word));
    }
    match handshake(&mut stream, Hello::new(Role::Daemon), Role::Worker, None, peer_timeout).await {
        Ok(protocol) => debug!("worker {id} speaks protocol {protocol}"),
        Err(error) => return Some(error),
    }
    relay::run(stream, outgoing, events, peer_timeout, |message| DaemonEvent::Worker {
        serial,
        message,
    })
    .await
}

/// Removes the socket file of a worker that was killed.
pub(crate) async fn remove_socket(file: PathBuf) {
    // Usually missing: no host requested it, or the worker removed it.
    let removed = result_of("urom-socket", move || match std::fs::remove_file(&file) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            Err(format!("{}: {error}", file.display()))
        }
        _ => Ok(()),
    });
    if let Err(problem) | Ok(Err(problem)) = removed.await {
        warn!("the socket of a worker that has ended cannot be removed: {problem}");
    }
}

async fn see_off(id: WorkerId, mut handle: WorkerHandle) {
    if let Ok(end) = timeout(GRACE, handle.ended()).await {
        return info!("worker {id}: {end}");
    }
    handle.kill();
    match handle {
        WorkerHandle::Process(_) => {
            let end = handle.ended().await;
            warn!("worker {id} did not end within {} s and was killed: {end}", GRACE.as_secs());
        }
        WorkerHandle::Thread(_) => {
            warn!(
                "worker {id} did not end within {} s; its thread is left behind",
                GRACE.as_secs()
            );
        }
    }
}
