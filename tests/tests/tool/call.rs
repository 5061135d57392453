//! `cargo urom call` to a worker of another host.

use anyhow::Result;
use urom_abi::WorkerId;
use urom_host::Service;
use urom_tests::{PluginDirectory, Uromd};

use crate::common::{rust, says};

#[test]
fn the_worker_of_another_host_is_called_by_the_name_that_logs_give_it() -> Result<()> {
    let plugins = PluginDirectory::with(&["worker_faulty"])?;
    let daemon = Uromd::start(plugins.path())?;
    let service = Service::builder().address(daemon.address()).connect_blocking()?;
    let faulty = service.plugin::<faulty_protocol::Protocol>()?;
    let worker = service.worker().plugin(&faulty).start().wait()?;
    assert_eq!(WorkerId(worker.id()).to_string(), "auto-1");
    let file = rust("worker_faulty")?;
    let pid_of = |worker: &[&str]| {
        let words = ["call", &file, "pid", "--service", daemon.address()];
        says([&words, worker].concat())
    };
    let pid = faulty.task_pid(&worker).submit()?.wait()?.pid;
    let pid = format!("Process\n  pid = {pid}\n");
    assert_eq!(pid_of(&["--worker", "auto-1"])?, pid);
    assert_eq!(pid_of(&["--worker", &worker.id().to_string()])?, pid);
    assert_ne!(pid_of(&[])?, pid);
    Ok(())
}
