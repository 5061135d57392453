//! A plugin that leaks, and panics in every method, on request.

use std::cell::Cell;
use std::future::{pending, poll_fn};
use std::task::Poll;

use unruly_protocol::{
    Handler, Keep, Kept, Leak, PANICS, PanicAfterwards, PanicAtOnce, PanicLater, PanicWhenCancelled,
};
use urom_pdk::prelude::*;

struct Unruly {
    leaked: Cell<u64>,
}

fn perhaps_panic(method: &str) {
    let panics =
        std::env::var_os(PANICS).is_some_and(|names| names.to_string_lossy().contains(method));
    assert!(!panics, "the environment asked {method} for it");
}

impl Drop for Unruly {
    fn drop(&mut self) {
        perhaps_panic("close");
    }
}

/// Panics when it is dropped, except during another panic.
struct Mine;

impl Drop for Mine {
    fn drop(&mut self) {
        assert!(std::thread::panicking(), "whoever steps here asked for it");
    }
}

#[urom_plugin]
impl Handler for Unruly {
    fn open(_cx: &OpenContext) -> Result<Self> {
        perhaps_panic("open");
        Ok(Unruly { leaked: Cell::new(0) })
    }

    fn address(&self) -> Result<Vec<u8>> {
        perhaps_panic("address");
        Ok(b"nowhere".to_vec())
    }

    fn progress(&self) -> bool {
        perhaps_panic("progress");
        false
    }

    async fn keep(&self, _cx: &Context, cmd: Keep) -> Result<Kept> {
        Ok(Kept { data: cmd.data })
    }

    async fn panic_at_once(&self, _cx: &Context, _cmd: PanicAtOnce) -> Result<Kept> {
        panic!("the command asked for it");
    }

    async fn panic_later(&self, _cx: &Context, _cmd: PanicLater) -> Result<Kept> {
        let mut waited = false;
        poll_fn(|cx| {
            if std::mem::replace(&mut waited, true) {
                return Poll::Ready(());
            }
            cx.waker().wake_by_ref();
            Poll::Pending
        })
        .await;
        panic!("the command asked for it, later");
    }

    async fn panic_afterwards(&self, _cx: &Context, _cmd: PanicAfterwards) -> Result<Kept> {
        let _mine = Mine;
        Ok(Kept { data: self.leaked.get() })
    }

    async fn panic_when_cancelled(&self, _cx: &Context, _cmd: PanicWhenCancelled) -> Result<Kept> {
        let _mine = Mine;
        pending().await
    }

    async fn leak(&self, _cx: &Context, cmd: Leak) -> Result<Kept> {
        let len = usize::try_from(cmd.bytes).or_code(DocaError::TOO_BIG, "more than there is")?;
        // Written to: untouched bytes would not use memory.
        Vec::leak(vec![1_u8; len]);
        self.leaked.set(self.leaked.get() + cmd.bytes);
        Ok(Kept { data: self.leaked.get() })
    }
}
