//! What the host library is tested against: the obedient plugin, compiled from C, and a `uromd` of
//! one's own.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::process::{Pid, Signal, kill_process};
use urom_os::test_daemon::TestDaemon;

use crate::compile::compile;
pub(crate) use crate::compile::op;

use crate::support::{At, Engine, TestService, TestWorker};

/// A directory for `UROM_PLUGIN_PATH` with plugins: they do what the first word of a command says.
pub struct Plugins {
    directory: tempfile::TempDir,
}

impl Plugins {
    pub fn obedient() -> Plugins {
        Plugins::compile(&[("obedient", "obedient.c", &[])])
    }

    /// Three plugins that make look-ups, ids 1, 2 and 4 in this order: two with addresses, one
    /// without.
    pub fn seekers() -> Plugins {
        Plugins::compile(&[
            ("seeker", "seeker.c", &[]),
            ("seeker_two", "seeker.c", &[]),
            ("seeker_unreachable", "seeker.c", &["-DUNREACHABLE"]),
        ])
    }

    /// A directory without any.
    pub fn empty() -> Plugins {
        Plugins::compile(&[])
    }

    /// Names, sources and flags.
    fn compile(all: &[(&str, &str, &[&str])]) -> Plugins {
        let directory = tempfile::tempdir().unwrap();
        for (name, source, flags) in all {
            compile(directory.path(), name, Path::new(source), flags);
        }
        Plugins { directory }
    }

    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    /// Puts another build of an obedient plugin in the place of one that is there.
    pub fn replace(&self, name: &str, flags: &[&str]) {
        let aside = tempfile::tempdir().unwrap();
        let built = compile(aside.path(), name, Path::new("obedient.c"), flags);
        let place = self.path().join(format!("{name}.so"));
        // A new file: workers go on with the old one.
        std::fs::remove_file(&place).unwrap();
        std::fs::copy(built, &place).unwrap();
    }
}

/// The `uromd` that was built beside this test.
fn uromd() -> PathBuf {
    let program = std::env::current_exe().unwrap();
    let file = program.ancestors().nth(2).unwrap().join("uromd");
    assert!(
        file.exists(),
        "{} is not there: run the tests with `cargo xtask test`, which builds it first",
        file.display()
    );
    file
}

/// A daemon with a process of its own; killed when dropped.
pub struct Uromd {
    process: TestDaemon,
    pub address: SocketAddr,
}

impl Uromd {
    pub fn start(plugins: &Plugins) -> Uromd {
        Uromd::start_with(plugins, &[])
    }

    pub fn start_with(plugins: &Plugins, args: &[&str]) -> Uromd {
        Uromd::start_at("127.0.0.1:0", plugins, args)
    }

    pub fn start_at(listen: &str, plugins: &Plugins, args: &[&str]) -> Uromd {
        let mut command = Command::new(uromd());
        command.args(args);
        let process = TestDaemon::start(command, listen, plugins.path(), |_| ()).unwrap();
        Uromd { address: process.address.parse().unwrap(), process }
    }

    pub fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.process.child), signal).unwrap();
    }
}

/// The same body for a daemon of its own and for the embedded service.
pub fn with_both(body: impl Fn(&At<'_>)) {
    let plugins = Plugins::obedient();
    let uromd = Uromd::start(&plugins);
    body(&At::Address(uromd.address));
    body(&At::Embedded(plugins.path()));
}

/// The same with an engine, a service, and a worker for 16 tasks.
pub fn with_both_workers(body: impl Fn(&Engine, &TestService, &TestWorker)) {
    with_both(|at| {
        let engine = Engine::new();
        let service = TestService::start(at, &engine);
        let worker = TestWorker::start(service.raw, &engine, 7, 16);
        body(&engine, &service, &worker);
    });
}

/// An engine with a running service, with a daemon of its own and messages of up to so many bytes.
pub fn daemon_of(plugins: Plugins, max_message: usize) -> (Plugins, Uromd, Engine, TestService) {
    let uromd = Uromd::start_with(&plugins, &["-m", &max_message.to_string()]);
    let engine = Engine::new();
    let service = TestService::start_with(&At::Address(uromd.address), &engine, max_message);
    (plugins, uromd, engine, service)
}

/// The same with the obedient plugin.
pub fn daemon() -> (Plugins, Uromd, Engine, TestService) {
    daemon_of(Plugins::obedient(), 4096)
}

/// The same with the embedded service.
pub fn embedded() -> (Plugins, Engine, TestService) {
    let (plugins, engine) = (Plugins::obedient(), Engine::new());
    let service = TestService::start(&At::Embedded(plugins.path()), &engine);
    (plugins, engine, service)
}

/// Runs with an engine and a service that has a daemon of its own.
pub fn with_service(body: impl FnOnce(&Engine, &TestService)) {
    let (_plugins, _uromd, engine, service) = daemon();
    body(&engine, &service);
}

/// The same with a worker for so many tasks.
pub fn with_worker(max_inflight: u32, body: impl FnOnce(&Engine, &TestService, &TestWorker)) {
    with_service(|engine, service| {
        let worker = TestWorker::start(service.raw, engine, 5, max_inflight);
        body(engine, service, &worker);
    });
}
