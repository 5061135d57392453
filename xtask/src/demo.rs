//! `cargo xtask demo`: the whole path once, with everything it starts stopped again.

use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{ChildStdout, Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use anyhow::{Context, Result, bail};

use crate::process::Guarded;
use crate::workspace::{Plugin, Profile, Purpose, Workspace};
use crate::{plugins, setup, shell};

/// A program and the package that builds it.
pub(crate) struct Program {
    /// The package, as `cargo build -p` takes it.
    pub(crate) package: &'static str,
    /// The program's file name.
    pub(crate) name: &'static str,
}

/// The daemon.
pub(crate) const SERVICE: Program = Program { package: "urom-service", name: "uromd" };
const EXAMPLE: Program = Program { package: "multi-worker-bootstrap", name: "multi_worker_bootstrap" };
const PLUGIN_PACKAGE: &str = "graph-plugin";

const START_LIMIT: Duration = Duration::from_secs(20);
const RUN_LIMIT: Duration = Duration::from_secs(60);
const STOP_LIMIT: Duration = Duration::from_secs(10);

/// What uromd's first line begins with; an address follows.
const LISTENING: &str = "uromd: listening on ";

/// Sets up, builds, runs and stops; the last line says that all of it worked.
pub(crate) fn run(workspace: &Workspace) -> Result<()> {
    setup::run(workspace, None)?;
    let directory =
        build(workspace, EXAMPLE.package, EXAMPLE.name, |plugin| plugin.package == PLUGIN_PACKAGE)?;
    let log = directory.join("uromd-demo.log");
    let mut service = Command::new(directory.join(SERVICE.name));
    let log_file = File::create(&log).with_context(|| format!("could not create {}", log.display()))?;
    service.env("UROM_PLUGIN_PATH", directory.join(Purpose::Use.directory())).stderr(log_file);
    if let Err(error) = serve_and_run(service, Command::new(directory.join(EXAMPLE.name))) {
        let text = fs::read_to_string(&log).unwrap_or_default();
        eprintln!("--- uromd's log ({}):\n{text}---", log.display());
        return Err(error);
    }
    println!("demo: ok");
    Ok(())
}

/// Builds the service, the `wanted` plugins and `package` in release mode; returns where they lie, plugins linked.
/// Cargo itself is quiet when the package's `program` was built before.
pub(crate) fn build(
    workspace: &Workspace,
    package: &str,
    program: &str,
    wanted: impl Fn(&Plugin<'_>) -> bool,
) -> Result<PathBuf> {
    let directory = workspace.profile_dir(None, Profile::Release);
    let plugins = workspace.plugins();
    let mut command = shell::cargo();
    command.args(["build", "--release", "-p", SERVICE.package, "-p", package]);
    for plugin in plugins.iter().filter(|plugin| wanted(plugin)) {
        command.args(["-p", plugin.package]);
    }
    if directory.join(program).exists() {
        command.arg("--quiet");
    }
    shell::run(&mut command)?;
    plugins::link(&directory, &plugins, wanted)?;
    Ok(directory)
}

/// Runs `example` against `service`, which is started before and stopped after it.
fn serve_and_run(mut service: Command, mut example: Command) -> Result<()> {
    service.args(["--listen", "127.0.0.1:0"]).stdin(Stdio::null()).stdout(Stdio::piped());
    eprintln!("$ {} &", shell::display(&service));
    let mut service = Guarded::start(&mut service)?;
    let address = listening_address(&mut service)?;

    example.args(["--once", "--service", &address]).stdin(Stdio::null());
    eprintln!("$ {}", shell::display(&example));
    let status = Guarded::start(&mut example)?.wait(RUN_LIMIT)?;
    if !status.success() {
        bail!("{} failed: {status}", EXAMPLE.name);
    }

    let status = service.terminate(STOP_LIMIT).context("uromd was asked to stop")?;
    if !status.success() {
        bail!("uromd was asked to stop and failed: {status}");
    }
    Ok(())
}

/// The address uromd prints once it listens.
fn listening_address(service: &mut Guarded) -> Result<String> {
    let output = service.child().stdout.take().context("uromd's output is not piped")?;
    let (sender, lines) = mpsc::channel();
    std::thread::spawn(move || forward(output, &sender));
    match lines.recv_timeout(START_LIMIT) {
        Ok(line) => parse_listening(&line).map(str::to_owned),
        Err(mpsc::RecvTimeoutError::Timeout) => {
            bail!("uromd did not listen within {} s", START_LIMIT.as_secs())
        }
        Err(mpsc::RecvTimeoutError::Disconnected) => {
            let status = service.wait(STOP_LIMIT)?;
            bail!("uromd ended before it listened: {status}")
        }
    }
}

/// Reads to the end, so that uromd never blocks on a full pipe nor fails on a closed one.
fn forward(output: ChildStdout, lines: &mpsc::Sender<String>) {
    for line in BufReader::new(output).lines().map_while(Result::ok) {
        // Only the first line is waited for.
        let _ = lines.send(line);
    }
}

fn parse_listening(line: &str) -> Result<&str> {
    match line.strip_prefix(LISTENING).map(str::trim) {
        Some(address) if !address.is_empty() => Ok(address),
        _ => bail!("uromd printed `{line}` where `{LISTENING}ADDRESS` was expected"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_address_is_taken_from_the_first_line() {
        assert_eq!(parse_listening("uromd: listening on 127.0.0.1:4711").ok(), Some("127.0.0.1:4711"));
        assert_eq!(parse_listening("uromd: listening on [::1]:4711\r").ok(), Some("[::1]:4711"));
    }

    #[test]
    fn any_other_first_line_is_shown() {
        for line in ["", "uromd: listening on ", "warning: something"] {
            let error = parse_listening(line).expect_err("no address in it");
            assert!(error.to_string().contains(line), "{error}");
        }
    }

    /// A program that runs `script`; what it is given comes as `$1` and so on.
    fn program(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script, "sh"]);
        command
    }

    const LISTENS: &str = "trap 'exit 0' TERM; echo 'uromd: listening on 127.0.0.1:4711'; sleep 1000 & wait";

    #[test]
    fn the_example_is_told_where_the_service_listens() {
        let example = program("test \"$*\" = '--once --service 127.0.0.1:4711'");
        serve_and_run(program(LISTENS), example).expect("both end well");
    }

    #[test]
    fn an_example_that_fails_is_reported_with_its_status() {
        let error = serve_and_run(program(LISTENS), program("exit 3")).expect_err("the example fails");
        assert!(error.to_string().contains("exit status: 3"), "{error}");
    }

    #[test]
    fn a_service_that_ends_at_once_is_reported_with_its_status() {
        let error = serve_and_run(program("exit 9"), program("exit 0")).expect_err("it never listens");
        assert!(error.to_string().contains("exit status: 9"), "{error}");
    }

    #[test]
    fn a_service_that_does_not_stop_cleanly_is_reported() {
        let service = LISTENS.replace("exit 0", "exit 4");
        let error = serve_and_run(program(&service), program("exit 0")).expect_err("the service fails");
        assert!(error.to_string().contains("exit status: 4"), "{error}");
    }
}
