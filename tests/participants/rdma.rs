//! A host with an RDMA instance that repeats one operation until it is killed.
//!
//! `UROM_DOCA_LIBRARY` selects the library. Arguments: the daemon's address, the worker's id, and
//! the operation: `idle`, `send`, `receive`, `write`, `read`, `add`, or `unconnected`. It prints
//! the details of its instance and its memory, reads the other end's details, and prints `ready`
//! when the operation runs. Bytes are lines of JSON.

use std::io::stdin;

use anyhow::{Result, bail};
use rdma_host::{Rdma, RemoteAddress, RemoteMmap};
use rdma_protocol::Protocol;
use urom_host::memory::{Access, Mmap};
use urom_host::{Service, block_on};

const PART: u64 = 4 << 20;

const ALL: Access = Access::LOCAL_READ_WRITE
    .union(Access::RDMA_READ)
    .union(Access::RDMA_WRITE)
    .union(Access::RDMA_ATOMIC);

fn say(bytes: &[u8]) -> Result<()> {
    println!("{}", serde_json::to_string(bytes)?);
    Ok(())
}

fn hear() -> Result<Vec<u8>> {
    let mut line = String::new();
    stdin().read_line(&mut line)?;
    Ok(serde_json::from_str(&line)?)
}

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [address, id, what] = &arguments[..] else { bail!("three arguments, please") };
    let service = Service::builder().address(address.as_str()).connect_blocking()?;
    let plugin = service.plugin::<Protocol>()?;
    let worker = service.worker().id(id.parse()?).plugin(&plugin).start().wait()?;
    let memory = Mmap::allocate(2 * PART as usize, ALL)?;
    let rdma = block_on(Rdma::builder(&worker).permissions(ALL).start())?;
    block_on(rdma.register(&memory))?;
    say(&block_on(rdma.export())?)?;
    say(&block_on(rdma.export_mmap(&memory))?)?;
    let (details, exported) = (hear()?, hear()?);
    let far = block_on(RemoteMmap::import(&rdma, &exported))?;
    if what != "unconnected" {
        block_on(rdma.connect(&details))?;
        rdma.write((), RemoteAddress::NOWHERE).wait()?;
    }
    let (long, short) = (|| memory.slice(..PART), || memory.slice(PART..PART + 8));
    let work = || -> urom_host::Result<()> {
        match what.as_str() {
            "write" => block_on(async {
                let writes = [(); 4].map(|()| rdma.write(long(), far.at(0)));
                for write in writes {
                    write.await?;
                }
                Ok(())
            }),
            "read" => rdma.read(far.at(0), long()).wait(),
            "add" => rdma.fetch_add(far.at(0), 1, short()).wait().map(drop),
            _ => Ok(()),
        }
    };
    // The other end neither sends nor receives.
    let _receives: Vec<_> =
        (0..8).filter(|_| what == "receive").map(|_| rdma.receive(short())).collect();
    let _sends: Vec<_> = (0..8).filter(|_| what == "send").map(|_| rdma.send(short())).collect();
    work()?;
    println!("ready");
    if matches!(what.as_str(), "write" | "read" | "add") {
        loop {
            work()?;
        }
    }
    hear().map(drop)
}
