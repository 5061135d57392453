//! A protocol needs nothing of the standard library's names: this program has none of that name.

#![no_std]
#![deny(warnings)]

extern crate std as other;

mod protocol {
    use urom_abi::{Data, Elements, Payload, urom_command, urom_notification};

    #[urom_command(plugin = "p", version = 1)]
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
    pub enum Command<'a> {
        #[urom(reply = Done)]
        Put {
            #[urom(echo)]
            context: bool,
            n: u64,
            #[urom(inline)]
            v: Elements<'a, u32>,
            #[urom(inline, unless = id)]
            data: Data<'a>,
            #[urom(word)]
            id: u64,
            #[urom(inline)]
            name: Option<&'a str>,
        },
    }

    #[urom_notification]
    #[derive(Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
    pub enum Notification {
        Done {
            #[urom(echo)]
            context: bool,
            #[urom(inline)]
            data: Payload<u16>,
        },
    }
}

fn main() {
    let put = protocol::Put {
        context: true,
        n: 1,
        v: (&[2, 3]).into(),
        data: b"abc".into(),
        name: Some("d"),
    };
    let mut bytes = [0; 128];
    let len = protocol::Command::from(put).encode(&mut bytes).unwrap();
    assert_eq!(protocol::Put::decode(&bytes[..len]), Ok(put));
    assert!(other::format!("{put:?}").contains("v: [2, 3]"));
}
