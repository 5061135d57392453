//! Expressions that cannot panic compile, and their values are correct.

#![deny(warnings)]

use urom_abi::{urom_command, urom_notification};

pub mod limits {
    pub const MOST: u32 = 4;

    /// A function of the author may have any name.
    pub fn pow(n: u32) -> u32 {
        n.wrapping_mul(n)
    }

    #[derive(Clone, Copy, PartialEq)]
    pub struct Kind(pub u32);

    impl Kind {
        pub const SHORT: Kind = Kind(1);
    }
}

use limits::{Kind, MOST};

#[urom_command(plugin = "p", version = 1)]
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Command<'a> {
    #[urom(reply = Done)]
    Put {
        n: u32,
        #[urom(inline, addr = none, len = n.div_ceil(8))]
        bits: &'a [u8],
        #[urom(inline, addr = none, len = n.rem_euclid(3))]
        rest: &'a [u8],
        #[urom(inline, addr = none, len = n.checked_add(1).unwrap_or(0))]
        more: &'a [u8],
        #[urom(inline, addr = none, len = n.saturating_mul(2).min(MOST))]
        most: &'a [u8],
        #[urom(inline, addr = none, len = limits::pow(n))]
        squared: &'a [u8],
        #[urom(inline, addr = none, len = if n > 1 { MOST } else { 0 })]
        chosen: &'a [u8],
        #[urom(inline, addr = none, len = 1, when = matches!(n, 1..=MOST if n & 1 == 1))]
        odd: Option<&'a [u8]>,
        #[urom(inline, addr = none, len = 1, when = Kind(n) == Kind::SHORT)]
        short: Option<&'a [u8]>,
    },
}

#[urom_notification]
#[derive(Debug, PartialEq)]
pub enum Notification {
    Done,
}

fn main() {
    let put = Put {
        n: 2,
        bits: &[1],
        rest: &[2, 3],
        more: &[4, 5, 6],
        most: &[1; 4],
        squared: &[2; 4],
        chosen: &[3; 4],
        odd: None,
        short: None,
    };
    let mut bytes = [0; 64];
    let len = Command::from(put).encode(&mut bytes).unwrap();
    assert_eq!(Put::decode(&bytes[..len]).unwrap(), put);
}
