//! Messages, each written and read by the generated code and by hand-written C, through functions of one type.

use std::ffi::{c_int, c_void};
use std::hint::black_box;

use anyhow::{Context, Result, ensure};
use graph_protocol::Loopback;
use sandbox_protocol::{MapParams, MemMap, TagRecv, TagSend};
use urom_abi::protocol::Request;
use urom_abi::wire::DecodeError;
use urom_abi::{Data, Registered};

use crate::callgrind;

/// Which way a message goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Direction {
    Encode,
    Decode,
}

/// Whose code does it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Side {
    Rust,
    C,
    /// Nobody's: what the loop costs.
    Nothing,
}

/// `int f(message, bytes, length)`: `length` holds the room or the bytes there are, and what was written. 0 is success.
type Function = unsafe extern "C" fn(*mut c_void, *mut u8, *mut usize) -> c_int;

unsafe extern "C" {
    fn c_nothing(message: *mut c_void, bytes: *mut u8, length: *mut usize) -> c_int;
    fn c_pack_loopback(message: *mut c_void, bytes: *mut u8, length: *mut usize) -> c_int;
    fn c_unpack_loopback(message: *mut c_void, bytes: *mut u8, length: *mut usize) -> c_int;
    fn c_pack_mem_map(message: *mut c_void, bytes: *mut u8, length: *mut usize) -> c_int;
    fn c_unpack_mem_map(message: *mut c_void, bytes: *mut u8, length: *mut usize) -> c_int;
    fn c_pack_tag_send(message: *mut c_void, bytes: *mut u8, length: *mut usize) -> c_int;
    fn c_unpack_tag_send(message: *mut c_void, bytes: *mut u8, length: *mut usize) -> c_int;
    fn c_pack_tag_recv(message: *mut c_void, bytes: *mut u8, length: *mut usize) -> c_int;
    fn c_unpack_tag_recv(message: *mut c_void, bytes: *mut u8, length: *mut usize) -> c_int;
}

/// A command as both sides have it.
struct Subject {
    name: &'static str,
    /// [`encode`] and [`decode`] of its type.
    rust: [Function; 2],
    c: [Function; 2],
    message: Message,
}

/// A value for each of the types.
#[derive(Clone, Copy)]
enum Message {
    Loopback(Loopback),
    MemMap(MemMap<'static>),
    TagSend(TagSend<'static>),
    TagRecv(TagRecv),
}

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
/// `message` is writable as a `T`, and `bytes` has as many as `length` says, which stay as long as what is read.
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

/// What no message here comes to: out of the way of those that are measured.
#[cold]
#[inline(never)]
fn refused() -> c_int {
    black_box(-1)
}

const PAYLOAD: &[u8; 1000] = &[7; 1000];

/// All commands of both protocols, with and without payloads.
fn subjects() -> Vec<Subject> {
    let send = |data| Message::TagSend(TagSend { context: 1, dest: 2, data, tag: 3 });
    let inline = |length| send(Data::Inline(&PAYLOAD[..length]));
    let memory = std::num::NonZeroU64::MIN;
    let registered = send(Data::Registered(Registered { memory, address: 0x1000, len: 4096 }));
    let map = |exported_memh| {
        let map_params = MapParams::allocate(0x1000, 1 << 20);
        Message::MemMap(MemMap { context: 1, map_params, exported_memh })
    };
    let receive = TagRecv { context: 1, buffer: 2, count: 3, tag: 4, tag_mask: 5, memh_id: 6 };
    let loopback = ([encode::<Loopback>, decode::<Loopback>], [c_pack_loopback, c_unpack_loopback]);
    let mem_map: ([Function; 2], [Function; 2]) =
        ([encode::<MemMap>, decode::<MemMap>], [c_pack_mem_map, c_unpack_mem_map]);
    let tag_send: ([Function; 2], [Function; 2]) =
        ([encode::<TagSend>, decode::<TagSend>], [c_pack_tag_send, c_unpack_tag_send]);
    let tag_recv: ([Function; 2], [Function; 2]) =
        ([encode::<TagRecv>, decode::<TagRecv>], [c_pack_tag_recv, c_unpack_tag_recv]);
    let loopback: ([Function; 2], [Function; 2]) =
        (loopback.0.map(|f| f as Function), loopback.1.map(|f| f as Function));
    let all = [
        ("loopback", loopback, Message::Loopback(Loopback { data: 7 })),
        ("mem-map", mem_map, map(&[])),
        ("mem-map-200", mem_map, map(&PAYLOAD[..200])),
        ("tag-send-8", tag_send, inline(8)),
        ("tag-send-1000", tag_send, inline(1000)),
        ("tag-send-registered", tag_send, registered),
        ("tag-recv", tag_recv, Message::TagRecv(receive)),
    ];
    all.into_iter().map(|(name, (rust, c), message)| Subject { name, rust, c, message }).collect()
}

/// The names that [`run`] knows.
pub(crate) fn names() -> Vec<&'static str> {
    subjects().iter().map(|subject| subject.name).collect()
}

/// Room for a message of either side, aligned for all.
#[repr(C, align(16))]
struct Place([u8; 256]);

/// Room for the bytes of a message.
const ROOM: usize = 4096;

impl Message {
    /// Puts the value where the Rust functions find it.
    fn put(&self, place: &mut Place) {
        fn write<T: Copy>(place: &mut Place, value: &T) {
            const {
                assert!(
                    size_of::<T>() <= size_of::<Place>() && align_of::<T>() <= align_of::<Place>()
                )
            };
            // SAFETY: there is room, aligned, for any of the commands.
            unsafe { (&raw mut *place).cast::<T>().write(*value) };
        }
        match self {
            Message::Loopback(value) => write(place, value),
            Message::MemMap(value) => write(place, value),
            Message::TagSend(value) => write(place, value),
            Message::TagRecv(value) => write(place, value),
        }
    }
}

/// A message at its place, and its bytes.
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
        // SAFETY: the message is one of the function's own type, or room for it, and there are at least so many bytes.
        let code = unsafe { function(black_box(message), black_box(bytes), &mut self.length) };
        ensure!(black_box(code) == 0, "a message was refused");
        Ok(())
    }
}

/// The message for one side: in C its structure as it travels, with the address of its payload.
fn prepare(subject: &Subject, side: Side) -> Result<Prepared> {
    let [encode, _] = subject.rust;
    let mut prepared = Prepared { message: Place([0; 256]), bytes: vec![0; ROOM], length: 0 };
    subject.message.put(&mut prepared.message);
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
///
/// # Errors
/// When there is no such message, or a side refuses it.
pub(crate) fn run(name: &str, direction: Direction, side: Side, count: usize) -> Result<()> {
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
    callgrind::rounds(count, || prepared.call(function, length))?;
    // In C a word says where the payload was. The Rust side reads that, and writes what it would itself.
    let [encode, decode] = subject.rust;
    let mut read = Prepared { message: Place([0; 256]), bytes: prepared.bytes.clone(), length: 0 };
    read.call(decode, written)?;
    prepared.message = Place(read.message.0);
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
