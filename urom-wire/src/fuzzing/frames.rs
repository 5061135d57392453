//! Frames as bytes, for tests.

use urom_abi::DocaStatus;

use crate::envelope::Envelope;
use crate::frame::{CommandStart, Header, LongStatus, short_notification};

fn frame(header: Header, body: &[&[u8]]) -> Vec<u8> {
    [&header.word().to_le_bytes(), &body.concat()[..]].concat()
}

pub fn command(slot: u16, plugin_bit: u8, payload: &[u8]) -> Vec<u8> {
    frame(CommandStart::new(slot, plugin_bit).header(payload.len()), &[payload])
}

pub fn notification(slot: u16, status: DocaStatus, payload: Option<&[u8]>, why: &[u8]) -> Vec<u8> {
    if let Some(payload) = payload.filter(|_| why.is_empty())
        && let Some(header) = short_notification(slot, status, payload.len())
    {
        return frame(header, &[payload]);
    }
    let (len, why_len) = (payload.map(<[u8]>::len), why.len() as u16);
    let (header, before) = LongStatus { slot, status, payload: len, why: why_len }.to_bytes();
    frame(header, &[&before, payload.unwrap_or_default(), why])
}

pub fn message(envelope: Envelope, frames: &[u8]) -> Vec<u8> {
    [&envelope.to_bytes(), frames].concat()
}
