//! Hosts of this machine and a service of another architecture under an emulator. `cargo xtask
//! cross` builds everything except the plugins; `UROM_EMULATED` describes the target and the
//! emulator.
//!
//! Both sides communicate over TCP. Plugins are built with `cargo urom build --target`, as by
//! users.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use urom_abi::Payload;
use urom_host::gather::InProcess;
use urom_host::memory::{Access, MemoryPath, Mmap, Share};
use urom_tests::c::{Host, Output, Service, Source, prefix};
use urom_tests::{PluginDirectory, expected, profile_directory};

/// The emulator is slow, particularly at a domain's start.
const LIMIT: Duration = Duration::from_secs(240);

struct Emulated {
    target: String,
    emulator: Vec<String>,
    target_directory: PathBuf,
}

impl Emulated {
    /// Parses `UROM_EMULATED`: the triple, then the emulator and its arguments.
    fn new() -> Result<Emulated> {
        let text = std::env::var("UROM_EMULATED")
            .context("UROM_EMULATED: run this with `cargo xtask cross`")?;
        let mut words = text.split_whitespace().map(str::to_owned);
        let target = words.next().context("UROM_EMULATED names no target")?;
        let profile = profile_directory()?;
        let target_directory = profile.parent().context("the profile has a directory")?.to_owned();
        Ok(Emulated { target, emulator: words.collect(), target_directory })
    }

    fn uromd(&self) -> PathBuf {
        self.target_directory.join(&self.target).join("debug/uromd")
    }

    fn service(&self) -> Result<Service> {
        let plugins = plugins(self)?;
        ensure_of(self, &self.uromd())?;
        let (emulator, arguments) =
            self.emulator.split_first().context("UROM_EMULATED names no emulator")?;
        let mut command = Command::new(emulator);
        command
            .args(arguments)
            .arg(self.uromd())
            .args(["--worker-launcher", &self.emulator.join(" ")]);
        Service::daemon_by(command, &prefix()?, plugins, |command| command.env("UCX_TLS", "tcp"))
    }
}

fn plugins(emulated: &Emulated) -> Result<PluginDirectory> {
    static BUILT: OnceLock<Vec<PathBuf>> = OnceLock::new();
    let files = BUILT.get_or_init(|| {
        let build = |package| build(emulated, package).expect("cargo urom builds the plugin");
        vec![build("graph-plugin"), build("sandbox-plugin"), build("memory-plugin")]
    });
    let mut plugins = PluginDirectory::with(&[])?;
    for file in files {
        ensure_of(emulated, file)?;
        plugins.add(file)?;
    }
    Ok(plugins)
}

fn build(emulated: &Emulated, package: &str) -> Result<PathBuf> {
    let mut command = Command::new(profile_directory()?.join("cargo-urom"));
    command.args(["urom", "build", "--debug", "--package", package, "--target", &emulated.target]);
    command
        .current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
        .env("CARGO_TARGET_DIR", &emulated.target_directory);
    let path = urom_tests::run(&mut command).context("run this with `cargo xtask cross`")?;
    Ok(PathBuf::from(path.trim_end()))
}

fn ensure_of(emulated: &Emulated, file: &Path) -> Result<()> {
    let bytes = fs::read(file).with_context(|| format!("cannot read {}", file.display()))?;
    let machine = match emulated.target.split('-').next() {
        Some("aarch64") => 183,
        other => anyhow::bail!("what {other:?} calls itself is not known here"),
    };
    ensure!(
        bytes.get(18..20) == Some(&[machine, 0]),
        "{} is not for {}",
        file.display(),
        emulated.target
    );
    Ok(())
}

fn run(program: impl Into<PathBuf>, service: &Service) -> Result<Output> {
    Host::new(program).env("UCX_TLS", "tcp").limit(LIMIT).run(service)?.success()
}

