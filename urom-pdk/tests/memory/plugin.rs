//! A plugin with memory operations from its test.

use std::cell::RefCell;
use std::pin::Pin;
use std::rc::Rc;

use urom_abi::{urom_command, urom_notification};
use urom_pdk::memory::{Access, HostMemory, MemoryPath, MemoryRange};
use urom_pdk::prelude::*;
use urom_pdk::test_util::{SharedMemory, Worker};

#[urom_command(plugin = "worker_host_memory", version = 1)]
#[derive(Clone, Copy)]
pub(crate) enum Command {
    #[urom(reply = Value)]
    Act { memory: MemoryRange },
    #[urom(reply = Value)]
    Keep { memory: MemoryRange },
    #[urom(reply = Value)]
    Kept,
    #[urom(reply = Value)]
    Release,
}

#[urom_notification]
#[derive(Debug, PartialEq)]
pub(crate) enum Notification {
    Value { value: u64 },
}

type Acting<'a> = Pin<Box<dyn Future<Output = Result<u64>> + 'a>>;
type Action = Rc<dyn for<'a> Fn(&'a Context, MemoryRange) -> Acting<'a>>;

thread_local! {
    static ACTION: RefCell<Option<Action>> = const { RefCell::new(None) };
}

/// Sets the action of later `Act` commands of this thread's test.
pub(crate) fn act(action: impl AsyncFn(&Context, MemoryRange) -> Result<u64> + 'static) {
    let action = Rc::new(action);
    let boxed: Action = Rc::new(move |cx, range| {
        let action = Rc::clone(&action);
        Box::pin(async move { action(cx, range).await })
    });
    ACTION.with_borrow_mut(|slot| *slot = Some(boxed));
}

#[derive(Default)]
pub(crate) struct Plugin {
    kept: RefCell<Vec<HostMemory>>,
}

#[urom_plugin(export = false)]
impl Handler for Plugin {
    fn open(_: &OpenContext) -> Result<Self> {
        Ok(Plugin::default())
    }

    async fn act(&self, cx: &Context, cmd: Act) -> Result<Value> {
        let action = ACTION.with_borrow(Clone::clone).expect("the test says what to do");
        Ok(Value { value: action(cx, cmd.memory).await? })
    }

    async fn keep(&self, cx: &Context, cmd: Keep) -> Result<Value> {
        let memory = cx.memory(cmd.memory)?;
        self.kept.borrow_mut().push(memory);
        Ok(Value { value: 0 })
    }

    async fn kept(&self, _: &Context, _: Kept) -> Result<Value> {
        let kept = self.kept.borrow().clone();
        let mut value = 0;
        for memory in kept {
            let mut byte = [0];
            memory.read(0, &mut byte).await?;
            value += u64::from(byte[0]);
        }
        Ok(Value { value })
    }

    async fn release(&self, _: &Context, _: Release) -> Result<Value> {
        Ok(Value { value: self.kept.take().len() as u64 })
    }
}

pub(crate) const BOTH: Access = Access::LOCAL_READ_WRITE.union(Access::PCI_READ_WRITE);
pub(crate) const PATHS: [MemoryPath; 3] =
    [MemoryPath::MAPPED, MemoryPath::PROCESS, MemoryPath::NETWORK];

/// Opens a worker and shares 64 bytes: 0, 1, 2 and so on.
pub(crate) fn open(access: Access, path: MemoryPath) -> (Worker<Protocol>, SharedMemory) {
    let worker = Worker::<Protocol>::open::<Plugin>();
    let memory = worker.share(counting(), access, path);
    (worker, memory)
}

pub(crate) fn counting() -> Vec<u8> {
    (0..64).collect()
}

#[track_caller]
pub(crate) fn done(
    worker: &Worker<Protocol>,
    memory: MemoryRange,
    action: impl AsyncFn(&Context, MemoryRange) -> Result<u64> + 'static,
) -> Result<u64, (DocaError, String)> {
    act(action);
    let sent = worker.send(Act { memory });
    while worker.in_flight() > 0 {
        worker.progress();
    }
    let why = worker.failure(&sent).unwrap_or_default();
    worker.wait(sent).map(|value| value.value).map_err(|code| (code, why))
}

#[track_caller]
pub(crate) fn failed<T: std::fmt::Debug>(
    result: Result<T, (DocaError, String)>,
    code: DocaError,
    why: &str,
) {
    let (found, text) = result.expect_err("it fails");
    assert_eq!(found, code, "{text}");
    assert!(text.contains(why), "`{text}` does not say `{why}`");
}
