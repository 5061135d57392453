//! Unsuitable UCX versions, and daemons of other versions: each has its own error.

use std::path::PathBuf;

use anyhow::{Result, ensure};
use urom_tests::PluginDirectory;
use urom_tests::c::{DEVICE, Host, Output, Service, Source, prefix};

use crate::linking::entries;

/// A library for preloading before UCX that returns this version.
fn ucx_of(major: u32, minor: u32, directory: &tempfile::TempDir) -> Result<PathBuf> {
    let file = directory.path().join("ucx_version.c");
    std::fs::write(
        &file,
        format!(
            "void ucp_get_version(unsigned *major, unsigned *minor, unsigned *patch);\n\
             void ucp_get_version(unsigned *major, unsigned *minor, unsigned *patch)\n\
             {{ *major = {major}; *minor = {minor}; *patch = 1; }}\n"
        ),
    )?;
    Source::new(file).plugin("ucx_version")
}

fn start(service: &Service, ucx: &PathBuf) -> Result<Output> {
    let program = Source::new("service_start.c").program()?;
    Host::new(program).arg(DEVICE).env("LD_PRELOAD", ucx).run(service)
}

fn services() -> Result<[Service; 2]> {
    let none = || PluginDirectory::with(&[]);
    Ok([Service::daemon(none()?)?, Service::embedded(none()?)?])
}

#[test]
fn a_ucx_that_is_too_old_is_refused_with_its_version_and_its_file() -> Result<()> {
    let directory = tempfile::tempdir()?;
    let old = ucx_of(1, 13, &directory)?;
    for service in services()? {
        let output = start(&service, &old)?;
        ensure!(output.status.code() == Some(1), "{output:?}");
        let file = old.display().to_string();
        for part in ["DOCA_ERROR_UNSUPPORTED_VERSION", "1.13.1", &file, "1.16.0", "LD_LIBRARY_PATH"]
        {
            ensure!(output.stderr.contains(part), "{part}: {output:?}");
        }
    }
    Ok(())
}

#[test]
fn a_daemon_with_another_ucx_is_not_said_to_be_missing() -> Result<()> {
    let directory = tempfile::tempdir()?;
    let [daemon, _] = services()?;
    let output = start(&daemon, &ucx_of(1, 99, &directory)?)?;
    ensure!(output.status.code() == Some(1), "{output:?}");
    for part in ["DOCA_ERROR_UNSUPPORTED_VERSION", "do not go together", "1.99.1"] {
        ensure!(output.stderr.contains(part), "{part}: {output:?}");
    }
    ensure!(!output.stderr.contains("no UROM daemon answers"), "{output:?}");
    Ok(())
}

/// `LD_LIBRARY_PATH` precedes `RUNPATH`, but follows `RPATH`.
#[test]
fn the_loader_takes_the_ucx_of_ld_library_path_before_the_builds() -> Result<()> {
    let root = prefix()?.root().to_owned();
    for file in ["bin/uromd", "lib/libdoca_urom.so.2"].map(|file| root.join(file)) {
        ensure!(
            entries(&file, "RPATH")?.is_empty(),
            "{} has a run path of the old kind",
            file.display()
        );
    }
    Ok(())
}
