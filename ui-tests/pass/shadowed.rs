//! Modules that give every name of the prelude, those of numbers, and those the generated code
//! could be tempted to use, a meaning of their own.

#![allow(dead_code, non_camel_case_types, reason = "the names are there to be in the way, not to be used")]

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

    pub mod payloads {
        use super::*;

        pub struct Data;
        pub struct Elements;
        pub struct Payload;
        pub struct Received;
        pub struct Registered;
        pub mod wire {}
        pub fn there() {}
        pub fn behind() {}

        pub mod codec {
            pub type Wire = u8;
            pub fn encode(value: &u8) -> u8 {
                *value
            }
            pub fn decode(value: u8) -> ::core::result::Result<u8, &'static str> {
                ::core::result::Result::Ok(value)
            }
        }

        #[::urom_abi::urom_command(plugin = "shadowed", version = 1, tag = u16)]
        pub enum Command<'task> {
            #[urom(reply = Done)]
            Send {
                #[urom(header, echo)]
                value: u8,
                #[urom(inline, unless = word)]
                data: ::urom_abi::Data<'task>,
                #[urom(word)]
                word: u64,
                #[urom(inline, len = usize, when = bool == 1)]
                view: ::core::option::Option<::urom_abi::Elements<'task, T>>,
                bool: u8,
                usize: u8,
                #[urom(with = codec)]
                what: u8,
                #[urom(optional, inline)]
                out: &'task [u8],
                #[urom(inline)]
                behind: &'task [u8; LEN],
                t: T,
            },
            #[urom(reply = Done)]
            Recv { #[urom(header, echo)] value: u8, #[urom(optional)] len: u64 },
        }

        #[::urom_abi::urom_notification(tag = u32)]
        pub enum Notification {
            Done {
                #[urom(header, echo)]
                value: u8,
                #[urom(inline)]
                incoming: ::urom_abi::Received,
                #[urom(inline)]
                tail: ::core::option::Option<::urom_abi::Payload<T>>,
                #[urom(with = codec)]
                bytes: u8,
            },
        }
    }

    #[::urom_abi::urom_notification]
    pub enum Notification {
        Done { #[urom(echo)] echo: u64, fixed: u64, out: u64, bytes: u64, found: u64, tag: u64, h: T },
    }
}

mod numbers {
    use ::core::primitive as p;

    pub struct u8;
    pub struct u16;
    pub struct u32;
    pub struct u64;
    pub struct usize;
    pub struct bool;
    pub struct str;

    #[::urom_abi::urom_command(plugin = "shadowed_numbers", version = 1, tag = u32)]
    pub enum Command<'a> {
        #[urom(reply = Done)]
        Work {
            #[urom(echo)]
            context: p::u64,
            number: p::u16,
            #[urom(inline)]
            values: ::urom_abi::Elements<'a, p::u32>,
            #[urom(inline, addr = none, len = number, when = number > 1)]
            more: ::core::option::Option<::urom_abi::Elements<'a, p::u64>>,
        },
        #[urom(reply = Done)]
        Rest {
            #[urom(echo)]
            context: p::u64,
        },
    }

    #[::urom_abi::urom_notification(tag = u16)]
    pub enum Notification {
        Done {
            #[urom(echo)]
            context: p::u64,
            #[urom(inline)]
            values: ::urom_abi::Payload<p::u32>,
        },
    }
}

fn main() {
    let rest = numbers::Rest { context: 7 };
    let mut bytes = [0; numbers::Command::FIXED_LEN];
    urom_abi::protocol::Request::encode(&rest, &mut bytes).unwrap();
    assert_eq!(numbers::Rest::decode(&bytes).unwrap().context, 7);
}
