//! A command and an answer with payloads. Both have the same layout, because the fake answers with
//! the command's bytes: tag, script, an address and a length for each payload, payloads.

use urom_abi::{Payload, urom_command, urom_notification};

pub(crate) const LEN: usize = 48;

#[urom_command(plugin = "worker_graph", version = 1)]
#[derive(Debug, Clone, Copy)]
pub(crate) enum Command<'a> {
    #[urom(reply = Brought)]
    Bring {
        script: u64,
        #[urom(inline)]
        first: &'a [u8],
        #[urom(inline)]
        rest: &'a [u8],
    },
}

#[urom_notification]
#[derive(Debug)]
pub(crate) enum Notification {
    Brought {
        script: u64,
        #[urom(inline)]
        first: Payload,
        #[urom(inline)]
        rest: Payload,
    },
}

pub(crate) fn split(data: &[u8]) -> Bring<'_> {
    let (first, rest) = data.split_at(data.len().min(1));
    Bring { script: 0, first, rest }
}

impl Brought {
    pub(crate) fn to_vec(&self) -> Vec<u8> {
        [&self.first[..], &self.rest[..]].concat()
    }
}
