//! Services that provide a test's workers.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use anyhow::Result;
use faulty_protocol::Client as Faulty;
use graph_protocol::Client as Graph;
use rustix::process::Pid;
use sandbox_protocol::Client as Sandbox;
use urom_host::{Host, Library, Service, ServiceBuilder, Worker};
use urom_tests::c::{Source, prefix};
use urom_tests::{Participants, PluginDirectory, Uromd, doca_library};

pub(crate) struct Provider {
    /// `None`: the built-in library.
    library: Option<PathBuf>,
    daemon: Option<Uromd>,
    plugins: PluginDirectory,
    /// The service uses only DOCA's plugin interface.
    is_plain: bool,
}

pub(crate) trait Given<'a>: Sized {
    fn given(provider: &'a Provider) -> Result<Self>;
}

impl<'a> Given<'a> for &'a Provider {
    fn given(provider: &'a Provider) -> Result<Self> {
        Ok(provider)
    }
}

impl Provider {
    /// A separate daemon for each test.
    pub(crate) fn uromd(plugins: PluginDirectory) -> Result<Provider> {
        let daemon = Uromd::start_with(plugins.variable(), |command| {
            command.args(["--cpus", "0-7", "-l", "30"])
        })?;
        Ok(Provider { library: None, daemon: Some(daemon), plugins, is_plain: false })
    }

    /// A daemon with only DOCA's interface between worker and plugins.
    pub(crate) fn plain_uromd(plugins: PluginDirectory) -> Result<Provider> {
        let daemon = Uromd::start_with(plugins.variable(), |command| {
            command.args(["--cpus", "0-7", "-l", "30", "--plain-doca"])
        })?;
        Ok(Provider { library: None, daemon: Some(daemon), plugins, is_plain: true })
    }

    /// Whether the service supports this kit's plugin extensions.
    pub(crate) fn has_extension(&self) -> bool {
        !self.is_plain
    }

    /// An embedded service in the test's process.
    pub(crate) fn embedded(plugins: PluginDirectory) -> Result<Provider> {
        Ok(Provider { library: None, daemon: None, plugins, is_plain: false })
    }

    /// The same service through a loaded `libdoca_urom.so`.
    pub(crate) fn loaded(self) -> Result<Provider> {
        Ok(Provider { library: Some(doca_library()?), ..self })
    }

    pub(crate) fn pid(&self) -> Option<Pid> {
        self.daemon.as_ref().map(Uromd::pid)
    }

    pub(crate) fn library(&self) -> Option<&Path> {
        self.library.as_deref()
    }

    pub(crate) fn address(&self) -> Option<&str> {
        self.daemon.as_ref().map(Uromd::address)
    }

    pub(crate) fn has_processes(&self) -> bool {
        self.daemon.is_some()
    }

    pub(crate) fn builder(&self) -> ServiceBuilder {
        let library = self.library.as_ref().map_or_else(Library::builtin, |file| {
            // SAFETY: the file is this project's library.
            unsafe { Library::load(file) }.expect("this project's library loads")
        });
        let builder = Service::builder().library(library);
        match &self.daemon {
            Some(daemon) => builder.address(daemon.address()),
            None => builder.plugin_paths([self.plugins.variable()]),
        }
    }

    /// Starts processes of an example; each connects separately to this service.
    pub(crate) fn participants(&self, example: &str, count: u32) -> Result<Participants> {
        let library = self.library().unwrap_or(Path::new("builtin"));
        Participants::start_with(example, &self.target(), count, |command| {
            command.env("UROM_DOCA_LIBRARY", library)
        })
    }

    /// Starts an example with an additional variable, and waits for its first line.
    pub(crate) fn process(&self, example: &str, variable: (&str, &str)) -> Result<Participants> {
        Participants::start_with(example, &self.target(), 1, |command| {
            command.env(variable.0, variable.1)
        })
    }

    fn target(&self) -> OsString {
        let (mut target, rest) = match &self.daemon {
            Some(daemon) => (OsString::from("address:"), daemon.address().into()),
            None => (OsString::from("embedded:"), self.plugins.variable()),
        };
        target.push(rest);
        target
    }

    pub(crate) fn connect(&self) -> Result<Service> {
        Ok(self.builder().connect_blocking()?)
    }

    pub(crate) fn graph(&self) -> Result<(Service, Graph<Host>, Worker)> {
        let service = self.connect()?;
        let graph = graph(&service)?;
        let worker = service.worker().plugin(&graph).start().wait()?;
        Ok((service, graph, worker))
    }

    pub(crate) fn faulty(&self) -> Result<(Service, Faulty<Host>, Worker)> {
        let service = self.connect()?;
        let (faulty, worker) = faulty_worker(&service)?;
        Ok((service, faulty, worker))
    }
}

pub(crate) fn in_rust() -> Result<PluginDirectory> {
    PluginDirectory::with(&[
        "worker_graph",
        "worker_faulty",
        "worker_memory",
        "worker_rdma",
        "worker_rdmo",
        "worker_reader",
        "worker_sandbox",
    ])
}

/// The plugins that also exist in C, without shared code.
pub(crate) fn in_c() -> Result<PluginDirectory> {
    let mut plugins = PluginDirectory::with(&[])?;
    let run_path = format!("-Wl,-rpath,{}", prefix()?.lib().display());
    let graph = Source::new("graph_plugin.c").flag(&run_path);
    plugins.add(&graph.plugin("worker_graph")?)?;
    let sandbox = Source::new("sandbox_plugin.c").ucx().flag(&run_path);
    plugins.add(&sandbox.plugin("worker_sandbox")?)?;
    Ok(plugins)
}

pub(crate) fn graph(service: &Service) -> Result<Graph<Host>> {
    Ok(service.plugin::<graph_protocol::Protocol>()?)
}

pub(crate) fn faulty(service: &Service) -> Result<Faulty<Host>> {
    Ok(service.plugin::<faulty_protocol::Protocol>()?)
}

pub(crate) fn faulty_worker(service: &Service) -> Result<(Faulty<Host>, Worker)> {
    let faulty = faulty(service)?;
    let worker = service.worker().plugin(&faulty).start().wait()?;
    Ok((faulty, worker))
}

pub(crate) fn sandbox(service: &Service) -> Result<Sandbox<Host>> {
    Ok(service.plugin::<sandbox_protocol::Protocol>()?)
}

pub(crate) fn variable(
    faulty: &Faulty<Host>,
    worker: &Worker,
    name: &str,
) -> Result<Option<String>> {
    let found = faulty.task_env(worker, faulty_protocol::env_name(name)).submit()?.wait()?;
    let value = found.value.get(..found.len as usize);
    Ok(value.map(|value| String::from_utf8_lossy(value).into_owned()))
}
