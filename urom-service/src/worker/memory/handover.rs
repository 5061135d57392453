//! The Unix socket where hosts hand over descriptors of their rings and memory. It is opened for
//! the first host: in a socket folder as a file, which containers can share, else with an abstract
//! name in its network namespace. Any local user can connect; the [`Handshakes`] closes excess
//! connections.

use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::net::{UnixListener, UnixStream};
use tokio::sync::mpsc;
use urom_abi::WorkerId;
use urom_wire::awake::{sleep, timeout};
use urom_wire::key::fill_random;
use urom_wire::memory::{Handed, receive_handed};

use crate::entrance::let_wait;
use crate::handshakes::{ConnectionOwner, Handshakes, MAX_HANDSHAKES};

/// Time limit of a handover; hosts need some microseconds.
pub(super) const LIMIT: Duration = Duration::from_secs(2);

/// Pause in accepting when the system is out of descriptors.
const PAUSE: Duration = Duration::from_millis(100);

#[derive(Debug)]
pub(crate) struct HandoverSocket {
    listener: UnixListener,
    address: PathBuf,
    is_file: bool,
}

#[derive(Debug)]
pub(crate) struct Handover {
    pub(crate) handed: Handed,
    pub(crate) stream: UnixStream,
}

impl HandoverSocket {
    /// Opens a worker's socket: a file of this name, or an abstract name.
    pub(crate) fn open(id: WorkerId, file: Option<&Path>) -> io::Result<HandoverSocket> {
        let (address, is_file) = match file {
            Some(file) => {
                // Left by a killed worker with this id.
                let _ = std::fs::remove_file(file);
                (file.to_owned(), true)
            }
            None => (abstract_name(id)?, false),
        };
        let listener = UnixListener::bind(&address)?;
        let_wait(&listener);
        if is_file {
            // The folder controls access.
            use std::os::unix::fs::PermissionsExt;
            std::fs::set_permissions(&address, std::fs::Permissions::from_mode(0o666))?;
        }
        Ok(HandoverSocket { listener, address, is_file })
    }

    pub(crate) fn address(&self) -> Vec<u8> {
        self.address.as_os_str().as_bytes().to_vec()
    }

    /// Accepts handovers until this is dropped; `said` makes an event of each.
    pub(crate) async fn keep<E: Send + 'static>(
        self,
        events: mpsc::Sender<E>,
        said: impl Fn(Handover) -> E + Copy + Send + 'static,
    ) {
        let handshakes = Handshakes::new(MAX_HANDSHAKES);
        loop {
            let stream = match self.listener.accept().await {
                Ok((stream, _)) => stream,
                Err(problem) => {
                    limited!(error, "hosts can hand over neither rings nor memory: {problem}");
                    sleep(PAUSE).await;
                    continue;
                }
            };
            let Ok(peer) = stream.peer_cred() else { continue };
            // A process of another namespace has number 0, or none.
            let (user, process) = (peer.uid(), peer.pid().unwrap_or_default());
            let mut pending = handshakes.enter(ConnectionOwner::Process(user, process));
            let events = events.clone();
            tokio::spawn(async move {
                match pending.hold(timeout(LIMIT, receive_handed(&stream))).await {
                    Some(Ok(Ok(handed))) => {
                        let _ = events.send(said(Handover { handed, stream })).await;
                    }
                    Some(_) => {}
                    None => limited!(
                        info,
                        "closed a connection of process {process} of user {user} to the socket for \
                         hosts' rings and memory: it handed nothing over, and others wait"
                    ),
                }
            });
        }
    }
}

impl Drop for HandoverSocket {
    fn drop(&mut self) {
        if self.is_file {
            let _ = std::fs::remove_file(&self.address);
        }
    }
}

fn abstract_name(id: WorkerId) -> io::Result<PathBuf> {
    let mut random = [0; 8];
    fill_random(&mut random)?;
    let name = format!("\0urom-{id}-{:016x}", u64::from_le_bytes(random));
    Ok(std::ffi::OsString::from_vec(name.into_bytes()).into())
}
