//! Where `uromd top` gets a service's state: the control socket, or HTTP.

use std::fmt::{self, Display, Formatter};
use std::io::{self, ErrorKind, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpStream, ToSocketAddrs};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use super::table::Sample;
use crate::daemon::program::METRICS_PORT;
use crate::daemon::{OperatorCommand, OperatorReply, ServiceStatus};
use crate::operator::ask;

/// Time limit of a request. The daemon itself waits 2 s for its loop.
const TIME: Duration = Duration::from_secs(5);

/// Limit in bytes of an answer: hundreds of workers with thousands of hosts need one megabyte.
const LONGEST: usize = 64 << 20;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Source {
    Control(PathBuf),
    /// `HOST[:PORT]` of `uromd --metrics`.
    Http(String),
}

impl Display for Source {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Source::Control(socket) => socket.display().fmt(f),
            Source::Http(address) => f.write_str(address),
        }
    }
}

impl Source {
    /// Asks for the state, and waits for it at most about [`TIME`].
    ///
    /// # Errors
    /// The sentence names the address.
    pub(super) fn sample(&self) -> Result<Sample, String> {
        let status = match self {
            Source::Control(socket) => match ask(socket, &OperatorCommand::Status, Some(TIME))? {
                OperatorReply::Status(status) => status,
                OperatorReply::Done(text) | OperatorReply::Failed(text) => return Err(text),
            },
            Source::Http(address) => get(address)?,
        };
        Ok(Sample { at: Instant::now(), status })
    }
}

fn get(address: &str) -> Result<ServiceStatus, String> {
    let answer = exchange(address).map_err(|error| match error.kind() {
        ErrorKind::ConnectionRefused => format!(
            "no service listens at {address}: start uromd with --metrics, and name that address"
        ),
        ErrorKind::WouldBlock | ErrorKind::TimedOut => {
            format!("{address} does not answer within {} s", TIME.as_secs())
        }
        _ => format!("{address}: {error}"),
    })?;
    read(&answer).map_err(|problem| format!("{address} {problem}"))
}

fn resolve(address: &str) -> io::Result<Vec<SocketAddr>> {
    let bare = address.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    if let Ok(ip) = bare.unwrap_or(address).parse::<IpAddr>() {
        return Ok(vec![(ip, METRICS_PORT).into()]);
    }
    let with_port = address
        .rsplit_once(':')
        .map_or((address, METRICS_PORT), |(host, port)| (host, port.parse().unwrap_or_default()));
    if with_port.0.is_empty() || with_port.1 == 0 {
        return Err(io::Error::other("expected an address such as dpu, 10.0.0.2:18701 or [::1]"));
    }
    match address.parse() {
        Ok(address) => Ok(vec![address]),
        Err(_) => Ok(with_port.to_socket_addrs()?.collect()),
    }
}

fn exchange(address: &str) -> io::Result<Vec<u8>> {
    let deadline = Instant::now() + TIME;
    let left = || {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() { Err(io::Error::from(ErrorKind::TimedOut)) } else { Ok(left) }
    };
    let mut stream = Err(io::Error::other("the name lacks an address"));
    for address in resolve(address)? {
        stream = TcpStream::connect_timeout(&address, left()?);
        if stream.is_ok() {
            break;
        }
    }
    let mut stream = stream?;
    stream.set_write_timeout(Some(left()?))?;
    let request = format!("GET /status HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes())?;
    let (mut answer, mut part) = (Vec::new(), vec![0; 64 << 10]);
    loop {
        stream.set_read_timeout(Some(left()?))?;
        match stream.read(&mut part)? {
            0 => return Ok(answer),
            len => answer.extend_from_slice(&part[..len]),
        }
        if answer.len() > LONGEST {
            return Err(io::Error::other("the answer is too long for a service's status"));
        }
    }
}

/// Reads a whole HTTP answer. The error continues a sentence that begins with the address.
fn read(answer: &[u8]) -> Result<ServiceStatus, String> {
    let mut headers = [httparse::EMPTY_HEADER; 64];
    let mut response = httparse::Response::new(&mut headers);
    let Ok(httparse::Status::Complete(head)) = response.parse(answer) else {
        return Err("does not answer in HTTP: is it the address of uromd's --metrics?".to_owned());
    };
    let body = &answer[head..];
    match response.code.unwrap_or_default() {
        200 => serde_json::from_slice(body).map_err(|error| {
            format!("answers, but without a status of this release's service: {error}")
        }),
        503 => {
            // Of another program, this may be any text.
            let text = String::from_utf8_lossy(body);
            let reason = text.trim().chars().take_while(|letter| !letter.is_control()).take(200);
            Err(format!("answers: {}", String::from_iter(reason)))
        }
        code => {
            Err(format!("answers with HTTP's code {code}: is it the address of uromd's --metrics?"))
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn addresses_may_lack_the_port_and_wrong_ones_are_refused() {
        for (text, address) in [
            ("10.0.0.2", "10.0.0.2:18701"),
            ("10.0.0.2:7", "10.0.0.2:7"),
            ("::1", "[::1]:18701"),
            ("[::1]", "[::1]:18701"),
            ("[::1]:7", "[::1]:7"),
        ] {
            assert_eq!(resolve(text).unwrap(), [address.parse().unwrap()], "{text}");
        }
        for wrong in ["", ":7", "dpu:", "dpu:port", "dpu:0", "dpu:70000", "http://dpu/"] {
            let error = get(wrong).unwrap_err();
            assert!(error.contains("10.0.0.2:18701"), "{wrong}: {error}");
        }
    }

    #[test]
    fn answers_of_other_programs_are_refused_with_the_address() {
        for (answer, part) in [
            (&b""[..], "--metrics"),
            (b"SSH-2.0-OpenSSH\r\n", "--metrics"),
            (b"HTTP/1.1 200 OK\r\nContent-", "--metrics"),
            (b"HTTP/1.1 404 Not Found\r\n\r\n", "code 404"),
            (b"HTTP/1.1 503 Service Unavailable\r\n\r\nthe daemon sleeps\n", "the daemon sleeps"),
            (b"HTTP/1.1 503 No\r\n\r\nlong\x1b[2J", "answers: long"),
            (b"HTTP/1.1 200 OK\r\n\r\n<html>", "without a status"),
            (b"HTTP/1.1 200 OK\r\n\r\n{\"version\": \"0", "without a status"),
            (b"HTTP/1.1 200 OK\r\n\r\n{\"version\": 1}", "without a status"),
        ] {
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            let address = listener.local_addr().unwrap().to_string();
            let other = std::thread::spawn(move || {
                let (mut stream, _) = listener.accept().unwrap();
                let mut request = Vec::new();
                while !request.ends_with(b"\r\n\r\n") {
                    let mut byte = [0];
                    stream.read_exact(&mut byte).unwrap();
                    request.extend(byte);
                }
                stream.write_all(answer).unwrap();
            });
            let error = get(&address).unwrap_err();
            other.join().unwrap();
            assert!(error.contains(&address) && error.contains(part), "{error}");
            assert!(!error.contains('\x1b'), "{error:?}");
        }
    }

    #[test]
    fn a_port_without_a_listener_is_named_with_the_option() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        drop(listener);
        let error = get(&address).unwrap_err();
        assert!(error.contains(&address) && error.contains("--metrics"), "{error}");
    }
}
