//! Types that own memory, or that have no layout of their own: each error says what to write in their place.

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;

use urom_abi::{urom_command, urom_notification};

#[urom_command(plugin = "p", version = 1)]
enum Command {
    #[urom(reply = Done)]
    Work {
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
    },
}

fn main() {}
