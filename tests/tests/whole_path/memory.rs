//! Hosts' memory in plugins: the same bodies on each path.

use anyhow::{Result, ensure};
use memory_protocol::Client;
use urom_host::memory::{Access, MemoryPath, MemoryRange, MemoryShare, Mmap, Share, View};
use urom_host::{DocaError, Host, Service, Worker};

use crate::paths::{self, BOTH, PATHS};
use crate::provider::{Given, Provider};

pub(crate) struct Reached {
    pub(crate) service: Service,
    pub(crate) plugin: Client<Host>,
    pub(crate) worker: Worker,
}

impl<'a> Given<'a> for Reached {
    fn given(provider: &'a Provider) -> Result<Self> {
        let service = provider.connect()?;
        let plugin = service.plugin::<memory_protocol::Protocol>()?;
        let worker = service.worker().plugin(&plugin).start().wait()?;
        Ok(Reached { service, plugin, worker })
    }
}

impl Reached {
    pub(crate) fn joined(&self, provider: &Provider) -> Result<Reached> {
        let service = provider.connect()?;
        let plugin = service.plugin::<memory_protocol::Protocol>()?;
        let worker = service.worker().id(self.worker.id()).plugin(&plugin).start().wait()?;
        Ok(Reached { service, plugin, worker })
    }
}

impl Reached {
    pub(crate) fn share(
        &self,
        len: usize,
        access: Access,
        path: MemoryPath,
    ) -> Result<(Mmap, MemoryShare)> {
        let memory = paths::allocate(len, access, path)?;
        let shared = paths::share(&memory, &self.worker, path)?;
        Ok((memory, shared))
    }

    pub(crate) fn read(
        &self,
        memory: MemoryRange,
        offset: u64,
        len: u64,
    ) -> urom_host::Result<Vec<u8>> {
        let read = self.plugin.task_read(&self.worker, memory, offset, len).submit()?.wait()?;
        Ok(read.data.to_vec())
    }

    pub(crate) fn write(
        &self,
        memory: MemoryRange,
        offset: u64,
        data: &[u8],
    ) -> urom_host::Result<()> {
        self.plugin.task_write(&self.worker, memory, offset, data).submit()?.wait().map(drop)
    }

    fn atomic(&self, memory: MemoryRange, at: u64, kind: u64, new: u64) -> urom_host::Result<u64> {
        let task = self.plugin.task_atomic(&self.worker, memory, at, new, 7, kind);
        Ok(task.submit()?.wait()?.value)
    }
}

#[track_caller]
pub(crate) fn code<T: std::fmt::Debug>(result: urom_host::Result<T>) -> DocaError {
    result.unwrap_err().code()
}

pub(crate) fn bytes_of(view: View<'_>) -> Vec<u8> {
    let mut bytes = vec![0; view.len() as usize];
    view.copy_to(0, &mut bytes).unwrap();
    bytes
}

fn pattern(len: usize) -> Vec<u8> {
    (0..len).map(|at| (at % 251) as u8).collect()
}

pub(crate) fn bytes_go_both_ways_on_each_path(at: Reached) -> Result<()> {
    for path in PATHS {
        let (memory, shared) = at.share(10_000, BOTH, path)?;
        memory.view().copy_from(0, &pattern(10_000))?;
        assert_eq!(at.read(shared.range(), 1, 3000)?, pattern(10_000)[1..3001], "{path:?}");
        assert_eq!(at.read(shared.slice(9000..), 990, 10)?, pattern(10_000)[9990..], "{path:?}");
        at.write(shared.slice(5000..), 17, b"from the plugin")?;
        let mut expected = pattern(10_000);
        expected[5017..5032].copy_from_slice(b"from the plugin");
        assert_eq!(bytes_of(memory.view()), expected, "{path:?}");
        assert_eq!(at.read(shared.range(), 10_000, 0)?, b"");
        shared.unshare().wait()?;
    }
    Ok(())
}

pub(crate) fn atomic_operations_see_each_other_on_each_path(at: Reached) -> Result<()> {
    for path in PATHS {
        let (memory, shared) = at.share(4096, BOTH, path)?;
        memory.view().set(1, 7_u64)?;
        assert_eq!(at.atomic(shared.range(), 8, 0, 5)?, 7, "{path:?}");
        assert_eq!(at.atomic(shared.range(), 8, 1, 7)?, 12, "{path:?}");
        assert_eq!(at.atomic(shared.range(), 8, 2, 20)?, 7, "{path:?}");
        assert_eq!(at.atomic(shared.range(), 8, 2, 30)?, 20, "it is not what was expected");
        assert_eq!(memory.view().get::<u64>(1)?, 20, "{path:?}");
        assert_eq!(code(at.atomic(shared.slice(4..), 0, 0, 1)), DocaError::INVALID_VALUE);
        assert_eq!(code(at.atomic(shared.range(), 4089, 0, 1)), DocaError::INVALID_VALUE);
    }
    Ok(())
}

