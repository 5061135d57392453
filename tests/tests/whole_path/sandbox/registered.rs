//! Messages from and to registered memory of the plugin and the host, and its handles.

use std::future::poll_fn;
use std::task::Poll;
use std::time::{Duration, Instant};

use anyhow::{Context, Error, Result};
use sandbox_protocol::{Client, MapParams, TagReceived};
use ucx::Status;
use urom_host::memory::{Access, MemoryPath, MemoryShare, Mmap};
use urom_host::{Completion, DocaError, Host, Received, Registered, Worker, block_on_for};

use super::{ALL, LIMIT, Pair, done, inline, pattern, wait_with};
use crate::paths::{self, BOTH, PATHS};
use crate::provider::{Given, Provider, sandbox};

/// The host's address of the first byte.
pub(super) const BASE: u64 = 0x7f00_0000_1000;

impl Pair {
    pub(super) fn allocate(&self, worker: &Worker, length: u64) -> Result<u64> {
        let task = self.sandbox.task_mem_map(worker, MapParams::allocate(BASE, length)).submit()?;
        Ok(block_on_for(LIMIT, task)??.memh_id)
    }

    pub(super) fn receive_at(
        &self,
        worker: &Worker,
        memory: u64,
        (buffer, count): (u64, u64),
        tag: u64,
    ) -> Result<Completion<TagReceived>> {
        let task =
            self.sandbox.task_tag_recv(worker, count, tag, ALL).memh_id(memory).buffer(buffer);
        Ok(task.submit()?)
    }

    fn memories(&self, worker: &Worker, length: usize) -> Result<Vec<(u64, Option<HostMemory>)>> {
        let mut memories = vec![(self.allocate(worker, length as u64)?, None)];
        for path in PATHS.into_iter().filter(|_| self.has_extension) {
            let host = HostMemory::new(worker, &vec![0xee; length], path)?;
            memories.push((host.map(&self.sandbox, worker)?, Some(host)));
        }
        Ok(memories)
    }
}

pub(super) fn part(memory: u64, address: u64, len: u64) -> Result<Registered> {
    Ok(Registered { memory: memory.try_into().context("a handle is never 0")?, address, len })
}

pub(super) fn registered(received: &TagReceived) -> Option<u64> {
    match received.data {
        Received::Registered { len } => Some(len),
        Received::Inline(_) => None,
    }
}

pub(super) struct HostMemory {
    pub(super) memory: Mmap,
    pub(super) shared: MemoryShare,
}

impl HostMemory {
    pub(super) fn new(worker: &Worker, bytes: &[u8], path: MemoryPath) -> Result<HostMemory> {
        HostMemory::with(worker, bytes, path, BOTH)
    }

    pub(super) fn with(
        worker: &Worker,
        bytes: &[u8],
        path: MemoryPath,
        access: Access,
    ) -> Result<HostMemory> {
        let memory = paths::allocate(bytes.len(), access, path)?;
        memory.view().copy_from(0, bytes)?;
        let shared = paths::share(&memory, worker, path)?;
        Ok(HostMemory { memory, shared })
    }

    pub(super) fn map(&self, sandbox: &Client<Host>, worker: &Worker) -> Result<u64> {
        let exported = self.memory.export()?;
        let task =
            sandbox.task_mem_map(worker, MapParams::exported(BASE)).exported_memh(&exported[..]);
        Ok(block_on_for(LIMIT, task.submit()?)??.memh_id)
    }

    pub(super) fn bytes(&self) -> Vec<u8> {
        let mut bytes = vec![0; self.memory.len() as usize];
        self.memory.view().copy_to(0, &mut bytes).expect("all of it is there");
        bytes
    }
}

pub(crate) fn a_message_is_received_into_the_plugin_s_memory_and_sent_from_there(
    pair: Pair,
) -> Result<()> {
    let [first, second] = &pair.workers;
    let memory = pair.allocate(second, 10_000)?;
    for (length, waits) in
        [(0, true), (12, true), (4000, true), (0, false), (12, false), (4000, false)]
    {
        let at = (BASE + 999, 4000);
        let early = waits.then(|| pair.receive_at(second, memory, at, 7)).transpose()?;
        pair.send(7, &pattern(length)[..])?;
        pair.settle()?;
        let receive = early.map_or_else(|| pair.receive_at(second, memory, at, 7), Ok)?;
        let received = block_on_for(LIMIT, receive)??;
        assert_eq!((received.status, received.sender_tag), (0, 7));
        assert_eq!(registered(&received), Some(length as u64), "{length}");

        let back = pair.sandbox.task_tag_recv(first, 4000, 8, ALL).submit()?;
        let send =
            pair.sandbox.task_tag_send(second, 0, 8).data(part(memory, BASE + 999, length as u64)?);
        assert_eq!(done(send.submit())?.status, 0);
        assert_eq!(inline(&block_on_for(LIMIT, back)??), pattern(length), "{length}");
    }
    Ok(())
}

