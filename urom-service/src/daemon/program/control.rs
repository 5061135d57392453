//! The control socket, where the service's user and root give commands: a line of JSON each way.

use std::fs;
use std::io::{self, ErrorKind};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use rustix::fs::{Mode, fchmod};
use rustix::net::{
    AddressFamily, SocketAddrUnix, SocketFlags, SocketType, bind, listen, socket_with,
};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::Notify;
use tracing::{error, info};
use urom_wire::awake::{sleep, timeout};

use crate::daemon::observatory::Observatory;
use crate::daemon::operations::{OperatorReply, execute};
use crate::daemon::turns::measured;

/// Size limit in bytes of a command.
const LONGEST: u64 = 16 << 10;

/// Time limit for receiving a command.
const TIME: Duration = Duration::from_secs(5);

/// Pause after the system refused a connection, for example without descriptors.
const PAUSE: Duration = Duration::from_millis(100);

const BACKLOG: i32 = 16;

/// A bound socket. Dropping it removes its file.
#[derive(Debug)]
pub(super) struct ControlSocket {
    listener: UnixListener,
    path: PathBuf,
    inode: u64,
}

impl ControlSocket {
    /// Binds a socket for this user. Replaces a socket that nothing listens at.
    ///
    /// # Errors
    /// Another daemon listens there, the file is not a socket, or the system's error.
    pub(super) fn claim(path: &Path) -> Result<ControlSocket> {
        let shown = path.display();
        if let Ok(found) = fs::symlink_metadata(path) {
            use std::os::unix::fs::FileTypeExt;
            if !found.file_type().is_socket() {
                bail!("{shown} is not a socket and stays: --control names another file");
            }
            match std::os::unix::net::UnixStream::connect(path) {
                Err(error) if error.kind() == ErrorKind::ConnectionRefused => {
                    info!("removing {shown}, which an earlier service left");
                    fs::remove_file(path).with_context(|| format!("cannot remove {shown}"))?;
                }
                _ => bail!(
                    "another uromd listens at {shown}: end it, or name another file with --control"
                ),
            }
        }
        let listener = bound(path).with_context(|| {
            format!(
                "cannot listen at {shown}: --control takes a file in a directory that exists, and \
                 that this user may write to"
            )
        })?;
        let inode = fs::symlink_metadata(path)?.ino();
        Ok(ControlSocket { listener, path: path.to_owned(), inode })
    }

    /// Binds the socket again if its file was removed.
    fn renew(&mut self) {
        if fs::symlink_metadata(&self.path).is_ok() {
            return;
        }
        match ControlSocket::claim(&self.path) {
            Ok(new) => {
                *self = new;
                info!("made {} again: its file was removed", self.path.display());
            }
            Err(why) => error!("{why:#}"),
        }
    }
}

impl Drop for ControlSocket {
    fn drop(&mut self) {
        // Another service may have replaced it.
        if fs::symlink_metadata(&self.path).is_ok_and(|found| found.ino() == self.inode) {
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// The file has its mode from the start: others cannot connect before a change of mode.
fn bound(path: &Path) -> io::Result<UnixListener> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    fchmod(&socket, Mode::RUSR | Mode::WUSR)?;
    bind(&socket, &SocketAddrUnix::new(path)?)?;
    listen(&socket, BACKLOG)?;
    UnixListener::from_std(socket.into())
}

/// Serves until the task is dropped. A reload renews the socket.
pub(super) async fn serve(
    mut socket: ControlSocket,
    observatory: Observatory,
    reloads: Arc<Notify>,
) {
    loop {
        let accepted = tokio::select! {
            accepted = socket.listener.accept() => accepted,
            () = reloads.notified() => {
                socket.renew();
                continue;
            }
        };
        match accepted {
            Ok((stream, _)) => {
                let observatory = observatory.clone();
                let served = async move {
                    if let Err(error) = answer(stream, &observatory).await {
                        limited!(warn, "an operator's command was not answered: {error}");
                    }
                };
                tokio::spawn(measured("an operator's command", served));
            }
            Err(error) => {
                limited!(warn, "no connection for operators: {error}");
                sleep(PAUSE).await;
            }
        }
    }
}

async fn answer(stream: UnixStream, observatory: &Observatory) -> io::Result<()> {
    let user = stream.peer_cred()?.uid();
    let mut stream = BufReader::new(stream);
    let reply = if user != 0 && user != rustix::process::geteuid().as_raw() {
        OperatorReply::Failed(format!("user {user} is neither root nor the service's user"))
    } else {
        let mut line = String::new();
        let mut limited = (&mut stream).take(LONGEST);
        let read = timeout(TIME, limited.read_line(&mut line)).await;
        read.map_err(|_| io::Error::from(ErrorKind::TimedOut))??;
        match serde_json::from_str(&line) {
            Ok(command) => execute(command, observatory).await,
            Err(error) => OperatorReply::Failed(format!("this is not a command: {error}")),
        }
    };
    let line = serde_json::to_string(&reply)? + "\n";
    stream.get_mut().write_all(line.as_bytes()).await
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[tokio::test]
    async fn a_socket_is_for_its_user_alone_and_goes_with_the_service() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("control");
        let socket = ControlSocket::claim(&path).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        let second = ControlSocket::claim(&path).unwrap_err().to_string();
        assert!(second.contains("another uromd") && second.contains("--control"), "{second}");
        drop(socket);
        assert!(!path.exists());
    }

    #[tokio::test]
    async fn a_socket_that_was_left_is_replaced_and_other_files_stay() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("control");
        drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
        let first = ControlSocket::claim(&path).unwrap();
        fs::remove_file(&path).unwrap();
        let second = ControlSocket::claim(&path).unwrap();
        drop(first);
        assert!(path.exists(), "it is another service's");
        drop(second);
        fs::write(&path, "mine").unwrap();
        let error = ControlSocket::claim(&path).unwrap_err().to_string();
        assert!(error.contains("not a socket"), "{error}");
        assert_eq!(fs::read(&path).unwrap(), b"mine");
        let error = ControlSocket::claim(&directory.path().join("none/control")).unwrap_err();
        assert!(error.to_string().contains("--control"), "{error}");
    }
}
