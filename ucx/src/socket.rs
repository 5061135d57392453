//! Socket addresses between Rust and C.

use std::mem;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};

use libc::{
    AF_INET, AF_INET6, sa_family_t, sockaddr_in, sockaddr_in6, sockaddr_storage, socklen_t,
};
use ucx_sys as sys;

/// A socket address as C has it, with its length.
pub(crate) enum CSocketAddr {
    V4(sockaddr_in),
    V6(sockaddr_in6),
}

impl From<SocketAddr> for CSocketAddr {
    fn from(address: SocketAddr) -> Self {
        match address {
            SocketAddr::V4(v4) => CSocketAddr::V4(sockaddr_in {
                sin_family: AF_INET as sa_family_t,
                sin_port: v4.port().to_be(),
                sin_addr: libc::in_addr { s_addr: u32::from_ne_bytes(v4.ip().octets()) },
                sin_zero: [0; 8],
            }),
            SocketAddr::V6(v6) => CSocketAddr::V6(sockaddr_in6 {
                sin6_family: AF_INET6 as sa_family_t,
                sin6_port: v6.port().to_be(),
                sin6_flowinfo: v6.flowinfo().to_be(),
                sin6_addr: libc::in6_addr { s6_addr: v6.ip().octets() },
                sin6_scope_id: v6.scope_id(),
            }),
        }
    }
}

impl CSocketAddr {
    /// The pointer and length for UCX; good as long as `self`.
    pub(crate) fn raw(&self) -> sys::ucs_sock_addr_t {
        match self {
            CSocketAddr::V4(v4) => sys::ucs_sock_addr_t {
                addr: std::ptr::from_ref(v4).cast(),
                addrlen: mem::size_of_val(v4) as socklen_t,
            },
            CSocketAddr::V6(v6) => sys::ucs_sock_addr_t {
                addr: std::ptr::from_ref(v6).cast(),
                addrlen: mem::size_of_val(v6) as socklen_t,
            },
        }
    }
}

/// The address that C wrote, if it is one of the internet's.
pub(crate) fn from_storage(storage: &sockaddr_storage) -> Option<SocketAddr> {
    match i32::from(storage.ss_family) {
        AF_INET => {
            // SAFETY: the storage is large and aligned enough for every family, and every byte pattern is a value.
            let v4 = unsafe { &*std::ptr::from_ref(storage).cast::<sockaddr_in>() };
            let ip = Ipv4Addr::from(v4.sin_addr.s_addr.to_ne_bytes());
            Some(SocketAddrV4::new(ip, u16::from_be(v4.sin_port)).into())
        }
        AF_INET6 => {
            // SAFETY: as above.
            let v6 = unsafe { &*std::ptr::from_ref(storage).cast::<sockaddr_in6>() };
            let ip = Ipv6Addr::from(v6.sin6_addr.s6_addr);
            let flow = u32::from_be(v6.sin6_flowinfo);
            Some(SocketAddrV6::new(ip, u16::from_be(v6.sin6_port), flow, v6.sin6_scope_id).into())
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round_trip(text: &str) -> Option<SocketAddr> {
        let address: SocketAddr = text.parse().unwrap();
        let c = CSocketAddr::from(address);
        let raw = c.raw();
        // SAFETY: zero bytes are a value of every field.
        let mut storage: sockaddr_storage = unsafe { mem::zeroed() };
        let to = std::ptr::from_mut(&mut storage).cast::<u8>();
        // SAFETY: the address is `addrlen` bytes long, and the storage is at least as large.
        unsafe { to.copy_from_nonoverlapping(raw.addr.cast(), raw.addrlen as usize) };
        from_storage(&storage)
    }

    #[test]
    fn addresses_come_back_as_they_went() {
        for text in ["127.0.0.1:18515", "0.0.0.0:0", "[::1]:65535", "[fe80::1%3]:7"] {
            assert_eq!(round_trip(text), Some(text.parse().unwrap()), "{text}");
        }
    }

    #[test]
    fn other_families_are_no_address() {
        // SAFETY: zero bytes are a value of every field.
        let storage: sockaddr_storage = unsafe { mem::zeroed() };
        assert_eq!(from_storage(&storage), None);
    }
}
