//! The test environment: the obedient plugin, compiled from C, and a `uromd` process.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::process::{Pid, Signal, kill_process};
use urom_os::test_daemon::TestDaemon;

use crate::compile::compile;
pub(crate) use crate::compile::op;

use crate::support::{At, Engine, TestService, TestWorker};

/// A plugin directory. The first word of a command selects the plugin's operation.
pub struct Plugins {
    directory: tempfile::TempDir,
}

impl Plugins {
    pub fn obedient() -> Plugins {
        Plugins::compile(&[("obedient", "obedient.c", &[])])
    }

    /// Three look-up plugins with ids 1, 2 and 4: two with addresses, one without.
    pub fn seekers() -> Plugins {
        Plugins::compile(&[
            ("seeker", "seeker.c", &[]),
            ("seeker_two", "seeker.c", &[]),
            ("seeker_unreachable", "seeker.c", &["-DUNREACHABLE"]),
        ])
    }

    pub fn empty() -> Plugins {
        Plugins::compile(&[])
    }

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

    /// Replaces an obedient plugin by another build.
    pub fn replace(&self, name: &str, flags: &[&str]) {
        let aside = tempfile::tempdir().unwrap();
        let built = compile(aside.path(), name, Path::new("obedient.c"), flags);
        let path = self.path().join(format!("{name}.so"));
        // A new file: running workers keep the old file.
        std::fs::remove_file(&path).unwrap();
        std::fs::copy(built, &path).unwrap();
    }
}

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

/// A daemon process, killed when dropped.
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

pub fn with_both(body: impl Fn(&At<'_>)) {
    let plugins = Plugins::obedient();
    let uromd = Uromd::start(&plugins);
    body(&At::Address(uromd.address));
    body(&At::Embedded(plugins.path()));
}

pub fn with_both_workers(body: impl Fn(&Engine, &TestService, &TestWorker)) {
    with_both(|at| {
        let engine = Engine::new();
        let service = TestService::start(at, &engine);
        let worker = TestWorker::start(service.raw, &engine, 7, 16);
        body(&engine, &service, &worker);
    });
}

pub fn daemon_of(plugins: Plugins, max_message: usize) -> (Plugins, Uromd, Engine, TestService) {
    let uromd = Uromd::start_with(&plugins, &["-m", &max_message.to_string()]);
    let engine = Engine::new();
    let service = TestService::start_with(&At::Address(uromd.address), &engine, max_message);
    (plugins, uromd, engine, service)
}

pub fn daemon() -> (Plugins, Uromd, Engine, TestService) {
    daemon_of(Plugins::obedient(), 4096)
}

pub fn embedded() -> (Plugins, Engine, TestService) {
    let (plugins, engine) = (Plugins::obedient(), Engine::new());
    let service = TestService::start(&At::Embedded(plugins.path()), &engine);
    (plugins, engine, service)
}

pub fn with_service(body: impl FnOnce(&Engine, &TestService)) {
    let (_plugins, _uromd, engine, service) = daemon();
    body(&engine, &service);
}

pub fn with_worker(max_inflight: u32, body: impl FnOnce(&Engine, &TestService, &TestWorker)) {
    with_service(|engine, service| {
        let worker = TestWorker::start(service.raw, engine, 5, max_inflight);
        body(engine, service, &worker);
    });
}
