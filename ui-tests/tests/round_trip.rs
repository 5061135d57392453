//! Messages of plain fields round-trip, and errors name the malformed field.

use urom_abi::protocol::{Protocol as _, Reply, Request};
use urom_abi::wire::{DecodeError, DecodeProblem};
use urom_abi::{urom_command, urom_notification};

#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, bytemuck::Pod, bytemuck::Zeroable)]
struct Segment {
    from: Point,
    to: Point,
    weight: f64,
}

#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, bytemuck::Pod, bytemuck::Zeroable)]
struct Point {
    x: f32,
    y: f32,
}

#[urom_command(plugin = "worker_kinds", version = 3)]
#[derive(Clone, Copy, Debug, PartialEq)]
enum Command {
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
    #[urom(reply = Measured, tag = 17)]
    Signed { a: i8, b: i16, c: i32, d: i64 },
    #[urom(reply = Measured)]
    Floats { a: f32, b: f64 },
    #[urom(reply = Counted)]
    Arrays {
        bytes: [u8; 5],
        words: [[u16; 3]; 2],
        none: [u64; 0],
        #[urom(echo)]
        context: u64,
    },
    #[urom(reply = Measured, tag = 5)]
    Structures { one: Segment, many: [Point; 2] },
    #[urom(reply = Finished)]
    Nothing,
}

#[urom_notification]
#[derive(Clone, Copy, Debug, PartialEq)]
enum Notification {
    #[urom(tag = 40)]
    Counted {
        count: u32,
        #[urom(echo)]
        context: u64,
        last: [u8; 3],
    },
    Measured {
        segment: Segment,
    },
    Finished,
}

const COMMAND: usize = Protocol::COMMAND_LEN;
const NOTIFICATION: usize = Protocol::NOTIFICATION_LEN;

fn commands() -> [Command; 6] {
    let point = Point { x: 1.5, y: -2.0 };
    let one = Segment { from: point, to: Point { x: f32::MAX, y: 0.25 }, weight: f64::MIN };
    [
        unsigned(u64::MAX).into(),
        Command::Signed { a: i8::MIN, b: -1, c: i32::MAX, d: i64::MIN },
        Command::Floats { a: f32::MIN_POSITIVE, b: -0.5 },
        Command::Arrays { bytes: *b"bytes", words: [[1, 2, 3], [4, 5, 6]], none: [], context: 7 },
        Command::Structures { one, many: [point; 2] },
        Command::Nothing,
    ]
}

fn unsigned(context: u64) -> Unsigned {
    Unsigned { a: 1, b: 2, context, c: 3, d: 4, e: 5 }
}

#[test]
fn a_command_comes_back_as_it_was_and_every_byte_of_its_tag_counts() {
    for command in commands() {
        let mut bytes = [0xee; COMMAND + 3];
        assert_eq!(command.encode(&mut bytes), Ok(COMMAND));
        assert_eq!(bytes[COMMAND..], [0xee; 3], "nothing is written behind it");
        assert_eq!(Command::decode(&bytes[..COMMAND]), Ok(command));
        for at in 1..8 {
            let mut wrong = bytes;
            wrong[at] = 1;
            let error = Command::decode(&wrong[..COMMAND]).unwrap_err();
            assert_eq!(error.field, "tag");
        }
    }
}

#[test]
fn a_notification_comes_back_as_it_was() {
    let point = Point { x: 1.5, y: -2.0 };
    let segment = Segment { from: point, to: point, weight: 0.5 };
    for notification in [
        Notification::Counted { count: 1, context: 2, last: [3, 4, 5] },
        Notification::Measured { segment },
        Notification::Finished,
    ] {
        let mut out = [0xee; NOTIFICATION];
        assert_eq!(notification.encode(&mut out), Ok(NOTIFICATION));
        assert_eq!(Notification::decode(&out), Ok(notification));
    }
}

#[test]
fn a_reply_carries_the_echo_and_is_refused_with_another() {
    let (count, last, context) = (1, [2; 3], 0x1122_3344_5566_7788);
    let echo = unsigned(context).echo();
    let desc = Counted { count, last }.into_descriptor(&echo).unwrap();
    let expected = Notification::Counted { count, context, last };
    assert_eq!(Notification::decode(desc.payload()), Ok(expected));
    assert_eq!(Counted::decode(desc.payload(), &echo), Ok(Counted { count, last }));
    for other in (0..64).map(|bit| context ^ 1 << bit) {
        let wrong = Counted::decode(desc.payload(), &unsigned(other).echo());
        let problem = DecodeProblem::NotEchoed;
        assert_eq!(wrong, Err(DecodeError { message: "Counted", field: "context", problem }));
    }
}

