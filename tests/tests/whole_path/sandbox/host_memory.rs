//! Messages from and to the host's memory, on each path.

use std::future::poll_fn;
use std::ptr;
use std::task::Poll;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous};
use sandbox_protocol::{Client, MapParams};
use ucx::Status;
use urom_host::gather::InProcess;
use urom_host::memory::{Access, MemoryPath, Mmap, Share};
use urom_host::{DocaError, Host, Worker, block_on_for};

use super::registered::{BASE, HostMemory, part, registered};
use super::{ALL, LIMIT, Pair, done, inline, pattern, wait_with};
use crate::paths::{BOTH, PATHS};
use crate::provider::{Given, Provider, sandbox};

pub(crate) fn a_mebibyte_goes_from_host_to_plugin_to_host(pair: Pair) -> Result<()> {
    const LENGTH: u64 = 1 << 20;
    let [first, second] = &pair.workers;
    for path in PATHS {
        let source = HostMemory::new(first, &pattern(1 << 20), path)?;
        let target = HostMemory::new(first, &[0; 1 << 20], path)?;
        let from = source.map(&pair.sandbox, first)?;
        let between = pair.allocate(second, LENGTH)?;
        let to = target.map(&pair.sandbox, first)?;

        let receive = pair.receive_at(second, between, (BASE, LENGTH), 1)?;
        let send = pair.sandbox.task_tag_send(first, 1, 1).data(part(from, BASE, LENGTH)?);
        assert_eq!(done(send.submit())?.status, 0, "{path:?}");
        assert_eq!(registered(&block_on_for(LIMIT, receive)??), Some(LENGTH));

        let receive = pair.receive_at(first, to, (BASE, LENGTH), 2)?;
        let send = pair.sandbox.task_tag_send(second, 0, 2).data(part(between, BASE, LENGTH)?);
        let send = send.submit()?;
        let received = block_on_for(LIMIT, receive)??;
        let came = (received.status, received.sender_tag, registered(&received));
        assert_eq!(came, (0, 2, Some(LENGTH)), "{path:?}");
        assert_eq!(block_on_for(LIMIT, send)??.status, 0);
        assert!(target.bytes() == pattern(1 << 20), "the bytes are there with the answer");
    }
    Ok(())
}

pub(crate) fn messages_of_all_lengths_go_from_one_host_s_memory_to_another_s(
    pair: Pair,
) -> Result<()> {
    let [first, second] = &pair.workers;
    for (from, to) in [(0, 0), (1, 1), (2, 2), (0, 2), (2, 0)] {
        let source = HostMemory::new(first, &pattern(300_000), PATHS[from])?;
        let target = HostMemory::new(second, &[0; 300_000], PATHS[to])?;
        let from = source.map(&pair.sandbox, first)?;
        let to = target.map(&pair.sandbox, second)?;
        for (length, waits) in [(0, true), (1, true), (5000, true), (40_000, true), (300_000, true)]
            .into_iter()
            .flat_map(|(length, waits)| [(length, waits), (length, !waits)])
        {
            let receive = || pair.receive_at(second, to, (BASE, length), 5);
            let early = waits.then(receive).transpose()?;
            let send = pair.sandbox.task_tag_send(first, 1, 5).data(part(from, BASE, length)?);
            let send = send.submit()?;
            let received = block_on_for(LIMIT, early.map_or_else(receive, Ok)?)??;
            assert_eq!((received.status, registered(&received)), (0, Some(length)), "{waits}");
            assert_eq!(block_on_for(LIMIT, send)??.status, 0);
            let length = length as usize;
            assert!(target.bytes()[..length] == pattern(300_000)[..length], "{length}");
        }
    }
    Ok(())
}

