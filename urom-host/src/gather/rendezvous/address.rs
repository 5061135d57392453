//! The meeting point: participant 0 listens at the addresses of its name, and the others try them.

use std::fmt;
use std::io::{self, ErrorKind};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream, ToSocketAddrs};
use std::time::{Duration, Instant};

use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, socket_with, sockopt};

use super::super::Error;

/// `head-node:7357`, `192.0.2.1:7357` or `[2001:db8::1]:7357`.
pub(in crate::gather) struct MeetingAddress {
    shown: String,
    known: Vec<SocketAddr>,
}

impl MeetingAddress {
    pub(super) fn new(address: impl fmt::Display) -> MeetingAddress {
        MeetingAddress { shown: address.to_string(), known: Vec::new() }
    }

    pub(in crate::gather) fn published(known: Vec<SocketAddr>) -> MeetingAddress {
        MeetingAddress { shown: listed(&known), known }
    }

    /// The name before the port; `None` for an address such as `127.1`.
    fn name(&self) -> Option<&str> {
        let is_name = |name: &&str| !name.contains(':') && name.contains(char::is_alphabetic);
        self.shown.rsplit_once(':').map(|(name, _)| name).filter(is_name)
    }

    fn addresses(&self) -> io::Result<Vec<SocketAddr>> {
        if !self.known.is_empty() {
            return Ok(self.known.clone());
        }
        let mut addresses = Vec::new();
        for address in self.shown.to_socket_addrs()? {
            if !addresses.contains(&address) {
                addresses.push(address);
            }
        }
        let none = || io::Error::new(ErrorKind::InvalidInput, "the name lacks an address");
        if addresses.is_empty() { Err(none()) } else { Ok(addresses) }
    }

    /// Listens at all local addresses of the name. A machine's own name may resolve to loopback
    /// only, as in Debian's `/etc/hosts`; then this listens at all addresses of the machine.
    pub(super) fn listen(&self) -> Result<Vec<TcpListener>, Error> {
        let at = |error| Error::io(format!("participant 0 cannot listen at {self}"), error);
        let found = self.addresses().map_err(at)?;
        let addresses = to_listen(self.name(), &found);
        if addresses != found && addresses.iter().all(|address| address.ip().is_unspecified()) {
            tracing::warn!(
                "{self} is only {} here, which no other machine reaches: participant 0 listens at \
                 all addresses of this machine",
                listed(&found)
            );
        }
        let (mut listeners, mut errors) = (Vec::new(), Vec::new());
        for address in &addresses {
            match listen(*address, self.name().is_some()) {
                Ok(listener) => listeners.push(listener),
                Err(error) => errors.push(error),
            }
        }
        // A name may include addresses of other machines, or of an unsupported family.
        let in_use = errors.iter().position(|error| error.kind() == ErrorKind::AddrInUse);
        let error = in_use.or_else(|| listeners.is_empty().then_some(0));
        match error.map(|at| errors.swap_remove(at)) {
            None => Ok(listeners),
            Some(error) => {
                let tried = self.tried(&addresses);
                Err(Error::io(format!("participant 0 cannot listen at {self}{tried}"), error))
            }
        }
    }

    fn tried(&self, addresses: &[SocketAddr]) -> String {
        let name = self.name().filter(|_| !addresses.is_empty());
        name.map(|_| format!(", tried as {}", listed(addresses))).unwrap_or_default()
    }

    pub(super) fn open(&self, deadline: Instant) -> Result<TcpStream, Error> {
        let at = |tried: &[SocketAddr], error| {
            let tried = self.tried(tried);
            Error::io(format!("connecting to {self} failed{tried}"), error)
        };
        let addresses = self.addresses().map_err(|error| at(&[], error))?;
        let mut last = ErrorKind::ConnectionRefused.into();
        for (tried, address) in addresses.iter().enumerate() {
            let limit = left(deadline) / (addresses.len() - tried) as u32;
            match TcpStream::connect_timeout(address, limit.max(MOMENT)) {
                // Without a listener, a connection to a local port can be a connection to itself.
                Ok(stream) if stream.local_addr().ok() == stream.peer_addr().ok() => {
                    last = ErrorKind::ConnectionRefused.into();
                }
                Ok(stream) => return Ok(stream),
                Err(error) => last = error,
            }
        }
        Err(at(&addresses, last))
    }
}

