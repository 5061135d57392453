//! `bool`, `char`, enums and text in C and C++.

use urom_abi::Described;
use urom_abi::protocol::Protocol as _;
use zerocopy::{Immutable, IntoBytes, TryFromBytes};

use crate::holds;

/// What to do.
#[derive(Clone, Copy, Debug, TryFromBytes, IntoBytes, Immutable, Described)]
#[repr(u8)]
#[allow(dead_code, reason = "only their description is of interest")]
pub(crate) enum Action {
    /// Nothing.
    Rest,
    Register = 7,
    RegisterAll = 255,
}

#[derive(Clone, Copy, Debug, TryFromBytes, IntoBytes, Immutable, Described)]
#[repr(i32)]
#[allow(dead_code, reason = "only their description is of interest")]
pub(crate) enum Level {
    Least = i32::MIN,
    Most = i32::MAX,
}

#[derive(Clone, Copy, Debug, TryFromBytes, IntoBytes, Immutable, Described)]
#[repr(u64)]
#[allow(dead_code, reason = "only their description is of interest")]
pub(crate) enum Wide {
    One = 1,
    Most = u64::MAX,
}

#[derive(Clone, Copy, Debug, TryFromBytes, IntoBytes, Immutable, Described)]
#[repr(i64)]
#[allow(dead_code, reason = "only their description is of interest")]
pub(crate) enum Deep {
    Least = i64::MIN,
    None = 0,
}

#[derive(Clone, Copy, Debug, TryFromBytes, IntoBytes, Immutable, Described)]
#[repr(C)]
pub(crate) struct Step {
    actions: [Action; 3],
    last: bool,
    letter: char,
}

mod protocol {
    use urom_abi::{urom_command, urom_notification};

    use super::{Action, Deep, Level, Step, Wide};

    #[urom_command(plugin = "values", version = 1, tag = u32)]
    pub(crate) enum Command<'a> {
        #[urom(reply = Done)]
        Go {
            #[urom(header)]
            urgent: bool,
            action: Action,
            level: Level,
            wide: Wide,
            deep: Deep,
            step: Step,
            flags: [bool; 5],
            #[urom(inline)]
            text: &'a str,
        },
    }

    #[urom_notification]
    pub(crate) enum Notification {
        Done { action: Action, bool: bool },
    }
}

#[test]
fn values_have_the_sizes_and_names_of_rust() {
    let facts = "
        sizeof(((struct values_command *)0)->urgent) == sizeof(bool)
        offsetof(struct values_command, urgent) == 4
        offsetof(struct values_command, go) == 8
        offsetof(struct values_command_go, action) == 0
        offsetof(struct values_command_go, level) == 4
        offsetof(struct values_command_go, wide) == 8
        offsetof(struct values_command_go, deep) == 16
        offsetof(struct values_command_go, step) == 24
        sizeof(struct values_step) == 8
        offsetof(struct values_step, last) == 3
        offsetof(struct values_step, letter) == 4
        offsetof(struct values_command_go, flags) == 32
        offsetof(struct values_notification_done, bool_) == 1
        (enum values_action)0 == VALUES_ACTION_REST
        VALUES_ACTION_REGISTER == 7
        VALUES_ACTION_REGISTER_ALL == UINT8_MAX
        VALUES_LEVEL_LEAST == INT32_MIN
        VALUES_LEVEL_MOST == INT32_MAX
        VALUES_WIDE_ONE == 1
        VALUES_WIDE_MOST == UINT64_MAX
        VALUES_DEEP_LEAST == INT64_MIN
        VALUES_DEEP_NONE == 0
    ";
    holds(protocol::Protocol::DESCRIPTION, facts);
}

#[test]
fn a_header_without_a_bool_includes_nothing_for_it() {
    let header = urom_abi::describe::c_header(&crate::known::SANDBOX);
    assert!(!header.contains("stdbool"), "{header}");
}
