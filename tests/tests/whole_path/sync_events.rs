//! Counters that host and plugin share: the same bodies on each path.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use memory_protocol::Value;
use urom_host::memory::{
    Access, Condition, MemoryPath, MemoryRange, MemoryShare, Mmap, Share, SyncEvent,
};
use urom_host::{DocaError, block_on_for};

use crate::memory::{Reached, code};
use crate::paths::{BOTH, PATHS};
use crate::provider::{Given, Provider};

const LIMIT: Duration = Duration::from_secs(30);

struct Counter {
    event: SyncEvent,
    shared: MemoryShare,
}

impl Reached {
    fn counter(&self, path: MemoryPath) -> Result<Counter> {
        let (memory, shared) = self.share(64, BOTH, path)?;
        Ok(Counter { event: SyncEvent::in_memory(&memory, 16)?, shared })
    }

    fn count(&self, event: MemoryRange, kind: u64, value: u64) -> urom_host::Result<u64> {
        Ok(self.plugin.task_count(&self.worker, event, value, kind).submit()?.wait()?.value)
    }

    fn until(
        &self,
        event: MemoryRange,
        kind: u64,
        value: u64,
    ) -> urom_host::Result<impl Future<Output = urom_host::Result<Value>> + use<>> {
        self.plugin.task_until(&self.worker, event, value, u64::MAX, kind).submit()
    }

    /// Waits until all earlier commands have begun.
    fn begun(&self) -> urom_host::Result<()> {
        self.plugin.task_churning(&self.worker).submit()?.wait().map(drop)
    }
}

fn value(waiting: impl Future<Output = urom_host::Result<Value>>) -> Result<u64> {
    Ok(block_on_for(LIMIT, waiting)??.value)
}

fn refusal(waiting: impl Future<Output = urom_host::Result<Value>>) -> Result<DocaError> {
    Ok(code(block_on_for(LIMIT, waiting)?))
}

/// A plain atomic store, without the kit's calls.
fn store(event: &SyncEvent, value: u64) -> Result<()> {
    let at = event.range().offset;
    event.memory().view().atomic_u64(at)?.store(value, Ordering::Release);
    Ok(())
}

pub(crate) fn a_counter_is_the_same_on_both_sides(at: Reached) -> Result<()> {
    for path in PATHS {
        let Counter { event, shared: _shared } = at.counter(path)?;
        event.set(5)?;
        assert_eq!(at.count(event.range(), 0, 0)?, 5, "{path:?}");
        at.count(event.range(), 1, u64::MAX)?;
        assert_eq!(event.get(), u64::MAX, "{path:?}");
        assert_eq!(at.count(event.range(), 2, 3)?, u64::MAX, "{path:?}");
        assert_eq!((event.fetch_add(1)?, event.get()), (2, 3), "{path:?}");
    }
    Ok(())
}

pub(crate) fn a_plugin_waits_for_its_host(at: Reached) -> Result<()> {
    for path in PATHS {
        let Counter { event, shared: _shared } = at.counter(path)?;
        let range = event.range();
        assert_eq!(value(at.until(range, 1, 0)?)?, 0, "it is met already: {path:?}");
        let changes: [fn(&SyncEvent, u64) -> Result<()>; 3] = [
            |event, value| Ok(event.set(value)?),
            |event, value| Ok(event.fetch_add(value - event.get()).map(drop)?),
            store,
        ];
        for change in changes {
            for kind in 0..3 {
                event.set(10)?;
                let compared = [10, 11, 10][kind as usize];
                let waiting = at.until(range, kind, compared)?;
                at.begun()?;
                change(&event, 11)?;
                assert_eq!(value(waiting)?, 11, "{path:?} {kind}");
            }
        }
        event.set(0)?;
        let masked = at.plugin.task_until(&at.worker, range, 7, 8, 0).submit()?;
        for other in [1, 4, 7, 1 << 40] {
            event.set(other)?;
            at.begun()?;
        }
        event.set(9)?;
        assert_eq!(value(masked)?, 9, "{path:?}");
    }
    Ok(())
}

