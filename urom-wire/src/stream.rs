//! Control messages on a byte stream: four bytes of length, then the message.

use std::io;
use std::time::Duration;

use rustix::net::sockopt::set_tcp_thin_linear_timeouts;
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;

use super::hello::{HELLO_LEN, Hello, HelloError, Role};
use super::proof::{self, KeyError, OPENING_LEN, Opening, PROOF_LEN};
use crate::awake;
use crate::key::Secret;
use crate::peer_timeout::PeerTimeout;
use crate::plain::Plain;

/// The longest message in bytes. Only descriptions of plugins come near it.
const MAX_MESSAGE: u32 = 1 << 20;

pub const LONGEST_DESCRIPTION: usize = MAX_MESSAGE as usize - 64;

#[derive(Debug, thiserror::Error)]
pub enum StreamError {
    #[error("the connection was closed by the other side")]
    Closed,
    /// The timeout passed: the peer was stopped, or the link was cut.
    #[error("the other side was silent for {0} s: it was stopped, or the link to it was cut")]
    Silent(PeerTimeout),
    #[error("the connection broke: {0}")]
    Io(#[from] io::Error),
    #[error("the other side sent a malformed message: {0}")]
    Garbage(String),
    #[error(transparent)]
    Hello(#[from] HelloError),
    #[error(transparent)]
    Key(#[from] KeyError),
    /// The service closed the connection during the handshake.
    #[error(
        "the {0} closed the connection before the handshake: it ended, or too many connections wait; try again"
    )]
    CutOff(Role),
}

/// Time for an incompatible peer's handshake: closing with unread bytes drops written bytes.
const DRAIN_TIMEOUT: Duration = Duration::from_millis(500);

/// A service's answer, instead of its proof, to a wrong proof.
const NOT_TAKEN: [u8; PROOF_LEN] = [0; PROOF_LEN];

/// Sets a control stream's TCP options. Without them it works, but less well.
pub fn prepare(stream: &TcpStream) {
    // Messages are small and must be sent at once.
    let _ = stream.set_nodelay(true);
    // The kernel doubles the pause before each retransmission: after a cut of 2 s a link would stay
    // silent for 4 s, longer than the default timeout.
    let _ = set_tcp_thin_linear_timeouts(stream, true);
}

/// Performs the handshake: exchanges and checks the hellos; then both ends prove that they hold the
/// secret, if any. Returns the protocol of the connection. The timeout applies to the whole
/// handshake, even if single bytes keep arriving.
pub async fn handshake<'a, S>(
    stream: &mut S,
    ours: Hello,
    expected: Role,
    secrets: impl IntoIterator<Item = &'a Secret>,
    peer_timeout: PeerTimeout,
) -> Result<u16, StreamError>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let met = peer_timeout.wait(meet(stream, ours, expected, secrets.into_iter().collect())).await;
    match met.unwrap_or(Err(StreamError::Silent(peer_timeout))) {
        Err(StreamError::Closed) if expected != Role::Host => Err(StreamError::CutOff(expected)),
        // The error when a service closes with unread bytes of this host.
        Err(StreamError::Io(error))
            if error.kind() == io::ErrorKind::ConnectionReset && expected != Role::Host =>
        {
            Err(StreamError::CutOff(expected))
        }
        result => result,
    }
}