impl fmt::Display for MeetingAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.shown)
    }
}

fn to_listen(name: Option<&str>, addresses: &[SocketAddr]) -> Vec<SocketAddr> {
    let Some((name, first)) = name.zip(addresses.first()) else { return addresses.to_vec() };
    let both = |four: Ipv4Addr, six: Ipv6Addr| {
        [four.into(), six.into()].map(|ip| SocketAddr::new(ip, first.port())).to_vec()
    };
    if name.to_ascii_lowercase().contains("localhost") {
        both(Ipv4Addr::LOCALHOST, Ipv6Addr::LOCALHOST)
    } else if addresses.iter().all(|address| address.ip().is_loopback()) {
        both(Ipv4Addr::UNSPECIFIED, Ipv6Addr::UNSPECIFIED)
    } else {
        addresses.to_vec()
    }
}

/// Listens at an address. With `alone`, an IPv6 listener leaves IPv4 to the other listeners.
fn listen(address: SocketAddr, alone: bool) -> io::Result<TcpListener> {
    if !alone || address.is_ipv4() {
        return TcpListener::bind(address);
    }
    let socket = socket_with(AddressFamily::INET6, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
    sockopt::set_ipv6_v6only(&socket, true)?;
    sockopt::set_socket_reuseaddr(&socket, true)?;
    bind(&socket, &address)?;
    rustix::net::listen(&socket, 128)?;
    Ok(socket.into())
}

/// `192.0.2.1:7357 and [::1]:7357`.
pub(super) fn listed(addresses: &[SocketAddr]) -> String {
    let addresses: Vec<_> = addresses.iter().map(ToString::to_string).collect();
    addresses.join(" and ")
}

/// The shortest time limit: the system rejects zero.
pub(super) const MOMENT: Duration = Duration::from_millis(1);

pub(super) fn left(deadline: Instant) -> Duration {
    deadline.saturating_duration_since(Instant::now())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(point: &str, means: &[&str]) -> String {
        let means: Vec<_> = means.iter().map(|address| address.parse().unwrap()).collect();
        listed(&to_listen(MeetingAddress::new(point).name(), &means))
    }

    #[test]
    fn a_name_that_is_only_loopback_is_every_address_and_localhost_is_both_families() {
        for (point, means, expected) in [
            ("head:7", &["127.0.1.1:7"][..], "0.0.0.0:7 and [::]:7"),
            ("head:7", &["127.0.0.1:7", "[::1]:7"], "0.0.0.0:7 and [::]:7"),
            ("head:7", &["127.0.1.1:7", "192.0.2.2:7"], "127.0.1.1:7 and 192.0.2.2:7"),
            ("head:7", &["192.0.2.2:7"], "192.0.2.2:7"),
            ("localhost:7", &["[::1]:7"], "127.0.0.1:7 and [::1]:7"),
            ("Localhost.localdomain:7", &["127.0.0.1:7"], "127.0.0.1:7 and [::1]:7"),
            ("127.0.1.1:7", &["127.0.1.1:7"], "127.0.1.1:7"),
            ("127.1:7", &["127.0.0.1:7"], "127.0.0.1:7"),
            ("[::1]:7", &["[::1]:7"], "[::1]:7"),
            ("0.0.0.0:7", &["0.0.0.0:7"], "0.0.0.0:7"),
        ] {
            assert_eq!(at(point, means), expected, "{point} {means:?}");
        }
    }
}
