//! A daemon's address.

mod environment;
mod file;
mod refusal;
mod text;

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::Path;

use urom_wire::control::{DEFAULT_PORT, Failure};

#[cfg(not(feature = "embedded"))]
pub(super) use self::environment::FILE_VARIABLE;
pub(super) use self::environment::{ServiceTarget, of_environment};
pub(super) use self::refusal::is_of_this_process;
use self::text::split;
use crate::failure::failure;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct DaemonAddress {
    host: String,
    port: u16,
    /// For messages: `from line 3 of FILE, named by DOCA_UROM_SERVICE_FILE`.
    origin: String,
    /// For messages, the item to correct: `the file`.
    remedy: &'static str,
    source: AddressSource,
}

/// The source of an address, for advice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AddressSource {
    /// The user: a call, an option or the service file.
    User,
    /// The daemon's address file.
    Daemon,
    /// The embedded service, which the user cannot start.
    Embedded,
}

impl DaemonAddress {
    /// Parses `host:port`, `[v6]:port`, `host` or `@file` from a call.
    pub(super) fn parse(text: &str, origin: Option<&str>) -> Result<DaemonAddress, Failure> {
        let origin = format!("from {}", origin.unwrap_or("urom_service_set_address"));
        if let Some(file) = text.strip_prefix('@') {
            return file::read(Path::new(file), &origin);
        }
        let (host, port) = split(text).ok_or_else(|| {
            failure!(
                INVALID_VALUE,
                "`{text}` is not an address of a service: write HOST:PORT, [IPV6]:PORT, HOST or @FILE"
            )
        })?;
        let port = port.unwrap_or(DEFAULT_PORT);
        Ok(DaemonAddress { host, port, origin, remedy: "the address", source: AddressSource::User })
    }

    pub(super) fn embedded(address: SocketAddr) -> DaemonAddress {
        DaemonAddress {
            host: address.ip().to_string(),
            port: address.port(),
            origin: "the embedded service of this process".to_owned(),
            remedy: "the plugins of UROM_PLUGIN_PATH",
            source: AddressSource::Embedded,
        }
    }

    fn shown(&self) -> String {
        if self.host.contains(':') {
            format!("[{}]:{}", self.host, self.port)
        } else {
            format!("{}:{}", self.host, self.port)
        }
    }

    pub(super) async fn resolve(&self) -> Result<Vec<SocketAddr>, Failure> {
        match tokio::net::lookup_host((self.host.as_str(), self.port)).await {
            Ok(found) => Ok(with_loopback(&self.host, self.port, found)),
            Err(error) => Err(self.unknown_host(&error.to_string())),
        }
    }
}

/// Resolves a host. `localhost` includes IPv4 and IPv6, as the resolver may return only one.
fn with_loopback(
    host: &str,
    port: u16,
    found: impl Iterator<Item = SocketAddr>,
) -> Vec<SocketAddr> {
    let mut addresses: Vec<_> = found.collect();
    let both = [Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()];
    let both = both.map(|ip| SocketAddr::new(ip, port));
    let is_local = host.eq_ignore_ascii_case("localhost");
    for address in both.into_iter().filter(|_| is_local) {
        if !addresses.contains(&address) {
            addresses.push(address);
        }
    }
    addresses
}

#[cfg(test)]
mod tests {
    use urom_abi::DocaError;

    use super::*;

    #[test]
    fn an_address_is_host_and_port() {
        let address = |text| DaemonAddress::parse(text, None).map(|address| address.shown());
        for (text, shown) in [
            ("localhost:5", "localhost:5"),
            ("10.0.0.2:18701", "10.0.0.2:18701"),
            ("[::1]:7", "[::1]:7"),
            ("dpu-1.example", "dpu-1.example:18700"),
            ("::1", "[::1]:18700"),
            ("[::1]", "[::1]:18700"),
        ] {
            assert_eq!(address(text).as_deref(), Ok(shown));
        }
        for text in [
            "",
            ":5",
            "host:",
            "host:0",
            "host:65536",
            "host:x",
            "a b:5",
            "[::1:5",
            "host:5:6",
            "[::1",
            "[]",
            "[1.2.3.4]",
            "[host]:5",
        ] {
            let failure = address(text).unwrap_err();
            assert_eq!(failure.code, DocaError::INVALID_VALUE, "{text:?}");
            assert!(failure.text.contains(&format!("`{text}`")), "{failure}");
        }
    }

    #[test]
    fn localhost_is_the_loopback_address_of_both_families() {
        let [four, six, other]: [SocketAddr; 3] =
            ["127.0.0.1:7", "[::1]:7", "192.0.2.1:7"].map(|at| at.parse().unwrap());
        let all = |host, found: &[SocketAddr]| with_loopback(host, 7, found.iter().copied());
        assert_eq!(all("localhost", &[six]), [six, four]);
        assert_eq!(all("LocalHost", &[four, six]), [four, six]);
        assert_eq!(all("dpu", &[other]), [other]);
    }
}
