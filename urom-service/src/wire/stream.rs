//! Control messages on a byte stream: four bytes of length, then the message.

use std::io;

use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::time::timeout;

use super::control::PATIENCE;
use super::hello::{HELLO_LEN, Hello, HelloError, Role};
use zerocopy::IntoBytes;

/// The longest message that is believed, in bytes. Nothing that is sent comes near it.
const MAX_MESSAGE: u32 = 1 << 20;

/// Why a stream is over.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StreamError {
    /// The peer closed it: it ended, or it died.
    #[error("the connection was closed by the other side")]
    Closed,
    /// Nothing came for [`PATIENCE`]: the peer was stopped, or the link was cut.
    #[error("the other side was silent for {} s: it was stopped, or the link to it was cut", PATIENCE.as_secs_f32())]
    Silent,
    /// The operating system says so.
    #[error("the connection broke: {0}")]
    Io(#[from] io::Error),
    /// What came is not a message.
    #[error("the other side sent what is no message: {0}")]
    Garbage(String),
    /// The two ends do not go together.
    #[error(transparent)]
    Hello(#[from] HelloError),
}

/// Says hello, hears the other's, and judges it.
///
/// # Errors
/// The stream's, or why the two ends do not go together.
pub async fn greet<S>(stream: &mut S, ours: Hello, expected: Role) -> Result<(), StreamError>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    stream.write_all(ours.as_bytes()).await?;
    let mut theirs = [0; HELLO_LEN];
    match timeout(PATIENCE, stream.read_exact(&mut theirs)).await {
        Err(_) => return Err(StreamError::Silent),
        Ok(Err(error)) if error.kind() == io::ErrorKind::UnexpectedEof => {
            return Err(HelloError::NotUrom.into());
        }
        Ok(result) => result?,
    };
    Ok(ours.check(&theirs, expected)?)
}

/// Sends one message.
///
/// # Errors
/// The operating system's, or `InvalidData` for a message over the limit.
pub async fn send<T: Serialize>(stream: &mut (impl AsyncWrite + Unpin), message: &T) -> io::Result<()> {
    let invalid = |what: String| io::Error::new(io::ErrorKind::InvalidData, what);
    let mut bytes = postcard::to_extend(message, vec![0; 4]).map_err(|error| invalid(error.to_string()))?;
    let len = u32::try_from(bytes.len() - 4).ok().filter(|len| *len <= MAX_MESSAGE).ok_or_else(|| {
        invalid(format!("a control message of {} bytes is over {MAX_MESSAGE}", bytes.len() - 4))
    })?;
    bytes[..4].copy_from_slice(&len.to_le_bytes());
    stream.write_all(&bytes).await
}

/// Receives one message. **Not cancel-safe**: give it a task or a `select!` branch that is never dropped half-way.
///
/// # Errors
/// Why the stream is over. A peer that is silent for [`PATIENCE`] is given up.
pub async fn receive<T: DeserializeOwned>(stream: &mut (impl AsyncRead + Unpin)) -> Result<T, StreamError> {
    let patient = timeout(PATIENCE, async {
        let mut len = [0; 4];
        match stream.read_exact(&mut len).await {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Err(StreamError::Closed),
            result => result?,
        };
        let len = u32::from_le_bytes(len);
        if len > MAX_MESSAGE {
            return Err(StreamError::Garbage(format!(
                "a message of {len} bytes, where {MAX_MESSAGE} is the most"
            )));
        }
        let mut bytes = vec![0; len as usize];
        stream.read_exact(&mut bytes).await?;
        let (message, rest) =
            postcard::take_from_bytes(&bytes).map_err(|error| StreamError::Garbage(error.to_string()))?;
        if !rest.is_empty() {
            return Err(StreamError::Garbage(format!("{} bytes too many behind a message", rest.len())));
        }
        Ok(message)
    });
    patient.await.unwrap_or(Err(StreamError::Silent))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::control::HostToDaemon;
    use tokio::io::duplex;

    fn run<F: Future>(future: F) -> F::Output {
        tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .unwrap()
            .block_on(future)
    }

    #[test]
    fn a_message_arrives_as_it_was_sent() {
        run(async {
            let (mut a, mut b) = duplex(64);
            let sent = send(&mut a, &HostToDaemon::Group { request: 5, gid: 7 });
            let (sent, got) = tokio::join!(sent, receive(&mut b));
            sent.unwrap();
            assert!(matches!(got.unwrap(), HostToDaemon::Group { request: 5, gid: 7 }));
        });
    }

    #[test]
    fn silence_closing_and_garbage_are_told_apart() {
        run(async {
            let (a, mut b) = duplex(64);
            assert!(matches!(receive::<HostToDaemon>(&mut b).await, Err(StreamError::Silent)));
            drop(a);
            assert!(matches!(receive::<HostToDaemon>(&mut b).await, Err(StreamError::Closed)));
            for bytes in [&[0xff; 4][..], &[1, 0, 0, 0, 99], &[2, 0, 0, 0, 0, 0]] {
                let (mut a, mut b) = duplex(64);
                a.write_all(bytes).await.unwrap();
                assert!(
                    matches!(receive::<HostToDaemon>(&mut b).await, Err(StreamError::Garbage(_))),
                    "{bytes:?}"
                );
            }
        });
    }
}