#[test]
fn hosts_in_c_see_what_they_see_on_one_machine() -> Result<()> {
    let emulated = Emulated::new()?;
    let service = emulated.service()?;
    for (source, transcript) in
        [("graph_host.c", expected::GRAPH), ("sandbox_host.c", expected::SANDBOX)]
    {
        expected::check(&run(Source::new(source).program()?, &service)?, transcript);
    }
    Ok(())
}

/// The host's answers come from emulated processes: the daemon and its worker.
#[test]
fn a_host_in_rust_is_answered_by_processes_of_the_emulator() -> Result<()> {
    let emulated = Emulated::new()?;
    let service = emulated.service()?;
    let uromd = service.uromd().context("it is a daemon")?;
    let connection = urom_host::Service::builder().address(uromd.address()).connect_blocking()?;
    let graph = connection.plugin::<graph_protocol::Protocol>()?;
    let sandbox = connection.plugin::<sandbox_protocol::Protocol>()?;
    let worker = connection.worker().plugin(&graph).plugin(&sandbox).start().wait()?;
    let daemon = uromd.pid().as_raw_nonzero().get();
    // A process is a child of the thread that started it.
    let mut children = String::new();
    for thread in fs::read_dir(format!("/proc/{daemon}/task"))? {
        children += &fs::read_to_string(thread?.path().join("children"))?;
    }
    let workers: Vec<i32> =
        children.split_whitespace().map(str::parse).collect::<Result<_, _>>()?;
    assert_eq!(workers.len(), 1, "{children}");
    for process in [daemon, workers[0]] {
        let program = fs::read_link(format!("/proc/{process}/exe"))?;
        assert_eq!(
            program.file_name(),
            Path::new(&emulated.emulator[0]).file_name(),
            "{}",
            program.display()
        );
    }
    assert_eq!(graph.task_loopback(&worker, 1 << 63).submit()?.wait()?.data, 1 << 63);
    let domain = connection.domain().worker(3, &worker).gather(InProcess::alone());
    let domain = domain.start().wait()?;
    let receive = sandbox.task_tag_recv(&worker, 4000, 7, u64::MAX).submit()?;
    sandbox.task_tag_send(&worker, 3, 7).data(&[5; 4000][..]).submit()?.wait()?;
    assert_eq!(receive.wait()?.data, Payload::from(&[5; 4000]).into());
    domain.stop_blocking()?;
    Ok(worker.stop().wait()?)
}

/// The emulated plugin reaches this host's memory: mapped and over TCP.
#[test]
fn a_host_s_memory_is_mapped_and_sent_to_processes_of_the_emulator() -> Result<()> {
    let emulated = Emulated::new()?;
    let service = emulated.service()?;
    let uromd = service.uromd().context("it is a daemon")?;
    let connection = urom_host::Service::builder().address(uromd.address()).connect_blocking()?;
    let plugin = connection.plugin::<memory_protocol::Protocol>()?;
    let worker = connection.worker().plugin(&plugin).start().wait()?;
    let access = Access::LOCAL_READ_WRITE | Access::PCI_READ_WRITE;
    for path in [MemoryPath::MAPPED, MemoryPath::NETWORK] {
        let memory = Mmap::allocate(1 << 20, access)?;
        let shared = memory.share_from(&worker, path).wait()?;
        ensure!(shared.path() == path, "it is {}", shared.path().name());
        memory.view().copy_from(0, &vec![3; 1 << 20])?;
        let sum = plugin.task_sum(&worker, shared.range(), 300_000).submit()?.wait()?;
        assert_eq!(sum.value, 3 << 20);
        plugin.task_write(&worker, shared.slice(16..), 1, b"from there").submit()?.wait()?;
        assert_eq!(memory.view().slice(17..27)?.get::<[u8; 10]>(0)?, *b"from there");
        let add = plugin.task_atomic(&worker, shared.range(), 4096, 7, 0, 0);
        assert_eq!(add.submit()?.wait()?.value, 0x0303_0303_0303_0303);
        assert_eq!(memory.view().get::<u64>(512)?, 0x0303_0303_0303_030A);
        shared.unshare().wait()?;
    }
    Ok(worker.stop().wait()?)
}
