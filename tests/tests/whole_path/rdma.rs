//! Two hosts, each with a worker, and DOCA RDMA operations between their memories.

use std::cell::RefCell;
use std::pin::pin;
use std::rc::Rc;
use std::task::{Context, Waker};
use std::time::Duration;

use anyhow::Result;
use rdma_host::{Opcode, Rdma, RemoteAddress, RemoteMmap, State};
use urom_host::memory::{Access, Inventory, Mmap, View};
use urom_host::{DocaError, Service, Worker, block_on};

use crate::provider::{Given, Provider};

pub(crate) const LOCAL: Access = Access::LOCAL_READ_WRITE;

/// All permissions of the other end.
pub(crate) const ALL: Access =
    LOCAL.union(Access::RDMA_READ).union(Access::RDMA_WRITE).union(Access::RDMA_ATOMIC);

pub(crate) const LIMIT: Duration = Duration::from_secs(20);

pub(crate) type Make = fn(Vec<u8>, Access) -> Mmap;

/// Memory that a worker maps, and memory that the kernel copies.
pub(crate) const MAKES: [Make; 2] = [
    |bytes, access| {
        let memory = Mmap::allocate(bytes.len(), access).unwrap();
        memory.view().copy_from(0, &bytes).unwrap();
        memory
    },
    |bytes, access| Mmap::from_vec(bytes, access).unwrap(),
];

pub(crate) struct End {
    pub(crate) rdma: Rdma,
    pub(crate) worker: Worker,
    _service: Service,
}

pub(crate) struct RdmaPair {
    pub(crate) one: End,
    pub(crate) two: End,
}

pub(crate) fn started(worker: &Worker) -> urom_host::Result<Rdma> {
    block_on(Rdma::builder(worker).permissions(ALL).start())
}

impl<'a> Given<'a> for RdmaPair {
    fn given(provider: &'a Provider) -> Result<Self> {
        let end = |id| -> Result<End> {
            let service = provider.connect()?;
            let plugin = service.plugin::<rdma_protocol::Protocol>()?;
            let worker = service.worker().id(id).plugin(&plugin).start().wait()?;
            let rdma = started(&worker)?;
            Ok(End { rdma, worker, _service: service })
        };
        let (one, two) = (end(11)?, end(12)?);
        let pair = RdmaPair { one, two };
        pair.connect()?;
        Ok(pair)
    }
}

impl RdmaPair {
    fn connect(&self) -> Result<()> {
        block_on(async {
            let (one, two) = (self.one.rdma.export().await?, self.two.rdma.export().await?);
            self.one.rdma.connect(&two).await?;
            self.two.rdma.connect(&one).await?;
            Ok(())
        })
    }

    fn remote(&self, memory: &Mmap) -> Result<RemoteMmap> {
        let import = async {
            let exported = self.two.rdma.export_mmap(memory).await?;
            RemoteMmap::import(&self.one.rdma, &exported).await
        };
        Ok(block_on(import)?)
    }
}

fn pattern(len: usize, seed: u8) -> Vec<u8> {
    (0..len).map(|at| (at as u8).wrapping_mul(7).wrapping_add((at >> 8) as u8) ^ seed).collect()
}

fn bytes(view: View<'_>) -> Vec<u8> {
    let mut bytes = vec![0; view.len() as usize];
    view.copy_to(0, &mut bytes).unwrap();
    bytes
}

pub(crate) fn every_operation_moves_its_bytes(at: RdmaPair) -> Result<()> {
    for make in MAKES {
        for len in [8, 4096, 1 << 20] {
            let (here, there) = (make(pattern(len, 1), LOCAL), make(vec![0; len + 16], ALL));
            let back = make(vec![0; len], LOCAL);
            let remote = at.remote(&there)?;
            let (one, two) = (&at.one.rdma, &at.two.rdma);

            one.write(here.slice(..), remote.at(8)).wait()?;
            assert!(bytes(there.view())[8..8 + len] == pattern(len, 1), "{len} bytes");
            one.read(remote.at(8), back.slice(..)).wait()?;
            assert!(bytes(back.view()) == pattern(len, 1), "{len} bytes");

            let destination = make(vec![0; len], LOCAL);
            let receive = two.receive(destination.slice(..));
            let send = one.send_imm(here.slice(..), 0x0102_0304);
            let (sent, received) =
                block_on(async { futures_util::future::join(send, receive).await });
            sent?;
            let message = received?;
            assert_eq!((message.opcode, message.len), (Opcode::SendImm, len as u64));
            assert_eq!(message.immediate, Some(0x0102_0304));
            assert!(bytes(destination.view()) == pattern(len, 1), "{len} bytes");

            let word = make(vec![0; 8], LOCAL);
            let before = u64::from_le_bytes(pattern(len, 1)[..8].try_into()?);
            assert_eq!(one.fetch_add(remote.at(8), 5, word.slice(..)).wait()?, before);
            let now = before.wrapping_add(5);
            let swapped = one.compare_swap(remote.at(8), now, 77, word.slice(..)).wait()?;
            assert_eq!(swapped, now);
            assert_eq!(bytes(there.view())[8..16], 77_u64.to_le_bytes());
            assert_eq!(bytes(word.view()), now.to_le_bytes());
        }
    }
    Ok(())
}

