//! A protocol with every kind of plain field.

#![allow(dead_code, reason = "each test program uses another part")]

use urom_abi::{urom_command, urom_notification};

/// A structure without padding, with a structure in it.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, bytemuck::Pod, bytemuck::Zeroable)]
pub(crate) struct Segment {
    pub(crate) from: Point,
    pub(crate) to: Point,
    pub(crate) weight: f64,
}

/// The inner one.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, bytemuck::Pod, bytemuck::Zeroable)]
pub(crate) struct Point {
    pub(crate) x: f32,
    pub(crate) y: f32,
}

#[urom_command(plugin = "worker_kinds", version = 3)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Command {
    /// Unsigned integers, of growing and shrinking sizes.
    #[urom(reply = Counted)]
    Unsigned {
        a: u8,
        b: u16,
        #[urom(echo)]
        context: u64,
        c: u32,
        d: u64,
        e: u8,
    },
    /// Signed ones.
    #[urom(reply = Measured, tag = 17)]
    Signed { a: i8, b: i16, c: i32, d: i64 },
    /// Floating point.
    #[urom(reply = Measured)]
    Floats { a: f32, b: f64 },
    /// Arrays, of arrays too.
    #[urom(reply = Counted)]
    Arrays {
        bytes: [u8; 5],
        words: [[u16; 3]; 2],
        none: [u64; 0],
        #[urom(echo)]
        context: u64,
    },
    /// Plain structures.
    #[urom(reply = Measured, tag = 5)]
    Structures { one: Segment, many: [Point; 2] },
    /// No field.
    #[urom(reply = Finished)]
    Nothing,
}

#[urom_notification]
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Notification {
    /// With an echoed field behind another.
    #[urom(tag = 40)]
    Counted {
        count: u32,
        #[urom(echo)]
        context: u64,
        last: [u8; 3],
    },
    /// Without one.
    Measured { segment: Segment },
    /// Without any field.
    Finished,
}
