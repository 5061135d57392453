//! This machine's addresses for other machines.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener};

use super::super::Error;

/// Listens on a port of the system's choice. Returns this machine's network or loopback addresses.
pub(super) fn listen() -> Result<(TcpListener, Vec<SocketAddr>), Error> {
    // Not all kernels have IPv6. A socket for IPv6 also takes IPv4.
    let listener = TcpListener::bind((Ipv6Addr::UNSPECIFIED, 0))
        .or_else(|_| TcpListener::bind((Ipv4Addr::UNSPECIFIED, 0)));
    let cannot = |error| Error::io("participant 0 cannot listen", error);
    let listener = listener.map_err(cannot)?;
    let own = listener.local_addr().map_err(cannot)?;
    let interfaces = if_addrs::get_if_addrs()
        .map_err(|error| Error::io("this machine's addresses cannot be listed", error))?;
    // A link-local address needs a scope id of the other machine.
    let is_usable = |ip: &IpAddr| match ip {
        IpAddr::V4(ip) => !ip.is_link_local(),
        IpAddr::V6(ip) => own.is_ipv6() && !ip.is_unicast_link_local(),
    };
    let (loopback, network): (Vec<_>, Vec<_>) = interfaces
        .iter()
        .map(if_addrs::Interface::ip)
        .filter(is_usable)
        .partition(IpAddr::is_loopback);
    let used = if network.is_empty() { loopback } else { network };
    Ok((listener, used.into_iter().map(|address| (address, own.port()).into()).collect()))
}
