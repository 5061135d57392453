//! Definitions that another macro makes: what it fills in arrives in groups without a sign.

#![deny(warnings)]

use urom_abi::Elements;

macro_rules! protocol {
    ($name:literal, $number:ty, $byte:ty, $tag:literal, $also:expr, $word:expr, $count:expr, $codec:path) => {
        #[urom_abi::urom_notification(tag = $number)]
        pub enum Notification {
            #[urom(tag = $tag, also = $also)]
            Done { value: $number },
        }

        #[urom_abi::urom_command(plugin = $name, version = $tag)]
        pub enum Command<'a> {
            #[urom(reply = Done)]
            Work {
                #[urom(word)]
                words: $number,
                #[urom(inline, addr = none, len = $word)]
                first: Elements<'a, $number>,
                #[urom(inline, addr = none, len = $count)]
                second: &'a [$byte],
                #[urom(with = $codec)]
                value: $number,
            } = $tag,
        }
    };
}

mod turned {
    pub type Wire = u32;

    pub fn encode(value: &u32) -> Wire {
        !value
    }

    pub fn decode(wire: Wire) -> Result<u32, &'static str> {
        Ok(!wire)
    }
}

protocol!("worker_made", u32, u8, 7, 9, words, 3, turned);

fn main() {
    let work = Work { first: Elements::from(&[5]), second: b"abc", value: 1 };
    let mut bytes = [0; 64];
    let len = Command::from(work).encode(&mut bytes).unwrap();
    assert_eq!((len, bytes[0], bytes[8]), (16 + 4 + 3, 7, 1));
    let Command::Work { first, second, value } = Command::decode(&bytes[..len]).unwrap();
    assert_eq!((first.get(0), second, value), (Some(5), &b"abc"[..], 1));
    assert_eq!(Notification::Done { value: 2 }.encoded_len(), Some(Notification::FIXED_LEN));
}
