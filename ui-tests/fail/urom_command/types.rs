//! Types that a field cannot have.

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use urom_abi::{Data, Elements, Payload, Received, urom_command, urom_notification};

struct View<'a>(&'a u8);

mod text {}

#[urom_command(plugin = "p", version = 1)]
enum Command<'a> {
    #[urom(reply = Done)]
    Owned {
        bytes: Vec<u8>,
        numbers: Vec<u32>,
        name: String,
        boxed: Box<str>,
        slice: Box<[u16]>,
        path: PathBuf,
        map: HashMap<u32, u64>,
        maybe: Option<u32>,
        pair: (u8, u16),
        many: [String; 2],
    },
    #[urom(reply = Done)]
    Marked {
        #[urom(inline)]
        numbers: Vec<f32>,
        #[urom(inline)]
        name: String,
        #[urom(inline)]
        maybe: Option<Vec<u8>>,
    },
    #[urom(reply = Done)]
    Unsafe {
        length: usize,
        offset: [isize; 2],
        text: &'static str,
        address: *const u8,
        function: extern "C" fn(),
    },
    #[urom(reply = Done)]
    Borrows {
        plain: View<'a>,
        #[urom(with = text)]
        coded: &'a str,
        #[urom(inline)]
        bytes: &'a [u8],
    },
    #[urom(reply = Done)]
    NoPayload {
        #[urom(inline)]
        number: u64,
        #[urom(inline)]
        text: &'a [char],
        #[urom(inline)]
        owned: Payload,
        #[urom(inline, addr = none, when = true)]
        maybe: Option<Received>,
        #[urom(inline)]
        wide: &'a [u16],
        #[urom(inline)]
        fixed: &'a [u32; 4],
        #[urom(inline)]
        sized: Elements<'a, usize>,
    },
    #[urom(reply = Done)]
    NotInline {
        bytes: &'a [u8],
        array: &'a [u8; 4],
        elements: Elements<'a, u16>,
        either: Data<'a>,
        maybe: Option<&'a [u8]>,
    },
    #[urom(reply = Done)]
    Unchecked {
        #[urom(inline)]
        flags: Elements<'a, bool>,
        #[urom(inline)]
        letters: Option<Elements<'a, char>>,
    },
}

#[urom_notification]
enum Notification {
    Done {
        bytes: std::vec::Vec<u8>,
        numbers: Vec<u32>,
        name: String,
        map: BTreeMap<u32, u64>,
        #[urom(inline)]
        marked: Vec<i64>,
        #[urom(inline)]
        flags: Payload<bool>,
    },
}

fn main() {}
