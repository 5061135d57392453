//! `cargo xtask test --ucx VERSION`: the tests of what talks UCX, the whole path and the examples,
//! as they are built, on another release of UCX. `LD_LIBRARY_PATH` chooses it.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde::Deserialize;

use crate::process::Guarded;
use crate::steps::{self, Program, Step};
use crate::target::Target;
use crate::test::{self, Prepared};
use crate::workspace::{Profile, Purpose, Workspace};
use crate::{debian, demo, install, shell, ucx};

/// The packages whose test programs are run.
const PACKAGES: [&str; 4] = ["ucx", "urom-wire", "urom-service", "libdoca-host"];

/// The programs of the whole path besides the daemon.
const EXAMPLES: [Program<'static>; 2] = [steps::BOOTSTRAP, steps::PING_PONG];

/// How long one program may take: many times what any takes on an idle machine.
const LIMIT: Duration = Duration::from_secs(300);

/// The variable by which a test learns which release it should find.
const EXPECTED: &str = "UROM_TEST_UCX";

/// How the whole path is run, and the variable that says so.
const WAYS: [(&str, Option<(&str, &str)>); 3] = [
    ("by default", None),
    ("over TCP", Some(("UCX_TLS", "tcp"))),
    ("with UCX's old protocols", Some(("UCX_PROTO_ENABLE", "n"))),
];

/// What releases cannot do by any of these ways, by the variable, and why.
const CANNOT: [(&str, &str, &str); 2] = [
    ("1.20.", "UCX_TLS", "UCX 1.20 does not reach the loopback device over TCP"),
    ("1.22.", "UCX_PROTO_ENABLE", "UCX 1.22 and newer have no access to remote memory with them"),
];

/// A program with tests, and where cargo runs it.
#[derive(Debug, PartialEq, Eq)]
struct TestProgram {
    file: PathBuf,
    package: PathBuf,
}

/// Builds what is not built, unpacks the release, and runs all there is to run on it. Everything
/// that fails is told at the end.
pub(crate) fn run(workspace: &Workspace, version: &str) -> Result<ExitCode> {
    let packages = PACKAGES.map(str::to_owned);
    if let Prepared::Failed(status) = test::prepare(workspace, None, &packages)? {
        return Ok(shell::exit_code(status));
    }
    let host = Target::host()?;
    if !ucx::directory(&workspace.target_dir, ucx::package(version), host).is_dir() {
        debian::ensure(&[&debian::PIP])?;
    }
    let release = ucx::unpack(&workspace.target_dir, ucx::package(version), host)?;
    let on = On { version, libraries: release.join("libucx/lib") };
    let (programs, directory) = (test_programs()?, examples(workspace)?);
    let mut failed = Vec::new();
    for program in programs {
        failed.extend(on.test(&program)?);
    }
    for (how, variable) in WAYS {
        failed.extend(on.whole_path(&directory, how, variable));
    }
    for failure in &failed {
        eprintln!("failed on UCX {version}: {failure}");
    }
    if failed.is_empty() {
        println!("UCX {version}: ok");
    }
    Ok(if failed.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

struct On<'a> {
    version: &'a str,
    libraries: PathBuf,
}

impl On<'_> {
    /// Lets a program run on this release.
    fn set(&self, command: &mut Command) {
        command.env(shell::LIBRARY_PATH, &self.libraries).env(EXPECTED, self.version);
        // Releases before 1.22 send long messages in another way with it.
        command.env_remove(ucx::HOOKS.0);
    }

    fn test(&self, program: &TestProgram) -> Result<Option<String>> {
        let mut command = Command::new(&program.file);
        self.set(command.current_dir(&program.package));
        eprintln!("$ {}", shell::display(&command));
        let start = Instant::now();
        let ended = Guarded::start(&mut command)?.wait(LIMIT);
        eprintln!("UCX {}: {:.1} s", self.version, start.elapsed().as_secs_f64());
        Ok(match ended {
            Ok(status) if status.success() => None,
            Ok(status) => Some(format!("{}: {status}", program.file.display())),
            Err(error) => Some(format!("{error:#}")),
        })
    }

    /// Starts the service and runs the examples against it, with `variable` for all of them. What
    /// failed, if something did.
    fn whole_path(
        &self,
        directory: &Path,
        how: &str,
        variable: Option<(&str, &str)>,
    ) -> Option<String> {
        let set = |command: &mut Command| {
            self.set(command);
            command.envs(variable);
        };
        if let Some(reason) = cannot(self.version, variable) {
            eprintln!("left out: the whole path {how}: {reason}");
            return None;
        }
        eprintln!("the whole path {how}:");
        let mut service = demo::service(directory);
        set(&mut service);
        let steps = |address: &str| -> Result<Vec<Step>> {
            let mut steps = steps::all(directory, address)?;
            steps.push(vec![call(directory, address)]);
            steps.iter_mut().flatten().for_each(set);
            Ok(steps)
        };
        demo::serve_and_run(service, steps)
            .err()
            .map(|error| format!("the whole path {how}: {error:#}"))
    }
}

/// Why a release cannot take a way.
fn cannot(version: &str, variable: Option<(&str, &str)>) -> Option<&'static str> {
    let (name, _) = variable?;
    let found = CANNOT.iter().find(|(release, by, _)| version.starts_with(release) && *by == name);
    found.map(|(_, _, reason)| *reason)
}

