//! A host whose memory a worker's command uses; on orders it changes the memory or ends.
//!
//! `UROM_DOCA_LIBRARY` selects the library. Arguments: the daemon's address, the worker's id or
//! `new`, the first path to try, and the command's operation (see `Churn`). It prints the path once
//! the command is running. It answers each line of standard input with a line. Its library logs to
//! standard error at level info.

use std::io::{BufRead, stdin};
use std::ptr;

use anyhow::{Context, Result, bail, ensure};
use memory_protocol::{Client, Protocol};
use rustix::fs::ftruncate;
use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous};
use urom_host::memory::{Access, MemoryPath, MemoryShare, Mmap, Share};
use urom_host::{Host, Service, Worker};

const LEN: usize = 1 << 20;

struct Memory {
    plugin: Client<Host>,
    worker: Worker,
    memory: Mmap,
    shared: MemoryShare,
}

fn main() -> Result<()> {
    tracing_subscriber::fmt().with_writer(std::io::stderr).with_ansi(false).init();
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [address, id, path, kind] = &arguments[..] else { bail!("four arguments, please") };
    let service = Service::builder().address(address.as_str()).connect_blocking()?;
    let plugin = service.plugin::<Protocol>()?;
    let start = service.worker().plugin(&plugin);
    let start = if id == "new" { start } else { start.id(id.parse()?) };
    let worker = start.start().wait()?;
    let path = MemoryPath(path.parse()?);
    let memory = allocate(path)?;
    let shared = memory.share_from(&worker, path).wait()?;
    let path = shared.path();
    let at = Memory { plugin, worker, memory, shared };
    let churn = at.plugin.task_churn(&at.worker, at.shared.range(), kind.parse()?).submit()?;
    while at.churning()? == 0 {}
    println!("{}", path.name());
    let mut churn = Some(churn);
    for order in stdin().lock().lines() {
        match order?.as_str() {
            "unmap" => {
                let start = at.memory.view().as_ptr().cast();
                let gone = MapFlags::PRIVATE | MapFlags::FIXED | MapFlags::NORESERVE;
                // SAFETY: only the worker's plugin uses these bytes from now on. The range stays
                // reserved, so the worker cannot write to other memory there.
                unsafe { mmap_anonymous(start, LEN, ProtFlags::empty(), gone) }?;
                match path {
                    MemoryPath::MAPPED => {
                        let last = LEN as u64 - 8;
                        let read = at.plugin.task_read(&at.worker, at.shared.range(), last, 8);
                        println!("it reads {:?}", &read.submit()?.wait()?.data[..]);
                    }
                    _ => {
                        let ended = churn.take().context("it ended before")?.wait();
                        let error = ended.map(drop).err().context("it went on")?;
                        println!("it failed with {}", error.code().name());
                    }
                }
            }
            "truncate" => {
                let (fd, _) = at.memory.fd().context("there is no descriptor")?;
                let cut = ftruncate(fd, 0).and_then(|()| ftruncate(fd, LEN as u64));
                println!("{cut:?}");
            }
            "finish" => {
                drop(churn.take());
                while at.churning()? != 0 {}
                // A cancelled write may still be in progress; this read follows it.
                let read = || at.plugin.task_read(&at.worker, at.shared.range(), 72, 8);
                read().submit()?.wait()?;
                at.memory.view().set(9, 4711_u64)?;
                ensure!(read().submit()?.wait()?.data[..] == 4711_u64.to_le_bytes());
                println!("well");
            }
            other => bail!("what is {other}?"),
        }
    }
    Ok(())
}

impl Memory {
    fn churning(&self) -> Result<u64, urom_host::Error> {
        Ok(self.plugin.task_churning(&self.worker).submit()?.wait()?.value)
    }
}

/// Allocates separate pages, which can be unmapped.
fn allocate(path: MemoryPath) -> Result<Mmap> {
    let access = Access::LOCAL_READ_WRITE | Access::PCI_READ_WRITE;
    if path == MemoryPath::MAPPED {
        return Ok(Mmap::allocate(LEN, access)?);
    }
    let (protection, flags) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::PRIVATE);
    // SAFETY: a new mapping at an address that the kernel chooses.
    let start = unsafe { mmap_anonymous(ptr::null_mut(), LEN, protection, flags) }?;
    // SAFETY: these bytes are valid, and references to them do not exist. Only "unmap" unmaps
    // them, to test the consequences.
    Ok(unsafe { Mmap::from_raw(start.cast(), LEN, access) }?)
}
