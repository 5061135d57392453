//! The first bytes on every control stream, in both directions: the sender's role, its protocols and
//! its UCX version. Their layout never changes, so that incompatible releases can still report it.

use std::fmt;

use bytemuck::{Pod, Zeroable};
use ucx::Version;

use crate::plain::{Plain, U16, U32};

/// The newest version of everything after the hello that this release speaks. It adds trace contexts
/// of commands to 14.
pub const PROTOCOL: u16 = 15;

/// The oldest version that this release speaks, and the version of the plugins' receive queues in
/// shared memory. Each release also speaks the newest protocol of the release before it.
pub const OLDEST_PROTOCOL: u16 = 14;

const MAGIC: [u8; 4] = *b"UROM";

pub const HELLO_LEN: usize = size_of::<Hello>();

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Role {
    Host = 1,
    Daemon,
    Worker,
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Role::Host => "host",
            Role::Daemon => "daemon",
            Role::Worker => "worker",
        })
    }
}

/// A range of versions that an end speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProtocolRange {
    pub oldest: u16,
    pub newest: u16,
}

impl ProtocolRange {
    pub const OURS: ProtocolRange = ProtocolRange { oldest: OLDEST_PROTOCOL, newest: PROTOCOL };

    /// The highest protocol of both ranges.
    fn agree(self, other: ProtocolRange) -> Option<u16> {
        let agreed = self.newest.min(other.newest);
        (agreed >= self.oldest.max(other.oldest)).then_some(agreed)
    }
}

impl fmt::Display for ProtocolRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ProtocolRange { oldest, newest } = self;
        if oldest == newest { write!(f, "{oldest}") } else { write!(f, "{oldest} to {newest}") }
    }
}

/// Releases that speak only protocol 14 refuse another number in `oldest`, and ignore `patch`.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub struct Hello {
    magic: [u8; 4],
    oldest: U16,
    role: U16,
    /// Major and minor version.
    ucx: [U32; 2],
    patch: U16,
    /// 0 means equal to `oldest`: releases of protocol 14 have a patch number of 32 bits.
    newest: U16,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HelloError {
    #[error("what answers there is not a UROM service of this kit (no `UROM` handshake)")]
    NotUrom,
    #[error(
        "the {role} speaks protocol {theirs}, this side speaks {ours}: install a newer release of the kit {}",
        if theirs.newest < ours.oldest { "there" } else { "on this side" }
    )]
    Protocol { role: Role, theirs: ProtocolRange, ours: ProtocolRange },
    #[error("expected a {expected} there, found a {found}")]
    Role { expected: Role, found: Role },
    #[error(
        "the {role} runs UCX {theirs}, this side runs UCX {ours}: these do not talk to each other; \
         install the same UCX release on both (1.16 to 1.18 talk to each other, later ones only to their own minor release)"
    )]
    Ucx { role: Role, theirs: Version, ours: Version },
}

impl Plain for Hello {}

impl Hello {
    pub fn new(role: Role) -> Hello {
        Hello::with_ucx(role, ucx::version())
    }

    pub fn with_ucx(role: Role, ucx: Version) -> Hello {
        Hello {
            magic: MAGIC,
            oldest: OLDEST_PROTOCOL.into(),
            role: (role as u16).into(),
            ucx: [ucx.major.into(), ucx.minor.into()],
            // The number is only shown.
            patch: (ucx.patch as u16).into(),
            newest: PROTOCOL.into(),
        }
    }

    /// Replaces the protocols. A newest protocol of 0 makes the hello of a release without ranges.
    pub fn with_protocols(mut self, ProtocolRange { oldest, newest }: ProtocolRange) -> Hello {
        (self.oldest, self.newest) = (oldest.into(), newest.into());
        self
    }

    /// Checks the other end's hello, and returns the highest protocol that both ends speak. Fails
    /// if the ends are incompatible.
    pub fn check(&self, theirs: &[u8; HELLO_LEN], expected: Role) -> Result<u16, HelloError> {
        let theirs = Hello::read(theirs).ok_or(HelloError::NotUrom)?;
        if theirs.magic != MAGIC {
            return Err(HelloError::NotUrom);
        }
        let role = match theirs.role.get() {
            1 => Role::Host,
            2 => Role::Daemon,
            3 => Role::Worker,
            _ => return Err(HelloError::NotUrom),
        };
        let (mine, range) = (self.protocols(), theirs.protocols());
        if range.newest < range.oldest {
            return Err(HelloError::NotUrom);
        }
        let agreed = mine.agree(range);
        let agreed = agreed.ok_or(HelloError::Protocol { role, theirs: range, ours: mine })?;
        if role != expected {
            return Err(HelloError::Role { expected, found: role });
        }
        let (ours, their_ucx) = (self.ucx(), theirs.ucx());
        if !ucx::wire_compatible(ours, their_ucx) {
            return Err(HelloError::Ucx { role, theirs: their_ucx, ours });
        }
        Ok(agreed)
    }

    fn protocols(&self) -> ProtocolRange {
        let (oldest, newest) = (self.oldest.get(), self.newest.get());
        ProtocolRange { oldest, newest: if newest == 0 { oldest } else { newest } }
    }

