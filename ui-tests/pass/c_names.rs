//! C names: the name of a variant and a field keeps both apart, wherever their underscores are.

#![deny(warnings)]
#![allow(non_camel_case_types, reason = "names as C has them are what this case is about")]

#[urom_abi::urom_command(plugin = "worker_c", version = 1)]
pub enum Command<'a> {
    #[urom(reply = done)]
    tag {
        send_len: u64,
        #[urom(inline, len = send_len)]
        send_data: &'a [u8],
    },
    #[urom(reply = done)]
    tag_send {
        len: u64,
        #[urom(inline, len = len)]
        data: &'a [u8],
    },
}

#[urom_abi::urom_notification]
pub enum Notification {
    done { all: u64 },
}

fn main() {
    let mut bytes = [0; 64];
    let len = Command::from(tag_send { len: 2, data: b"ab" }).encode(&mut bytes).unwrap();
    assert!(matches!(Command::decode(&bytes[..len]), Ok(Command::tag_send { len: 2, data: b"ab" })));
    let len = Command::from(tag { send_len: 1, send_data: b"a" }).encode(&mut bytes).unwrap();
    assert!(matches!(Command::decode(&bytes[..len]), Ok(Command::tag { send_len: 1, send_data: b"a" })));
}
