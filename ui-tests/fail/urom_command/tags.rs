//! Missing, duplicate and invalid tags.

use urom_abi::{urom_command, urom_notification};

mod equal_tags {
    use super::*;

    #[urom_command(plugin = "p", version = 1)]
    enum Command {
        #[urom(reply = Done, tag = 3)]
        First,
        #[urom(reply = Done, tag = 3)]
        Second,
        #[urom(reply = Done)]
        Third,
    }
}

mod tags {
    use super::*;

    #[urom_command(plugin = "p", version = 1)]
    enum Command {
        #[urom(reply = Done, tag = 1)]
        First,
        #[urom(reply = Done)]
        Second = 7,
        #[urom(reply = Done, tag = FOUR)]
        Fourth,
        #[urom(reply = Done, tag = 18446744073709551616)]
        Fifth,
        #[urom(reply = Done, tag = -6)]
        Sixth,
        #[urom(reply = Done, tag = 18446744073709551615)]
        Last,
        #[urom(reply = Done)]
        BehindTheLast,
    }
}

mod tags_run_out {
    use super::*;

    #[urom_command(plugin = "p", version = 1, tag = u8)]
    enum Command {
        #[urom(reply = Done)]
        Zeroth,
        #[urom(reply = Done, tag = 255)]
        Last,
        #[urom(reply = Done)]
        BehindTheLast,
    }
}

mod tag_type {
    use super::*;

    #[urom_command(plugin = "p", version = 1, tag = i32)]
    enum Command {
        #[urom(reply = Done)]
        Work { value: u64 },
    }
}

#[urom_notification]
enum Notification {
    Done,
}

fn main() {}
