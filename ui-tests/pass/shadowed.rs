//! A module that gives every name of the prelude, and those the generated code could be tempted to use, a meaning of
//! its own.

#![allow(dead_code)]

mod protocol {
    pub struct Result;
    pub struct Option;
    pub struct Vec;
    pub struct String;
    pub struct Box;
    pub struct Ok;
    pub struct Err;
    pub struct Some;
    pub struct None;
    pub trait Clone {}
    pub trait Copy {}
    pub trait Sized {}
    pub trait From {}
    pub trait Into {}
    pub trait Default {}
    pub trait FnOnce {}
    pub trait Future {}
    pub trait Request {}
    pub trait Reply {}
    pub mod core {}
    pub mod std {}
    pub mod urom_abi {}
    pub const LEN: usize = 3;
    pub const TAG: usize = 1;

    #[repr(C)]
    #[derive(::bytemuck::Pod, ::bytemuck::Zeroable)]
    pub struct T(u8);
    impl ::core::clone::Clone for T {
        fn clone(&self) -> T {
            *self
        }
    }
    impl ::core::marker::Copy for T {}

    #[::urom_abi::urom_command(plugin = "shadowed", version = 1)]
    pub enum Command {
        #[urom(reply = Done)]
        Work { a: [u8; LEN], t: T, b: [u8; TAG], worker: u64, plugin: u64, command: u64, #[urom(echo)] echo: u64 },
        #[urom(reply = Done)]
        S { #[urom(echo)] echo: u64 },
    }

    #[::urom_abi::urom_notification]
    pub enum Notification {
        Done { #[urom(echo)] echo: u64, fixed: u64, out: u64, bytes: u64, found: u64, tag: u64, h: T },
    }
}

struct Worker;

#[urom_pdk::urom_plugin]
impl protocol::Handler for Worker {
    fn open(_: &urom_pdk::OpenContext) -> urom_pdk::Result<Self> {
        Ok(Worker)
    }

    async fn work(&self, _: &urom_pdk::Context, _: protocol::Work) -> urom_pdk::Result<protocol::Done> {
        Err(urom_pdk::DocaError::NOT_FOUND.into())
    }

    async fn s(&self, _: &urom_pdk::Context, _: protocol::S) -> urom_pdk::Result<protocol::Done> {
        Err(urom_pdk::DocaError::NOT_FOUND.into())
    }
}

fn main() {}