pub(crate) fn parts_of_the_host_s_memory_are_sent_and_received_alone(pair: Pair) -> Result<()> {
    let [first, second] = &pair.workers;
    for path in PATHS {
        let source = HostMemory::new(first, &pattern(5000), path)?;
        let target = HostMemory::new(second, &[0xee; 5000], path)?;
        let from = source.map(&pair.sandbox, first)?;
        let to = target.map(&pair.sandbox, second)?;
        // At the message's exact end, and with spare capacity.
        let send = pair.sandbox.task_tag_send(first, 1, 1).data(part(from, BASE + 100, 300)?);
        done(send.submit())?;
        assert_eq!(inline(&pair.receive(4000, 1)?), &pattern(5000)[100..400]);
        let receive = pair.receive_at(second, to, (BASE + 4000, 1000), 2)?;
        pair.send(2, b"hello")?;
        assert_eq!(registered(&block_on_for(LIMIT, receive)??), Some(5));
        let bytes = target.bytes();
        assert_eq!(&bytes[4000..4005], b"hello");
        let is_left = |(at, byte): (usize, &u8)| *byte == 0xee || (4000..4005).contains(&at);
        assert!(bytes.iter().enumerate().all(is_left), "{path:?}");
        let receive = pair.receive_at(second, to, (BASE + 5000, 0), 3)?;
        let send = pair.sandbox.task_tag_send(first, 1, 3).data(part(from, BASE + 5000, 0)?);
        assert_eq!(done(send.submit())?.status, 0);
        assert_eq!(registered(&block_on_for(LIMIT, receive)??), Some(0));
        let mut params = MapParams::exported(0);
        params.field_mask &= !MapParams::FIELD_ADDRESS;
        let exported = target.memory.export()?;
        let map = pair.sandbox.task_mem_map(second, params).exported_memh(&exported[..]);
        let own = done(map.submit())?.memh_id;
        let at = target.memory.address() + 7;
        let receive = pair.receive_at(second, own, (at, 5), 4)?;
        pair.send(4, b"there")?;
        assert_eq!(registered(&block_on_for(LIMIT, receive)??), Some(5));
        assert_eq!(&target.bytes()[7..12], b"there");
    }
    Ok(())
}

pub(crate) fn bytes_of_the_host_are_one_receive_s_or_any_number_of_sends(
    provider: &Provider,
) -> Result<()> {
    let pair = Pair::given(provider)?;
    let second = &pair.workers[1];
    let other = provider.connect()?;
    let theirs = sandbox(&other)?;
    let worker = other.worker().id(second.id()).plugin(&theirs).start().wait()?;
    for path in PATHS {
        let host = HostMemory::new(second, &[0xee; 4096], path)?;
        // A second registration of the same memory.
        let memory = host.map(&pair.sandbox, second)?;
        let exported = host.memory.export()?;
        let again = pair.sandbox.task_mem_map(second, MapParams::exported(BASE + 0x10_0000));
        let again = done(again.exported_memh(&exported[..]).submit())?.memh_id;

        let pending = pair.receive_at(second, memory, (BASE + 100, 100), 7)?;
        for (handle, at) in [
            (memory, (BASE + 199, 100)),
            (memory, (BASE + 99, 2)),
            (again, (BASE + 0x10_0000 + 100, 100)),
        ] {
            let refused = block_on_for(LIMIT, pair.receive_at(second, handle, at, 8)?)??;
            let said = (refused.status, registered(&refused));
            assert_eq!(said, (Status::BUSY.code(), Some(0)), "{path:?} {at:x?}");
        }
        let send = || {
            let send = pair.sandbox.task_tag_send(second, 0, 9).data(part(memory, BASE + 199, 1)?);
            Ok::<_, anyhow::Error>(send.submit()?)
        };
        assert_eq!(block_on_for(LIMIT, send()?)??.status, Status::BUSY.code(), "{path:?}");
        // The rest of the memory and another host's memory are free.
        let free = pair.receive_at(second, memory, (BASE + 200, 100), 8)?;
        pair.send(8, b"beside")?;
        assert_eq!(registered(&block_on_for(LIMIT, free)??), Some(6));
        let foreign = HostMemory::new(&worker, &[0; 4096], path)?;
        let foreign_id = foreign.map(&theirs, &worker)?;
        let free = theirs.task_tag_recv(&worker, 100, 8, ALL).memh_id(foreign_id);
        let free = free.buffer(BASE + 100).submit()?;
        pair.send(8, b"theirs")?;
        assert_eq!(registered(&block_on_for(LIMIT, free)??), Some(6));

        pair.send(7, b"came late")?;
        assert_eq!(registered(&block_on_for(LIMIT, pending)??), Some(9));
        assert_eq!(host.bytes()[100..109], *b"came late");
        let sends = [send()?, send()?];
        for sent in sends {
            assert_eq!(block_on_for(LIMIT, sent)??.status, 0);
        }
    }
    Ok(())
}

