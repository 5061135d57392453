//! Answers in another module, and every syntax of a tag.

use urom_abi::protocol::{Protocol as _, Reply, Request};
use urom_abi::urom_command;

#[urom_command(plugin = "worker_kinds", version = 0x10, notification = answers::Answer, tag = u64)]
#[derive(Debug, Clone, PartialEq)]
pub enum Command {
    #[urom(reply = answers::Done)]
    First,
    #[urom(reply = answers::Done, tag = 7)]
    Stated { bytes: [u8; 3] },
    #[urom(reply = answers::Echoed)]
    Echoes { #[urom(echo)] context: u64, #[urom(echo)] r#type: u8 },
    #[urom(reply = answers::Done)]
    Unit,
    #[urom(reply = answers::Done)]
    Empty {},
    #[urom(reply = answers::Done)]
    Loop { r#fn: u32 },
}

mod answers {
    use urom_abi::urom_notification;

    #[urom_notification]
    #[derive(Debug, Clone, PartialEq)]
    pub enum Answer {
        Done,
        #[urom(tag = 9)]
        Echoed { #[urom(echo)] context: u64, status: i8, #[urom(echo)] r#type: u8 },
    }
}

mod only_units {
    #[urom_abi::urom_command(plugin = "units", version = 1)]
    #[derive(Debug, PartialEq)]
    pub enum Ask {
        #[urom(reply = Pong, tag = 3)]
        Ping,
    }

    #[urom_abi::urom_notification]
    pub enum Notification {
        Pong,
    }
}

fn main() {
    assert_eq!((Protocol::COMMAND_LEN, Protocol::NOTIFICATION_LEN), (24, 24));
    let mut out = [0xee; 24];
    let stated = Stated { bytes: [1, 2, 3] };
    assert_eq!(stated.encode(&mut out), Ok(24));
    assert_eq!(out[..12], [7, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 0]);
    assert_eq!(Command::decode(&out), Ok(Command::from(stated.clone())));
    assert_eq!(First.encode(&mut out).map(|_| out[0]), Ok(0));
    assert_eq!(Unit.encode(&mut out).map(|_| out[0]), Ok(9));
    assert_eq!(Empty {}.encode(&mut out).map(|_| out[0]), Ok(10));
    assert_eq!(Loop { r#fn: 1 }.encode(&mut out).map(|_| out[0]), Ok(11));

    let asked = Echoes { context: 77, r#type: 8 };
    let reply = answers::Echoed { status: -5 }.into_descriptor(&asked.echo()).unwrap();
    let answer = answers::Answer::decode(reply.payload());
    assert_eq!(answer, Ok(answers::Answer::Echoed { context: 77, status: -5, r#type: 8 }));
    assert_eq!(answers::Echoed::decode(reply.payload(), &asked.echo()), Ok(answers::Echoed { status: -5 }));
    asked.encode(&mut out).unwrap();
    let refused = Protocol::refusal(&out).unwrap();
    let refused = answers::Answer::decode(refused.payload());
    assert_eq!(refused, Ok(answers::Answer::Echoed { context: 77, status: 0, r#type: 8 }));

    let mut out = [0; 8];
    assert_eq!(only_units::Ping {}.encode(&mut out).map(|_| out[0]), Ok(3));
    assert_eq!(only_units::Ask::decode(&out), Ok(only_units::Ask::Ping));
}
