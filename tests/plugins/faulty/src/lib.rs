//! A plugin that misbehaves on request and reports its worker's state.

use std::cell::{Cell, RefCell};
use std::collections::{HashMap, HashSet};
use std::future::{pending, poll_fn};
use std::os::unix::ffi::OsStrExt;
use std::task::{Poll, Waker};
use std::time::{Duration, Instant};

use faulty_protocol::{
    Affinity, AskForLong, Await, Cpus, Crash, Departed, Done, Echo, Echoed, Env, EnvValue, Fail,
    FailAtLength, Handler, Hang, Long, LookAround, OutlastHost, Panic, Pid, Print, Process, Reason,
    Sleep, Stall, Surroundings, Tell, Yield,
};
use rustix::thread::{CpuSet, sched_getaffinity};
use urom_pdk::{CancelReason, prelude::*, time};

#[derive(Default)]
struct Faulty {
    told: RefCell<HashSet<u64>>,
    waiting: RefCell<Vec<Waker>>,
    reasons: RefCell<HashMap<u64, CancelReason>>,
    departed: Cell<u64>,
}

#[urom_plugin]
impl Handler for Faulty {
    fn open(_cx: &OpenContext) -> Result<Self> {
        Ok(Faulty::default())
    }

    fn host_left(&self, _connection: ConnectionId) {
        self.departed.set(self.departed.get() + 1);
    }

    async fn echo(&self, _cx: &Context, cmd: Echo) -> Result<Echoed> {
        Ok(Echoed { data: cmd.data })
    }

    async fn panic(&self, _cx: &Context, _cmd: Panic) -> Result<Done> {
        panic!("the command asked for it");
    }

    async fn fail(&self, _cx: &Context, cmd: Fail) -> Result<Done> {
        Err(Error::new(DocaError::from_code(cmd.code), "the command asked for it"))
    }

    async fn hang(&self, _cx: &Context, _cmd: Hang) -> Result<Done> {
        pending().await
    }

    async fn r#yield(&self, _cx: &Context, cmd: Yield) -> Result<Echoed> {
        let mut left = cmd.times;
        poll_fn(|cx| match left.checked_sub(1) {
            None => Poll::Ready(()),
            Some(less) => {
                left = less;
                cx.waker().wake_by_ref();
                Poll::Pending
            }
        })
        .await;
        Ok(Echoed { data: cmd.value })
    }

    async fn crash(&self, _cx: &Context, _cmd: Crash) -> Result<Done> {
        std::process::abort()
    }

    async fn env(&self, _cx: &Context, cmd: Env) -> Result<EnvValue> {
        let end = cmd.name.iter().position(|byte| *byte == 0).unwrap_or(cmd.name.len());
        let name = std::str::from_utf8(&cmd.name[..end])
            .or_code(DocaError::INVALID_VALUE, "the variable's name")?;
        let mut value = [0; 64];
        // Names that are empty or contain `=` are invalid.
        let Some(found) = std::env::var_os(name) else {
            return Ok(EnvValue { len: u64::MAX, value });
        };
        for (slot, byte) in value.iter_mut().zip(found.as_bytes()) {
            *slot = *byte;
        }
        Ok(EnvValue { len: found.len() as u64, value })
    }

    async fn affinity(&self, _cx: &Context, _cmd: Affinity) -> Result<Cpus> {
        let set =
            sched_getaffinity(None).or_code(DocaError::OPERATING_SYSTEM, "sched_getaffinity")?;
        let mut mask = [0; 16];
        for (word, bits) in mask.iter_mut().enumerate() {
            let bit = |bit: usize| u64::from(has_cpu(&set, word * 64 + bit)) << bit;
            *bits = (0..64).map(bit).sum();
        }
        Ok(Cpus { mask })
    }

    async fn pid(&self, _cx: &Context, _cmd: Pid) -> Result<Process> {
        Ok(Process { pid: u64::from(std::process::id()) })
    }

    async fn stall(&self, _cx: &Context, cmd: Stall) -> Result<Done> {
        std::thread::sleep(Duration::from_millis(cmd.millis.into()));
        Ok(Done)
    }

    async fn sleep(&self, _cx: &Context, cmd: Sleep) -> Result<Echoed> {
        let start = time::now();
        time::sleep(Duration::from_micros(cmd.micros.into())).await;
        Ok(Echoed { data: time::now().duration_since(start).as_micros() as u64 })
    }

    async fn r#await(&self, _cx: &Context, cmd: Await) -> Result<Echoed> {
        poll_fn(|cx| {
            if self.told.borrow().contains(&cmd.key) {
                return Poll::Ready(());
            }
            self.waiting.borrow_mut().push(cx.waker().clone());
            Poll::Pending
        })
        .await;
        Ok(Echoed { data: cmd.value })
    }

    async fn tell(&self, _cx: &Context, cmd: Tell) -> Result<Done> {
        self.told.borrow_mut().insert(cmd.key);
        self.waiting.take().into_iter().for_each(Waker::wake);
        Ok(Done)
    }

    async fn ask_for_long(&self, _cx: &Context, _cmd: AskForLong) -> Result<Long> {
        Ok(Long { words: [u64::MAX; 16] })
    }

    async fn print(&self, _cx: &Context, _cmd: Print) -> Result<Done> {
        println!("printed by a handler");
        Ok(Done)
    }

    async fn outlast_host(&self, cx: &Context, cmd: OutlastHost) -> Result<Done> {
        let reason = cx.cancelled().await;
        // Another `cancelled` future of the same command completes at once.
        assert_eq!(cx.cancelled().await, reason);
        self.reasons.borrow_mut().insert(cmd.key, reason);
        Ok(Done)
    }

    async fn reason(&self, _cx: &Context, cmd: Reason) -> Result<Echoed> {
        let reason = self.reasons.borrow().get(&cmd.key).copied();
        Ok(Echoed { data: reason.map_or(0, |reason| 1 + reason as u64) })
    }

    async fn look_around(&self, cx: &Context, _cmd: LookAround) -> Result<Surroundings> {
        let left = |at: Instant| at.saturating_duration_since(time::now()).as_micros() as u64;
        Ok(Surroundings {
            left: cx.deadline().map_or(u64::MAX, left),
            message_limit: cx.message_limit().map_or(u64::MAX, |limit| limit as u64),
            worker_id: cx.worker_id().unwrap_or(u64::MAX),
            group_id: cx.group_id().map_or(u64::MAX, u64::from),
        })
    }

    async fn departed(&self, _cx: &Context, _cmd: Departed) -> Result<Echoed> {
        Ok(Echoed { data: self.departed.get() })
    }

    async fn fail_at_length(&self, _cx: &Context, cmd: FailAtLength) -> Result<Done> {
        Err(Error::new(DocaError::NOT_FOUND, "ü".repeat(cmd.len as usize / 2)))
    }
}

fn has_cpu(set: &CpuSet, cpu: usize) -> bool {
    cpu < CpuSet::MAX_CPU && set.is_set(cpu)
}