async fn meet<S>(
    stream: &mut S,
    ours: Hello,
    expected: Role,
    secrets: Vec<&Secret>,
) -> Result<u16, StreamError>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let opening = Opening::new(!secrets.is_empty())?;
    stream.write_all(&[ours.as_bytes(), opening.as_bytes()].concat()).await?;
    let mut hello = [0; HELLO_LEN];
    receive_exact(stream, &mut hello, HelloError::NotUrom.into()).await?;
    let agreed = match ours.check(&hello, expected) {
        Ok(agreed) => agreed,
        Err(error) => {
            let _ = awake::timeout(DRAIN_TIMEOUT, stream.read_exact(&mut [0; OPENING_LEN])).await;
            return Err(error.into());
        }
    };
    let mut theirs = Opening { keyed: 0, challenge: [0; 32] };
    receive_exact(stream, theirs.as_mut_bytes(), StreamError::Closed).await?;
    let keyed = match theirs.keyed {
        0 => false,
        1 => true,
        other => return Err(StreamError::Garbage(format!("an opening that says {other}"))),
    };
    let is_host = expected != Role::Host;
    let secret = match (secrets.first(), keyed) {
        (None, false) => return Ok(agreed),
        (Some(secret), true) => secret,
        (None, true) if is_host => return Err(KeyError::Missing(expected).into()),
        (None, true) => return Err(KeyError::HostHasOne.into()),
        (Some(_), false) if is_host => return Err(KeyError::NotAsked(expected).into()),
        (Some(_), false) => return Err(KeyError::HostHasNone.into()),
    };
    let ours: [u8; HELLO_LEN] = bytemuck::cast(ours);
    let mut proof = [0; PROOF_LEN];
    if is_host {
        let transcript = proof::transcript((&ours, &opening), (&hello, &theirs));
        stream.write_all(&secret.sign(&[proof::HOST, &transcript])).await?;
        receive_exact(stream, &mut proof, StreamError::Closed).await?;
        if proof == NOT_TAKEN {
            return Err(KeyError::NotTaken(expected).into());
        }
        if !secret.verify(&[proof::SERVICE, &transcript], &proof) {
            return Err(KeyError::Impostor(expected).into());
        }
        Ok(agreed)
    } else {
        let transcript = proof::transcript((&hello, &theirs), (&ours, &opening));
        receive_exact(stream, &mut proof, StreamError::Closed).await?;
        let proven = |secret: &&&Secret| secret.verify(&[proof::HOST, &transcript], &proof);
        let Some(secret) = secrets.iter().find(proven) else {
            stream.write_all(&NOT_TAKEN).await?;
            return Err(KeyError::HostHasAnother.into());
        };
        stream.write_all(&secret.sign(&[proof::SERVICE, &transcript])).await?;
        Ok(agreed)
    }
}

/// Reads a fixed number of bytes; `over` is the error for an early end of the stream.
async fn receive_exact(
    stream: &mut (impl AsyncRead + Unpin),
    bytes: &mut [u8],
    over: StreamError,
) -> Result<(), StreamError> {
    match stream.read_exact(bytes).await {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Err(over),
        result => Ok(result.map(drop)?),
    }
}

pub async fn send<T: Serialize>(
    stream: &mut (impl AsyncWrite + Unpin),
    message: &T,
) -> io::Result<()> {
    let invalid = |what: String| io::Error::new(io::ErrorKind::InvalidData, what);
    // The length comes first. Debug builds of `to_extend` would write tables byte by byte.
    let bytes = postcard::to_stdvec(&([0_u8; 4], message));
    let mut bytes = bytes.map_err(|error| invalid(error.to_string()))?;
    let len = bytes.len() - 4;
    if len > MAX_MESSAGE as usize {
        return Err(invalid(format!("a control message of {len} bytes is over {MAX_MESSAGE}")));
    }
    bytes[..4].copy_from_slice(&(len as u32).to_le_bytes());
    stream.write_all(&bytes).await
}

/// Receives one message, or fails when the peer is silent until the timeout. **Not cancel-safe**:
/// run it in a task, or in a `select!` branch that is never dropped.
pub async fn receive<T: DeserializeOwned>(
    stream: &mut (impl AsyncRead + Unpin),
    peer_timeout: PeerTimeout,
) -> Result<T, StreamError> {
    let received = peer_timeout.wait(async {
        let mut len = [0; 4];
        match stream.read_exact(&mut len).await {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                return Err(StreamError::Closed);
            }
            result => result?,
        };
        let len = u32::from_le_bytes(len);
        if len > MAX_MESSAGE {
            return Err(StreamError::Garbage(format!(
                "a message of {len} bytes, where {MAX_MESSAGE} is the most"
            )));
        }
        // Memory grows with the received bytes: the length is only a claim.
        let mut bytes = Vec::new();
        stream.take(len.into()).read_to_end(&mut bytes).await?;
        if bytes.len() < len as usize {
            return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into());
        }
        let (message, rest) = postcard::take_from_bytes(&bytes)
            .map_err(|error| StreamError::Garbage(error.to_string()))?;
        if !rest.is_empty() {
            return Err(StreamError::Garbage(format!(
                "{} bytes too many behind a message",
                rest.len()
            )));
        }
        Ok(message)
    });
    received.await.unwrap_or(Err(StreamError::Silent(peer_timeout)))
}

#[cfg(test)]
#[path = "stream_tests.rs"]
mod tests;
