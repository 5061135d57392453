//! `cargo xtask test --ucx VERSION`: runs the tests of UCX users, and the examples, on another
//! release of UCX. `LD_LIBRARY_PATH` selects it, without a new build.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Result, ensure};

use crate::steps;
use crate::target::{self, BuildTarget};
use crate::workspace::{BuildProfile, Purpose, Workspace};
use crate::{debian, demo, plugins, shell, test, ucx};

const PACKAGES: [&str; 4] = ["ucx", "urom-wire", "urom-service", "libdoca-host"];

/// Timeout of a test program in seconds: many times the usual maximum.
const LIMIT: &str = "300";

/// Passes the expected release to tests.
const EXPECTED: &str = "UROM_TEST_UCX";

/// Variants of the examples, and the variable of each.
const WAYS: [(&str, Option<(&str, &str)>); 3] = [
    ("by default", None),
    ("over TCP", Some(("UCX_TLS", "tcp"))),
    ("with UCX's old protocols", Some(("UCX_PROTO_ENABLE", "n"))),
];

/// Unsupported variants of releases, by the variable, with the reason.
const CANNOT: [(&str, &str, &str); 2] = [
    ("1.20.", "UCX_TLS", "UCX 1.20 does not reach the loopback device over TCP"),
    ("1.22.", "UCX_PROTO_ENABLE", "UCX 1.22 and newer lack access to remote memory with them"),
];

/// Builds, unpacks the release, and runs everything on it. Reports all failures at the end.
pub(crate) fn run(workspace: &Workspace, version: &str) -> Result<()> {
    let selected = test::prepare(workspace, None, &PACKAGES.map(str::to_owned), false)?;
    let host = BuildTarget::host()?;
    if !ucx::directory(&workspace.target_dir, ucx::package(version), host).is_dir() {
        debian::ensure(&[&debian::PIP])?;
    }
    let release = ucx::unpack(&workspace.target_dir, ucx::package(version), host)?;
    let on = OnRelease { version, libraries: release.join("libucx/lib") };
    let directory = plugins::build(workspace, None, BuildProfile::Dev, &[], &steps::PACKAGES, &[])?;

    let mut failed = Vec::new();
    failed.extend(on.tests(host, &selected).err().map(|error| format!("{error:#}")));
    failed.extend(
        WAYS.iter().filter_map(|(how, variable)| on.whole_path(&directory, how, *variable)),
    );
    ensure!(failed.is_empty(), "failed on UCX {version}:\n  {}", failed.join("\n  "));
    println!("UCX {version}: ok");
    Ok(())
}

struct OnRelease<'a> {
    version: &'a str,
    libraries: PathBuf,
}

impl OnRelease<'_> {
    fn set(&self, command: &mut Command) {
        command.env(shell::LIBRARY_PATH, &self.libraries).env(EXPECTED, self.version);
        // Releases before 1.22 then send long messages in another way.
        command.env_remove(ucx::HOOKS.0);
    }

    /// Runs the test programs. Cargo sets its own library path, so the runner sets it again.
    fn tests(&self, host: BuildTarget, selected: &[String]) -> Result<()> {
        let library_path = format!("{}={}", shell::LIBRARY_PATH, self.libraries.display());
        let runner = ["timeout", LIMIT, "env", &library_path];
        let mut tests = target::cargo(None, "test")?;
        self.set(&mut tests);
        tests.args(selected).args(shell::words("--lib --bins --tests --no-fail-fast --config"));
        tests.arg(format!("target.{}.runner={runner:?}", host.triple()));
        shell::run(tests.env_remove(shell::LIBRARY_PATH))
    }

    /// Starts the service and runs the examples, all with `variable`. Returns the failure.
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
        let run = |address: &str| {
            let mut steps = steps::all(directory, address)?;
            steps.push(vec![call(directory, address)]);
            steps.iter_mut().flatten().for_each(set);
            steps.into_iter().try_for_each(steps::run)
        };
        demo::serve_and_run(service, run)
            .err()
            .map(|error| format!("the whole path {how}: {error:#}"))
    }
}

/// The reason if a release does not support a variant.
fn cannot(version: &str, variable: Option<(&str, &str)>) -> Option<&'static str> {
    let (name, _) = variable?;
    let found = CANNOT.iter().find(|(release, by, _)| version.starts_with(release) && *by == name);
    found.map(|(_, _, reason)| *reason)
}

fn call(directory: &Path, address: &str) -> Command {
    let mut command = Command::new(directory.join("cargo-urom"));
    command.args(shell::words("urom call worker_graph loopback data=42 --service")).arg(address);
    command.env("UROM_PLUGIN_PATH", directory.join(Purpose::Use.directory()));
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unsupported_variant_of_a_release_is_omitted_with_the_reason() {
        let tcp = Some(("UCX_TLS", "tcp"));
        assert!(cannot("1.20.1", tcp).is_some_and(|reason| reason.contains("loopback")));
        for version in ["1.16.0", "1.21.0", "1.22.0"] {
            assert_eq!(cannot(version, tcp), None);
            assert_eq!(cannot(version, None), None);
        }
        assert!(cannot("1.22.0", Some(("UCX_PROTO_ENABLE", "n"))).is_some());
    }
}