fn call(directory: &Path, address: &str) -> Command {
    let mut command = Command::new(directory.join(test::TOOL));
    command.args(["urom", "call", "worker_graph", "loopback", "data=42", "--service", address]);
    command.env("UROM_PLUGIN_PATH", directory.join(Purpose::Use.directory()));
    command
}

fn examples(workspace: &Workspace) -> Result<PathBuf> {
    let mut build = shell::cargo();
    build.args(["build", "--features", steps::WITH_MPI]);
    EXAMPLES.iter().for_each(|program| {
        build.args(["-p", program.package]);
    });
    shell::run(&mut build)?;
    Ok(workspace.profile_dir(None, Profile::Dev))
}

/// The test programs, which are built if they are not.
fn test_programs() -> Result<Vec<TestProgram>> {
    let mut build = shell::cargo();
    build.args(["test", "--no-run", install::MESSAGES]);
    PACKAGES.iter().for_each(|package| {
        build.args(["-p", package]);
    });
    let (status, messages) = shell::output(&mut build)?;
    if !status.success() {
        bail!("`{}` failed: {status}", shell::display(&build));
    }
    let programs = programs_in(&messages)?;
    if programs.is_empty() {
        bail!("cargo built no test program");
    }
    Ok(programs)
}

/// The part of cargo's messages that says what was built.
#[derive(Deserialize)]
struct Message {
    reason: String,
    #[serde(default)]
    executable: Option<PathBuf>,
    #[serde(default)]
    manifest_path: PathBuf,
    #[serde(default)]
    profile: Profiled,
}

#[derive(Deserialize, Default)]
struct Profiled {
    #[serde(default)]
    test: bool,
}

fn programs_in(messages: &[u8]) -> Result<Vec<TestProgram>> {
    let mut programs = Vec::new();
    for line in messages.split(|byte| *byte == b'\n').filter(|line| line.starts_with(b"{")) {
        let message: Message =
            serde_json::from_slice(line).context("cargo printed something else than messages")?;
        let is_test = message.reason == "compiler-artifact" && message.profile.test;
        if let Some(file) = message.executable.filter(|_| is_test) {
            let package =
                message.manifest_path.parent().context("a manifest lies in a directory")?;
            programs.push(TestProgram { file, package: package.to_owned() });
        }
    }
    Ok(programs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_with_tests_are_told_from_what_else_was_built() {
        let artifact = |executable: &str, test: bool| {
            format!(
                r#"{{"reason":"compiler-artifact","manifest_path":"/w/ucx/Cargo.toml","executable":{executable},"profile":{{"test":{test}}}}}"#
            )
        };
        let lines = [
            artifact("null", false),
            artifact(r#""/t/debug/uromd""#, false),
            artifact(r#""/t/debug/deps/mesh-1""#, true),
            r#"{"reason":"build-finished","success":true}"#.to_owned(),
        ];
        let programs = programs_in(lines.join("\n").as_bytes()).expect("they are messages");
        let mesh = TestProgram { file: "/t/debug/deps/mesh-1".into(), package: "/w/ucx".into() };
        assert_eq!(programs, [mesh]);
        assert!(programs_in(b"{nothing").is_err());
    }

    #[test]
    fn what_a_release_cannot_do_is_left_out_with_the_reason() {
        let tcp = Some(("UCX_TLS", "tcp"));
        assert!(cannot("1.20.1", tcp).is_some_and(|reason| reason.contains("loopback")));
        for version in ["1.16.0", "1.21.0", "1.22.0"] {
            assert_eq!(cannot(version, tcp), None);
            assert_eq!(cannot(version, None), None);
        }
        assert!(cannot("1.22.0", Some(("UCX_PROTO_ENABLE", "n"))).is_some());
    }
}
