//! The mutual proof on a control stream that both ends hold the key. After its hello, each end
//! sends an [`Opening`]. If only one end has a key, the stream ends; if both do, the host's proof
//! comes first: without the key, a host receives nothing derived from it. A proof is an
//! HMAC-SHA-256 over both hellos, both openings and a mark of the prover.

use std::io;

use bytemuck::{Pod, Zeroable};

use super::hello::{HELLO_LEN, Role};
use crate::key::fill_random;
use crate::plain::Plain;

pub const OPENING_LEN: usize = size_of::<Opening>();

pub const PROOF_LEN: usize = 32;

/// Whether an end holds a key, and the challenge for the other end's proof.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct Opening {
    pub keyed: u8,
    /// Never reused.
    pub challenge: [u8; 32],
}

impl Plain for Opening {}

impl Opening {
    /// A new opening. Fails without random numbers.
    pub fn new(keyed: bool) -> io::Result<Opening> {
        let mut challenge = [0; 32];
        if keyed {
            fill_random(&mut challenge)?;
        }
        Ok(Opening { keyed: keyed.into(), challenge })
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum KeyError {
    #[error(
        "the {0} requires a key, which this program lacks: name a copy of the service's key file with UROM_KEY_FILE, \
         ServiceBuilder::key_file, or an option such as --key-file if it has one"
    )]
    Missing(Role),
    #[error(
        "the {0} asks for no key, and this program was given one: it may be another service than was meant; start uromd \
         with --key-file, or name no key file (--key-file, ServiceBuilder::key_file, UROM_KEY_FILE)"
    )]
    NotAsked(Role),
    #[error("the {0} has another key than this program: use a copy of the service's key file")]
    NotTaken(Role),
    #[error(
        "the {0} does not hold this program's key: something else than the service may be listening there; use a copy of \
         the service's key file"
    )]
    Impostor(Role),
    #[error(
        "it lacks a key: name a copy of this service's key file there (--key-file, ServiceBuilder::key_file, UROM_KEY_FILE)"
    )]
    HostHasNone,
    #[error(
        "it has a key, and this service does not: start uromd with --key-file, or unset UROM_KEY_FILE there"
    )]
    HostHasOne,
    #[error("its key is another one: use a copy of this service's key file there")]
    HostHasAnother,
}

pub const HOST: &[u8] = b"urom: the host's proof";
pub const SERVICE: &[u8] = b"urom: the service's proof";

/// The messages of both ends, which a proof signs after its mark.
pub fn transcript(
    host: (&[u8; HELLO_LEN], &Opening),
    service: (&[u8; HELLO_LEN], &Opening),
) -> Vec<u8> {
    let parts: [&[u8]; 4] = [host.0, host.1.as_bytes(), service.0, service.1.as_bytes()];
    parts.concat()
}
