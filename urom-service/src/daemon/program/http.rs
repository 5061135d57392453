//! Metrics, health and status over HTTP: `uromd --metrics`. Requests need no key.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tracing::{debug, info};
use urom_wire::awake::timeout;

use super::exposition;
use crate::aside::result_of;
use crate::daemon::observatory::Observatory;
use crate::daemon::snapshot::Snapshot;
use crate::daemon::status;
use crate::daemon::turns::measured;
use crate::entrance::Entrance;

/// Limit in bytes of a request's line and headers.
const LONGEST_REQUEST: usize = 8 << 10;

/// Time limit of a connection.
const TIME: Duration = Duration::from_secs(10);

/// Serves until the task is dropped. If many connections wait, silent ones lose their slots.
pub(super) async fn serve(listener: TcpListener, observatory: Observatory) {
    let mut entrance = Entrance::new(listener);
    loop {
        let (stream, peer, mut slot) = entrance.accept().await;
        let observatory = observatory.clone();
        let answered = async move {
            let answer = timeout(TIME, answer(stream, &observatory));
            match slot.hold(answer).await {
                Some(Ok(Ok(()))) => {}
                Some(Ok(Err(error))) => debug!("{peer} got no metrics: {error}"),
                Some(Err(_)) | None => debug!("{peer} got no metrics: it is too slow"),
            }
        };
        tokio::spawn(measured("a request for metrics", answered));
    }
}

struct Answer {
    status: &'static str,
    kind: &'static str,
    body: String,
}

impl Answer {
    fn text(status: &'static str, body: impl Into<String>) -> Answer {
        Answer { status, kind: "text/plain; charset=utf-8", body: body.into() }
    }

    fn unavailable(why: &str) -> Answer {
        Answer::text("503 Service Unavailable", format!("{why}\n"))
    }

    fn head(&self) -> String {
        let Answer { status, kind, body } = self;
        let len = body.len();
        format!(
            "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {len}\r\n\
             Cache-Control: no-store\r\nConnection: close\r\n\r\n"
        )
    }
}

async fn answer(mut stream: TcpStream, observatory: &Observatory) -> io::Result<()> {
    let mut bytes = Vec::new();
    let (answer, has_body) = loop {
        match request(&bytes) {
            Ok(Some((method, path))) => {
                let is_head = method == "HEAD";
                let answer = if is_head || method == "GET" {
                    observatory.page(&path).await
                } else {
                    Answer::text("405 Method Not Allowed", "use GET\n")
                };
                break (answer, !is_head);
            }
            Ok(None) if bytes.len() < LONGEST_REQUEST => {}
            Ok(None) => break (Answer::text("431 Request Header Fields Too Large", ""), true),
            Err(_) => break (Answer::text("400 Bad Request", "this is not HTTP/1.1\n"), true),
        }
        if stream.read_buf(&mut bytes).await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    };
    stream.write_all(answer.head().as_bytes()).await?;
    if has_body {
        stream.write_all(answer.body.as_bytes()).await?;
    }
    stream.shutdown().await
}

/// Returns the method and the path of a complete request; `None` if bytes are missing.
fn request(bytes: &[u8]) -> Result<Option<(String, String)>, httparse::Error> {
    let mut headers = [httparse::EMPTY_HEADER; 64];
    let mut request = httparse::Request::new(&mut headers);
    if request.parse(bytes)?.is_partial() {
        return Ok(None);
    }
    let path = request.path.unwrap_or_default().split(['?', '#']).next().unwrap_or_default();
    Ok(Some((request.method.unwrap_or_default().to_owned(), path.to_owned())))
}

impl Observatory {
    async fn page(&self, path: &str) -> Answer {
        match path {
            "/metrics" => self.render(exposition::TEXT, exposition::text).await,
            "/status" => self.render("application/json", json).await,
            "/healthz" => match self.snapshot().await {
                Some(_) => Answer::text("200 OK", "ok\n"),
                None => Answer::unavailable("the daemon does not answer"),
            },
            "/readyz" => match self.snapshot().await {
                None => Answer::unavailable("the daemon does not answer"),
                Some(snapshot) if snapshot.draining => {
                    Answer::unavailable("the service is being drained")
                }
                Some(snapshot) if snapshot.plugins.is_none() => {
                    Answer::unavailable("the daemon still looks for plugins")
                }
                Some(_) => Answer::text("200 OK", "ready\n"),
            },
            _ => Answer::text("404 Not Found", "see /metrics, /healthz, /readyz and /status\n"),
        }
    }

    /// Renders a snapshot on another thread: hundreds of workers have megabytes of counters.
    async fn render(
        &self,
        kind: &'static str,
        render: impl FnOnce(&Snapshot) -> String + Send + 'static,
    ) -> Answer {
        let Some(snapshot) = self.snapshot().await else {
            return Answer::unavailable("the daemon does not answer");
        };
        match result_of("urom-metrics", move || render(&snapshot)).await {
            Ok(body) => Answer { status: "200 OK", kind, body },
            Err(why) => Answer::unavailable(&why),
        }
    }
}

fn json(snapshot: &Snapshot) -> String {
    // Only maps with other keys than strings can fail.
    serde_json::to_string_pretty(&status::status(snapshot)).unwrap_or_default() + "\n"
}

/// Listens for requests of metrics.
///
/// # Errors
/// The address is taken, or is not this machine's.
pub(super) async fn listen(address: SocketAddr) -> anyhow::Result<TcpListener> {
    let listener = TcpListener::bind(address).await.map_err(|error| {
        let text = format!("cannot serve metrics on {address}: choose another with --metrics");
        anyhow::Error::new(error).context(text)
    })?;
    info!("serving metrics on http://{}/metrics", listener.local_addr()?);
    Ok(listener)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_read_once_it_is_complete() {
        let whole = b"GET /metrics?name=x HTTP/1.1\r\nHost: a\r\n\r\n";
        for len in 0..whole.len() {
            assert_eq!(request(&whole[..len]), Ok(None), "{len} bytes");
        }
        let read = request(whole).unwrap().unwrap();
        assert_eq!(read, ("GET".to_owned(), "/metrics".to_owned()));
    }

    #[test]
    fn bytes_of_other_protocols_are_refused() {
        for bytes in
            [&b"UROM\x0e\0\x01\0"[..], b"\x16\x03\x01", b"GET /\r\n\r\n", b"GET / HTTP/3\r\n"]
        {
            assert!(request(bytes).is_err(), "{bytes:?}");
        }
    }
}