pub(crate) fn a_message_too_long_for_registered_memory_is_truncated(pair: Pair) -> Result<()> {
    let second = &pair.workers[1];
    for (memory, host) in pair.memories(second, 64)? {
        for waits in [true, false] {
            let early =
                waits.then(|| pair.receive_at(second, memory, (BASE, 10), 7)).transpose()?;
            pair.send(7, &pattern(11)[..])?;
            pair.settle()?;
            let receive =
                early.map_or_else(|| pair.receive_at(second, memory, (BASE, 10), 7), Ok)?;
            let received = block_on_for(LIMIT, receive)??;
            assert_eq!(received.status, Status::MESSAGE_TRUNCATED.code());
            assert_eq!(registered(&received), Some(0));
        }
        // UCX may have written the part that fits.
        assert!(host.is_none_or(|host| host.bytes()[10..] == [0xee; 54]));
    }
    pair.works()
}

pub(crate) fn bytes_are_a_receive_s_until_it_is_answered_also_past_its_deadline(
    pair: Pair,
) -> Result<()> {
    let second = &pair.workers[1];
    for (memory, host) in pair.memories(second, 100)? {
        let late_before = second.late_replies();
        let receive = pair.sandbox.task_tag_recv(second, 50, 1, ALL).memh_id(memory).buffer(BASE);
        let receive = receive.timeout(Duration::from_millis(5)).submit()?;
        let error = receive.wait().map(drop).unwrap_err();
        assert_eq!(error.code(), DocaError::TIME_OUT, "{error}");
        let mut all_in =
            poll_fn(|_| if second.cancelled() == 0 { Poll::Ready(()) } else { Poll::Pending });
        let progress = || pair.service.progress();
        if pair.has_extension {
            // The plugin is informed, and the receive ends without a message.
            wait_with(&mut all_in, progress)?;
            assert!(host.as_ref().is_none_or(|host| host.bytes() == [0xee; 100]));
        } else {
            let refused = pair.receive_at(second, memory, (BASE + 49, 10), 2)?;
            assert_eq!(block_on_for(LIMIT, refused)??.status, Status::BUSY.code());
            // The message still arrives in the memory, but the answer is discarded.
            pair.send(1, b"late")?;
            wait_with(&mut all_in, progress)?;
        }
        assert_eq!(second.late_replies(), late_before + 1);
        let again = pair.receive_at(second, memory, (BASE, 60), 3)?;
        pair.send(3, b"again")?;
        assert_eq!(registered(&block_on_for(LIMIT, again)??), Some(5));
        assert!(host.is_none_or(|host| host.bytes().starts_with(b"again\xee")));
    }
    Ok(())
}

pub(crate) fn a_handle_is_good_for_its_host_and_its_bytes_alone(provider: &Provider) -> Result<()> {
    let pair = Pair::given(provider)?;
    let second = &pair.workers[1];
    for (memory, _host) in pair.memories(second, 64)? {
        let refused = |task: Completion<sandbox_protocol::TagReceived>, what: &str| -> Result<()> {
            let error = block_on_for(LIMIT, task)?.err().with_context(|| what.to_owned())?;
            assert_eq!(error.code(), DocaError::INVALID_VALUE, "{what}: {error}");
            Ok(())
        };
        let forged = [
            memory + 0x100,
            memory ^ 1 << 32,
            memory ^ 1 << 33,
            memory & 0xffff_ffff,
            memory << 32,
            u64::MAX,
            1,
            BASE,
        ];
        for handle in forged {
            refused(
                pair.receive_at(second, handle, (BASE, 1), 1)?,
                &format!("{handle:#x} for {memory:#x}"),
            )?;
        }
        let outside = [
            (BASE - 1, 1),
            (BASE - 1, 65),
            (BASE, 65),
            (BASE + 64, 1),
            (BASE + 65, 0),
            (0, 1),
            (0, 64),
            (BASE, u64::MAX),
            (BASE + 1, u64::MAX),
            (BASE + 64, u64::MAX - BASE - 63),
            (u64::MAX, 1),
            (u64::MAX, u64::MAX),
        ];
        for at in outside {
            refused(pair.receive_at(second, memory, at, 1)?, &format!("{at:x?}"))?;
        }
        // Other hosts of the worker cannot use the handle.
        let service = provider.connect()?;
        let sandbox = crate::provider::sandbox(&service)?;
        let worker = service.worker().id(second.id()).plugin(&sandbox).start().wait()?;
        let foreign =
            || sandbox.task_tag_recv(&worker, 1, 1, ALL).memh_id(memory).buffer(BASE).submit();
        refused(foreign()?, "another host's")?;
        let own = sandbox.task_mem_map(&worker, MapParams::allocate(BASE, 64)).submit()?;
        assert_ne!(block_on_for(LIMIT, own)??.memh_id, memory);
        refused(foreign()?, "another host's")?;
    }
    pair.works()
}

