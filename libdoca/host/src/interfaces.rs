//! The network addresses of this machine.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::ptr;

/// The addresses of all interfaces; none when the system does not tell.
pub(super) fn addresses() -> Vec<IpAddr> {
    let mut first = ptr::null_mut();
    // SAFETY: `first` can be written to.
    if unsafe { libc::getifaddrs(&mut first) } != 0 {
        return Vec::new();
    }
    let mut found = Vec::new();
    let mut next = first;
    while !next.is_null() {
        // SAFETY: an entry of the list, which lives until it is freed below.
        let entry = unsafe { &*next };
        // SAFETY: the entry's address, or null.
        found.extend(unsafe { address(entry.ifa_addr) });
        next = entry.ifa_next;
    }
    // SAFETY: from `getifaddrs`, freed once.
    unsafe { libc::freeifaddrs(first) };
    found
}

/// # Safety
///
/// `socket` is null or points to a socket address of its family's size.
unsafe fn address(socket: *const libc::sockaddr) -> Option<IpAddr> {
    if socket.is_null() {
        return None;
    }
    // SAFETY: every socket address begins with its family.
    match i32::from(unsafe { (*socket).sa_family }) {
        libc::AF_INET => {
            // SAFETY: the family says so; the caller promises size and alignment.
            let v4 = unsafe { *socket.cast::<libc::sockaddr_in>() };
            Some(IpAddr::V4(Ipv4Addr::from(u32::from_be(v4.sin_addr.s_addr))))
        }
        libc::AF_INET6 => {
            // SAFETY: as above.
            let v6 = unsafe { *socket.cast::<libc::sockaddr_in6>() };
            Some(IpAddr::V6(Ipv6Addr::from(v6.sin6_addr.s6_addr)))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loopback_address_is_among_them() {
        assert!(addresses().contains(&IpAddr::V4(Ipv4Addr::LOCALHOST)), "{:?}", addresses());
    }
}
