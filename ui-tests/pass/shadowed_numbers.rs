//! A module that gives the names of numbers other meanings.

#![allow(dead_code, non_camel_case_types, reason = "the names are there to be in the way, not to be used")]

mod protocol {
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
    let rest = protocol::Rest { context: 7 };
    let mut bytes = [0; protocol::Command::FIXED_LEN];
    urom_abi::protocol::Request::encode(&rest, &mut bytes).unwrap();
    assert_eq!(protocol::Rest::decode(&bytes).unwrap().context, 7);
}
