//! Definitions made by another macro: arguments in invisible groups, nested macros' own hygiene.

#![deny(warnings)]

use urom_abi::{Data, Elements};

#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, bytemuck::Pod, bytemuck::Zeroable)]
pub struct Pair {
    x: u32,
    y: u32,
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

macro_rules! with_fields {
    ($answer:ident, { $($fields:tt)* }, { $($echoed:tt)* }) => {
        #[urom_abi::urom_command(plugin = "worker_nested", version = 1)]
        pub enum Command<'a> {
            #[urom(reply = $answer)]
            Work { $($fields)* },
            #[urom(reply = $answer)]
            Rest { #[urom(echo)] context: u64, #[urom(inline, when = context == 1)] more: Option<&'a str> },
        }

        #[urom_abi::urom_notification]
        pub enum Notification {
            $answer { $($echoed)* },
        }
    };
}

macro_rules! with_types {
    ($pair:ty, [$($field:ident: $ty:ty),*], $codec:path) => {
        with_fields! {
            Done,
            {
                #[urom(echo)]
                context: u64,
                pair: $pair,
                $($field: $ty,)*
                #[urom(with = $codec)]
                turned: u32,
                #[urom(optional)]
                note: [u8; 3],
                #[urom(inline)]
                pairs: Elements<'a, $pair>,
                #[urom(inline, len = pair.x.checked_mul(2))]
                bytes: &'a [u8],
                #[urom(word)]
                handle: u64,
                #[urom(inline, unless = handle)]
                data: Data<'a>
            },
            { #[urom(echo)] context: u64, #[urom(inline)] pairs: urom_abi::Payload<$pair>, last: $pair }
        }
    };
}


mod plain {
    use super::*;
    with_types!(Pair, [other: Pair, third: [Pair; 2]], turned);

    pub fn check() {
        let pair = Pair { x: 1, y: 2 };
        let (slice, data) = ([pair], Data::from(b"data"));
        let pairs = Elements::from(&slice);
        let (other, third) = (pair, [pair; 2]);
        let work =
            Work { context: 7, pair, other, third, turned: 9, note: *b"abc", pairs, bytes: b"ab", data };
        let mut bytes = [0; 256];
        let len = work.encode_into(&mut bytes);
        let Command::Work { pairs, turned, bytes, .. } = Command::decode(&bytes[..len]).unwrap() else {
            panic!("another command")
        };
        assert_eq!((pairs.get(0), turned, bytes), (Some(pair), 9, &b"ab"[..]));
        let rest = Rest { context: 1, more: Some("more") }.clone();
        assert_eq!(rest.more, Some("more"));
    }

    impl Work<'_> {
        fn encode_into(self, bytes: &mut [u8]) -> usize {
            Command::from(self).encode(bytes).unwrap()
        }
    }
}

struct Handling;

macro_rules! handler {
    ($ty:ident, $($method:ident $command:ident),*) => {
        #[urom_pdk::urom_plugin(export = false)]
        impl plain::Handler for $ty {
            fn open(_: &urom_pdk::OpenContext) -> urom_pdk::Result<Self> {
                Ok($ty)
            }

            $(
                async fn $method(
                    &self,
                    _: &urom_pdk::Context,
                    _: plain::$command<'_>,
                ) -> urom_pdk::Result<plain::Done> {
                    Ok(plain::Done { pairs: urom_abi::Payload::default(), last: Pair { x: 1, y: 1 } })
                }
            )*
        }
    };
}

handler!(Handling, work Work, rest Rest);

mod made {
    use super::{Elements, turned};

    macro_rules! protocol {
        ($name:literal, $number:ty, $byte:ty, $tag:literal, $also:expr, $word:expr, $count:expr, $codec:path) => {
            #[urom_abi::urom_notification(tag = $number)]
            pub enum Notification {
                #[urom(tag = $tag, also = $also)]
                Done { value: $number },
            }

            #[urom_abi::urom_command(plugin = $name, version = $tag)]
            pub enum Command<'a> {
                #[urom(reply = Done, tag = $tag)]
                Work {
                    #[urom(word)]
                    words: $number,
                    #[urom(inline, addr = none, len = $word)]
                    first: Elements<'a, $number>,
                    #[urom(inline, addr = none, len = $count)]
                    second: &'a [$byte],
                    #[urom(with = $codec)]
                    value: $number,
                },
            }
        };
    }

    protocol!("worker_made", u32, u8, 7, 9, words, 3, turned);

    pub fn check() {
        let work = Work { first: Elements::from(&[5]), second: b"abc", value: 1 };
        let mut bytes = [0; 64];
        let len = Command::from(work).encode(&mut bytes).unwrap();
        assert_eq!((len, bytes[0], bytes[8]), (16 + 4 + 3, 7, 1));
        let Command::Work { first, second, value } = Command::decode(&bytes[..len]).unwrap();
        assert_eq!((first.get(0), second, value), (Some(5), &b"abc"[..], 1));
        assert_eq!(Notification::Done { value: 2 }.encoded_len(), Some(Notification::FIXED_LEN));
    }
}

fn main() {
    made::check();
    plain::check();
    let _ = Handling;
}
