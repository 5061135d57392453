//! Transcripts of the tool: a shell runs the lines of `transcripts/*.md` that begin with `$`, in a
//! directory of plugins beside three services, and what it prints is compared with what follows.
//!
//! Standard output comes first, then standard error behind a `!`, without logs and times, then the
//! exit code behind a `?`, unless it is 0. `SNAPSHOTS=overwrite` accepts what is printed.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use snapbox::{Assert, Data, Redactions};
use urom_tests::c::{Source, prefix};
use urom_tests::{PluginDirectory, Uromd, built, profile_directory, without_service};

use crate::common::{self, KIT, Said, tool_says};

const IN_RUST: [&str; 4] = ["worker_faulty", "worker_graph", "worker_sandbox", "worker_unruly"];

/// A directory with plugins in Rust, those in C in `c`, and a key.
struct Place {
    directory: tempfile::TempDir,
    /// The variables with their addresses: one with the plugins in Rust, one with those in C, and one
    /// that asks for the key.
    services: [(&'static str, Uromd); 3],
    _plugins: [PluginDirectory; 2],
}

impl Place {
    fn new() -> Result<Place> {
        let directory = tempfile::tempdir()?;
        let place = directory.path();
        for plugin in IN_RUST {
            symlink(built(&format!("lib{plugin}.so"))?, place.join(plugin).with_extension("so"))?;
        }
        let in_rust = PluginDirectory::with(&IN_RUST)?;
        let mut in_c = PluginDirectory::with(&[])?;
        in_c.add(&Source::new("graph_plugin.c").plugin("worker_graph")?)?;
        in_c.add(&Source::new("sandbox_plugin.c").ucx().plugin("worker_sandbox")?)?;
        symlink(in_c.path(), place.join("c"))?;
        let key = place.join("key");
        fs::write(&key, [1; 32])?;
        fs::set_permissions(&key, fs::Permissions::from_mode(0o600))?;
        let libraries = prefix()?.library_path();
        let keyed = Uromd::start_with(in_rust.path(), |uromd| uromd.arg("--key-file").arg(&key))?;
        let linked =
            Uromd::start_with(in_c.path(), |uromd| uromd.env("LD_LIBRARY_PATH", libraries))?;
        let services =
            [("SERVICE", Uromd::start(in_rust.path())?), ("IN_C", linked), ("KEYED", keyed)];
        Ok(Place { directory, services, _plugins: [in_rust, in_c] })
    }

    fn run(&self, script: &str) -> Result<Said> {
        let mut shell = Command::new("bash");
        shell.args(["-c", &format!("cargo() {{ \"$TOOL\" \"$@\"; }}\n{script}")]);
        shell.current_dir(&self.directory).stdin(Stdio::null()).env_remove("CARGO_MANIFEST_DIR");
        without_service(&mut shell).env("LD_LIBRARY_PATH", prefix()?.library_path());
        let flags = prefix()?.pkg_config(&["--cflags", "--libs"], &["doca-common"])?.join(" ");
        shell.env("TOOL", built("cargo-urom")?).env("KIT", fs::canonicalize(KIT)?);
        shell.env("PLUGIN", format!("-DDOCA_ALLOW_EXPERIMENTAL_API= -shared -fPIC {flags}"));
        shell.envs(self.services.iter().map(|(name, uromd)| (name, uromd.address())));
        common::run(&mut shell)
    }

    /// What a script prints, as it stands in a transcript.
    fn says(&self, script: &str) -> Result<String> {
        let said = self.run(script)?;
        // A line of a log begins with the time in brackets.
        let varies = |line: &&str| line.starts_with('[') || line.contains("Answered in ");
        let out = said.out.lines().map(str::to_owned);
        let err = said.err.lines().filter(|line| !varies(line)).map(|line| format!("! {line}"));
        let code = said.code.context("a signal ended the shell")?;
        let code = (code != 0).then(|| format!("? {code}"));
        Ok(out.chain(err).chain(code).map(|line| format!("{}\n", line.trim_end())).collect())
    }
}

fn transcript(file: &str) -> Result<()> {
    let file = Path::new(KIT).join("tests/tests/tool/transcripts").join(file);
    let place = Place::new()?;
    let expected = fs::read_to_string(&file)?;
    let (mut actual, mut is_output) = (String::new(), false);
    let mut lines = expected.lines().peekable();
    while let Some(line) = lines.next() {
        is_output &= line != "```";
        if let Some(first) = line.strip_prefix("$ ") {
            is_output = true;
            let mut script = first.to_owned();
            actual += &format!("{line}\n");
            while let Some(more) = lines.next_if(|line| line.starts_with('>')) {
                script += &format!("\n{}", more[1..].trim_start_matches(' '));
                actual += &format!("{more}\n");
            }
            actual += &place.says(&script)?;
        } else if !is_output {
            actual += &format!("{line}\n");
        }
    }
    let mut redactions = Redactions::new();
    redactions.insert("[PLACE]", place.directory.path().to_owned())?;
    redactions.insert("[KIT]", fs::canonicalize(KIT)?)?;
    for (at, name) in ["[SERVICE]", "[IN_C]", "[KEYED]"].into_iter().enumerate() {
        redactions.insert(name, place.services[at].1.address().to_owned())?;
    }
    let assert = Assert::new().action_env("SNAPSHOTS").redact_with(redactions);
    assert.normalize_paths(false).eq(actual, Data::read_from(&file, None));
    Ok(())
}

macro_rules! transcripts {
    ($($name:ident)*) => {$(
        #[test]
        fn $name() -> Result<()> {
            transcript(concat!(stringify!($name), ".md"))
        }
    )*};
}

transcripts! { answers check inspect lines mistakes new plugins repeat run }

/// What follows a `|` or a `>` is left out.
#[test]
fn the_examples_of_the_help_work() -> Result<()> {
    let place = Place::new()?;
    let target = place.directory.path().join("target");
    fs::create_dir_all(target.join("release/urom"))?;
    symlink(profile_directory()?, target.join("debug"))?;
    fs::copy(built("libworker_graph.so")?, target.join("release/urom/worker_graph.so"))?;
    for (verb, count) in [("call", 9), ("check", 3), ("inspect", 3)] {
        let help = tool_says([verb, "--help"])?.good()?;
        let (_, examples) = help.split_once("Examples:\n").context("no examples")?;
        let examples: Vec<_> = examples.lines().map_while(|line| line.strip_prefix("  ")).collect();
        ensure!(examples.len() == count, "{examples:?}");
        for example in examples {
            let line = example.split(['|', '>']).next().unwrap_or_default();
            let said = place.run(&line.replace("127.0.0.1:18700", "$SERVICE"))?;
            // A plugin of this machine does not fit a BlueField's image, unless both are AArch64.
            let fits = !example.contains("--image") || std::env::consts::ARCH == "aarch64";
            ensure!(said.code == Some(i32::from(!fits)), "{example}: {said:?}");
        }
    }
    Ok(())
}