pub(crate) fn an_invalid_registration_is_refused(pair: Pair) -> Result<()> {
    let (first, sandbox) = (&pair.workers[0], &pair.sandbox);
    let allocate = MapParams::allocate(BASE, 4096);
    let map = |params, handle: &[u8]| -> Result<DocaError> {
        let task = sandbox.task_mem_map(first, params).exported_memh(handle).submit()?;
        Ok(block_on_for(LIMIT, task)?.err().context("it is registered")?.code())
    };
    let cases = [
        ("an address of the host", MapParams { flags: 0, ..allocate }, DocaError::INVALID_VALUE),
        (
            "flags that do not count",
            MapParams { field_mask: 3, ..allocate },
            DocaError::INVALID_VALUE,
        ),
        ("no handle", MapParams::exported(BASE), DocaError::INVALID_VALUE),
        ("no length", MapParams::allocate(BASE, 0), DocaError::DRIVER),
        (
            "a length that does not count",
            MapParams { field_mask: 5, ..allocate },
            DocaError::DRIVER,
        ),
        ("over the limit", MapParams::allocate(BASE, (1 << 30) + 1), DocaError::NO_MEMORY),
        ("far over", MapParams::allocate(BASE, 1 << 60), DocaError::NO_MEMORY),
        ("all there is", MapParams::allocate(BASE, u64::MAX), DocaError::NO_MEMORY),
    ];
    for (what, params, code) in cases {
        assert_eq!(map(params, &[])?, code, "{what}");
    }
    // Invalid bytes are not passed to UCX, because UCX could crash the worker.
    for bytes in [&[0; 100][..], &[7], &[0xff; 64]] {
        let code = map(MapParams::exported(BASE), bytes)?;
        assert_eq!(code, DocaError::DRIVER, "{} bytes", bytes.len());
    }
    let host = Mmap::allocate(64, BOTH)?;
    let exported = host.export()?;
    let not_shared = map(MapParams::exported(BASE), &exported)?;
    let reason = if pair.has_extension { DocaError::NOT_FOUND } else { DocaError::NOT_SUPPORTED };
    assert_eq!(not_shared, reason);
    let mut damaged = exported.clone();
    damaged[20] ^= 1;
    for bytes in [&damaged[..], &exported[..20]] {
        assert_eq!(map(MapParams::exported(BASE), bytes)?, DocaError::INVALID_VALUE);
    }
    pair.works()
}

pub(crate) fn registrations_end_with_their_host(provider: &Provider) -> Result<()> {
    let pair = Pair::given(provider)?;
    let map = |sandbox: &Client<Host>, worker: &Worker, mebibytes: u64| {
        let params = MapParams::allocate(BASE, mebibytes << 20);
        Ok::<_, Error>(block_on_for(LIMIT, sandbox.task_mem_map(worker, params).submit()?)?)
    };
    let staying = map(&pair.sandbox, &pair.workers[0], 600)??;
    for _ in 0..3 {
        let other = provider.connect()?;
        let theirs = sandbox(&other)?;
        let worker = other.worker().id(pair.workers[0].id()).plugin(&theirs).start().wait()?;
        // More than half of the limit, so only one host can register it.
        let refused = map(&theirs, &worker, 600)?.map(drop).unwrap_err();
        assert_eq!(refused.code(), DocaError::NO_MEMORY, "{refused}");
        let start = Instant::now();
        while let Err(error) = map(&theirs, &worker, 300)? {
            // The last host's registration ends soon after it leaves.
            assert_eq!(error.code(), DocaError::NO_MEMORY, "{error}");
            if !pair.has_extension {
                return pair.works();
            }
            assert!(start.elapsed() < LIMIT, "a host that left keeps its registration");
        }
    }
    assert_ne!(staying.memh_id, 0);
    pair.works()
}

pub(crate) fn a_host_cannot_register_without_end(pair: Pair) -> Result<()> {
    let first = &pair.workers[0];
    let mut handles = Vec::new();
    let code = loop {
        let task = pair.sandbox.task_mem_map(first, MapParams::allocate(BASE, 16)).submit()?;
        match block_on_for(LIMIT, task)? {
            Ok(mapped) => handles.push(mapped.memh_id),
            Err(error) => break error.code(),
        }
        assert!(handles.len() <= 1024, "no end");
    };
    assert_eq!((code, handles.len()), (DocaError::NO_MEMORY, 1024));
    handles.sort_unstable();
    handles.dedup();
    assert_eq!(handles.len(), 1024);
    pair.works()
}