pub(crate) fn many_operations_are_in_flight_and_complete_in_order(at: RdmaPair) -> Result<()> {
    let (here, there) = (MAKES[0](pattern(4096, 2), LOCAL), MAKES[0](vec![0; 60 * 4096], ALL));
    let remote = at.remote(&there)?;
    let writes: Vec<_> =
        (0..60).map(|at_| at.one.rdma.write(here.slice(..), remote.at(4096 * at_))).collect();
    for write in writes {
        write.wait()?;
    }
    let all = bytes(there.view());
    assert!(all.chunks(4096).all(|part| part == pattern(4096, 2)));
    Ok(())
}

pub(crate) fn buffers_are_gathered_scattered_and_given_back(at: RdmaPair) -> Result<()> {
    let inventory = Inventory::new(4)?;
    let (here, there) = (MAKES[0](pattern(100, 3), LOCAL), MAKES[0](vec![0; 100], LOCAL));
    let source = inventory.take_data(&here, 10..20)?;
    source.chain(inventory.take_data(&here, 50..80)?)?;
    let destination = inventory.take(&there, ..30)?;
    destination.chain(inventory.take(&there, 60..)?)?;
    let receive = at.two.rdma.receive(destination);
    let send = at.one.rdma.send(&source);
    let (sent, received) = block_on(async { futures_util::future::join(send, receive).await });
    sent?;
    let message = received?;
    assert_eq!((message.len, message.immediate), (40, None));
    let lens: Vec<_> = message.destination.list().map(|range| range.len).collect();
    assert_eq!(lens, [30, 10]);
    let mut whole = [0; 40];
    message.destination.gather(&mut whole)?;
    let all = pattern(100, 3);
    assert_eq!(whole[..], [&all[10..20], &all[50..80]].concat());
    drop(message);
    assert_eq!(inventory.free(), 2);
    Ok(())
}

pub(crate) fn a_failure_brings_both_ends_to_error_and_a_restart_helps(at: RdmaPair) -> Result<()> {
    let (here, there) = (MAKES[0](vec![1; 64], LOCAL), MAKES[0](vec![0; 64], LOCAL));
    let there_ro = MAKES[0](vec![0; 64], LOCAL | Access::RDMA_READ);
    let remote = at.remote(&there_ro)?;
    block_on(at.two.rdma.register(&there))?;
    let waiting = at.two.rdma.receive(there.slice(..));
    let error = at.one.rdma.write(here.slice(..), remote.at(0)).wait().unwrap_err();
    assert_eq!(error.code(), DocaError::NOT_PERMITTED, "{error}");
    let text = error.to_string();
    assert!(text.contains("RDMA_WRITE") && text.contains("the other end"), "{text}");
    let error = waiting.wait().map(drop).unwrap_err();
    assert_eq!(error.code(), DocaError::CONNECTION_ABORTED, "{error}");
    for end in [&at.one, &at.two] {
        let (state, failed) = block_on(end.rdma.state())?;
        assert_eq!(state, State::Error);
        assert_eq!(failed.map(|failed| failed.code), Some(DocaError::NOT_PERMITTED));
        let refused = end.rdma.write((), RemoteAddress::NOWHERE).wait().unwrap_err();
        assert_eq!(refused.code(), DocaError::BAD_STATE, "{refused}");
        block_on(end.rdma.stop())?;
        block_on(end.rdma.start())?;
    }
    at.connect()?;
    at.one.rdma.write((), RemoteAddress::NOWHERE).wait()?;
    Ok(())
}

