//! A plugin that uses its hosts' memory.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::task::Poll;

use memory_protocol::{
    Atomic, Bytes, Churn, Churning, Copy, Count, Done, Handler, InPlace, Keep, Load, Look, Looked,
    Process, Read, ReadKept, Release, Steps, Sum, Until, Value, Write,
};
use urom_pdk::memory::{Condition, HostMemory};
use urom_pdk::prelude::*;

#[derive(Default)]
struct Memory {
    kept: RefCell<HashMap<u64, HostMemory>>,
    churning: Cell<u64>,
}

struct Counted<'a>(&'a Cell<u64>);

impl<'a> Counted<'a> {
    fn new(count: &'a Cell<u64>) -> Self {
        count.set(count.get() + 1);
        Counted(count)
    }
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.0.set(self.0.get() - 1);
    }
}

async fn yield_now() {
    let mut yielded = false;
    std::future::poll_fn(|task| {
        if std::mem::replace(&mut yielded, true) {
            return Poll::Ready(());
        }
        task.waker().wake_by_ref();
        Poll::Pending
    })
    .await
}

#[urom_plugin]
impl Handler for Memory {
    fn open(_cx: &OpenContext) -> Result<Self> {
        Ok(Memory::default())
    }

    async fn look(&self, cx: &Context, cmd: Look) -> Result<Looked> {
        let memory = cx.memory(cmd.memory)?;
        Ok(Looked {
            address: memory.address(),
            len: memory.len(),
            access: memory.access().bits(),
            path: memory.path().0,
        })
    }

    async fn read(&self, cx: &Context, cmd: Read) -> Result<Bytes> {
        let mut data = Bytes::payload(cmd.len as usize)?;
        cx.memory(cmd.memory)?.read(cmd.offset, &mut data).await?;
        Ok(Bytes { data })
    }

    async fn write(&self, cx: &Context, cmd: Write<'_>) -> Result<Done> {
        cx.memory(cmd.memory)?.write(cmd.offset, cmd.data).await?;
        Ok(Done)
    }

    async fn atomic(&self, cx: &Context, cmd: Atomic) -> Result<Value> {
        let (memory, at) = (cx.memory(cmd.memory)?, cmd.offset);
        let value = match cmd.kind {
            0 => memory.fetch_add(at, cmd.operand).await?,
            1 => memory.swap(at, cmd.operand).await?,
            _ => memory.compare_swap(at, cmd.compare, cmd.operand).await?,
        };
        Ok(Value { value })
    }

    async fn in_place(&self, cx: &Context, cmd: InPlace) -> Result<Value> {
        let memory = cx.memory(cmd.memory)?;
        let view = memory.mapped().ok_or(DocaError::NOT_SUPPORTED)?;
        let value = view.get::<u64>(cmd.index)?;
        view.set(cmd.index, value + cmd.value)?;
        Ok(Value { value })
    }

    async fn copy(&self, cx: &Context, cmd: Copy) -> Result<Done> {
        let (from, to) = (cx.memory(cmd.from)?, cx.memory(cmd.to)?);
        let mut piece = vec![0; cmd.piece as usize];
        for at in (0..from.len()).step_by(piece.len()) {
            let len = piece.len().min((from.len() - at) as usize);
            from.read(at, &mut piece[..len]).await?;
            to.write(at, &piece[..len]).await?;
        }
        Ok(Done)
    }

    async fn churn(&self, cx: &Context, cmd: Churn) -> Result<Value> {
        let memory = cx.memory(cmd.memory)?;
        let _counted = Counted::new(&self.churning);
        let mut bytes = vec![0; memory.len() as usize];
        let mut rounds = 0;
        let churning = async {
            loop {
                match cmd.kind {
                    0 => memory.read(0, &mut bytes).await?,
                    1 => {
                        memory.read(0, &mut bytes).await?;
                        memory.write(0, &bytes).await?;
                    }
                    _ => drop(memory.fetch_add(0, 1).await?),
                }
                rounds += 1;
                yield_now().await;
            }
        };
        match cx.unless_cancelled(churning).await {
            Ok(ended) => ended,
            Err(_) => Ok(Value { value: rounds }),
        }
    }

    async fn churning(&self, _cx: &Context, _cmd: Churning) -> Result<Value> {
        Ok(Value { value: self.churning.get() })
    }

    async fn process(&self, _cx: &Context, _cmd: Process) -> Result<Value> {
        Ok(Value { value: u64::from(std::process::id()) })
    }

    async fn keep(&self, cx: &Context, cmd: Keep) -> Result<Done> {
        let memory = cx.memory(cmd.memory)?;
        self.kept.borrow_mut().insert(cmd.key, memory);
        Ok(Done)
    }

    async fn read_kept(&self, _cx: &Context, cmd: ReadKept) -> Result<Value> {
        let memory = self.kept.borrow().get(&cmd.key).cloned().ok_or(DocaError::NOT_FOUND)?;
        let mut word = [0; 8];
        memory.read(cmd.offset, &mut word).await?;
        Ok(Value { value: u64::from_le_bytes(word) })
    }

    async fn release(&self, _cx: &Context, cmd: Release) -> Result<Done> {
        let released = self.kept.borrow_mut().remove(&cmd.key);
        released.map(|_| Done).ok_or_else(|| DocaError::NOT_FOUND.into())
    }

    async fn count(&self, cx: &Context, cmd: Count) -> Result<Value> {
        let event = cx.sync_event(cmd.event)?;
        let value = match cmd.kind {
            0 => event.get().await?,
            1 => event.set(cmd.value).await.map(|()| 0)?,
            _ => event.fetch_add(cmd.value).await?,
        };
        Ok(Value { value })
    }

    async fn until(&self, cx: &Context, cmd: Until) -> Result<Value> {
        let event = cx.sync_event(cmd.event)?;
        let condition = match cmd.kind {
            0 => Condition::greater(cmd.value),
            1 => Condition::equal(cmd.value),
            _ => Condition::not_equal(cmd.value),
        };
        let waiting = event.wait(condition.masked(cmd.mask));
        Ok(Value { value: cx.unless_cancelled(waiting).await?? })
    }

    async fn steps(&self, cx: &Context, cmd: Steps) -> Result<Value> {
        let (done, go) = (cx.sync_event(cmd.done)?, cx.sync_event(cmd.go)?);
        for number in 0..cmd.count {
            cx.unless_cancelled(go.wait_until_greater(number)).await??;
            done.fetch_add(1).await?;
        }
        Ok(Value { value: done.get().await? })
    }

    async fn load(&self, cx: &Context, cmd: Load) -> Result<Value> {
        Ok(Value { value: cx.memory(cmd.memory)?.load(cmd.offset).await? })
    }

    async fn sum(&self, cx: &Context, cmd: Sum) -> Result<Value> {
        let memory = cx.memory(cmd.memory)?;
        let mut piece = vec![0; cmd.piece as usize];
        let mut value = 0;
        for at in (0..memory.len()).step_by(piece.len()) {
            let len = piece.len().min((memory.len() - at) as usize);
            memory.read(at, &mut piece[..len]).await?;
            value += piece[..len].iter().map(|byte| u64::from(*byte)).sum::<u64>();
        }
        Ok(Value { value })
    }
}