pub(crate) fn memory_that_may_not_be_written_is_sent_but_not_received_into(
    pair: Pair,
) -> Result<()> {
    let [first, second] = &pair.workers;
    for path in PATHS {
        let read_only = Access::LOCAL_READ_WRITE | Access::PCI_READ_ONLY;
        let host = HostMemory::with(first, b"read only", path, read_only)?;
        let handle = host.map(&pair.sandbox, first)?;
        let send = pair.sandbox.task_tag_send(first, 1, 3).data(part(handle, BASE, 9)?);
        assert_eq!(done(send.submit())?.status, 0);
        assert_eq!(
            inline(&done(pair.sandbox.task_tag_recv(second, 100, 3, ALL).submit())?),
            b"read only"
        );
        let refused = block_on_for(LIMIT, pair.receive_at(first, handle, (BASE, 9), 4)?)??;
        assert_eq!(refused.status, Status::REJECTED.code(), "{path:?}");
    }
    pair.works()
}

/// Reserved address space, larger than the worker can allocate for a copy.
pub(crate) fn memory_that_is_too_large_to_copy_is_harmless(pair: Pair) -> Result<()> {
    const LENGTH: u64 = 1 << 40;
    let overcommit = std::fs::read_to_string("/proc/sys/vm/overcommit_memory")?;
    // In other overcommit modes this size always succeeds or always fails. QEMU records each page.
    if overcommit.trim() != "0" || !cfg!(target_arch = "x86_64") {
        return Ok(());
    }
    let (protection, flags) =
        (ProtFlags::READ | ProtFlags::WRITE, MapFlags::PRIVATE | MapFlags::NORESERVE);
    // SAFETY: a new mapping at an address that the kernel chooses.
    let start = unsafe { mmap_anonymous(ptr::null_mut(), LENGTH as usize, protection, flags) }?;
    let [first, second] = &pair.workers;
    for path in [MemoryPath::PROCESS, MemoryPath::NETWORK] {
        // SAFETY: the mapping lives as long as the process, and references to it do not exist.
        let memory = unsafe { Mmap::from_raw(start.cast(), LENGTH as usize, BOTH) }?;
        let shared = block_on_for(LIMIT, memory.share_from(first, path))??;
        let host = HostMemory { memory, shared };
        let handle = host.map(&pair.sandbox, first)?;
        let received = block_on_for(LIMIT, pair.receive_at(first, handle, (BASE, LENGTH), 4)?)??;
        assert_eq!(received.status, Status::NO_MEMORY.code(), "{path:?}");
        // Over the network, the host sends the data itself, which would take long.
        if path == MemoryPath::PROCESS {
            let send = pair.sandbox.task_tag_send(first, 1, 4).data(part(handle, BASE, LENGTH)?);
            assert_eq!(done(send.submit())?.status, Status::NO_MEMORY.code());
        }
        let receive = pair.receive_at(second, pair.allocate(second, 100)?, (BASE, 100), 5)?;
        let send = pair.sandbox.task_tag_send(first, 1, 5).data(part(handle, BASE, 100)?);
        assert_eq!(done(send.submit())?.status, 0);
        assert_eq!(registered(&block_on_for(LIMIT, receive)??), Some(100));
    }
    pair.works()
}

pub(crate) fn a_cancelled_receive_gives_the_host_s_memory_back(pair: Pair) -> Result<()> {
    let second = &pair.workers[1];
    for path in PATHS {
        let mut host = HostMemory::new(second, &[0xee; 100], path)?;
        let memory = host.map(&pair.sandbox, second)?;
        let dropped = second.dropped_replies();
        let receive = pair.receive_at(second, memory, (BASE, 50), 1)?;
        // Commands keep their order, so the plugin has the receive.
        let probe = block_on_for(LIMIT, pair.receive_at(second, memory, (BASE, 50), 2)?)??;
        assert_eq!(probe.status, Status::BUSY.code());
        drop(receive);
        let back = poll_fn(|_| match second.cancelled() {
            0 => Poll::Ready(()),
            _ => Poll::Pending,
        });
        wait_with(back, || pair.service.progress())?;
        assert_eq!(second.dropped_replies(), dropped + 1);
        // The cancelled receive does not take a message.
        pair.send(1, b"for nobody")?;
        let again = pair.receive_at(second, memory, (BASE + 49, 20), 2)?;
        pair.send(2, b"again")?;
        assert_eq!(registered(&block_on_for(LIMIT, again)??), Some(5));
        assert_eq!(inline(&pair.receive(100, 1)?), b"for nobody");
        assert_eq!(host.bytes()[..54], [&[0xee; 49][..], b"again"].concat());
        // The registration keeps the share until the host ends.
        assert!(host.memory.try_exclusive_bytes().is_err());
    }
    Ok(())
}

