//! Libraries and services selected by the environment, and a library with only DOCA's functions.

use std::fs;
use std::process::{Command, Output};

use anyhow::{Context, Result};
use tempfile::TempDir;
use urom_tests::{PluginDirectory, Uromd, built, plain_doca_library, without_service};

const PLUGINS: [&str; 2] = ["worker_graph", "worker_faulty"];

struct Program {
    command: Command,
    directory: TempDir,
}

impl Program {
    fn new() -> Result<Program> {
        let directory = tempfile::tempdir()?;
        let mut command = Command::new(built("examples/environment_host")?);
        without_service(&mut command).arg("mlx5_0").env("UROM_DEVICE", "mlx5_0");
        command.env("UROM_DOCA_LIBRARY", plain_doca_library(directory.path())?);
        Ok(Program { command, directory })
    }

    /// Writes a service file: the DPU is this machine, with a daemon on `port`.
    fn served_on(&mut self, port: &str) -> Result<()> {
        let file = self.directory.path().join("services");
        fs::write(&file, "# this host\n\n127.0.0.1 dpu 127.0.0.1 03:00.0 mlx5_0:1\n")?;
        self.command.env("DOCA_UROM_SERVICE_FILE", file).env("UROM_SERVICE_PORT", port);
        Ok(())
    }

    fn run(&mut self) -> Result<(Output, String)> {
        let output = self.command.output().context("cannot start the program")?;
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        Ok((output, said))
    }

    fn succeeds(&mut self) -> Result<()> {
        let (output, said) = self.run()?;
        assert!(output.status.success(), "{}: {said}", output.status);
        Ok(())
    }

    fn fails(&mut self, parts: &[&str]) -> Result<()> {
        let (output, said) = self.run()?;
        assert_eq!(output.status.code(), Some(1), "{said}");
        for part in parts {
            assert!(said.contains(part), "{part:?} is not in: {said}");
        }
        Ok(())
    }
}

#[test]
fn a_program_that_names_nothing_runs_on_the_daemon_of_the_service_file() -> Result<()> {
    let plugins = PluginDirectory::with(&PLUGINS)?;
    let daemon = Uromd::start_with(plugins.variable(), |command| command.args(["-l", "10"]))?;
    let mut program = Program::new()?;
    program.served_on(daemon.address().rsplit_once(':').context("a port")?.1)?;
    program.succeeds()
}

#[test]
fn without_a_service_file_it_runs_on_the_embedded_service() -> Result<()> {
    let plugins = PluginDirectory::with(&PLUGINS)?;
    let mut program = Program::new()?;
    program.command.env("UROM_PLUGIN_PATH", plugins.variable());
    program.succeeds()
}

#[test]
fn the_error_of_a_connection_without_a_reason_contains_the_available_facts() -> Result<()> {
    let mut program = Program::new()?;
    let port = std::net::TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
    program.served_on(&port.to_string())?;
    let library = program.directory.path().join("libdoca_urom.so");
    program.fails(&[
        &format!("through {} (DOCA 2.7.0)", library.display()),
        "DOCA_ERROR_NOT_CONNECTED",
        "the library does not say why",
        "services\", and the device is `mlx5_0`",
        "the daemon runs there",
    ])
}

#[test]
fn the_error_of_a_missing_device_lists_the_available_devices() -> Result<()> {
    let mut program = Program::new()?;
    program.command.env("UROM_DEVICE", "mlx5_7");
    program.fails(&["no mlx5_0 among", "mlx5_7"])
}

#[test]
fn a_library_that_the_variable_names_and_that_cannot_be_used_is_an_error_and_nothing_else_is_tried()
-> Result<()> {
    let mut program = Program::new()?;
    program.command.env("UROM_DOCA_LIBRARY", "/nonexistent/libdoca_urom.so");
    program
        .fails(&["`/nonexistent/libdoca_urom.so` (from UROM_DOCA_LIBRARY)", "DOCA_ERROR_NOT_FOUND"])
}

#[test]
fn an_empty_variable_and_the_word_builtin_choose_the_built_in_library() -> Result<()> {
    let plugins = PluginDirectory::with(&PLUGINS)?;
    for word in ["", "builtin"] {
        let mut program = Program::new()?;
        program.command.env("UROM_PLUGIN_PATH", plugins.variable()).env("UROM_DOCA_LIBRARY", word);
        // The program continues until it checks for a library file.
        program.fails(&["Library { path: None, version: None, is_own: true"])?;
    }
    Ok(())
}
