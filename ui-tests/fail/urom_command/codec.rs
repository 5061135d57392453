//! A codec that lacks something.

use urom_abi::{urom_command, urom_notification};

#[urom_command(plugin = "p", version = 1)]
enum Command {
    #[urom(reply = Done)]
    Work {
        #[urom(with = empty)]
        lacks_all: u64,
        #[urom(with = other)]
        of_another_type: u64,
        #[urom(with = whole, optional)]
        without_default: NoDefault,
    },
}

struct NoDefault;

mod empty {}

mod other {
    pub type Wire = u32;

    pub fn encode(_: &u32) -> u32 {
        0
    }

    pub fn decode(_: u32) -> Result<u32, &'static str> {
        Ok(0)
    }
}

mod whole {
    use super::NoDefault;

    pub type Wire = u32;

    pub fn encode(_: &NoDefault) -> u32 {
        0
    }

    pub fn decode(_: u32) -> Result<NoDefault, &'static str> {
        Ok(NoDefault)
    }
}

#[urom_notification]
enum Notification {
    Done,
}

fn main() {}
