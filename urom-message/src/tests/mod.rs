//! Comparisons with the typed encoders and decoders.

mod commands;
mod compare;
mod notifications;
mod values;

use graph_protocol as graph;
use rdmo_protocol as rdmo;
use sandbox_protocol as sandbox;
use test_protocols::ucc;
use urom_abi::describe;
use urom_abi::memory::MemoryRange;
use urom_abi::protocol::{Protocol, Reply, Request};

use super::{Assignment, Datum, Decoded, Encoded, Memories, command, decode, encode, not_echoed};

fn given(text: &str) -> Vec<Assignment> {
    text.split_whitespace().map(|word| word.parse().expect("field=value")).collect()
}

fn made(protocol: &describe::Protocol, name: &str, fields: &str) -> Result<Encoded, String> {
    encode(&protocol.commands, command(&protocol.commands, name)?, &given(fields), &Memories::new())
}

fn plainly(protocol: &describe::Protocol, name: &str, fields: &str) -> Vec<u8> {
    let encoded = made(protocol, name, fields).unwrap();
    assert_eq!(encoded.remarks, [""; 0]);
    encoded.bytes
}

fn typed<C: Request>(command: &C) -> Vec<u8> {
    let mut out = vec![0xee; command.encoded_len().unwrap()];
    command.encode(&mut out).unwrap();
    out
}

/// As [`made`], with memory `m` of number 7 and 4096 bytes.
fn made_with_memory(name: &str, fields: &str) -> Result<Encoded, String> {
    let memories = [("m".to_owned(), MemoryRange { memory: 7, offset: 0, len: 4096 })].into();
    encode(&MEMORY.commands, command(&MEMORY.commands, name)?, &given(fields), &memories)
}

fn refused(protocol: &describe::Protocol, name: &str, fields: &str) -> String {
    made(protocol, name, fields).expect_err("a command that cannot be")
}

fn answered<R: Reply>(protocol: &describe::Protocol, reply: R, echo: &R::Echo) -> Decoded {
    decode(&protocol.notifications, None, reply.into_descriptor(echo).unwrap().payload()).unwrap()
}

fn read_back(protocol: &describe::Protocol, bytes: &[u8]) -> Decoded {
    let decoded = decode(&protocol.commands, None, bytes).unwrap();
    assert_eq!(decoded.problems, [""; 0]);
    decoded
}

const MEMORY: &describe::Protocol = memory_protocol::Protocol::DESCRIPTION;
const GRAPH: &describe::Protocol = graph::Protocol::DESCRIPTION;
const SANDBOX: &describe::Protocol = sandbox::Protocol::DESCRIPTION;
const RDMO: &describe::Protocol = rdmo::Protocol::DESCRIPTION;
const UCC: &describe::Protocol = ucc::Protocol::DESCRIPTION;