/// Another host of worker 1 with memory, which begins operations there.
fn with_another_host(
    pair: &Pair,
    provider: &Provider,
    path: MemoryPath,
    length: usize,
    begin: impl FnOnce(&Client<Host>, &Worker, u64) -> Result<()>,
) -> Result<Mmap> {
    let service = provider.connect()?;
    let theirs = sandbox(&service)?;
    let worker = service.worker().id(pair.workers[1].id()).plugin(&theirs).start().wait()?;
    let host = HostMemory::new(&worker, &pattern(length), path)?;
    let handle = host.map(&theirs, &worker)?;
    begin(&theirs, &worker, handle)?;
    let HostMemory { memory, shared } = host;
    drop(worker);
    drop(service);
    drop(shared);
    Ok(memory)
}

/// Sends a message with tag 1 and receives it. Returns whether a receive of a departed host took an
/// earlier copy, because the worker had not noticed yet.
fn is_taken_by_the_next(
    sandbox: &Client<Host>,
    [sender, receiver]: &[Worker; 2],
    message: &[u8],
) -> Result<bool> {
    for was_late in [false, true] {
        assert_eq!(done(sandbox.task_tag_send(sender, 1, 1).data(message).submit())?.status, 0);
        let receive = sandbox.task_tag_recv(receiver, 100, 1, ALL);
        match block_on_for(LIMIT, receive.timeout(Duration::from_secs(3)).submit()?)? {
            Ok(received) => {
                assert_eq!(inline(&received), message);
                return Ok(was_late);
            }
            Err(error) => assert_eq!(error.code(), DocaError::TIME_OUT, "{error}"),
        }
    }
    bail!("a host that has left still receives")
}

pub(crate) fn memory_of_a_host_that_leaves_during_a_receive_is_its_own_again(
    provider: &Provider,
) -> Result<()> {
    let pair = Pair::given(provider)?;
    for path in PATHS {
        let mut memory =
            with_another_host(&pair, provider, path, 5000, |theirs, worker, handle| {
                let receive =
                    theirs.task_tag_recv(worker, 5000, 1, ALL).memh_id(handle).buffer(BASE);
                let _pending = receive.submit()?;
                // Commands keep their order, so the worker has the receive.
                let looked =
                    theirs.task_tag_recv(worker, 5000, 2, ALL).memh_id(handle).buffer(BASE);
                assert_eq!(done(looked.submit())?.status, Status::BUSY.code());
                Ok(())
            })?;
        // The next receive gets the message, unless it came before the worker noticed.
        let was_late = is_taken_by_the_next(&pair.sandbox, &pair.workers, b"for the next")?;
        let mut own = poll_fn(|_| match memory.try_exclusive_bytes() {
            Ok(_) => Poll::Ready(()),
            Err(_) => Poll::Pending,
        });
        wait_with(&mut own, || pair.service.progress())?;
        assert!(was_late || memory.try_exclusive_bytes()? == pattern(5000));
    }
    pair.works()
}