pub(crate) fn memory_that_is_mapped_is_used_in_place(at: Reached) -> Result<()> {
    let (memory, shared) = at.share(4096, BOTH, MemoryPath::MAPPED)?;
    memory.view().set(3, 40_u64)?;
    let in_place = |index| at.plugin.task_in_place(&at.worker, shared.range(), index, 2).submit();
    assert_eq!(in_place(3)?.wait()?.value, 40);
    assert_eq!(memory.view().get::<u64>(3)?, 42);
    assert_eq!(code(in_place(512)?.wait()), DocaError::INVALID_VALUE);
    Ok(())
}

pub(crate) fn megabytes_are_copied_from_one_memory_to_another(at: Reached) -> Result<()> {
    const LEN: usize = (5 << 20) + 123;
    for (from, to) in [(0, 2), (2, 1), (1, 0), (2, 2)] {
        let (source, source_shared) = at.share(LEN, BOTH, PATHS[from])?;
        let (target, target_shared) = at.share(LEN, BOTH, PATHS[to])?;
        source.view().copy_from(0, &pattern(LEN))?;
        let ranges = (source_shared.range(), target_shared.range());
        at.plugin.task_copy(&at.worker, ranges.0, ranges.1, 3 << 20).submit()?.wait()?;
        assert!(bytes_of(target.view()) == pattern(LEN), "{from} to {to}");
    }
    Ok(())
}

pub(crate) fn a_forbidden_access_is_refused_on_each_path(at: Reached) -> Result<()> {
    for path in PATHS {
        let read_only = Access::LOCAL_READ_WRITE | Access::PCI_READ_ONLY;
        let (memory, shared) = at.share(4096, read_only, path)?;
        memory.view().copy_from(0, b"read me")?;
        assert_eq!(at.read(shared.range(), 0, 7)?, b"read me");
        assert_eq!(code(at.write(shared.range(), 0, b"x")), DocaError::NOT_PERMITTED, "{path:?}");
        assert_eq!(code(at.atomic(shared.range(), 0, 0, 1)), DocaError::NOT_PERMITTED, "{path:?}");
        assert_eq!(bytes_of(memory.view())[..8], *b"read me\0");
        for (offset, len) in [(4096, 1), (0, 4097), (u64::MAX, 1), (1, u64::MAX >> 40)] {
            let failed = at.read(shared.range(), offset, len);
            assert_eq!(code(failed), DocaError::INVALID_VALUE, "{path:?} {offset} {len}");
        }
        let MemoryRange { memory: number, .. } = shared.range();
        for (offset, len) in [(4097, 0), (4096, 1), (u64::MAX, 2), (0, u64::MAX)] {
            let range = MemoryRange { memory: number, offset, len };
            assert_eq!(code(at.read(range, 0, 0)), DocaError::INVALID_VALUE, "{path:?} {range}");
        }
        let other = MemoryRange { memory: number ^ 1 << 40, offset: 0, len: 8 };
        assert_eq!(code(at.read(other, 0, 8)), DocaError::NOT_FOUND);
    }
    let own = Mmap::allocate(4096, Access::LOCAL_READ_WRITE)?;
    assert_eq!(code(own.share(&at.worker).wait()), DocaError::NOT_PERMITTED);
    Ok(())
}

pub(crate) fn memory_ends_with_its_share_and_the_last_command_that_uses_it(
    at: Reached,
) -> Result<()> {
    for path in PATHS {
        let (mut memory, shared) = at.share(4096, BOTH, path)?;
        let range = shared.range();
        assert!(memory.try_exclusive_bytes().is_err(), "it is shared");
        at.plugin.task_keep(&at.worker, range, 5).submit()?.wait()?;
        let mut ending = shared.unshare();
        // Commands may overtake this request.
        let gone = loop {
            if let Err(error) = at.read(range, 0, 8) {
                break error;
            }
        };
        assert_eq!(gone.code(), DocaError::NOT_FOUND, "{path:?}");
        memory.view().set(0, 77_u64)?;
        let kept = at.plugin.task_read_kept(&at.worker, 5, 0).submit()?.wait()?;
        assert_eq!(kept.value, 77, "{path:?}");
        ensure!(!is_ready(&mut ending), "a command uses it: {path:?}");
        at.plugin.task_release(&at.worker, 5).submit()?.wait()?;
        ending.wait()?;
        assert_eq!(memory.try_exclusive_bytes()?[0], 77);
        // Shared again, memory keeps its number.
        let again = memory.share_from(&at.worker, path).wait()?;
        assert_eq!(at.read(again.range(), 0, 1)?, [77]);
        assert_eq!(code(memory.share_from(&at.worker, path).wait()), DocaError::ALREADY_EXIST);
        assert_eq!(at.read(again.range(), 0, 1)?, [77]);
    }
    Ok(())
}

