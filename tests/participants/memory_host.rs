//! A host that is killed while its worker sends from its memory and receives into it.
//!
//! Arguments: the service (`address:...`), then as for all participants. The variable `MEMORY_PATH`
//! is a number. It prints `here` when the worker has both commands.

#[path = "../tests/whole_path/paths.rs"]
#[allow(dead_code, reason = "this host takes one path")]
mod paths;

use std::time::Duration;

use anyhow::{Context, Result};
use sandbox_protocol::{MapParams, Protocol};
use urom_host::gather::InProcess;
use urom_host::memory::MemoryPath;
use urom_host::{Registered, Service, block_on_for};

const LIMIT: Duration = Duration::from_secs(60);
const LENGTH: u64 = 1 << 20;

fn main() -> Result<()> {
    let target = std::env::args().nth(1).context("a target")?;
    let address = target.strip_prefix("address:").context("an address")?;
    let path = MemoryPath(std::env::var("MEMORY_PATH")?.parse()?);
    let service = Service::builder().address(address).connect_blocking()?;
    let sandbox = service.plugin::<Protocol>()?;
    let worker = service.worker().id(7).plugin(&sandbox).start().wait()?;
    let domain = service.domain().worker(0, &worker).gather(InProcess::alone());
    let _domain = block_on_for(LIMIT, domain.start())??;

    let memory = paths::allocate(2 * LENGTH as usize, paths::BOTH, path)?;
    memory.view().copy_from(0, &vec![7; LENGTH as usize])?;
    let _shared = paths::share(&memory, &worker, path)?;
    let exported = memory.export()?;
    let map = sandbox.task_mem_map(&worker, MapParams::exported(0)).exported_memh(&exported[..]);
    let handle = map.submit()?.wait()?.memh_id;

    let part = Registered { memory: handle.try_into()?, address: 0, len: LENGTH };
    let _sending = sandbox.task_tag_send(&worker, 0, 5).data(part).submit()?;
    let receive = sandbox.task_tag_recv(&worker, LENGTH, 1, u64::MAX).memh_id(handle);
    let _receiving = receive.buffer(LENGTH).submit()?;
    // Commands keep their order.
    let own = sandbox.task_tag_recv(&worker, 1, 3, u64::MAX).submit()?;
    sandbox.task_tag_send(&worker, 0, 3).data(b"x").submit()?.wait()?;
    own.wait()?;
    println!("here");
    loop {
        std::thread::park();
    }
}