pub(crate) fn a_host_waits_for_its_plugin(at: Reached) -> Result<()> {
    for path in PATHS {
        let Counter { event, shared: _shared } = at.counter(path)?;
        for round in 0..5 {
            let add = at.plugin.task_count(&at.worker, event.range(), 1, 2).submit()?;
            let met = if round % 2 == 0 {
                event.wait_until_greater_blocking(round, LIMIT)?
            } else {
                block_on_for(LIMIT, event.wait_until_greater(round))??
            };
            assert_eq!((met, value(add)?), (round + 1, round), "{path:?}");
        }
        let set = at.plugin.task_count(&at.worker, event.range(), 0, 1).submit()?;
        block_on_for(LIMIT, event.wait(Condition::equal(0)))??;
        value(set)?;
        let late = event.wait_until_greater_blocking(0, Duration::from_millis(1));
        assert_eq!(late.unwrap_err().code(), DocaError::TIME_OUT);
    }
    Ok(())
}

pub(crate) fn a_handler_reports_its_progress_while_its_command_runs(at: Reached) -> Result<()> {
    const STEPS: u64 = 20;
    for path in PATHS {
        let (memory, _shared) = at.share(64, BOTH, path)?;
        let (done, go) = (SyncEvent::in_memory(&memory, 0)?, SyncEvent::in_memory(&memory, 8)?);
        let steps = at.plugin.task_steps(&at.worker, done.range(), go.range(), STEPS).submit()?;
        for number in 0..STEPS {
            assert_eq!(done.get(), number, "it waits to go on: {path:?}");
            go.fetch_add(1)?;
            match number % 2 {
                0 => block_on_for(LIMIT, done.wait_until_greater(number))??,
                _ => done.wait_until_greater_blocking(number, LIMIT)?,
            };
        }
        assert_eq!(value(steps)?, STEPS, "{path:?}");
    }
    Ok(())
}

pub(crate) fn a_counter_in_memory_of_the_host_s_own_is_between_other_words(
    at: Reached,
) -> Result<()> {
    let mut own = Box::new([1_u64, 2, 3]);
    // SAFETY: the array is only used through the map until the share has ended.
    let memory = unsafe { Mmap::from_raw(own.as_mut_ptr().cast(), 24, BOTH) }?;
    for path in [MemoryPath::PROCESS, MemoryPath::NETWORK] {
        let event = SyncEvent::in_memory(&memory, 8)?;
        event.set(2)?;
        let shared = memory.share_from(&at.worker, path).wait()?;
        let waiting = at.until(event.range(), 0, 2)?;
        at.begun()?;
        assert_eq!(at.count(event.range(), 2, 5)?, 2);
        assert_eq!((value(waiting)?, event.get()), (7, 7), "{path:?}");
        shared.unshare().wait()?;
    }
    drop(memory);
    assert_eq!(*own, [1, 7, 3]);
    Ok(())
}

pub(crate) fn workers_wait_for_each_other(at: Reached) -> Result<()> {
    let other = at.service.worker().plugin(&at.plugin).start().wait()?;
    for path in PATHS {
        let (memory, _shared) = at.share(64, BOTH, path)?;
        for second in PATHS.into_iter().filter(|it| memory.fd().is_some() || it.0 > 0) {
            let _theirs = memory.share_from(&other, second).wait()?;
            let (ping, pong) =
                (SyncEvent::in_memory(&memory, 0)?, SyncEvent::in_memory(&memory, 8)?);
            ping.set(0)?;
            pong.set(0)?;
            let first = at.plugin.task_steps(&at.worker, ping.range(), pong.range(), 10);
            let second = at.plugin.task_steps(&other, pong.range(), ping.range(), 9);
            let (first, second) = (first.submit()?, second.submit()?);
            pong.fetch_add(1)?;
            assert_eq!((value(first)?, value(second)?), (10, 10), "{path:?}");
        }
    }
    Ok(())
}

pub(crate) fn many_commands_wait_for_one_counter(at: Reached) -> Result<()> {
    for path in PATHS {
        let Counter { event, shared: _shared } = at.counter(path)?;
        let waiting = |_| at.until(event.range(), 0, 0);
        let waiting = (0..60).map(waiting).collect::<urom_host::Result<Vec<_>>>()?;
        at.begun()?;
        event.fetch_add(1)?;
        for waiting in waiting {
            assert_eq!(value(waiting)?, 1, "{path:?}");
        }
    }
    Ok(())
}

