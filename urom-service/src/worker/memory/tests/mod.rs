//! Hosts' offers. The tests of `urom-memory` cover plugins' operations, the tests of `remote`
//! requests to hosts.

mod handover;
mod shared;

use std::fs::File;
use std::os::fd::OwnedFd;

use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, ftruncate, memfd_create};
use tokio::sync::mpsc::UnboundedReceiver;
use urom_abi::DocaError;
use urom_abi::host_memory::HostMemory;
use urom_abi::memory::{Access, MemoryRange};
use urom_wire::control::{Failure, MemoryAnswer, MemoryLocation, MemoryOffer, SharedBy};
use urom_wire::memory::{Handed, Slip};

use super::{HandedOffer, HostMemories};
use crate::worker::control_thread::ControlHandle;
use crate::worker::messages::ToControl;

const BOTH: Access = Access::PCI_READ_WRITE;

const TOKEN: u128 = 8;

struct TestMemories {
    memories: HostMemories,
    control: ControlHandle,
    told: UnboundedReceiver<ToControl>,
}

impl TestMemories {
    fn new() -> TestMemories {
        let (control, told) = ControlHandle::new();
        TestMemories { memories: HostMemories::new(&[]), control, told }
    }

    fn share(&self, dest_id: u64, shared: HandedOffer) -> Result<SharedBy, Failure> {
        self.memories.share(dest_id, dest_id, shared, self.control.clone())
    }

    fn ended(&mut self) -> Vec<u64> {
        let ended = |message| match message {
            ToControl::Memory { answer: MemoryAnswer::Ended { share }, .. } => share,
            other => panic!("{other:?}"),
        };
        std::iter::from_fn(|| self.told.try_recv().ok()).map(ended).collect()
    }

    fn open(&self, dest_id: u64, memory: u64, offset: u64, len: u64) -> HostMemory {
        self.memories.shares.open(dest_id, MemoryRange { memory, offset, len }).unwrap()
    }
}

fn memfd(len: u64, seals: SealFlags) -> OwnedFd {
    let fd = memfd_create("of-a-test", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING).unwrap();
    ftruncate(&fd, len).unwrap();
    fcntl_add_seals(&fd, seals).unwrap();
    fd
}

fn handed(fd: impl Into<Option<OwnedFd>>) -> Option<Handed> {
    let process = Some(std::process::id() as i32);
    Some(Handed {
        slip: Slip { token: TOKEN, share: 1 },
        fds: fd.into().into_iter().collect(),
        process,
    })
}

/// Memory with a descriptor; its address on the host is never read.
fn mapped(memory: u64, len: u64, fd: OwnedFd) -> HandedOffer {
    let offer = MemoryOffer {
        share: memory + 100,
        memory,
        address: 0x10000,
        len,
        access: BOTH.bits(),
        location: MemoryLocation::Handed { offset: 0 },
        ucx_address: Vec::new(),
    };
    HandedOffer { offer, handed: handed(fd), token: TOKEN }
}

/// Memory of this process, which the kernel copies.
fn of_process(memory: u64, bytes: &[u8]) -> HandedOffer {
    let shared = mapped(memory, bytes.len() as u64, File::open("/dev/null").unwrap().into());
    let address = bytes.as_ptr().expose_provenance() as u64;
    let offer = MemoryOffer { address, location: MemoryLocation::Process, ..shared.offer };
    HandedOffer { offer, handed: handed(None), ..shared }
}
