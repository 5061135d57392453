//! A plain echo over a Unix socket with tokio: fixed sizes, no framing, nothing to encode.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{UnixListener, UnixStream};

use crate::{MESSAGE_LEN, message, runtime};

/// A client of this peer.
pub type Client = crate::Client<UnixStream>;

/// Answers one connection after the other until the process ends. `ready` is called once clients
/// can connect.
///
/// # Errors
/// When there can be no socket at `path`.
pub fn serve(path: &Path, ready: impl FnOnce()) -> Result<()> {
    runtime()?.block_on(async {
        let listener = UnixListener::bind(path)
            .with_context(|| format!("cannot listen at {}", path.display()))?;
        ready();
        loop {
            let (stream, _) = listener.accept().await?;
            // A client that goes away ends its own connection only.
            let _ = echo(stream).await;
        }
    })
}

async fn echo(mut stream: UnixStream) -> std::io::Result<()> {
    let mut bytes = [0; MESSAGE_LEN];
    loop {
        stream.read_exact(&mut bytes).await?;
        stream.write_all(&bytes).await?;
    }
}

impl Client {
    /// Connects to a server at `path`.
    ///
    /// # Errors
    /// When nobody listens there.
    pub fn at(path: &Path) -> Result<Client> {
        Client::connect(async {
            UnixStream::connect(path)
                .await
                .with_context(|| format!("no echo at {}", path.display()))
        })
    }

    /// Makes `count` round trips, one after the other.
    ///
    /// # Errors
    /// When the server is gone or answers something else.
    pub fn round_trips(&mut self, count: u64) -> Result<()> {
        let stream = &mut self.connection;
        self.runtime.block_on(async {
            let mut answer = [0; MESSAGE_LEN];
            for number in 0..count {
                let request = message(number);
                stream.write_all(&request).await?;
                stream.read_exact(&mut answer).await?;
                ensure!(answer == request, "round trip {number} came back changed");
            }
            Ok(())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_request_comes_back() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("echo");
        let (listening, wait) = std::sync::mpsc::channel();
        let served = path.clone();
        std::thread::spawn(move || serve(&served, || listening.send(()).unwrap()));
        wait.recv().unwrap();
        for _ in 0..2 {
            Client::at(&path).unwrap().round_trips(100).unwrap();
        }
    }

    #[test]
    fn a_client_without_a_server_says_where_it_looked() {
        let error = Client::at(Path::new("/nowhere/echo")).unwrap_err();
        assert!(error.to_string().contains("/nowhere/echo"), "{error:#}");
    }
}
