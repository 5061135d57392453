//! One mistake in a protocol with payloads is one error, although every use of it is wrong.

use urom_abi::{Data, Elements, Payload, Received, urom_command, urom_notification};
use urom_pdk::{Context, OpenContext, Result, urom_plugin};

#[urom_command(plugin = "p", version = 1, tag = u32)]
enum Command<'a> {
    #[urom(reply = Done)]
    Send {
        #[urom(header, echo)]
        context: u64,
        #[urom(inline, unless = id, optional)]
        data: Data<'a>,
        #[urom(word)]
        id: u64,
        #[urom(inline, len = cuont)]
        elements: Elements<'a, u16>,
        #[urom(with = missing)]
        coded: Vec<u8>,
    },
    #[urom(reply = Done)]
    Empty {
        #[urom(header, echo)]
        context: u64,
    },
}

#[urom_notification]
enum Notification<'a> {
    Done {
        #[urom(echo)]
        context: u64,
        #[urom(inline)]
        data: Received,
        #[urom(inline)]
        more: Option<Payload<u16>>,
        #[urom(inline)]
        borrowed: &'a [u8],
    },
}

struct Plugin;

#[urom_plugin(export = false)]
impl Handler for Plugin {
    fn open(_: &OpenContext) -> Result<Self> {
        Ok(Plugin)
    }

    async fn send(&self, _: &Context, cmd: Send<'_>) -> Result<Done> {
        let data = match cmd.data {
            Data::Inline(bytes) => Received::Inline(Payload::from(bytes)),
            Data::Registered(memory) => Received::Registered { len: memory.len },
        };
        Ok(Done { data, more: Some(cmd.elements.to_vec().into()), borrowed: b"any" })
    }

    async fn empty(&self, _: &Context, cmd: Empty) -> Result<Done> {
        let _ = cmd.context;
        Ok(Done { data: Received::Registered { len: 0 }, more: None, borrowed: b"any" })
    }
}

fn decode(bytes: &[u8]) -> usize {
    match Command::decode(bytes).unwrap() {
        Command::Send { elements, .. } => elements.len(),
        Command::Empty { .. } => 0,
    }
}

fn send<H: urom_abi::protocol::HostSide>(client: &Client<H>, worker: &H::Worker) {
    let task = client.task_send(worker, &[1u16, 2], Vec::new()).data(b"data").context(1);
    let _ = task.submit();
}

fn main() {}
