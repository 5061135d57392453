//! Arbitrary messages come back as they were, and arbitrary bytes never do harm.

mod kinds;

use kinds::{Command, Counted, Measured, Notification, Point, Protocol, Segment, Unsigned};
use proptest::prelude::*;
use urom_abi::protocol::{Protocol as _, Reply, Request};
use urom_abi::wire::{DecodeError, DecodeProblem};

const COMMAND: usize = Protocol::COMMAND_LEN;
const NOTIFICATION: usize = Protocol::NOTIFICATION_LEN;

// Not NaN, so that equality means equal bytes.
fn point() -> impl Strategy<Value = Point> {
    (proptest::num::f32::NORMAL, proptest::num::f32::ANY.prop_filter("a number", |y| !y.is_nan()))
        .prop_map(|(x, y)| Point { x, y })
}

fn segment() -> impl Strategy<Value = Segment> {
    (point(), point(), proptest::num::f64::NORMAL).prop_map(|(from, to, weight)| Segment {
        from,
        to,
        weight,
    })
}

fn command() -> impl Strategy<Value = Command> {
    let float32 = proptest::num::f32::NORMAL;
    let float64 = proptest::num::f64::NORMAL;
    prop_oneof![
        any::<(u8, u16, u64, u32, u64, u8)>()
            .prop_map(|(a, b, context, c, d, e)| Command::Unsigned { a, b, context, c, d, e }),
        any::<(i8, i16, i32, i64)>().prop_map(|(a, b, c, d)| Command::Signed { a, b, c, d }),
        (float32, float64).prop_map(|(a, b)| Command::Floats { a, b }),
        any::<([u8; 5], [[u16; 3]; 2], u64)>().prop_map(|(bytes, words, context)| {
            Command::Arrays { bytes, words, none: [], context }
        }),
        (segment(), [point(), point()]).prop_map(|(one, many)| Command::Structures { one, many }),
        Just(Command::Nothing),
    ]
}

fn notification() -> impl Strategy<Value = Notification> {
    prop_oneof![
        any::<(u32, u64, [u8; 3])>().prop_map(|(count, context, last)| Notification::Counted {
            count,
            context,
            last
        }),
        segment().prop_map(|segment| Notification::Measured { segment }),
        Just(Notification::Finished),
    ]
}

/// Whatever these bytes are, nothing panics, and what is read is written back to the same fields.
fn harmless(bytes: &[u8]) {
    if let Ok(command) = Command::decode(bytes) {
        let mut out = [0; COMMAND];
        assert_eq!(command.encode(&mut out), Ok(COMMAND));
        // Compared as bytes of a second turn, because NaN does not equal itself.
        let mut again = [0; COMMAND];
        Command::decode(&out).unwrap().encode(&mut again).unwrap();
        assert_eq!(out, again);
    }
    if let Ok(notification) = Notification::decode(bytes) {
        assert_eq!(notification.encode(&mut [0; NOTIFICATION]), Ok(NOTIFICATION));
    }
    let refusal = Protocol::refusal(bytes).unwrap();
    assert_eq!(refusal.payload().len(), NOTIFICATION);
    let _ = Counted::decode(bytes, &unsigned(1).echo());
}

fn unsigned(context: u64) -> Unsigned {
    Unsigned { a: 1, b: 2, context, c: 3, d: 4, e: 5 }
}

proptest! {
    #[test]
    fn a_command_comes_back_as_it_was(command in command(), dirt in any::<u8>(), behind in 0usize..9) {
        let mut out = vec![dirt; COMMAND + behind];
        prop_assert_eq!(command.encode(&mut out), Ok(COMMAND));
        prop_assert!(out[COMMAND..].iter().all(|byte| *byte == dirt), "nothing is written behind it");
        prop_assert_eq!(Command::decode(&out[..COMMAND]), Ok(command));

        let mut clean = [0; COMMAND];
        command.encode(&mut clean).unwrap();
        prop_assert_eq!(&out[..COMMAND], &clean[..], "bytes nobody set are zero");
    }

    #[test]
    fn a_notification_comes_back_as_it_was(notification in notification()) {
        let mut out = [0xee; NOTIFICATION];
        prop_assert_eq!(notification.encode(&mut out), Ok(NOTIFICATION));
        prop_assert_eq!(Notification::decode(&out), Ok(notification));
    }

    #[test]
    fn one_wrong_byte_does_no_harm(command in command(), at in 0..COMMAND, flip in 1u8..) {
        let mut bytes = [0; COMMAND];
        command.encode(&mut bytes).unwrap();
        bytes[at] ^= flip;
        harmless(&bytes);
        if (1..8).contains(&at) {
            prop_assert_eq!(Command::decode(&bytes).map_err(|error| error.field), Err("tag"));
        }
    }

    #[test]
    fn a_reply_carries_the_echo_and_is_refused_with_another(context: u64, other: u64, count: u32, last: [u8; 3]) {
        let echo = unsigned(context).echo();
        let desc = Counted { count, last }.into_descriptor(&echo).unwrap();
        prop_assert_eq!(
            Notification::decode(desc.payload()),
            Ok(Notification::Counted { count, context, last })
        );
        prop_assert_eq!(Counted::decode(desc.payload(), &echo), Ok(Counted { count, last }));
        if other != context {
            let wrong = Counted::decode(desc.payload(), &unsigned(other).echo());
            let problem = DecodeProblem::NotEchoed;
            prop_assert_eq!(wrong, Err(DecodeError { message: "Counted", field: "context", problem }));
        }
    }

    #[test]
    fn a_refusal_is_the_zeroed_reply_with_the_echo(context: u64, more in 0usize..9) {
        let mut bytes = [0; COMMAND + 9];
        unsigned(context).encode(&mut bytes).unwrap();
        let refusal = Protocol::refusal(&bytes[..COMMAND + more]).unwrap();
        let expected = Notification::Counted { count: 0, context, last: [0; 3] };
        prop_assert_eq!(Notification::decode(refusal.payload()), Ok(expected));
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
    assert_eq!(answer(24), Ok(expected));
    // Not even a tag, or one that nobody knows: zeros behind it.
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
        "Command: tag: 99 is none of 0 (Unsigned), 17 (Signed), 18 (Floats), 19 (Arrays), 5 (Structures), 6 (Nothing)"
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
    let wrong = Measured::decode(other.payload(), &kinds::Signed { a: 0, b: 0, c: 0, d: 0 }.echo());
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
