//! `bool`, `char`, enums and text in messages: valid values, rejected values, zeros.

mod protocol {
    use urom_abi::{Described, urom_command, urom_notification};
    use zerocopy::{FromZeros, Immutable, IntoBytes, TryFromBytes};

    #[derive(Clone, Copy, Debug, PartialEq, Eq, FromZeros, IntoBytes, Immutable, Described)]
    #[repr(u8)]
    pub(crate) enum Mode {
        Exact = 0,
        Rounded = 4,
    }

    /// A direction, without the value 0.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, TryFromBytes, IntoBytes, Immutable, Described)]
    #[repr(i16)]
    pub(crate) enum Way {
        Up = 1,
        Down = -1,
    }

    #[derive(Clone, Copy, Debug, PartialEq, Eq, TryFromBytes, IntoBytes, Immutable, Described)]
    #[repr(u64)]
    pub(crate) enum Wide {
        Least = 1,
        Most = u64::MAX,
    }

    #[derive(Clone, Copy, Debug, PartialEq, Eq, TryFromBytes, IntoBytes, Immutable, Described)]
    #[repr(C)]
    pub(crate) struct Step {
        pub(crate) ways: [Way; 2],
        pub(crate) last: bool,
        pub(crate) mode: Mode,
    }

    /// As `Step`, but not described.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, TryFromBytes, IntoBytes, Immutable)]
    #[repr(C)]
    pub(crate) struct Dark {
        pub(crate) bits: [bool; 4],
    }

    pub(crate) mod yes_or_no {
        pub(crate) type Wire = bool;
        pub(crate) fn encode(text: &str) -> bool {
            text == "yes"
        }
        pub(crate) fn decode(wire: bool) -> Result<String, &'static str> {
            Ok(if wire { "yes" } else { "no" }.to_owned())
        }
    }

    #[urom_command(plugin = "worker_values", version = 1)]
    #[derive(Debug, Clone, PartialEq)]
    pub(crate) enum Command<'a> {
        #[urom(reply = Set)]
        Set0 {
            #[urom(header)]
            urgent: bool,
            #[urom(echo)]
            ready: bool,
            #[urom(echo)]
            mode: Mode,
            letter: char,
            way: Way,
            wide: Wide,
            flags: [bool; 3],
            step: Step,
            dark: Dark,
            #[urom(optional)]
            later: bool,
            #[urom(optional)]
            mark: char,
            #[urom(with = yes_or_no)]
            answer: String,
        },
        #[urom(reply = Named)]
        Name {
            #[urom(header)]
            urgent: bool,
            loud: bool,
            #[urom(inline)]
            name: &'a str,
            #[urom(inline, when = loud)]
            nick: Option<&'a str>,
            #[urom(inline, addr = none, len = name.len())]
            backwards: &'a str,
        },
    }

    #[urom_notification]
    #[derive(Debug, Clone, PartialEq)]
    pub(crate) enum Notification {
        Set {
            #[urom(echo)]
            ready: bool,
            #[urom(echo)]
            mode: Mode,
            done: bool,
            way: Way,
        },
        Named {
            found: bool,
        },
    }
}

use protocol::{Command, Dark, Mode, Name, Set, Set0, Step, Way, Wide};
use urom_abi::describe::Messages;
use urom_abi::protocol::{Protocol as _, Reply, Request};

const LEN: usize = protocol::Protocol::DESCRIPTION.commands.len;

fn set() -> Set0 {
    Set0 {
        urgent: true,
        ready: true,
        mode: Mode::Rounded,
        letter: 'é',
        way: Way::Down,
        wide: Wide::Most,
        flags: [true, false, true],
        step: Step { ways: [Way::Up, Way::Down], last: true, mode: Mode::Exact },
        dark: Dark { bits: [true, false, false, true] },
        later: true,
        mark: '\u{10ffff}',
        answer: "yes".to_owned(),
    }
}

fn bytes_of(command: &impl Request) -> Vec<u8> {
    let mut bytes = vec![0; command.encoded_len().unwrap()];
    command.encode(&mut bytes).unwrap();
    bytes
}

fn field_offset(messages: &Messages, name: &str) -> usize {
    let fields = messages.header.iter().chain(messages.variants[0].fields);
    fields.into_iter().find(|field| field.name == name).unwrap().offset
}

fn offset(name: &str) -> usize {
    field_offset(&protocol::Protocol::DESCRIPTION.commands, name)
}

fn offset_in_answer(name: &str) -> usize {
    field_offset(&protocol::Protocol::DESCRIPTION.notifications, name)
}

#[test]
fn values_travel_as_c_has_them() {
    let bytes = bytes_of(&set());
    assert_eq!(bytes.len(), LEN);
    assert_eq!((bytes[offset("urgent")], bytes[offset("mode")]), (1, 4));
    assert_eq!(bytes[offset("letter")..][..4], 0xe9u32.to_le_bytes());
    assert_eq!(bytes[offset("way")..][..2], (-1i16).to_le_bytes());
    assert_eq!(bytes[offset("wide")..][..8], [0xff; 8]);
    assert_eq!(bytes[offset("flags")..][..3], [1, 0, 1]);
    assert_eq!(bytes[offset("step")..][..6], [1, 0, 0xff, 0xff, 1, 0]);
    assert_eq!(Set0::decode(&bytes).unwrap(), set());
    assert_eq!(Command::decode(&bytes).unwrap(), Command::from(set()));
}

