//! Memory sharing across processes: socket files of workers, and containers.

use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::yield_now;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use memory_protocol::Client;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketType, connect, socket};
use rustix::process::{Pid, Signal, geteuid, kill_process};
use urom_host::memory::{Access, MemoryPath, MemoryShare, Mmap, Share};
use urom_host::{Host, Service, Worker};
use urom_tests::{PluginDirectory, Uromd, built, run};

const LIMIT: Duration = Duration::from_secs(20);

fn plugins() -> Result<PluginDirectory> {
    PluginDirectory::with(&["worker_memory"])
}

struct Sharer {
    plugin: Client<Host>,
    worker: Worker,
    shared: MemoryShare,
    _service: Service,
}

impl Sharer {
    fn new(daemon: &Uromd) -> Result<Sharer> {
        let sharer = Sharer::with(daemon, 7)?;
        assert_eq!(sharer.shared.path(), MemoryPath::MAPPED);
        Ok(sharer)
    }

    fn with(daemon: &Uromd, id: u64) -> Result<Sharer> {
        let service = Service::builder().address(daemon.address()).connect_blocking()?;
        let plugin = service.plugin::<memory_protocol::Protocol>()?;
        let worker = service.worker().id(id).plugin(&plugin).start().wait()?;
        let shared = share(&worker)?;
        Ok(Sharer { plugin, worker, shared, _service: service })
    }

    fn process(&self) -> Result<Pid> {
        let process = self.plugin.task_process(&self.worker).submit()?.wait()?.value;
        Pid::from_raw(process as i32).context("a process")
    }
}

fn share(worker: &Worker) -> Result<MemoryShare> {
    let memory = Mmap::allocate(4096, Access::LOCAL_READ_WRITE | Access::PCI_READ_ONLY)?;
    Ok(memory.share(worker).wait()?)
}

/// Runs a separate host with this first path; returns the resulting path and the library's log
/// lines about paths.
fn other_host(
    mut command: Command,
    daemon: &Uromd,
    id: &str,
    first: MemoryPath,
) -> Result<(String, Vec<String>)> {
    let host = command
        .args([daemon.address(), id, &first.0.to_string(), "1"])
        .env("UROM_DOCA_LIBRARY", "builtin")
        .env("UCX_LOG_LEVEL", "fatal")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut host = host.spawn()?;
    // It ends with its input.
    std::io::Write::write_all(&mut host.stdin.take().context("input")?, b"finish\n")?;
    let output = host.wait_with_output()?;
    let (said, logged) = (String::from_utf8(output.stdout)?, String::from_utf8(output.stderr)?);
    let path = said.strip_suffix("\nwell\n").with_context(|| format!("{said}{logged}"))?;
    let lines = logged.lines().filter(|line| line.contains("uses memory by the path"));
    Ok((path.to_owned(), lines.map(str::to_owned).collect()))
}

/// A process with many idle connections to an abstract address, under another user if this process
/// may change users.
struct Crowd(Child);

impl Crowd {
    fn new(name: &str) -> Result<Crowd> {
        let address = SocketAddrUnix::new_abstract_name(name.as_bytes())?;
        // It ends with its input.
        let mut command = Command::new("cat");
        command.stdin(Stdio::piped());
        if geteuid().is_root() {
            command.uid(65534);
        }
        let connects = move || {
            for _ in 0..700 {
                let socket = socket(AddressFamily::UNIX, SocketType::STREAM, None)?;
                connect(&socket, &address)?;
                std::mem::forget(socket);
            }
            Ok(())
        };
        // SAFETY: only system calls run in the child.
        unsafe { command.pre_exec(connects) };
        Ok(Crowd(command.spawn()?))
    }
}

impl Drop for Crowd {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_silent_crowd_at_the_socket_slows_no_share() -> Result<()> {
    let plugins = plugins()?;
    let daemon = Uromd::start(plugins.variable())?;
    let id = 1_000_000 + u64::from(std::process::id());
    let before = Sharer::with(&daemon, id)?;
    let sockets = std::fs::read_to_string("/proc/net/unix")?;
    let name = sockets.split_whitespace().find_map(|word| {
        word.strip_prefix('@').filter(|name| name.starts_with(&format!("urom-{id}-")))
    });
    let name = name.context("no socket")?;
    let _crowds = [Crowd::new(name)?, Crowd::new(name)?];
    let meanwhile = Sharer::with(&daemon, id)?;
    let again = [share(&meanwhile.worker)?, share(&before.worker)?];
    for shared in [&before.shared, &meanwhile.shared, &again[0], &again[1]] {
        assert_eq!(shared.path(), MemoryPath::MAPPED);
    }
    Ok(())
}

#[test]
fn a_share_that_cannot_use_the_socket_logs_the_reason_and_the_next_one_tries_again() -> Result<()> {
    let (folder, plugins) = (tempfile::tempdir()?, plugins()?);
    let daemon = Uromd::start_with(plugins.variable(), |command| {
        command.arg("--socket-dir").arg(folder.path())
    })?;
    let _first = Sharer::new(&daemon)?;
    let file = std::fs::read_dir(folder.path())?.next().context("no socket")??.path();
    let away = folder.path().join("away");
    std::fs::rename(&file, &away)?;
    let late = Sharer::with(&daemon, 7)?;
    assert_eq!(late.shared.path(), MemoryPath::NETWORK);
    let program = || Ok::<_, anyhow::Error>(Command::new(built("examples/churned_host")?));
    let (path, lines) = other_host(program()?, &daemon, "7", MemoryPath::MAPPED)?;
    let [line] = &lines[..] else { anyhow::bail!("{lines:?}") };
    assert_eq!(path, "network");
    for part in ["INFO", "worker 7", "`network`, not `mapped`", "No such file", "--socket-dir"] {
        assert!(line.contains(part), "{part}: {line}");
    }
    // The host did not request a faster path, so it logs nothing.
    assert_eq!(other_host(program()?, &daemon, "7", MemoryPath::NETWORK)?, (path, vec![]));
    std::fs::rename(&away, &file)?;
    assert_eq!(share(&late.worker)?.path(), MemoryPath::MAPPED);
    let found = other_host(program()?, &daemon, "7", MemoryPath::MAPPED)?;
    assert_eq!(found, ("mapped".to_owned(), vec![]));
    Ok(())
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
    // The daemon removes the files of a killed worker.
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

/// Two connected network namespaces; each side has its own process and mount namespaces. Drop
/// removes them.
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
            let mut host = Containers::command(&containers.host, &program);
            host.env("UROM_KEY_FILE", &key);
            let (taken, lines) = other_host(host, &daemon, "new", first)?;
            // The kernel does not copy for processes of other containers.
            let (path, why) = match first {
                MemoryPath::MAPPED if has_folder => (first, None),
                _ if has_folder => (MemoryPath::NETWORK, Some("the kernel copies nothing")),
                _ => (MemoryPath::NETWORK, Some("a common folder for `uromd --socket-dir`")),
            };
            assert_eq!(taken, path.name(), "{has_folder} {first:?}");
            assert_eq!(lines.len(), why.iter().len(), "{lines:?}");
            assert!(lines.iter().zip(why).all(|(line, why)| line.contains(why)), "{lines:?}");
        }
    }
    Ok(())
}
