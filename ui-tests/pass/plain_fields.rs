//! Every kind of plain field, both sides' traits, and every way to state a tag.

use urom_abi::protocol::{Protocol as _, Reply, Request};
use urom_abi::urom_command;

#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, bytemuck::Pod, bytemuck::Zeroable)]
pub struct Point {
    x: f32,
    y: f32,
}

#[urom_command(plugin = "worker_kinds", version = 0x10, notification = answers::Answer, tag = u64)]
#[derive(Debug, Clone, PartialEq)]
pub enum Command {
    #[urom(reply = answers::Done)]
    Numbers { a: u8, b: i16, c: u32, d: f64, e: i64 },
    #[urom(reply = answers::Done, tag = 7)]
    Arrays { bytes: [u8; 3], words: [[u32; 2]; 2], points: [Point; 2] },
    #[urom(reply = answers::Echoed)]
    Structure { point: Point, #[urom(echo)] context: u64, #[urom(echo)] r#type: u8 },
    #[urom(reply = answers::Done)]
    Unit,
    #[urom(reply = answers::Done)]
    Empty {},
    #[urom(reply = answers::Done)]
    Loop { r#fn: u32 },
}

mod answers {
    use urom_abi::urom_notification;

    #[urom_notification]
    #[derive(Debug, Clone, PartialEq)]
    pub enum Answer {
        Done,
        Echoed { #[urom(echo)] context: u64, status: i8, #[urom(echo)] r#type: u8 } = 9,
    }
}

mod only_units {
    #[urom_abi::urom_command(plugin = "units", version = 1)]
    #[derive(Debug, PartialEq)]
    pub enum Ask {
        #[urom(reply = Pong)]
        Ping = 3,
    }

    #[urom_abi::urom_notification]
    pub enum Notification {
        Pong,
    }
}

fn main() {
    // { u64 tag; union { { u8, i16, u32, f64, i64 }; ... { u8[3], u32[2][2], float[4] } } }
    assert_eq!(Protocol::COMMAND_LEN, 8 + 36 + 4);
    assert_eq!(Protocol::NOTIFICATION_LEN, 24);
    let mut out = [0xee; 48];
    let arrays = Arrays { bytes: [1, 2, 3], words: [[4, 5], [6, 7]], points: [Point { x: 1.0, y: 2.0 }; 2] };
    assert_eq!(arrays.encode(&mut out), Ok(48));
    assert_eq!(out[..16], [7, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 0, 4, 0, 0, 0]);
    assert_eq!(Command::decode(&out), Ok(Command::from(arrays.clone())));
    assert_eq!(Unit.encode(&mut out), Ok(48));
    assert_eq!(out[..9], [9, 0, 0, 0, 0, 0, 0, 0, 0]);
    assert_eq!(Empty {}.encode(&mut out).map(|_| out[0]), Ok(10));
    assert_eq!(Loop { r#fn: 1 }.encode(&mut out).map(|_| out[0]), Ok(11));

    let asked = Structure { point: Point { x: 0.5, y: 0.25 }, context: 77, r#type: 8 };
    let echo = asked.echo();
    let reply = answers::Echoed { status: -5 }.into_descriptor(&echo).unwrap();
    assert_eq!(reply.payload()[0], 9);
    let answer = answers::Answer::decode(reply.payload());
    assert_eq!(answer, Ok(answers::Answer::Echoed { context: 77, status: -5, r#type: 8 }));
    assert_eq!(answers::Echoed::decode(reply.payload(), &echo), Ok(answers::Echoed { status: -5 }));
    asked.encode(&mut out).unwrap();
    let refused = Protocol::refusal(&out).unwrap();
    assert_eq!(answers::Answer::decode(refused.payload()), Ok(answers::Answer::Echoed { context: 77, status: 0, r#type: 8 }));

    let mut out = [0; 8];
    assert_eq!(only_units::Ping {}.encode(&mut out).map(|_| out[0]), Ok(3));
    assert_eq!(only_units::Ask::decode(&out), Ok(only_units::Ask::Ping));
}