#[test]
fn bytes_that_are_no_value_are_an_error_that_names_the_field_and_what_was_found() {
    for (field, at, byte, want) in [
        ("urgent", 0, 2, "Set0: urgent: 2 is not a value of `bool`: expected 0 or 1"),
        ("ready", 0, 255, "Set0: ready: 255 is not a value of `bool`: expected 0 or 1"),
        ("mode", 0, 1, "Set0: mode: 1 is not a value of `Mode`: expected 0 (Exact), 4 (Rounded)"),
        (
            "letter",
            2,
            0x11,
            "Set0: letter: 0x1100e9 is not a value of `char`: expected at most 0x10ffff, outside of 0xd800 to 0xdfff",
        ),
        ("way", 1, 0x7f, "Set0: way: 32767 is not a value of `Way`: expected 1 (Up), -1 (Down)"),
        (
            "wide",
            0,
            0,
            "Set0: wide: 18446744073709551360 is not a value of `Wide`: expected 1 (Least), 18446744073709551615 (Most)",
        ),
        ("flags", 1, 3, "Set0: flags[1]: 3 is not a value of `bool`: expected 0 or 1"),
        (
            "step",
            2,
            0,
            "Set0: step.ways[1]: -256 is not a value of `Way`: expected 1 (Up), -1 (Down)",
        ),
        ("step", 4, 9, "Set0: step.last: 9 is not a value of `bool`: expected 0 or 1"),
        ("dark", 0, 2, "Set0: dark: 0x1000002 is not a value of `Dark`"),
        ("later", 0, 2, "Set0: later: 2 is not a value of `bool`: expected 0 or 1"),
        ("answer", 0, 2, "Set0: answer: 2 is not a value of `bool`: expected 0 or 1"),
    ] {
        let mut bytes = bytes_of(&set());
        bytes[offset(field) + at] = byte;
        let text = Set0::decode(&bytes).unwrap_err().to_string();
        assert_eq!(text, want);
        assert_eq!(Command::decode(&bytes).unwrap_err().to_string(), want);
    }
}

#[test]
fn a_notification_with_a_wrong_value_is_refused_by_the_host() {
    let echo = set().echo();
    let reply = Set { done: true, way: Way::Up }.into_descriptor(&echo).unwrap();
    let bytes = reply.payload().to_vec();
    assert_eq!(Set::decode(&bytes[..], &echo).unwrap(), Set { done: true, way: Way::Up });
    for (name, want) in [
        ("done", "Set: done: 8 is not a value of `bool`: expected 0 or 1"),
        ("way", "Set: way: 8 is not a value of `Way`: expected 1 (Up), -1 (Down)"),
        ("ready", "Set: ready: does not repeat the value the command carried"),
    ] {
        let mut bytes = bytes.clone();
        bytes[offset_in_answer(name)] = 8;
        assert_eq!(Set::decode(&bytes[..], &echo).unwrap_err().to_string(), want);
    }
}

#[test]
fn a_refusal_repeats_what_is_a_value_and_is_zero_otherwise() {
    let mut bytes = bytes_of(&set());
    let repeated = |bytes: &[u8]| {
        let refusal = protocol::Protocol::refusal(bytes).unwrap();
        ["ready", "mode"].map(|name| refusal.payload()[offset_in_answer(name)])
    };
    assert_eq!(repeated(&bytes), [1, 4]);
    bytes[offset("mode")] = 9;
    assert_eq!(repeated(&bytes), [1, 0]);
    assert_eq!(repeated(&bytes[..offset("ready")]), [0, 0]);
}

#[test]
fn text_is_checked_and_borrowed() {
    let name =
        Name { urgent: false, loud: true, name: "größe", nick: Some("g"), backwards: "1234567" };
    let bytes = bytes_of(&name);
    assert!(bytes.ends_with("größeg1234567".as_bytes()));
    assert_eq!(Name::decode(&bytes).unwrap(), name);
    let mut wrong = bytes.clone();
    wrong[LEN + 2] = 0xff;
    let text = Name::decode(&wrong).unwrap_err().to_string();
    assert_eq!(text, "Name: name: no UTF-8: its byte 2 is 0xff, which cannot stand there");
    wrong = bytes.clone();
    let last = wrong.len() - 1;
    wrong[last] = 0xc3;
    let text = Name::decode(&wrong).unwrap_err().to_string();
    assert_eq!(text, "Name: backwards: no UTF-8: its byte 6 is 0xc3, which cannot stand there");
    let short = Name { backwards: "1", ..name };
    assert!(short.encode(&mut [0; 200]).unwrap_err().to_string().contains("backwards"));
    let without = Name { loud: false, nick: None, ..name };
    assert_eq!(Name::decode(&bytes_of(&without)).unwrap(), without);
}