pub(crate) fn a_send_from_memory_of_a_host_that_leaves_is_harmless(
    provider: &Provider,
) -> Result<()> {
    const LENGTH: u64 = 1 << 20;
    let pair = Pair::given(provider)?;
    for path in PATHS {
        let mut memory =
            with_another_host(&pair, provider, path, 1 << 20, |theirs, worker, handle| {
                let send = theirs.task_tag_send(worker, 1, 1).data(part(handle, BASE, LENGTH)?);
                let _pending = send.submit()?;
                // Commands keep their order, so the worker has the send.
                let to_itself = theirs.task_tag_send(worker, 1, 2).data(b"x");
                assert_eq!(done(to_itself.submit())?.status, 0);
                pair.receive(10, 2)?;
                Ok(())
            })?;
        // Receives the whole message or an error.
        let between = pair.allocate(&pair.workers[1], LENGTH)?;
        let receive = pair.sandbox.task_tag_recv(&pair.workers[1], LENGTH, 1, ALL);
        let receive = receive.memh_id(between).buffer(BASE).timeout(Duration::from_secs(1));
        match block_on_for(LIMIT, receive.submit()?)? {
            Ok(received) if received.status == 0 => {
                assert_eq!(registered(&received), Some(LENGTH), "{path:?}");
                let back = pair.sandbox.task_tag_send(&pair.workers[1], 0, 3);
                let back = back.data(part(between, BASE + LENGTH - 4000, 4000)?).submit()?;
                let end = pair.sandbox.task_tag_recv(&pair.workers[0], 4000, 3, ALL);
                let end = done(end.submit())?;
                assert!(inline(&end) == &pattern(1 << 20)[(1 << 20) - 4000..], "{path:?}");
                block_on_for(LIMIT, back)??;
            }
            Ok(received) => ensure!(path == MemoryPath::NETWORK, "status {}", received.status),
            // The host revoked the announced message.
            Err(error) => {
                ensure!(path == MemoryPath::NETWORK, "{path:?}: {error}");
                assert_eq!(error.code(), DocaError::TIME_OUT, "{error}");
            }
        }
        let own = poll_fn(|_| match memory.try_exclusive_bytes() {
            Ok(_) => Poll::Ready(()),
            Err(_) => Poll::Pending,
        });
        wait_with(own, || pair.service.progress())
            .with_context(|| format!("the memory is kept: {path:?}"))?;
    }
    pair.works()
}

pub(crate) fn a_host_that_is_killed_in_the_middle_of_messages_is_harmless(
    provider: &Provider,
) -> Result<()> {
    const LENGTH: u64 = 1 << 20;
    for path in PATHS {
        let killed = provider.process("memory_host", ("MEMORY_PATH", &path.0.to_string()))?;
        let service = provider.connect()?;
        let plugin = sandbox(&service)?;
        let worker = service.worker().id(7).plugin(&plugin).start().wait()?;
        let other = service.worker().plugin(&plugin).start().wait()?;
        drop(killed);
        let start = Instant::now();
        let domain = loop {
            // The killed host's domain ends first, which frees its workers.
            let builder = service.domain().gather(InProcess::alone());
            let builder = builder.worker(1, &worker).worker(0, &other);
            match block_on_for(LIMIT, builder.start())? {
                Ok(domain) => break domain,
                Err(error) => ensure!(start.elapsed() < LIMIT, "{error}"),
            }
        };
        // The killed host's receive does not take a message once the worker has noticed.
        let workers = [other, worker];
        is_taken_by_the_next(&plugin, &workers, b"for whoever is there")?;
        let [other, worker] = workers;
        // Its message arrives completely or not at all.
        let memory = plugin.task_mem_map(&worker, MapParams::allocate(BASE, LENGTH));
        let memory = done(memory.submit())?.memh_id;
        let receive = plugin.task_tag_recv(&worker, LENGTH, 5, ALL).memh_id(memory).buffer(BASE);
        match block_on_for(LIMIT, receive.timeout(Duration::from_secs(1)).submit()?)? {
            Ok(received) if received.status == 0 => {
                assert_eq!(registered(&received), Some(LENGTH), "{path:?}");
                let end = part(memory, BASE + LENGTH - 4000, 4000)?;
                let back = plugin.task_tag_send(&worker, 0, 3).data(end).submit()?;
                let end = done(plugin.task_tag_recv(&other, 4000, 3, ALL).submit())?;
                assert!(inline(&end) == [7; 4000], "{path:?}");
                block_on_for(LIMIT, back)??;
            }
            came => ensure!(path == MemoryPath::NETWORK, "{path:?}: {came:?}"),
        }
        domain.stop_blocking()?;
        worker.stop().wait()?;
        other.stop().wait()?;
    }
    Ok(())
}
