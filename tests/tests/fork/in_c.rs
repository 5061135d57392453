//! `c/forked_host.c`, and the same from Python by ctypes. The test `hostile` calls every function
//! with inherited objects.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};
use urom_tests::PluginDirectory;
use urom_tests::c::{Host, Service, Source, prefix};

fn services() -> Result<[Service; 2]> {
    let plugins = || PluginDirectory::with(&["worker_graph"]);
    Ok([Service::daemon(plugins()?)?, Service::embedded(plugins()?)?])
}

#[test]
fn children_and_daemons_of_a_program_in_c_connect_beside_it() -> Result<()> {
    // Without the address sanitizer: its allocator may hold locks at the fork.
    let program = Source::new("forked_host.c").program()?;
    for service in services()? {
        // A child lacks the parent's threads, so their memory looks leaked.
        Host::new(&program).leaving_memory().run(&service)?.success()?;
    }
    Ok(())
}

/// Path of the first Python in `PATH`, if it has ctypes.
fn python() -> Option<String> {
    let mut python = Command::new("python3");
    python.args(["-c", "import sys, ctypes; print(sys.executable)"]);
    let output = python.output().ok().filter(|output| output.status.success())?;
    Some(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

#[test]
fn processes_of_python_s_multiprocessing_connect_and_take_no_answers() -> Result<()> {
    let Some(python) = python() else {
        // The CI has it.
        assert!(std::env::var_os("CI").is_none(), "python3 with ctypes is missing");
        eprintln!("left out: python3 with ctypes is missing");
        return Ok(());
    };
    let library = prefix()?.lib().join("libdoca_urom.so");
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("python/multiprocessing_host.py");
    for service in services()? {
        let host = Host::new(&python).arg(&script).arg(library.to_str().context("a path")?);
        let output = host.leaving_memory().run(&service)?.success()?;
        assert!(output.stdout.ends_with("done\n"), "{}", output.stdout);
    }
    Ok(())
}
