//! Generated code needs no prelude.

#![no_implicit_prelude]

#[::urom_abi::urom_command(plugin = "bare", version = 1)]
#[derive(::core::fmt::Debug, ::core::clone::Clone, ::core::cmp::PartialEq)]
pub enum Command {
    #[urom(reply = Done)]
    Work { #[urom(echo)] context: u64, value: [u16; 4] },
}

#[::urom_abi::urom_notification]
pub enum Notification {
    Done { #[urom(echo)] context: u64 },
}

struct Bare;

#[::urom_pdk::urom_plugin]
impl Handler for Bare {
    fn open(_: &::urom_pdk::OpenContext) -> ::urom_pdk::Result<Self> {
        ::core::result::Result::Ok(Bare)
    }

    async fn work(&self, _: &::urom_pdk::Context, _: Work) -> ::urom_pdk::Result<Done> {
        ::core::result::Result::Ok(Done {})
    }
}

fn main() {}
