//! Lints check the expressions of `len` and `when`, but not fields that an expression does not use.

#![deny(warnings)]

pub mod protocol {
    use urom_abi::{urom_command, urom_notification};

    #[deprecated = "use something else"]
    pub fn old(count: u64) -> u64 {
        count
    }

    #[urom_command(plugin = "p", version = 1)]
    pub enum Command<'a> {
        #[urom(reply = Done)]
        Put {
            min: u64,
            count: u64,
            #[urom(inline, addr = none, len = old(count.min(3)))]
            first: &'a [u8],
            #[urom(inline, addr = none, len = count.checked_mul(2).map(|unused| count))]
            second: &'a [u8],
            #[urom(inline, addr = none, len = 1, when = if let Some(mut truth) = Some(count == 1) { truth } else { false })]
            third: Option<&'a [u8]>,
        },
    }

    #[urom_notification]
    pub enum Notification {
        Done,
    }
}

fn main() {}
