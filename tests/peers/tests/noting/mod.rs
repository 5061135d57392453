//! A plugin that records its peers' messages.

#![allow(dead_code, reason = "each test uses a part of it")]

use std::cell::Cell;
use std::future::pending;
use std::rc::Rc;

pub(crate) use protocol::*;
use ucx::Features;
use urom_pdk::peers::{PeerContext, PeerData, PeerWorker, Receive};
use urom_pdk::test_util::{Domain, Worker};
use urom_pdk::{prelude::*, urom_message};

mod protocol {
    use urom_abi::{urom_command, urom_notification};

    #[urom_command(plugin = "worker_noting", version = 1)]
    pub(crate) enum Command<'a> {
        #[urom(reply = Sent)]
        Say {
            to: u64,
            number: u64,
            #[urom(inline)]
            text: &'a str,
            #[urom(inline)]
            data: &'a [u8],
        },
        #[urom(reply = NotedCount)]
        Noted,
        #[urom(reply = Sent)]
        WaitFor { member: u64 },
    }

    #[urom_notification]
    #[derive(Debug)]
    pub(crate) enum Notification {
        Sent,
        NotedCount { count: u64, last: u64 },
    }
}

/// Messages with these numbers are not recorded.
pub(crate) const FAILS: u64 = 1001;
pub(crate) const PANICS: u64 = 1002;
pub(crate) const WAITS: u64 = 1003;

#[urom_message(version = 1)]
#[derive(Debug, Clone, Copy)]
pub(crate) enum Message<'a> {
    Note {
        number: u64,
    },
    Text {
        number: u64,
        #[urom(inline)]
        text: &'a str,
    },
}

#[derive(Default)]
struct Notes {
    count: Cell<u64>,
    last: Cell<u64>,
}

impl Receive for Notes {
    type Message<'a> = Message<'a>;

    async fn receive(
        &self,
        _: &PeerContext,
        message: Self::Message<'_>,
        data: PeerData,
    ) -> Result<()> {
        let number = match message {
            Message::Note { number } | Message::Text { number, .. } => number,
        };
        match number {
            FAILS => return Err(Error::new(DocaError::IO_FAILED, "as ordered")),
            PANICS => panic!("as ordered"),
            WAITS => pending().await,
            _ => {}
        }
        let len = data.len();
        assert_eq!(data.into_bytes(1 << 20).await?.len(), len);
        self.count.set(self.count.get() + 1);
        self.last.set(number);
        Ok(())
    }
}

struct Noting {
    notes: Rc<Notes>,
    peers: PeerWorker,
}

#[urom_plugin(export = false, peers = peers)]
impl Handler for Noting {
    fn open(cx: &OpenContext) -> Result<Self> {
        let notes = Rc::<Notes>::default();
        let peers = PeerWorker::builder(cx, Features::AM).receive(&notes).open()?;
        Ok(Noting { notes, peers })
    }

    async fn say(&self, cx: &Context, cmd: Say<'_>) -> Result<Sent> {
        let peer = self.peers.member(cx, cmd.to)?;
        let Say { number, text, .. } = cmd;
        if text.is_empty() {
            peer.send(&Message::Note { number }).await?;
        } else {
            peer.send_with(&Message::Text { number, text }, cmd.data.to_vec()).await.0?;
        }
        Ok(Sent {})
    }

    async fn noted(&self, _: &Context, _: Noted) -> Result<NotedCount> {
        Ok(NotedCount { count: self.notes.count.get(), last: self.notes.last.get() })
    }

    async fn wait_for(&self, cx: &Context, cmd: WaitFor) -> Result<Sent> {
        let peer = self.peers.member(cx, cmd.member)?;
        peer.unless_lost(pending::<()>()).await?;
        Ok(Sent {})
    }
}

pub(crate) fn domain() -> (Domain, [Worker<Protocol>; 2]) {
    let domain = Domain::new();
    let workers = [0, 1].map(|id| domain.open::<Noting, Protocol>(id));
    (domain, workers)
}
