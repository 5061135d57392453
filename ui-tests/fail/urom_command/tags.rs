//! Tags that are not one number for each variant.

use urom_abi::{urom_command, urom_notification};

#[urom_command(plugin = "p", version = 1)]
enum Command {
    #[urom(reply = Done, tag = 1)]
    First,
    #[urom(reply = Done)]
    Second = 1,
    #[urom(reply = Done, tag = 7)]
    Third = 7,
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

mod discriminants {
    #[urom_abi::urom_command(plugin = "p", version = 1)]
    pub enum Command {
        #[urom(reply = super::Done)]
        Least = -9223372036854775808,
        #[urom(reply = super::Done)]
        Next,
    }
    use super::Notification;
}

#[urom_notification]
enum Notification {
    Done,
}

fn main() {}
