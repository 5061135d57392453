//! Generated code needs neither the prelude nor the standard library's names.

#![no_std]
#![no_implicit_prelude]
#![deny(warnings)]

extern crate std as other;

#[::urom_abi::urom_command(plugin = "bare", version = 1)]
#[derive(::core::fmt::Debug, ::core::clone::Clone, ::core::marker::Copy)]
#[derive(::core::cmp::PartialEq, ::core::cmp::Eq, ::core::cmp::PartialOrd, ::core::cmp::Ord, ::core::hash::Hash)]
pub enum Command<'a> {
    #[urom(reply = Done)]
    Work { #[urom(echo)] context: u64, value: [u16; 4], #[urom(inline)] list: ::urom_abi::Elements<'a, u32> },
    #[urom(reply = Brought)]
    Bring {
        #[urom(inline, addr = none, len = 4, when = flag == 1)]
        maybe: ::core::option::Option<&'a [u8]>,
        #[urom(inline, unless = id, optional)]
        data: ::urom_abi::Data<'a>,
        #[urom(word)]
        id: u64,
        flag: u8,
    },
}

#[::urom_abi::urom_notification]
pub enum Notification {
    Done { #[urom(echo)] context: u64 },
    #[urom(also = 7)]
    Brought { #[urom(inline)] data: ::urom_abi::Received, #[urom(inline)] more: ::urom_abi::Payload<u32> },
}

struct Bare;

#[::urom_pdk::urom_plugin]
impl Handler for Bare {
    fn open(_: &::urom_pdk::OpenContext) -> ::urom_pdk::Result<Self> {
        ::core::result::Result::Ok(Bare)
    }

    async fn work(&self, _: &::urom_pdk::Context, _: Work<'_>) -> ::urom_pdk::Result<Done> {
        ::core::result::Result::Ok(Done {})
    }

    async fn bring(&self, _: &::urom_pdk::Context, _: Bring<'_>) -> ::urom_pdk::Result<Brought> {
        let more = ::core::default::Default::default();
        ::core::result::Result::Ok(Brought { data: ::urom_abi::Received::Registered { len: 1 }, more })
    }
}

fn main() {
    let list = ::core::convert::Into::into(&[2, 3]);
    let work = Work { context: 1, value: [0; 4], list };
    let mut bytes = [0; 128];
    let len = Command::encode(&::core::convert::Into::into(work), &mut bytes).unwrap();
    ::core::assert_eq!(Work::decode(&bytes[..len]), ::core::result::Result::Ok(work));
    ::core::assert!(other::format!("{work:?}").contains("list: [2, 3]"));
}
