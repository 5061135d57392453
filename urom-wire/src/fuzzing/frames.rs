//! Frames as bytes, for tests.

use urom_abi::DocaStatus;
use urom_abi::trace::CONTEXT_LEN;

use crate::envelope::Envelope;
use crate::frame::{CommandStart, Header, LongStatus, short_notification};

fn frame(header: Header, body: &[&[u8]]) -> Vec<u8> {
    [&header.word().to_le_bytes(), &body.concat()[..]].concat()
}

pub fn command(slot: u16, plugin_bit: u8, payload: &[u8]) -> Vec<u8> {
    frame(CommandStart::new(slot, plugin_bit).header(payload.len()), &[payload])
}

/// A command with the bytes of a trace context.
pub fn traced_command(
    slot: u16,
    plugin_bit: u8,
    left: u64,
    context: [u8; CONTEXT_LEN],
    payload: &[u8],
) -> Vec<u8> {
    let header = CommandStart::new(slot, plugin_bit).header_with_trace(payload.len());
    frame(header, &[&left.to_le_bytes(), &context, payload])
}

pub fn notification(slot: u16, status: DocaStatus, payload: Option<&[u8]>, why: &[u8]) -> Vec<u8> {
    if let Some(payload) = payload.filter(|_| why.is_empty())
        && let Some(header) = short_notification(slot, status, payload.len())
    {
        return frame(header, &[payload]);
    }
    long(slot, status, payload, why, None)
}

pub fn traced(slot: u16, status: DocaStatus, payload: Option<&[u8]>, trace: &[u8]) -> Vec<u8> {
    long(slot, status, payload, &[], Some(trace))
}

fn long(
    slot: u16,
    status: DocaStatus,
    payload: Option<&[u8]>,
    why: &[u8],
    trace: Option<&[u8]>,
) -> Vec<u8> {
    let (len, why_len) = (payload.map(<[u8]>::len), why.len() as u16);
    let trace_len = trace.map(|trace| trace.len() as u16);
    let (header, before) =
        LongStatus { slot, status, payload: len, why: why_len, trace: trace_len }.to_bytes();
    let behind = trace.map(|trace| [trace, &(trace.len() as u16).to_le_bytes()].concat());
    frame(header, &[&before, payload.unwrap_or_default(), why, &behind.unwrap_or_default()])
}

pub fn message(envelope: Envelope, frames: &[u8]) -> Vec<u8> {
    [&envelope.to_bytes(), frames].concat()
}
