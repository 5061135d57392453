//! Keys of a payload on a field that is none.

use urom_abi::{urom_command, urom_notification};

#[urom_command(plugin = "p", version = 1)]
enum Command {
    #[urom(reply = Done)]
    Work {
        count: u64,
        #[urom(len = count)]
        length: u64,
        #[urom(when = count == 0)]
        condition: u64,
        #[urom(addr = none)]
        address: u64,
        #[urom(unless = memh_id)]
        selector: u64,
        #[urom(word)]
        memh_id: u64,
    },
}

#[urom_notification]
enum Notification {
    Done,
}

fn main() {}
