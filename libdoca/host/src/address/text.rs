//! Parses the text of an address.

use std::net::{IpAddr, SocketAddr};

use crate::service_file::bare;

pub(super) fn split(text: &str) -> Option<(String, Option<u16>)> {
    let valid =
        |host: &str| !host.is_empty() && !host.contains(|c: char| c.is_whitespace() || c == '[');
    if let Ok(socket) = text.parse::<SocketAddr>() {
        return Some((socket.ip().to_string(), Some(socket.port())));
    }
    if let Ok(ip) = bare(text).parse::<IpAddr>() {
        return Some((ip.to_string(), None));
    }
    match text.split_once(':') {
        None => valid(text).then(|| (text.to_owned(), None)),
        Some((host, port)) => {
            let port = port.parse().ok().filter(|port| *port != 0)?;
            valid(host).then(|| (host.to_owned(), Some(port)))
        }
    }
}