    fn ucx(&self) -> Version {
        let [major, minor] = self.ucx.map(U32::get);
        Version { major, minor, patch: self.patch.get().into() }
    }
}

#[cfg(test)]
mod tests {
    use ucx::ContextBuilder;

    use super::*;

    /// A change of the queues must change the number: otherwise two releases connect, and UCX
    /// refuses later. The addresses contain the sizes.
    #[test]
    fn the_protocol_is_that_of_these_receive_queues() {
        let queues = [
            ("POSIX_FIFO_SIZE", "64"),
            ("POSIX_FIFO_ELEM_SIZE", "4224"),
            ("POSIX_SEG_SIZE", "8256"),
        ];
        assert_eq!((OLDEST_PROTOCOL, ContextBuilder::WATCHED_QUEUE), (14, queues));
    }

    const UCX: Version = Version { major: 1, minor: 22, patch: 0 };

    fn hello(role: Role, (oldest, newest): (u16, u16)) -> Hello {
        Hello::with_ucx(role, UCX).with_protocols(ProtocolRange { oldest, newest })
    }

    fn met(ours: (u16, u16), theirs: (u16, u16)) -> Result<u16, HelloError> {
        let theirs = bytemuck::cast(hello(Role::Daemon, theirs));
        hello(Role::Host, ours).check(&theirs, Role::Daemon)
    }

    #[test]
    fn two_ends_agree_on_the_highest_protocol_of_both() {
        for (ours, theirs, agreed) in [
            ((14, 15), (14, 15), 15),
            ((14, 15), (14, 14), 14),
            ((14, 15), (15, 16), 15),
            ((14, 15), (14, 16), 15),
            ((14, 15), (1, 99), 15),
            ((7, 7), (7, 7), 7),
            // From a release without ranges.
            ((14, 15), (14, 0), 14),
            ((14, 15), (15, 0), 15),
            // Any upper bits that are not below the oldest protocol.
            ((14, 15), (14, u16::MAX), 15),
            ((14, 15), (0, u16::MAX), 15),
        ] {
            assert_eq!(met(ours, theirs), Ok(agreed), "{ours:?} {theirs:?}");
        }
        assert_eq!(ProtocolRange::OURS.newest - ProtocolRange::OURS.oldest, 1);
    }

    #[test]
    fn ends_without_a_common_protocol_name_both_ranges_and_the_older_end() {
        for (ours, theirs, texts) in [
            ((14, 15), (13, 0), ["protocol 13,", "speaks 14 to 15:", "kit there"]),
            ((14, 15), (12, 13), ["protocol 12 to 13,", "speaks 14 to 15:", "kit there"]),
            ((14, 15), (0, 0), ["protocol 0,", "speaks 14 to 15:", "kit there"]),
            ((14, 15), (16, 0), ["protocol 16,", "speaks 14 to 15:", "on this side"]),
            ((14, 15), (16, 17), ["protocol 16 to 17,", "speaks 14 to 15:", "on this side"]),
            ((14, 14), (u16::MAX, u16::MAX), ["protocol 65535,", "speaks 14:", "on this side"]),
        ] {
            let error = met(ours, theirs).unwrap_err();
            assert!(matches!(error, HelloError::Protocol { role: Role::Daemon, .. }), "{error:?}");
            let text = error.to_string();
            assert!(texts.iter().all(|part| text.contains(part)), "{text}");
            assert!(met(theirs, ours).is_err(), "{ours:?} {theirs:?}");
        }
    }

    #[test]
    fn a_range_that_ends_before_it_begins_is_no_hello() {
        for theirs in [(14, 13), (14, 1), (u16::MAX, 15), (2, 1)] {
            assert_eq!(met((14, 15), theirs), Err(HelloError::NotUrom), "{theirs:?}");
        }
    }

    #[test]
    fn role_and_ucx_are_checked_at_every_protocol() {
        for protocols in [(14, 0), (14, 15), (15, 16)] {
            let theirs = bytemuck::cast(hello(Role::Worker, protocols));
            let error = Hello::with_ucx(Role::Host, UCX).check(&theirs, Role::Daemon).unwrap_err();
            let found = Role::Worker;
            assert_eq!(error, HelloError::Role { expected: Role::Daemon, found });
            let ours = Version { major: 1, minor: 21, patch: 7 };
            let error = Hello::with_ucx(Role::Host, ours).check(&theirs, found).unwrap_err();
            assert_eq!(error, HelloError::Ucx { role: found, theirs: UCX, ours });
        }
    }

    /// A release before ranges reads protocol 14 and its own role and UCX from these bytes.
    #[test]
    fn the_bytes_are_valid_for_releases_without_ranges() {
        let ucx = Version { major: 1, minor: 22, patch: 3 };
        let bytes = [85, 82, 79, 77, 14, 0, 2, 0, 1, 0, 0, 0, 22, 0, 0, 0, 3, 0, 15, 0];
        assert_eq!(Hello::with_ucx(Role::Daemon, ucx).as_bytes(), bytes);
    }
}
