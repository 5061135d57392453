//! The first bytes on every control stream, in both directions: the sender's role and its UCX
//! version. Their layout never changes, so that incompatible releases can still report it.

use std::fmt;

use bytemuck::{Pod, Zeroable};
use ucx::Version;

use crate::plain::{Plain, U16, U32};

/// The version of everything after the hello, and of the plugins' receive queues in shared memory.
pub const PROTOCOL: u16 = 14;

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

#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub struct Hello {
    magic: [u8; 4],
    protocol: U16,
    role: U16,
    ucx: [U32; 3],
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HelloError {
    #[error("what answers there is not a UROM service of this kit (no `UROM` handshake)")]
    NotUrom,
    #[error(
        "the {role} speaks protocol {theirs}, this side {PROTOCOL}: use the same release of the kit on both"
    )]
    Protocol { role: Role, theirs: u16 },
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
            protocol: PROTOCOL.into(),
            role: (role as u16).into(),
            ucx: [ucx.major.into(), ucx.minor.into(), ucx.patch.into()],
        }
    }

    /// Checks the other end's hello. Fails if the ends are incompatible.
    pub fn check(&self, theirs: &[u8; HELLO_LEN], expected: Role) -> Result<(), HelloError> {
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
        if theirs.protocol.get() != PROTOCOL {
            return Err(HelloError::Protocol { role, theirs: theirs.protocol.get() });
        }
        if role != expected {
            return Err(HelloError::Role { expected, found: role });
        }
        let (ours, their_ucx) = (self.ucx(), theirs.ucx());
        if !ucx::wire_compatible(ours, their_ucx) {
            return Err(HelloError::Ucx { role, theirs: their_ucx, ours });
        }
        Ok(())
    }

    fn ucx(&self) -> Version {
        let [major, minor, patch] = self.ucx.map(U32::get);
        Version { major, minor, patch }
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
        assert_eq!((PROTOCOL, ContextBuilder::WATCHED_QUEUE), (14, queues));
    }
}