pub(crate) fn memory_is_its_owners_again_after_its_release(at: RdmaPair) -> Result<()> {
    let (mut here, there) = (MAKES[0](vec![1; 64], LOCAL), MAKES[0](vec![0; 64], ALL));
    let remote = at.remote(&there)?;
    at.one.rdma.write(here.slice(..), remote.at(0)).wait()?;
    assert_eq!(here.try_exclusive_bytes().map(drop).unwrap_err().code(), DocaError::IN_USE);
    block_on(at.one.rdma.release(&here))?;
    here.try_exclusive_bytes()?.fill(2);
    at.one.rdma.write(here.slice(..), remote.at(0)).wait()?;
    assert_eq!(bytes(there.view()), [2; 64]);
    Ok(())
}

pub(crate) fn operations_keep_their_order_while_new_memory_is_shared(at: RdmaPair) -> Result<()> {
    let there = MAKES[0](vec![0; 64], ALL);
    let remote = at.remote(&there)?;
    let old = MAKES[0](vec![9; 64], LOCAL);
    at.one.rdma.write(old.slice(..), remote.at(0)).wait()?;
    // The first four are new to the worker; the last is registered.
    let new: Vec<_> = (1..5).map(|byte| MAKES[0](vec![byte; 64], LOCAL)).collect();
    let writes: Vec<_> = new
        .iter()
        .chain([&old])
        .map(|memory| at.one.rdma.write(memory.slice(..), remote.at(0)))
        .collect();
    for result in block_on(futures_util::future::join_all(writes)) {
        result?;
    }
    assert_eq!(bytes(there.view()), [9; 64]);
    Ok(())
}

pub(crate) fn callbacks_receive_results_and_may_begin_more(at: RdmaPair) -> Result<()> {
    let (here, there) = (MAKES[0](pattern(64, 7), LOCAL), MAKES[0](vec![0; 128], ALL));
    let remote = at.remote(&there)?;
    let told: Rc<RefCell<Vec<Result<(), DocaError>>>> = Rc::default();
    let note = Rc::clone(&told);
    let tell = move |result: urom_host::Result<()>| {
        note.borrow_mut().push(result.map_err(|error| error.code()));
    };
    at.one.rdma.write(here.slice(..), remote.at(0)).on_complete(tell.clone());
    assert_eq!(told.take(), [Err(DocaError::BAD_STATE)]);
    block_on(at.one.rdma.register(&here))?;
    let (again, part) = (at.one.rdma.clone(), here.slice(..));
    at.one.rdma.write(here.slice(..), remote.at(0)).on_complete(move |first| {
        tell(first);
        again.write(part, remote.at(64)).on_complete(tell);
    });
    while told.borrow().len() < 2 {
        at.one.worker.engine().progress();
    }
    assert_eq!(*told.borrow(), [Ok(()); 2]);
    assert_eq!(bytes(there.view()), [pattern(64, 7), pattern(64, 7)].concat());
    Ok(())
}

pub(crate) fn a_host_that_leaves_is_a_failure_of_the_other_end(at: RdmaPair) -> Result<()> {
    let RdmaPair { one, two } = at;
    let destination = MAKES[0](vec![0; 64], LOCAL);
    block_on(two.rdma.register(&destination))?;
    let receive = two.rdma.receive(destination.slice(..));
    // Commands keep their order, so the receive begins before the other end leaves.
    block_on(two.rdma.state())?;
    let End { rdma, worker, _service } = one;
    drop(rdma);
    worker.stop().wait()?;
    let error = receive.wait().map(drop).unwrap_err();
    assert_eq!(error.code(), DocaError::CONNECTION_ABORTED, "{error}");
    assert_eq!(block_on(two.rdma.state())?.0, State::Error);
    Ok(())
}

pub(crate) fn an_instance_waits_for_new_memory_of_its_own_alone(at: RdmaPair) -> Result<()> {
    let RdmaPair { one, two } = at;
    let other = [started(&one.worker)?, started(&two.worker)?];
    block_on(async {
        let details = [other[0].export().await?, other[1].export().await?];
        other[0].connect(&details[1]).await?;
        other[1].connect(&details[0]).await
    })?;
    let new = || MAKES[0](vec![0; 8], LOCAL);
    let (first, second) = (new(), new());
    let mut write = pin!(one.rdma.write(first.slice(..0), RemoteAddress::NOWHERE));
    // The share has begun; this write is not polled further.
    assert!(write.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    other[0].within(LIMIT).write(second.slice(..0), RemoteAddress::NOWHERE).wait()?;
    Ok(block_on(write)?)
}