pub(crate) fn a_counter_that_plugins_may_only_read_is_loaded_and_waited_for(
    at: Reached,
) -> Result<()> {
    for path in PATHS {
        let (memory, shared) =
            at.share(64, Access::LOCAL_READ_WRITE | Access::PCI_READ_ONLY, path)?;
        let event = SyncEvent::in_memory(&memory, 8)?;
        event.set(4)?;
        let load = |at_byte| at.plugin.task_load(&at.worker, shared.range(), at_byte).submit();
        assert_eq!(load(8)?.wait()?.value, 4, "{path:?}");
        for wrong in [1, 4, 57, 64, u64::MAX] {
            assert_eq!(code(load(wrong)?.wait()), DocaError::INVALID_VALUE, "{path:?} {wrong}");
        }
        assert_eq!(at.count(event.range(), 0, 0)?, 4);
        let waiting = at.until(event.range(), 0, 4)?;
        at.begun()?;
        event.fetch_add(1)?;
        assert_eq!(value(waiting)?, 5, "{path:?}");
        for kind in [1, 2] {
            let refused = at.count(event.range(), kind, 1);
            assert_eq!(code(refused), DocaError::NOT_PERMITTED, "{path:?}");
        }
        assert_eq!(event.get(), 5);
    }
    Ok(())
}

pub(crate) fn a_range_that_is_not_a_counter_is_refused(at: Reached) -> Result<()> {
    for path in PATHS {
        let (memory, shared) = at.share(64, BOTH, path)?;
        let range = shared.range();
        let outside = MemoryRange { offset: 60, len: 8, ..range };
        let beyond = MemoryRange { offset: u64::MAX - 7, len: 8, ..range };
        for wrong in [
            range,
            range.slice(..0),
            range.slice(..4),
            range.slice(8..17),
            range.slice(1..9),
            range.slice(4..12),
            outside,
            beyond,
        ] {
            for kind in 0..3 {
                let refused = at.count(wrong, kind, 1);
                assert_eq!(code(refused), DocaError::INVALID_VALUE, "{path:?} {wrong}");
            }
            assert_eq!(refusal(at.until(wrong, 0, 0)?)?, DocaError::INVALID_VALUE);
        }
        let event = SyncEvent::in_memory(&memory, 8)?;
        let other = MemoryRange { memory: range.memory ^ 1 << 40, ..event.range() };
        assert_eq!(refusal(at.until(other, 1, 0)?)?, DocaError::NOT_FOUND);
        assert_eq!(event.get(), 0);
        shared.unshare().wait()?;
        assert_eq!(code(at.count(event.range(), 0, 0)), DocaError::NOT_FOUND, "{path:?}");
    }
    Ok(())
}

pub(crate) fn an_abandoned_wait_holds_its_memory_for_a_second_at_most(at: Reached) -> Result<()> {
    for path in PATHS {
        let Counter { event, shared } = at.counter(path)?;
        let waiting = at.until(event.range(), 0, 0)?;
        at.begun()?;
        drop(waiting);
        let start = Instant::now();
        block_on_for(LIMIT, shared.unshare())??;
        ensure!(start.elapsed() < Duration::from_secs(5), "{path:?}: {:?}", start.elapsed());
    }
    Ok(())
}

pub(crate) fn a_wait_ends_with_its_host(provider: &Provider) -> Result<()> {
    let stays = Reached::given(provider)?;
    for path in PATHS {
        let at = stays.joined(provider)?;
        let Counter { event, shared } = at.counter(path)?;
        let waiting = at.until(event.range(), 0, 0)?;
        at.begun()?;
        at.worker.stop().wait()?;
        assert!(block_on_for(LIMIT, waiting)?.is_err(), "{path:?}");
        block_on_for(LIMIT, shared.unshare())??;
        let Counter { event, shared: _shared } = stays.counter(path)?;
        assert_eq!(stays.count(event.range(), 2, 1)?, 0);
        assert_eq!(event.wait_until_greater_blocking(0, LIMIT)?, 1);
    }
    Ok(())
}

pub(crate) fn counters_are_not_supported_by_docas_interface_alone(at: Reached) -> Result<()> {
    let event = SyncEvent::new()?;
    let _shared = event.memory().share(&at.worker).wait()?;
    assert_eq!(code(at.count(event.range(), 0, 0)), DocaError::NOT_SUPPORTED);
    Ok(())
}
