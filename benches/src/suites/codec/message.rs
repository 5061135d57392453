//! Messages, each written and read by the generated code and by hand-written C.

use std::ffi::{c_int, c_void};
use std::hint::black_box;

use anyhow::{Result, bail, ensure};
use graph_protocol::Loopback;
use sandbox_protocol::{MapParams, MemMap, TagRecv, TagSend};
use serde::{Deserialize, Serialize};
use urom_abi::protocol::Request;
use urom_abi::wire::{DecodeError, EncodeError};
use urom_abi::{Data, Registered};

use super::callgrind::codec_counted_rounds;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum MessageWork {
    /// Calls an empty function of C.
    Nothing,
    Encode,
    Decode,
    EncodeInC,
    DecodeInC,
}

pub(super) const NAMES: [&str; 7] = [
    "loopback",
    "mem-map",
    "mem-map-200",
    "tag-send-8",
    "tag-send-1000",
    "tag-send-registered",
    "tag-recv",
];

/// `int f(message, bytes, length)`: `length` is the capacity or the number of bytes on entry, and
/// the bytes written on return. 0 is success.
type Function = unsafe extern "C" fn(*mut c_void, *mut u8, *mut usize) -> c_int;

macro_rules! in_c {
    ($($name:ident),*) => {
        unsafe extern "C" {
            $(fn $name(message: *mut c_void, bytes: *mut u8, length: *mut usize) -> c_int;)*
        }
    };
}

in_c!(c_nothing, c_pack_loopback, c_unpack_loopback, c_pack_mem_map, c_unpack_mem_map);
in_c!(c_pack_tag_send, c_unpack_tag_send, c_pack_tag_recv, c_unpack_tag_recv);

const CAPACITY: usize = 4096;
const PAYLOAD: &[u8; 1000] = &[7; 1000];

pub(super) fn run(name: &str, work: MessageWork, count: usize) -> Result<()> {
    let map = |exported_memh| {
        let map_params = MapParams::allocate(0x1000, 1 << 20);
        let value = MemMap { context: 1, map_params, exported_memh };
        rounds(value, MemMap::decode, [c_pack_mem_map, c_unpack_mem_map], work, count)
    };
    let send = |data| {
        let value = TagSend { context: 1, dest: 2, data, tag: 3 };
        rounds(value, TagSend::decode, [c_pack_tag_send, c_unpack_tag_send], work, count)
    };
    let memory = std::num::NonZeroU64::MIN;
    let receive = TagRecv { context: 1, buffer: 2, count: 3, tag: 4, tag_mask: 5, memh_id: 6 };
    let loopback = [c_pack_loopback as Function, c_unpack_loopback];
    match name {
        "loopback" => rounds(Loopback { data: 7 }, Loopback::decode, loopback, work, count),
        "mem-map" => map(&[]),
        "mem-map-200" => map(&PAYLOAD[..200]),
        "tag-send-8" => send(Data::Inline(&PAYLOAD[..8])),
        "tag-send-1000" => send(Data::Inline(PAYLOAD)),
        "tag-send-registered" => {
            send(Data::Registered(Registered { memory, address: 0x1000, len: 4096 }))
        }
        "tag-recv" => {
            rounds(receive, TagRecv::decode, [c_pack_tag_recv, c_unpack_tag_recv], work, count)
        }
        _ => bail!("no message is called {name}: {NAMES:?}"),
    }
}

fn rounds<T: Request>(
    value: T,
    decoded: impl Fn(&'static [u8]) -> Result<T, DecodeError>,
    [pack, unpack]: [Function; 2],
    work: MessageWork,
    count: usize,
) -> Result<()> {
    let mut buffer = [0; CAPACITY];
    let length = value.encode(&mut buffer)?;
    let written = buffer[..length].to_vec().leak();
    let bytes: &'static [u8] = written.to_vec().leak();
    // Large enough for any structure of C, aligned for all.
    let mut message = [0u128; 16];
    let message = (&raw mut message).cast();
    let in_c = |function: Function, bytes: *mut u8, length: usize| {
        // SAFETY: the function reads or writes a structure that fits `message`, and at most
        // `length` bytes at `bytes`, which are valid.
        let code = unsafe { function(black_box(message), black_box(bytes), &mut { length }) };
        ensure!(black_box(code) == 0, "C refused the message");
        Ok(())
    };
    // C's own message is the wire structure, with the address of its payload.
    let (payload, out) = (written.as_mut_ptr(), buffer.as_mut_ptr());
    in_c(unpack, payload, length)?;
    match work {
        MessageWork::Nothing => codec_counted_rounds(count, &mut || in_c(c_nothing, out, CAPACITY)),
        MessageWork::EncodeInC => codec_counted_rounds(count, &mut || in_c(pack, out, CAPACITY)),
        MessageWork::DecodeInC => {
            codec_counted_rounds(count, &mut || in_c(unpack, payload, length))
        }
        MessageWork::Encode => codec_counted_rounds(count, &mut || {
            ensure!(black_box(encode(black_box(&value), black_box(&mut buffer))).is_ok(), REFUSED);
            Ok(())
        }),
        MessageWork::Decode => codec_counted_rounds(count, &mut || {
            let read = decode(&decoded, black_box(bytes));
            ensure!(black_box(read).is_ok(), REFUSED);
            Ok(())
        }),
    }?;
    // In C a word is the payload's address. The Rust side reads the message, and writes its own
    // bytes.
    if work == MessageWork::DecodeInC {
        in_c(pack, out, CAPACITY)?;
    }
    let again = decoded(buffer[..length].to_vec().leak())?;
    ensure!(again.encode(&mut buffer)? == length, "the two sides write different lengths");
    ensure!(buffer[..length] == *bytes, "the two sides write different messages");
    Ok(())
}

const REFUSED: &str = "Rust refused the message";

/// Not inlined, so that it is a call, as in C.
#[inline(never)]
fn encode<T: Request>(value: &T, buffer: &mut [u8]) -> Result<usize, EncodeError> {
    value.encode(buffer)
}

#[inline(never)]
fn decode<T>(
    decoded: impl Fn(&'static [u8]) -> Result<T, DecodeError>,
    bytes: &'static [u8],
) -> Result<T, DecodeError> {
    decoded(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `cargo xtask bench codec` measures the costs.
    #[test]
    fn both_sides_write_and_read_the_same_bytes() {
        for name in NAMES {
            for work in [
                MessageWork::Nothing,
                MessageWork::Encode,
                MessageWork::Decode,
                MessageWork::EncodeInC,
                MessageWork::DecodeInC,
            ] {
                run(name, work, 2).unwrap_or_else(|error| panic!("{name}, {work:?}: {error:#}"));
            }
        }
    }
}