pub(crate) fn commands_that_were_submitted_before_the_end_of_a_share_find_it(
    at: Reached,
) -> Result<()> {
    for path in PATHS {
        for round in 1..=30 {
            let (mut memory, shared) = at.share(4096, BOTH, path)?;
            let (range, byte) = (shared.range(), [round; 8]);
            let write =
                |index| at.plugin.task_write(&at.worker, range, index * 8, &byte[..]).submit();
            let writes = (0_u64..5).map(write).collect::<urom_host::Result<Vec<_>>>()?;
            if round % 2 == 0 {
                shared.unshare().wait()?;
            } else {
                drop(shared);
                while memory.try_exclusive_bytes().is_err() {
                    at.service.progress();
                }
            }
            assert!(memory.try_exclusive_bytes()?[..40] == [round; 40], "{path:?}: all have come");
            for write in writes {
                write.wait()?;
            }
        }
    }
    Ok(())
}

pub(crate) fn is_ready<F: Future + Unpin>(future: &mut F) -> bool {
    let mut cx = std::task::Context::from_waker(std::task::Waker::noop());
    std::pin::Pin::new(future).poll(&mut cx).is_ready()
}

pub(crate) fn a_cancelled_share_leaves_nothing(at: Reached) -> Result<()> {
    for path in PATHS {
        let mut memory = paths::allocate(4096, BOTH, path)?;
        let range = memory.range();
        drop(memory.share_from(&at.worker, path));
        // Commands may overtake these requests: waits for the worker's confirmation.
        while memory.try_exclusive_bytes().is_err() {
            at.service.progress();
        }
        assert_eq!(code(at.read(range, 0, 8)), DocaError::NOT_FOUND, "{path:?}");
    }
    Ok(())
}

pub(crate) fn memory_of_one_connection_is_not_another_s(at: Reached) -> Result<()> {
    let (_memory, shared) = at.share(4096, BOTH, MemoryPath::MAPPED)?;
    let other = at.service.worker().id(at.worker.id()).plugin(&at.plugin).start().wait()?;
    let read = at.plugin.task_read(&other, shared.range(), 0, 8).submit()?.wait();
    assert_eq!(code(read), DocaError::NOT_FOUND);
    Ok(())
}

pub(crate) fn memory_that_is_not_mapped_ends_with_its_connection(at: Reached) -> Result<()> {
    let staying = at.service.worker().id(at.worker.id()).plugin(&at.plugin).start().wait()?;
    let mut memories = Vec::new();
    for (key, path) in (0..).zip(PATHS) {
        let (memory, shared) = at.share(4096, BOTH, path)?;
        memory.view().set(0, key + 70)?;
        at.plugin.task_keep(&at.worker, shared.range(), key).submit()?.wait()?;
        memories.push((memory, Some(shared)));
    }
    let plugin = at.plugin;
    let read = |key| plugin.task_read_kept(&staying, key, 0).submit()?.wait();
    for key in 0..3 {
        assert_eq!(read(key)?.value, key + 70, "the plugin keeps it");
    }
    at.worker.stop().wait()?;
    // Commands of the other host may overtake the stop.
    while read(1).is_ok() {}
    assert_eq!(read(0)?.value, 70, "it is mapped");
    for key in [1, 2] {
        assert_eq!(code(read(key)), DocaError::CONNECTION_RESET, "{key}");
    }
    // The memory is exclusive again once remote writes are impossible.
    for (key, (memory, shared)) in memories.iter_mut().enumerate() {
        let mut ending = shared.take().expect("it is shared").unshare();
        if key == 0 {
            ensure!(
                !is_ready(&mut ending) && memory.try_exclusive_bytes().is_err(),
                "the plugin keeps it"
            );
            plugin.task_release(&staying, 0).submit()?.wait()?;
        }
        ending.wait()?;
        assert_eq!(u64::from(memory.try_exclusive_bytes()?[0]), key as u64 + 70);
    }
    Ok(())
}

