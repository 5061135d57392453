//! A correct plugin: waits, fails, looks up, sleeps and holds bytes on command.

use std::cell::{Cell, RefCell};
use std::time::Duration;

use urom_abi::{urom_command, urom_notification};
use urom_pdk::prelude::*;
use urom_pdk::{Held, Segment, time};

#[urom_command(plugin = "worker_obliging", version = 5)]
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Command<'a> {
    #[urom(reply = Value)]
    Echo {
        #[urom(echo)]
        cookie: u64,
        value: u64,
    },
    /// Answers after this many calls of progress; never for the largest number.
    #[urom(reply = Value)]
    Turns {
        #[urom(echo)]
        cookie: u64,
        turns: u64,
    },
    #[urom(reply = Value)]
    Fail {
        #[urom(echo)]
        cookie: u64,
        code: u64,
    },
    #[urom(reply = Bytes)]
    Keep {
        milliseconds: u64,
        #[urom(inline)]
        bytes: &'a [u8],
    },
    #[urom(reply = Value)]
    Hold {
        #[urom(echo)]
        cookie: u64,
        #[urom(inline)]
        bytes: &'a [u8],
    },
    #[urom(reply = Bytes)]
    Locate { member: u64 },
    /// Answers with the results of all look-ups of this member.
    #[urom(reply = Found)]
    Find { member: u64, va: u64 },
    #[urom(reply = Value)]
    Sleep {
        #[urom(echo)]
        cookie: u64,
        milliseconds: u64,
        limit: u64,
    },
    #[urom(reply = Value)]
    Connection {
        #[urom(echo)]
        cookie: u64,
    },
}

#[urom_notification]
#[derive(Debug, PartialEq)]
pub(crate) enum Notification {
    Value {
        #[urom(echo)]
        cookie: u64,
        value: u64,
    },
    Bytes {
        #[urom(inline)]
        bytes: urom_abi::Payload,
    },
    Found {
        segment: u64,
        #[urom(inline)]
        bytes: urom_abi::Payload,
    },
}

thread_local! {
    pub(crate) static HELD: RefCell<Vec<Held>> = const { RefCell::new(Vec::new()) };
    static OPENED: Cell<u64> = const { Cell::new(0) };
}

/// The handler. Its address is `plugin 1` for the first in the thread's test.
pub(crate) struct Obliging {
    address: String,
}

#[urom_plugin(export = false)]
impl Handler for Obliging {
    fn open(_: &OpenContext) -> Result<Self> {
        let number = OPENED.get() + 1;
        OPENED.set(number);
        Ok(Obliging { address: format!("plugin {number}") })
    }

    fn address(&self) -> Result<Vec<u8>> {
        Ok(self.address.clone().into_bytes())
    }

    async fn echo(&self, _: &Context, cmd: Echo) -> Result<Value> {
        Ok(Value { value: cmd.value })
    }

    async fn turns(&self, _: &Context, cmd: Turns) -> Result<Value> {
        let mut left = cmd.turns;
        std::future::poll_fn(|cx| {
            if left == 0 {
                return std::task::Poll::Ready(());
            }
            left -= u64::from(left != u64::MAX);
            cx.waker().wake_by_ref();
            std::task::Poll::Pending
        })
        .await;
        Ok(Value { value: cmd.turns })
    }

    async fn fail(&self, _: &Context, cmd: Fail) -> Result<Value> {
        Err(DocaError::from_code(cmd.code as u32).into())
    }

    async fn keep(&self, _: &Context, cmd: Keep<'_>) -> Result<Bytes> {
        time::sleep(Duration::from_millis(cmd.milliseconds)).await;
        Ok(Bytes { bytes: cmd.bytes.into() })
    }

    async fn hold(&self, cx: &Context, cmd: Hold<'_>) -> Result<Value> {
        let held = cx.hold(cmd.bytes)?;
        HELD.with_borrow_mut(|all| all.push(held));
        Ok(Value { value: cmd.bytes.len() as u64 })
    }

    async fn locate(&self, cx: &Context, cmd: Locate) -> Result<Bytes> {
        Ok(Bytes { bytes: cx.domains().address(cmd.member)?.into() })
    }

    async fn find(&self, cx: &Context, cmd: Find) -> Result<Found> {
        let domains = cx.domains();
        let segment: Segment = domains.segment(cmd.member, cmd.va)?;
        let bytes = [
            domains.address(cmd.member)?,
            domains.memory_handle(cmd.member, segment)?,
            domains.key(cmd.member, segment)?,
        ];
        Ok(Found { segment: segment.index().into(), bytes: bytes.join(&b'|').into() })
    }

    async fn sleep(&self, _: &Context, cmd: Sleep) -> Result<Value> {
        let start = time::now();
        let sleep = time::sleep(Duration::from_millis(cmd.milliseconds));
        time::timeout(Duration::from_millis(cmd.limit), sleep).await?;
        Ok(Value { value: time::now().duration_since(start).as_millis() as u64 })
    }

    async fn connection(&self, cx: &Context, _: Connection) -> Result<Value> {
        Ok(Value { value: cx.connection().into() })
    }
}
