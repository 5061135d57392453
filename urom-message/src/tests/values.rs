//! Text, and types with invalid byte patterns.

use urom_abi::protocol::Reply;

use super::*;

mod protocol {
    use urom_abi::{Described, urom_command, urom_notification};
    use zerocopy::{FromZeros, Immutable, IntoBytes, TryFromBytes};

    #[derive(Clone, Copy, Debug, PartialEq, FromZeros, IntoBytes, Immutable, Described)]
    #[repr(u16)]
    pub(crate) enum Mode {
        Fast = 0,
        VerySlow = 300,
    }

    #[derive(Clone, Copy, Debug, PartialEq, TryFromBytes, IntoBytes, Immutable, Described)]
    #[repr(C)]
    pub(crate) struct Step {
        pub(crate) modes: [Mode; 2],
        pub(crate) last: bool,
        pub(crate) first: bool,
    }

    #[urom_command(plugin = "worker_values", version = 1)]
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub(crate) enum Command<'a> {
        #[urom(reply = Set)]
        Name {
            #[urom(echo)]
            mode: Mode,
            loud: bool,
            letter: char,
            step: Step,
            #[urom(inline, addr = none, when = loud)]
            name: Option<&'a str>,
        },
    }

    #[urom_notification]
    #[derive(Debug)]
    pub(crate) enum Notification {
        Set {
            #[urom(echo)]
            mode: Mode,
            done: bool,
            letter: char,
        },
    }
}

const VALUES: &describe::Protocol = protocol::Protocol::DESCRIPTION;

fn name() -> protocol::Name<'static> {
    use protocol::{Mode, Step};
    let step = Step { modes: [Mode::Fast, Mode::VerySlow], last: true, first: false };
    protocol::Name { mode: Mode::VerySlow, loud: true, letter: 'é', step, name: Some("größe") }
}

#[test]
fn values_are_given_and_shown_by_their_names() {
    let text = "mode=very_slow loud=true letter=é step={modes=[Fast,300],last=1} name=größe";
    let bytes = plainly(VALUES, "name", text);
    assert_eq!(bytes, typed(&name()));
    let shown: Vec<_> = read_back(VALUES, &bytes)
        .fields
        .iter()
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    let want = [
        "mode=VerySlow",
        "loud=true",
        "letter=é",
        "step={modes=[Fast,VerySlow],last=true,first=false}",
        "name=größe",
    ];
    assert_eq!(shown, want);
    let json: Vec<_> = read_back(VALUES, &bytes)
        .fields
        .iter()
        .map(|(_, value)| value.json().to_string())
        .collect();
    let step = r#"{"first":false,"last":true,"modes":["Fast","VerySlow"]}"#;
    assert_eq!(json, [r#""VerySlow""#, "true", r#""é""#, step, r#""größe""#]);
}

#[test]
fn a_condition_that_is_a_bool_is_computed() {
    let left_out = refused(VALUES, "name", "loud=true letter=x step={last=true}");
    assert!(left_out.contains("it must be given, because `loud` holds"), "{left_out}");
    let given = refused(VALUES, "name", "loud=false letter=x step={last=true} name=x");
    assert!(given.contains("it must be left out, because `loud` does not hold"), "{given}");
}

#[test]
fn bytes_that_are_no_value_are_shown_and_are_a_problem() {
    let reply = protocol::Set { done: true, letter: 'x' };
    let echo = name().echo();
    let mut bytes = reply.into_descriptor(&echo).unwrap().payload().to_vec();
    let fields = VALUES.notifications.variants[0].fields;
    let at = |name: &str| fields.iter().find(|field| field.name == name).unwrap().offset;
    bytes[at("done")] = 9;
    bytes[at("mode")] = 1;
    bytes[at("letter") + 3] = 1;
    let decoded = decode(&VALUES.notifications, None, &bytes).unwrap();
    let shown: Vec<_> =
        decoded.fields.iter().map(|(name, value)| format!("{name}={value}")).collect();
    assert_eq!(shown, ["mode=257", "done=9", "letter=16777336"]);
    let problems = decoded.problems.join("; ");
    assert!(
        problems.contains("mode: 257 is not a value of `Mode`: expected 0 (Fast), 300 (VerySlow)"),
        "{problems}"
    );
    assert!(
        problems.contains("done: 9 is not a value of `bool`")
            && problems.contains("letter: 0x1000078"),
        "{problems}"
    );
    // Invalid UTF-8.
    let mut bytes = typed(&name());
    let last = bytes.len() - 1;
    bytes[last] = 0xff;
    let problems = decode(&VALUES.commands, None, &bytes).unwrap().problems.join("; ");
    assert!(problems.contains("name: no UTF-8"), "{problems}");
}
