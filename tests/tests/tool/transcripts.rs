//! Transcripts of the tool in a directory of plugins with three services.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use anyhow::{Context, Result, ensure};
use urom_tests::c::{Source, prefix};
use urom_tests::{PluginDirectory, Transcript, Uromd, built, profile_directory};

use crate::common::says;

const IN_RUST: [&str; 5] =
    ["worker_faulty", "worker_graph", "worker_memory", "worker_sandbox", "worker_unruly"];

struct Setup {
    transcript: Transcript,
    _services: [Uromd; 3],
    _plugins: [PluginDirectory; 2],
}

impl Setup {
    fn new() -> Result<Setup> {
        let mut transcript = Transcript::new()?;
        let directory = transcript.path().to_owned();
        for plugin in IN_RUST {
            symlink(
                built(&format!("lib{plugin}.so"))?,
                directory.join(plugin).with_extension("so"),
            )?;
        }
        let in_rust = PluginDirectory::with(&IN_RUST)?;
        let mut in_c = PluginDirectory::with(&[])?;
        in_c.add(&Source::new("graph_plugin.c").plugin("worker_graph")?)?;
        in_c.add(&Source::new("sandbox_plugin.c").ucx().plugin("worker_sandbox")?)?;
        symlink(in_c.path(), directory.join("c"))?;
        let key = directory.join("key");
        fs::write(&key, [1; 32])?;
        fs::set_permissions(&key, fs::Permissions::from_mode(0o600))?;
        let libraries = prefix()?.library_path();
        let services = [
            Uromd::start(in_rust.path())?,
            Uromd::start_with(in_c.path(), |uromd| uromd.env("LD_LIBRARY_PATH", &libraries))?,
            Uromd::start_with(in_rust.path(), |uromd| uromd.arg("--key-file").arg(&key))?,
        ];
        for (name, uromd) in ["SERVICE", "IN_C", "KEYED"].into_iter().zip(&services) {
            transcript.set(name, uromd.address());
        }
        let flags = prefix()?.pkg_config(&["--cflags", "--libs"], &["doca-common"])?.join(" ");
        transcript.set("PLUGIN", format!("-DDOCA_ALLOW_EXPERIMENTAL_API= -shared -fPIC {flags}"));
        transcript.set("LD_LIBRARY_PATH", libraries);
        Ok(Setup { transcript, _services: services, _plugins: [in_rust, in_c] })
    }
}

macro_rules! transcripts {
    ($($name:ident)*) => {$(
        #[test]
        fn $name() -> Result<()> {
            Setup::new()?.transcript.check(concat!("tool/transcripts/", stringify!($name), ".md"))
        }
    )*};
}

transcripts! { answers check inspect lines memory mistakes new plugins run top }

/// A transcript of workspaces, with a shared build directory.
fn of_workspaces(name: &str) -> Result<()> {
    let mut transcript = Transcript::new()?;
    transcript.set("TARGET", profile_directory()?.join("tool").join(name));
    let functions = "tests/tool/transcripts/workspace.sh";
    transcript.set("BASH_ENV", Path::new(env!("CARGO_MANIFEST_DIR")).join(functions));
    transcript.check(format!("tool/transcripts/{name}.md"))
}

#[test]
fn build() -> Result<()> {
    of_workspaces("build")
}

#[test]
fn fresh() -> Result<()> {
    of_workspaces("fresh")
}

/// Skips the parts after `|` and `>`.
#[test]
fn the_examples_of_the_help_work() -> Result<()> {
    let Setup { transcript, .. } = &Setup::new()?;
    let target = transcript.path().join("target");
    fs::create_dir_all(target.join("release/urom"))?;
    symlink(profile_directory()?, target.join("debug"))?;
    fs::copy(built("libworker_graph.so")?, target.join("release/urom/worker_graph.so"))?;
    for (verb, count) in [("call", 8), ("check", 3), ("inspect", 3)] {
        let help = says([verb, "--help"])?;
        let (_, examples) = help.split_once("Examples:\n").context("no examples")?;
        let examples: Vec<_> = examples.lines().map_while(|line| line.strip_prefix("  ")).collect();
        ensure!(examples.len() == count, "{examples:?}");
        for example in examples {
            let line = example.split(['|', '>']).next().unwrap_or_default();
            let said = transcript.run(&line.replace("127.0.0.1:18700", "$SERVICE"))?;
            // A plugin of this machine fits a BlueField's image only on AArch64.
            let fits = !example.contains("--image") || std::env::consts::ARCH == "aarch64";
            ensure!(said.status.code() == Some(i32::from(!fits)), "{example}: {said:?}");
        }
    }
    Ok(())
}
