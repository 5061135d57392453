//! What the grammar has and the code does not yet.

use urom_abi::{urom_command, urom_notification};

#[urom_command(plugin = "p", version = 1)]
enum Command {
    #[urom(reply = Done)]
    Work {
        #[urom(header)]
        context: u64,
        #[urom(inline, unless = memh_id)]
        data: u64,
        #[urom(len = count)]
        more: u64,
        #[urom(with = codec)]
        odd: u64,
        memh_id: u64,
        count: u64,
    },
}

#[urom_notification]
enum Notification {
    Done,
}

fn main() {}
