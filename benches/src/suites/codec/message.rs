//! Messages, each written and read by the generated code and by hand-written C, through functions
//! of one type.

use std::ffi::{c_int, c_void};
use std::hint::black_box;

use anyhow::{Context, Result, ensure};
use graph_protocol::Loopback;
use sandbox_protocol::{MapParams, MemMap, TagRecv, TagSend};
use serde::{Deserialize, Serialize};
use urom_abi::protocol::Request;
use urom_abi::wire::DecodeError;
use urom_abi::{Data, Registered};

use super::callgrind;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Direction {
    Encode,
    Decode,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Side {
    Rust,
    C,
    /// The loop alone.
    Nothing,
}

/// `int f(message, bytes, length)`: `length` is the room or the number of bytes, and then the
/// number of bytes written. 0 is success.
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

struct Subject {
    name: &'static str,
    /// [`encode`] and [`decode`] of its type.
    rust: [Function; 2],
    c: [Function; 2],
    /// A value of its type.
    message: Place,
}

/// Room for a message of either side, aligned for all.
#[derive(Clone, Copy)]
#[repr(C, align(16))]
struct Place([u8; 256]);

impl Place {
    const EMPTY: Place = Place([0; 256]);
}

const ROOM: usize = 4096;

/// A command type, with some lifetime.
trait Command: Request {
    fn read(bytes: &'static [u8]) -> Result<Self, DecodeError>
    where
        Self: Sized;
}

macro_rules! commands {
    ($($ty:ty),*) => {$(
        impl Command for $ty {
            #[inline]
            fn read(bytes: &'static [u8]) -> Result<Self, DecodeError> {
                Self::decode(bytes)
            }
        }
    )*};
}

commands!(Loopback, MemMap<'static>, TagSend<'static>, TagRecv);

/// As the C functions: writes the command at `message`.
///
/// # Safety
/// `message` points at a `T`, `bytes` at as many as `length` says, which nothing else refers to.
unsafe extern "C" fn encode<T: Command>(
    message: *mut c_void,
    bytes: *mut u8,
    length: *mut usize,
) -> c_int {
    // SAFETY: the caller says so.
    let message = unsafe { &*message.cast::<T>() };
    // SAFETY: likewise.
    let length = unsafe { &mut *length };
    // SAFETY: likewise.
    let out = unsafe { std::slice::from_raw_parts_mut(bytes, *length) };
    match message.encode(out) {
        Ok(written) => {
            *length = written;
            0
        }
        Err(_) => refused(),
    }
}

/// As the C functions: reads the command into `message`.
///
/// # Safety
/// `message` is writable as a `T`, and `bytes` has as many as `length` says, which live as long as
/// what is read.
unsafe extern "C" fn decode<T: Command>(
    message: *mut c_void,
    bytes: *mut u8,
    length: *mut usize,
) -> c_int {
    // SAFETY: the caller says so.
    let length = unsafe { *length };
    // SAFETY: likewise.
    let bytes = unsafe { std::slice::from_raw_parts(bytes, length) };
    match T::read(bytes) {
        Ok(read) => {
            // SAFETY: likewise; commands borrow what they do not copy, so nothing is dropped.
            unsafe { message.cast::<T>().write(read) };
            0
        }
        Err(_) => refused(),
    }
}

/// No message here is refused: out of the way of the measured code.
#[cold]
#[inline(never)]
fn refused() -> c_int {
    black_box(-1)
}

const PAYLOAD: &[u8; 1000] = &[7; 1000];

fn subject<T: Command + Copy>(name: &'static str, value: T, c: [Function; 2]) -> Subject {
    const { assert!(size_of::<T>() <= size_of::<Place>()) };
    const { assert!(align_of::<T>() <= align_of::<Place>()) };
    let mut message = Place::EMPTY;
    // SAFETY: there is room, aligned, for the value.
    unsafe { (&raw mut message).cast::<T>().write(value) };
    Subject { name, rust: [encode::<T>, decode::<T>], c, message }
}

/// All commands of both protocols, with and without payloads.
fn subjects() -> Vec<Subject> {
    let send = |name, data| {
        let value = TagSend { context: 1, dest: 2, data, tag: 3 };
        subject(name, value, [c_pack_tag_send, c_unpack_tag_send])
    };
    let map = |name, exported_memh| {
        let map_params = MapParams::allocate(0x1000, 1 << 20);
        let value = MemMap { context: 1, map_params, exported_memh };
        subject(name, value, [c_pack_mem_map, c_unpack_mem_map])
    };
    let memory = std::num::NonZeroU64::MIN;
    let registered = Registered { memory, address: 0x1000, len: 4096 };
    let receive = TagRecv { context: 1, buffer: 2, count: 3, tag: 4, tag_mask: 5, memh_id: 6 };
    vec![
        subject("loopback", Loopback { data: 7 }, [c_pack_loopback, c_unpack_loopback]),
        map("mem-map", &[]),
        map("mem-map-200", &PAYLOAD[..200]),
        send("tag-send-8", Data::Inline(&PAYLOAD[..8])),
        send("tag-send-1000", Data::Inline(PAYLOAD)),
        send("tag-send-registered", Data::Registered(registered)),
        subject("tag-recv", receive, [c_pack_tag_recv, c_unpack_tag_recv]),
    ]
}

/// The names that [`run`] knows.
pub(super) fn names() -> Vec<&'static str> {
    subjects().iter().map(|subject| subject.name).collect()
}

struct Prepared {
    message: Place,
    bytes: Vec<u8>,
    length: usize,
}

impl Prepared {
    /// One call; `length` is what the function wants to find there.
    fn call(&mut self, function: Function, length: usize) -> Result<()> {
        self.length = length;
        let (message, bytes) = ((&raw mut self.message).cast(), self.bytes.as_mut_ptr());
        // SAFETY: the message is one of the function's own type, or room for it, and there are at
        // least so many bytes.
        let code = unsafe { function(black_box(message), black_box(bytes), &mut self.length) };
        ensure!(black_box(code) == 0, "a message was refused");
        Ok(())
    }
}

/// The message for one side: in C the structure that travels, with the address of its payload.
fn prepare(subject: &Subject, side: Side) -> Result<Prepared> {
    let [encode, _] = subject.rust;
    let mut prepared = Prepared { message: subject.message, bytes: vec![0; ROOM], length: 0 };
    prepared.call(encode, ROOM)?;
    if side == Side::C {
        // Unpacking the same bytes gives C's message, which points at a payload of its own.
        let bytes = Box::leak(prepared.bytes.clone().into_boxed_slice());
        let (message, length) = ((&raw mut prepared.message).cast(), prepared.length);
        // SAFETY: there is room for the message, and the bytes stay.
        let code = unsafe { subject.c[1](message, bytes.as_mut_ptr(), &mut { length }) };
        ensure!(code == 0, "the two sides do not understand each other");
    }
    Ok(prepared)
}

/// Writes or reads one message `count` times.
pub(super) fn run(name: &str, direction: Direction, side: Side, count: usize) -> Result<()> {
    let subjects = subjects();
    let subject = subjects.iter().find(|subject| subject.name == name);
    let subject = subject.with_context(|| format!("no message is called {name}: {:?}", names()))?;
    let mut prepared = prepare(subject, side)?;
    let written = prepared.length;
    let functions = match side {
        Side::Rust => subject.rust,
        Side::C => subject.c,
        Side::Nothing => [c_nothing as Function; 2],
    };
    let (function, length) = match direction {
        Direction::Encode => (functions[0], ROOM),
        Direction::Decode => (functions[1], written),
    };
    let bytes = prepared.bytes.clone();
    callgrind::codec_counted_rounds(count, &mut || prepared.call(function, length))?;
    // In C a word is the payload's address. The Rust side reads the message, and writes its own
    // bytes.
    let [encode, decode] = subject.rust;
    let mut read = Prepared { message: Place::EMPTY, bytes: prepared.bytes.clone(), length: 0 };
    read.call(decode, written)?;
    prepared.message = read.message;
    prepared.call(encode, ROOM)?;
    ensure!(
        prepared.length == written && prepared.bytes == bytes,
        "the two sides write different messages"
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What they cost is `cargo xtask bench codec`'s to say.
    #[test]
    fn both_sides_write_and_read_the_same_bytes() {
        for name in names() {
            for side in [Side::Rust, Side::C] {
                for direction in [Direction::Encode, Direction::Decode] {
                    run(name, direction, side, 2).unwrap_or_else(|error| {
                        panic!("{name}, {direction:?} by {side:?}: {error:#}")
                    });
                }
            }
        }
    }
}
