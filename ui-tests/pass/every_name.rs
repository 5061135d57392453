//! A protocol in a module that uses each name of its expansion for a unit structure, a static or a
//! blanket trait's method. A test of `urom-pdk-derive` writes the list of names.

#![allow(
    dead_code,
    unused_imports,
    non_camel_case_types,
    non_snake_case,
    non_upper_case_globals,
    reason = "the names are there to be in the way, not to be used"
)]

include!("every_name/names.rs");

macro_rules! structures {
    ($($name:ident)*) => { $(pub struct $name;)* };
}

macro_rules! statics {
    ($($name:ident)*) => { $(pub static $name: ::core::primitive::u8 = 0;)* };
}

macro_rules! methods {
    ($($name:ident)*) => {
        pub trait Methods: ::core::marker::Sized {
            $(fn $name(self) {})*
        }
        impl<T> Methods for T {}
    };
}

mod structures {
    every_name!(structures);
}

mod statics {
    every_name!(statics);
}

mod methods {
    every_name!(methods);
}

pub mod codec {
    pub type Wire = ::core::primitive::u8;
    pub fn encode(value: &::core::primitive::bool) -> Wire {
        ::core::primitive::u8::from(*value)
    }
    pub fn decode(wire: Wire) -> ::core::result::Result<::core::primitive::bool, &'static ::core::primitive::str> {
        ::core::result::Result::Ok(wire != 0)
    }
}

pub mod constants {
    pub const MOST: ::core::primitive::u32 = 4;
}

mod beside_structures {
    use super::structures::*;
    include!("every_name/protocol.rs");
}

mod beside_statics {
    use super::statics::*;
    include!("every_name/protocol.rs");
}

mod beside_methods {
    use super::methods::*;
    include!("every_name/protocol.rs");
}

mod plugin {
    use super::structures::*;
    include!("every_name/plugin.rs");
}

/// Constants of the module. The type of the field `values` uses the constant `n`.
mod own {
    pub const message: u8 = 1;
    pub static out: u8 = 1;
    pub const n: usize = 3;
    pub const worker: usize = 3;

    #[urom_abi::urom_command(plugin = "own", version = 1)]
    pub enum Command<'a> {
        #[urom(reply = Done)]
        Put {
            n: u64,
            values: [u8; n],
            #[urom(inline, len = n.checked_add(1))]
            bytes: &'a [u8],
            worker: [u8; worker],
        },
    }

    #[urom_abi::urom_notification]
    pub enum Notification {
        Done { out: u64, message: u64 },
    }
}

fn main() {
    let put = own::Put { n: 2, values: [1; 3], bytes: b"abc", worker: [2; 3] };
    let mut bytes = [0; own::Command::FIXED_LEN + 3];
    let len = own::Command::from(put).encode(&mut bytes).unwrap();
    let read = own::Put::decode(&bytes[..len]).unwrap();
    assert_eq!((read.n, read.values, read.bytes), (2, [1; 3], &b"abc"[..]));
}