pub(crate) fn memory_outlives_its_owner_s_handles(at: Reached) -> Result<()> {
    for path in PATHS {
        let (memory, shared) = at.share(1 << 20, BOTH, path)?;
        let range = shared.range();
        let task = at.plugin.task_churn(&at.worker, range, 1).submit()?;
        drop(memory);
        drop(shared);
        drop(task);
    }
    // The last command ends with the worker.
    let (memory, shared) = at.share(1 << 20, BOTH, MemoryPath::NETWORK)?;
    let _churning = at.plugin.task_churn(&at.worker, shared.range(), 1).submit()?;
    drop(memory);
    at.worker.stop().wait()?;
    drop(shared);
    Ok(())
}

pub(crate) fn memory_shared_again_is_not_freed_while_an_earlier_share_is_used(
    at: Reached,
) -> Result<()> {
    for path in PATHS {
        let (mut memory, shared) = at.share(4096, BOTH, path)?;
        at.plugin.task_keep(&at.worker, shared.range(), 6).submit()?.wait()?;
        let mut earlier = shared.unshare();
        for round in 0..3 {
            let again = memory.share_from(&at.worker, path).wait()?;
            memory.view().set(0, round)?;
            assert_eq!(at.read(again.range(), 0, 8)?, u64::to_le_bytes(round));
            again.unshare().wait()?;
            ensure!(!is_ready(&mut earlier) && memory.try_exclusive_bytes().is_err(), "{path:?}");
            let kept = at.plugin.task_read_kept(&at.worker, 6, 0).submit()?.wait()?;
            assert_eq!(kept.value, round, "{path:?}");
        }
        // A share that is cancelled at once, and the next.
        drop(memory.share_from(&at.worker, path));
        let again = memory.share_from(&at.worker, path).wait()?;
        assert_eq!(at.read(again.range(), 0, 8)?, u64::to_le_bytes(2), "{path:?}");
        at.plugin.task_release(&at.worker, 6).submit()?.wait()?;
        earlier.wait()?;
        drop(again);
        while memory.try_exclusive_bytes().is_err() {
            at.service.progress();
        }
    }
    Ok(())
}

pub(crate) fn a_worker_that_was_left_writes_to_no_memory_of_this_process(
    provider: &Provider,
) -> Result<()> {
    // This connection keeps the worker alive.
    let stays = Reached::given(provider)?;
    for round in 0..30 {
        let path = if round % 3 == 0 { MemoryPath::NETWORK } else { MemoryPath::PROCESS };
        let at = stays.joined(provider)?;
        let (mut memory, shared) = at.share(64 << 10, BOTH, path)?;
        let range = shared.range();
        let _churning = at.plugin.task_churn(&at.worker, range, 1).submit()?;
        assert_eq!(at.read(range, 0, 1)?, [0]);
        at.worker.stop().wait()?;
        drop(shared);
        let bytes = memory.try_exclusive_bytes()?;
        bytes.fill(round);
        for _ in 0..3 {
            // Time for the worker to run several rounds.
            stays.plugin.task_churning(&stays.worker).submit()?.wait()?;
            assert!(bytes.iter().all(|byte| *byte == round), "{round}: it was written to");
        }
    }
    Ok(())
}

pub(crate) fn shared_memory_of_a_host_that_left_is_gone_unless_it_is_mapped(
    provider: &Provider,
) -> Result<()> {
    let stays = Reached::given(provider)?;
    for (path, key) in PATHS.into_iter().zip(20..) {
        let at = stays.joined(provider)?;
        let (memory, shared) = at.share(4096, BOTH, path)?;
        memory.view().set(0, 99_u64)?;
        at.plugin.task_keep(&at.worker, shared.range(), key).submit()?.wait()?;
        at.worker.stop().wait()?;
        let look = || stays.plugin.task_read_kept(&stays.worker, key, 0).submit()?.wait();
        if path == MemoryPath::MAPPED {
            assert_eq!(look()?.value, 99);
        } else {
            // The worker may not have noticed yet; until then it reads the host's memory.
            let lost = loop {
                match look() {
                    Ok(value) => assert_eq!(value.value, 99),
                    Err(error) => break error,
                }
            };
            assert_eq!(lost.code(), DocaError::CONNECTION_RESET, "{lost}");
        }
        drop(memory);
        stays.plugin.task_release(&stays.worker, key).submit()?.wait()?;
    }
    Ok(())
}

pub(crate) fn memory_is_not_supported_by_docas_interface_alone(at: Reached) -> Result<()> {
    let (_memory, shared) = at.share(4096, BOTH, MemoryPath::MAPPED)?;
    let failed = at.plugin.task_read(&at.worker, shared.range(), 0, 8).submit()?.wait();
    let error = failed.unwrap_err();
    assert_eq!(error.code(), DocaError::NOT_SUPPORTED, "{error}");
    Ok(())
}
