//! Where hosts and workers meet to share memory: the files of workers' sockets, and containers.

use std::path::Path;
use std::process::{Command, Stdio};
use std::thread::yield_now;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use memory_protocol::Client;
use rustix::process::{Pid, Signal, kill_process};
use urom_host::memory::{Access, MemoryPath, Mmap, Share, Shared};
use urom_host::{Host, Service, Worker};
use urom_tests::{PluginDirectory, Uromd, built, run};

const LIMIT: Duration = Duration::from_secs(20);

fn plugins() -> Result<PluginDirectory> {
    PluginDirectory::with(&["worker_memory"])
}

/// A host with memory that a worker of its own has mapped.
struct Sharer {
    plugin: Client<Host>,
    worker: Worker,
    shared: Shared,
    _service: Service,
}

impl Sharer {
    fn new(daemon: &Uromd) -> Result<Sharer> {
        let service = Service::builder().address(daemon.address()).connect()?;
        let plugin = service.plugin::<memory_protocol::Protocol>()?;
        let worker = service.worker().id(7).plugin(&plugin).start().wait()?;
        let memory = Mmap::allocate(4096, Access::LOCAL_READ_WRITE | Access::PCI_READ_ONLY)?;
        let shared = memory.share(&worker).wait()?;
        assert_eq!(shared.path(), MemoryPath::MAPPED);
        Ok(Sharer { plugin, worker, shared, _service: service })
    }

    fn process(&self) -> Result<Pid> {
        let process = self.plugin.task_process(&self.worker).submit()?.wait()?.value;
        Pid::from_raw(process as i32).context("a process")
    }
}

fn files(folder: &Path) -> Result<usize> {
    Ok(std::fs::read_dir(folder)?.count())
}

fn until_empty(folder: &Path) -> Result<()> {
    let start = Instant::now();
    while files(folder)? > 0 {
        ensure!(start.elapsed() < LIMIT, "a socket is left in {}", folder.display());
        yield_now();
    }
    Ok(())
}

#[test]
fn the_file_of_a_worker_s_socket_goes_with_the_worker() -> Result<()> {
    let (folder, plugins) = (tempfile::tempdir()?, plugins()?);
    let start = || {
        Uromd::start_with(plugins.variable(), |command| {
            command.arg("--socket-dir").arg(folder.path())
        })
    };
    let (daemon, other) = (start()?, start()?);
    let sharer = Sharer::new(&daemon)?;
    let of_other = Sharer::new(&other)?;
    assert_eq!(files(folder.path())?, 2, "daemons share a folder");
    drop(sharer);
    assert!(other.stop()?.success());
    drop(of_other);
    until_empty(folder.path())?;
    // The daemon removes what a worker that was killed has left.
    let sharer = Sharer::new(&daemon)?;
    kill_process(sharer.process()?, Signal::KILL)?;
    until_empty(folder.path())?;
    drop(sharer);
    let sharer = Sharer::new(&daemon)?;
    let read = sharer.plugin.task_read(&sharer.worker, sharer.shared.range(), 0, 1);
    assert_eq!(read.submit()?.wait()?.data[..], [0]);
    assert!(daemon.stop()?.success());
    until_empty(folder.path())
}

/// Two network namespaces that are joined, and namespaces of processes and files on one side.
/// Dropping it removes them.
struct Containers {
    host: String,
    service: String,
}

const HOST: &str = "10.119.0.1";
const SERVICE: &str = "10.119.0.2";

impl Containers {
    fn new() -> Result<Containers> {
        let name = |side| format!("urom-memory-{}-{side}", std::process::id());
        let containers = Containers { host: name("host"), service: name("service") };
        let (host, service) = (&*containers.host, &*containers.service);
        let ip = |words: &[&str]| run(Command::new("ip").args(words)).map(drop);
        for namespace in [host, service] {
            ip(&["netns", "add", namespace])?;
            ip(&["-n", namespace, "link", "set", "lo", "up"])?;
        }
        let pair = ["type", "veth", "peer", "name", "wire", "netns", service];
        ip(&[&["-n", host, "link", "add", "wire"], &pair[..]].concat())?;
        for (namespace, address) in [(host, HOST), (service, SERVICE)] {
            let address = format!("{address}/30");
            ip(&["-n", namespace, "address", "add", &address, "dev", "wire"])?;
            ip(&["-n", namespace, "link", "set", "wire", "up"])?;
        }
        let start = Instant::now();
        for namespace in [host, service] {
            let words = ["-n", namespace, "-o", "link", "show", "wire"];
            while !run(Command::new("ip").args(words))?.contains("state UP") {
                ensure!(start.elapsed() < LIMIT, "the interface is not up");
            }
        }
        Ok(containers)
    }

    /// A command that runs a program in one of them, with files and processes of its own.
    fn command(namespace: &str, program: &Path) -> Command {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", namespace]);
        command.args(["unshare", "--mount", "--ipc", "--pid", "--fork", "--kill-child"]);
        command.arg("--mount-proc").arg(program);
        command
    }
}

impl Drop for Containers {
    fn drop(&mut self) {
        for namespace in [&self.host, &self.service] {
            // It may not have been made.
            let _ = run(Command::new("ip").args(["netns", "delete", namespace]));
        }
    }
}

#[test]
fn containers_share_memory_directly_where_they_share_a_folder() -> Result<()> {
    let containers = match Containers::new() {
        Ok(containers) => containers,
        Err(error) if std::env::var_os("CI").is_none() => {
            println!("left out: namespaces take root and iproute2: {error:#}");
            return Ok(());
        }
        Err(error) => return Err(error),
    };
    let (folder, keys, plugins) = (tempfile::tempdir()?, tempfile::tempdir()?, plugins()?);
    let key = keys.path().join("key");
    std::fs::write(&key, [7; 32])?;
    run(Command::new("chmod").arg("600").arg(&key))?;
    for has_folder in [false, true] {
        let mut command = Containers::command(&containers.service, &built("uromd")?);
        if has_folder {
            command.arg("--socket-dir").arg(folder.path());
        }
        command.env("UROM_KEY_FILE", &key);
        let daemon = Uromd::start_at(command, &format!("{SERVICE}:0"), plugins.variable())?;
        for first in [MemoryPath::MAPPED, MemoryPath::PROCESS] {
            let program = built("examples/churned_host")?;
            let mut host = Containers::command(&containers.host, &program)
                .args([daemon.address(), "new", &first.0.to_string(), "1"])
                .env("UROM_KEY_FILE", &key)
                .env("UROM_DOCA_LIBRARY", "builtin")
                .env("UCX_LOG_LEVEL", "fatal")
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .spawn()?;
            // It ends with its input.
            std::io::Write::write_all(&mut host.stdin.take().context("input")?, b"finish\n")?;
            let said = String::from_utf8(host.wait_with_output()?.stdout)?;
            // The kernel copies for no process of another container.
            let path = match first {
                MemoryPath::MAPPED if has_folder => first,
                _ => MemoryPath::NETWORK,
            };
            assert_eq!(said, format!("{}\nwell\n", path.name()), "{has_folder} {first:?}");
        }
    }
    Ok(())
}