#[test]
fn a_refusal_of_a_cut_command_holds_what_there_is() {
    let mut bytes = [0; COMMAND];
    unsigned(u64::MAX).encode(&mut bytes).unwrap();
    let answer =
        |len: usize| Notification::decode(Protocol::refusal(&bytes[..len]).unwrap().payload());
    // { u64 tag; u8 a; u16 b; u64 context; ... }: the context ends at 24.
    for len in 8..24 {
        let expected = Notification::Counted { count: 0, context: 0, last: [0; 3] };
        assert_eq!(answer(len), Ok(expected), "{len} bytes");
    }
    let expected = Notification::Counted { count: 0, context: u64::MAX, last: [0; 3] };
    assert_eq!((answer(24), answer(COMMAND)), (Ok(expected), Ok(expected)));
    // Without a tag or with an unknown tag, the rest is zeros.
    assert_eq!(Protocol::refusal(&bytes[..7]).unwrap().payload(), [0; NOTIFICATION]);
    let unknown = Protocol::refusal(&[9, 0, 0, 0, 0, 0, 0, 0x80]).unwrap();
    assert_eq!(unknown.payload()[..8], [9, 0, 0, 0, 0, 0, 0, 0x80]);
    assert_eq!(unknown.payload()[8..], [0; NOTIFICATION - 8]);
}

#[test]
fn errors_name_message_field_finding_and_what_is_allowed() {
    let mut bytes = [0; COMMAND];
    bytes[0] = 99;
    assert_eq!(
        Command::decode(&bytes).unwrap_err().to_string(),
        "Command: tag: 99 is not among 0 (Unsigned), 17 (Signed), 18 (Floats), 19 (Arrays), 5 (Structures), 6 (Nothing)"
    );
    assert_eq!(
        Unsigned::decode(&bytes).unwrap_err().to_string(),
        "Unsigned: tag: 99, but this message has 0"
    );
    bytes[0] = 17;
    assert_eq!(
        Command::decode(&bytes[..9]).unwrap_err().to_string(),
        format!("Signed: length: 9 bytes, but the fixed part alone takes {COMMAND}")
    );
    let other = Counted { count: 1, last: [0; 3] }.into_descriptor(&unsigned(1).echo()).unwrap();
    let wrong = Measured::decode(other.payload(), &Signed { a: 0, b: 0, c: 0, d: 0 }.echo());
    assert_eq!(wrong.unwrap_err().problem, DecodeProblem::OtherTag { found: 40, expected: 41 });
}

#[test]
fn the_layout_is_that_of_c() {
    // { uint64_t tag; union { ...; struct { Segment one; Point many[2]; }; }; }, 8-aligned.
    assert_eq!((COMMAND, NOTIFICATION), (8 + 24 + 16, 8 + 24));
    let mut bytes = [0xee; COMMAND];
    let context = 0x1111_1111_1111_1111;
    Unsigned { a: 0xaa, b: 0xbbbb, context, c: 0xcccc_cccc, d: 0xdddd_dddd_dddd_dddd, e: 0xff }
        .encode(&mut bytes)
        .unwrap();
    let mut expected = [0; COMMAND];
    expected[8] = 0xaa;
    expected[10..12].fill(0xbb);
    expected[16..24].fill(0x11);
    expected[24..28].fill(0xcc);
    expected[32..40].fill(0xdd);
    expected[40] = 0xff;
    assert_eq!(bytes, expected);
}

/// A command with an unknown tag, which the answer's tag may be too narrow for.
mod narrow {
    use urom_abi::{urom_command, urom_notification};

    #[urom_command(plugin = "p", version = 1, tag = u16)]
    #[derive(Debug)]
    pub(crate) enum Command {
        #[urom(reply = Done, tag = 7)]
        Work { value: u16 },
    }

    #[urom_notification(tag = u8)]
    #[derive(Debug)]
    pub(crate) enum Notification {
        #[urom(tag = 3)]
        Done { value: u8 },
    }
}

#[test]
fn an_unknown_tag_is_repeated_where_it_fits_and_0_otherwise() {
    let tag_of = |command: &[u8]| narrow::Protocol::refusal(command).unwrap().payload()[0];
    for (tag, want) in [(7, 3), (9, 9), (255, 255), (256, 0), (259, 0), (u16::MAX, 0)] {
        let [low, high] = u16::to_le_bytes(tag);
        assert_eq!(tag_of(&[low, high, 0, 0]), want, "{tag}");
        assert_eq!(tag_of(&[low, high]), want, "{tag}, cut");
    }
    assert_eq!(tag_of(&[9]), 0);
}
