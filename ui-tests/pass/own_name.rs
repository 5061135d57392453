//! `Self` in a definition is the enum, even in code generated for another type.

#![deny(warnings)]

use urom_abi::{Elements, Payload, urom_command, urom_notification};

#[urom_command(plugin = "p", version = 1)]
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Command<'a> {
    #[urom(reply = Done)]
    Name {
        n: u64,
        small: [u8; Self::N],
        #[urom(inline)]
        whole: &'a [u8; Self::N],
        #[urom(inline, addr = none, len = n.checked_mul(Self::PER))]
        name: &'a [u8],
        #[urom(inline, addr = none, len = twice::<{ Self::N }, 2>(n), when = n < Self::PER)]
        more: Option<Elements<'a, [u16; Self::N]>>,
    },
}

impl Command<'_> {
    pub const N: usize = 4;
    pub const PER: u64 = 2;
}

fn twice<const A: usize, const B: u64>(n: u64) -> Option<u64> {
    n.checked_mul(B).filter(|_| A == 4)
}

#[urom_notification]
#[derive(Debug, PartialEq)]
pub enum Notification {
    Done {
        name: [u8; Self::L],
        #[urom(inline, addr = none, len = Self::L)]
        data: Payload,
    },
}

impl Notification {
    pub const L: usize = 3;
}

fn main() {
    let more = [[1, 2, 3, 4], [5, 6, 7, 8]];
    let name = Name { n: 1, small: [1; 4], whole: &[2; 4], name: &[3; 2], more: Some(Elements::from(&more)) };
    let mut bytes = [0; 64];
    let len = Command::from(name).encode(&mut bytes).unwrap();
    assert_eq!(Name::decode(&bytes[..len]).unwrap(), name);
    let done = Notification::Done { name: [7; 3], data: Payload::from(&[1, 2, 3]) };
    let len = done.encode(&mut bytes).unwrap();
    assert_eq!(Notification::decode(&bytes[..len]).unwrap(), done);
}
