//! `cargo urom build`, in workspaces of the tests' own.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use serde_json::Value;
use urom_tests::{Uromd, profile_directory};

use crate::common::{KIT, Said, run, tool_with};

/// A workspace with the members a test asks for. All build into one directory, which stays.
struct Workspace {
    root: tempfile::TempDir,
}

impl Workspace {
    fn new(members: &[&str]) -> Result<Workspace> {
        let root = tempfile::tempdir()?;
        let list =
            members.iter().map(|member| format!("{member:?}")).collect::<Vec<_>>().join(", ");
        // What is tested is not the optimiser.
        let manifest = format!(
            "[workspace]\nresolver = \"3\"\nmembers = [{list}]\n\n[profile.release]\nopt-level = 0\n"
        );
        fs::write(root.path().join("Cargo.toml"), manifest)?;
        // The versions that were built before, so that nothing has to be fetched.
        fs::copy(format!("{KIT}/Cargo.lock"), root.path().join("Cargo.lock"))?;
        Ok(Workspace { root })
    }

    fn path(&self) -> &Path {
        self.root.path()
    }

    fn plugin(&self, name: &str, library: &str) -> Result<()> {
        let source = fs::read_to_string(format!("{KIT}/plugins/graph-rs/plugin/src/lib.rs"))?;
        let manifest = format!(
            "[package]\nname = \"{name}\"\nedition = \"2024\"\n\n[lib]\nname = \"{library}\"\ncrate-type = [\"cdylib\"]\n\n\
             [features]\nmore = []\n\n[dependencies]\ngraph-protocol = {{ path = \"{KIT}/plugins/graph-rs/protocol\" }}\n\
             urom-pdk = {{ path = \"{KIT}/urom-pdk\" }}\n"
        );
        self.package(name, &manifest, &source)
    }

    /// A plugin `worker_NAME` with a protocol of its own, whose one command, `Fail`, panics.
    fn panicking_plugin(&self, name: &str) -> Result<()> {
        let manifest = format!(
            "[package]\nname = \"{name}\"\nedition = \"2024\"\n\n[lib]\nname = \"worker_{name}\"\n\
             crate-type = [\"cdylib\"]\n\n[dependencies]\nurom-abi = {{ path = \"{KIT}/urom-abi\" }}\n\
             urom-pdk = {{ path = \"{KIT}/urom-pdk\" }}\n"
        );
        self.package(name, &manifest, &PANICKING.replace("NAME", name))
    }

    fn package(&self, name: &str, manifest: &str, source: &str) -> Result<()> {
        let directory = self.path().join(name);
        fs::create_dir_all(directory.join("src"))?;
        fs::write(directory.join("Cargo.toml"), manifest)?;
        Ok(fs::write(directory.join("src/lib.rs"), source)?)
    }

    fn build(&self, place: &str, arguments: &[&str]) -> Result<Said> {
        run(&mut self.command(place, arguments)?)
    }

    fn command(&self, place: &str, arguments: &[&str]) -> Result<Command> {
        let mut command = tool_with(["build"])?;
        command.args(arguments).current_dir(self.path().join(place));
        command.env("CARGO_TARGET_DIR", target()?).env("CARGO_NET_OFFLINE", "true");
        Ok(command)
    }
}

const PANICKING: &str = r#"
mod protocol {
    #[urom_abi::urom_command(plugin = "worker_NAME", version = 1)]
    pub enum Command {
        #[urom(reply = Done)]
        Fail,
    }

    #[urom_abi::urom_notification]
    pub enum Notification {
        Done,
    }
}

use protocol::{Done, Fail, Handler};
use urom_pdk::prelude::*;

struct Panicking;

#[urom_plugin]
impl Handler for Panicking {
    fn open(_cx: &OpenContext) -> Result<Self> {
        Ok(Panicking)
    }

    async fn fail(&self, _cx: &Context, _cmd: Fail) -> Result<Done> {
        deeper()
    }
}

#[inline(never)]
fn deeper() -> Result<Done> {
    panic!("as the test asks")
}
"#;

fn target() -> Result<PathBuf> {
    Ok(profile_directory()?.join("tool"))
}

/// The only thing on standard output: the path of a file that is there.
fn the_file(output: &Said) -> Result<PathBuf> {
    assert_eq!(output.code, Some(0), "{output:?}");
    let path = output.out.strip_suffix('\n').context("a line")?;
    let file = PathBuf::from(path);
    assert!(file.is_file(), "{output:?}");
    Ok(file)
}

#[test]
fn the_only_plugin_is_built_from_any_directory_named_as_it_names_itself() -> Result<()> {
    let workspace = Workspace::new(&["answers", "other"])?;
    workspace.plugin("answers", "machine_of_answers")?;
    workspace.package("other", "[package]\nname = \"other\"\nedition = \"2024\"\n", "")?;
    let mut files = Vec::new();
    for place in ["", "answers", "answers/src", "other"] {
        let output = workspace.build(place, &[])?;
        files.push(the_file(&output)?);
        assert!(output.err.contains("Copying") && output.err.contains("Checking"), "{output:?}");
    }
    assert_eq!(files[0], target()?.join("release/urom/worker_graph.so"));
    assert!(files.iter().all(|file| *file == files[0]), "{files:?}");
    let made = target()?.join("release/libmachine_of_answers.so");
    assert!(made.is_file(), "{files:?}");
    Ok(())
}

#[test]
fn what_was_built_is_refused_once_a_source_was_changed() -> Result<()> {
    let workspace = Workspace::new(&["aging"])?;
    workspace.panicking_plugin("aging")?;
    let source = workspace.path().join("aging/src/lib.rs").canonicalize()?;
    let call = |file: &Path| {
        let mut command = tool_with(["call"])?;
        command.arg(file).arg("fail").current_dir(workspace.path());
        run(&mut command)
    };
    for arguments in [&["--debug"][..], &["--debug", "--strip"]] {
        let file = the_file(&workspace.build("", arguments)?)?;
        let said = call(&file)?;
        assert!(said.err.contains("Fail of `worker_aging` ended with"), "it is called: {said:?}");
        // The copy is as old as cargo's own file, and so older than a change right after the build.
        let later = fs::metadata(&file)?.modified()? + std::time::Duration::from_millis(1);
        fs::File::options().append(true).open(&source)?.set_modified(later)?;
        let said = call(&file)?.bad()?;
        let parts = [
            format!("is older than its source {}", source.display()),
            "run `cargo urom build --debug`".to_owned(),
        ];
        assert!(parts.iter().all(|part| said.contains(part)), "{said}");
        assert!(said.matches("run `").count() == 1 && !said.contains("log"), "{said}");
        let said = run(tool_with(["run"])?.arg(&file).current_dir(workspace.path()))?.bad()?;
        assert!(parts.iter().all(|part| said.contains(part)), "{said}");
        // Copied elsewhere, as to a DPU, nothing is known of its sources.
        let elsewhere = tempfile::tempdir()?;
        let copy = elsewhere.path().join("worker_aging.so");
        fs::copy(&file, &copy)?;
        assert!(call(&copy)?.err.contains("Fail of `worker_aging` ended with"));
    }
    Ok(())
}

#[test]
fn of_several_plugins_one_has_to_be_named() -> Result<()> {
    let workspace = Workspace::new(&["first", "second", "other"])?;
    workspace.plugin("first", "first")?;
    workspace.plugin("second", "second")?;
    workspace.package("other", "[package]\nname = \"other\"\nedition = \"2024\"\n", "")?;
    workspace.build("", &[])?.refused(2, &["say which with -p (first, second)"])?;
    for (package, said) in [
        ("other", "is no plugin: its library is no `cdylib`"),
        ("third", "has no package `third`; its plugins: first, second"),
    ] {
        workspace.build("", &["-p", package])?.refused(2, &[said])?;
    }
    the_file(&workspace.build("other", &["-p", "second"])?)?;
    let output = workspace.build("first", &[])?;
    the_file(&output)?;
    assert!(output.err.contains("libfirst.so"), "the directory says which: {output:?}");
    Ok(())
}

#[test]
fn a_workspace_without_plugin_and_a_place_without_workspace_are_told() -> Result<()> {
    let workspace = Workspace::new(&["plain"])?;
    let manifest =
        "[package]\nname = \"plain\"\nedition = \"2024\"\n\n[lib]\ncrate-type = [\"cdylib\"]\n";
    workspace.package("plain", manifest, "")?;
    workspace.build("", &[])?.refused(1, &["urom-pdk", "cargo urom new"])?;

    let nowhere = tempfile::tempdir()?;
    run(tool_with(["build"])?.current_dir(nowhere.path()))?.refused(1, &["Cargo.toml"])
}

#[test]
fn a_plugin_that_aborts_when_it_panics_is_built_with_a_warning() -> Result<()> {
    let workspace = Workspace::new(&["aborting"])?;
    workspace.plugin("aborting", "aborting")?;
    let source = workspace.path().join("aborting/src/lib.rs");
    let text = fs::read_to_string(&source)?;
    fs::write(&source, text.replace("#[urom_plugin]", "#[urom_plugin(abort = \"allowed\")]"))?;
    let arguments = ["--json", "--", "--config", "profile.release.panic=\"abort\""];
    let report = workspace.build("", &arguments)?.json()?;
    let codes: Vec<_> =
        report["findings"].as_array().context("a list")?.iter().map(|one| &one["code"]).collect();
    assert!(codes.contains(&&Value::from("panic-aborts")), "{report:#}");
    Ok(())
}

#[test]
fn a_panic_has_its_functions_with_file_and_line_in_the_log_unless_the_file_was_stripped()
-> Result<()> {
    let workspace = Workspace::new(&["panicking"])?;
    workspace.panicking_plugin("panicking")?;
    let manifest = workspace.path().join("Cargo.toml");
    let text = fs::read_to_string(&manifest)?;
    fs::write(&manifest, text + "debug = \"line-tables-only\"\n")?;
    let line = PANICKING.lines().position(|line| line.contains("panic!")).context("it panics")? + 1;
    let caller =
        PANICKING.lines().position(|line| line.contains(" deeper()")).context("it calls")? + 1;
    let mut sizes = Vec::new();
    for (arguments, shown) in [(&["--debug"][..], true), (&[], true), (&["--strip"], false)] {
        let file = the_file(&workspace.build("", arguments)?)?;
        sizes.push(fs::metadata(&file)?.len());
        let log = workspace.path().join("log");
        let stderr = fs::File::create(&log)?;
        let daemon =
            Uromd::start_with(&file, |command| command.env("RUST_BACKTRACE", "1").stderr(stderr))?;
        let file = file.to_str().context("a path of text")?;
        let said = tool_with(["call", file, "fail", "--service", daemon.address()])?.output()?;
        assert_eq!(said.status.code(), Some(1), "{said:?}");
        assert!(daemon.stop()?.success());
        let log = fs::read_to_string(&log)?;
        let of = |function: &str, line: usize| {
            let place = format!("src/lib.rs:{line}:");
            log.lines().any(|text| {
                text.contains("]   in ") && text.contains(function) && text.contains(&place)
            })
        };
        assert_eq!(
            (of("deeper", line), of("fail", caller)),
            (shown, shown),
            "{arguments:?}: {log}"
        );
    }
    assert!(sizes[2] < sizes[1], "{sizes:?}");
    let said = workspace.build("", &[])?.err;
    assert!(
        said.contains("serve backtraces and debuggers")
            && said.contains("-> keep them for readable"),
        "{said}"
    );
    Ok(())
}

#[test]
fn a_target_whose_tools_are_missing_is_refused_with_their_names() -> Result<()> {
    const TARGET: &str = if cfg!(target_arch = "aarch64") {
        "x86_64-unknown-linux-gnu"
    } else {
        "aarch64-unknown-linux-gnu"
    };
    let workspace = Workspace::new(&["elsewhere"])?;
    workspace.plugin("elsewhere", "elsewhere")?;
    let linker = format!("CARGO_TARGET_{}_LINKER", TARGET.replace('-', "_").to_uppercase());
    let mut command = workspace.command("", &["--target", TARGET])?;
    let said = run(command.env(&linker, "no-such-linker"))?.bad()?;
    for part in [TARGET, "this machine lacks", "the linker `no-such-linker`"] {
        assert!(said.contains(part), "{said}");
    }
    Ok(())
}

#[test]
fn arguments_choose_profile_features_and_report() -> Result<()> {
    let workspace = Workspace::new(&["chosen"])?;
    workspace.plugin("chosen", "chosen")?;
    let manifest = workspace.path().join("Cargo.toml");
    let text = fs::read_to_string(&manifest)?;
    fs::write(&manifest, text + "\n[profile.dist]\ninherits = \"release\"\n")?;
    let of = |profile: &str| {
        Ok::<_, anyhow::Error>(target()?.join(profile).join("urom/worker_graph.so"))
    };
    let lines = "`debug = \"line-tables-only\"` in the profile";
    for (arguments, profile, lacks_lines) in [
        (&[][..], "release", true),
        (&["--strip"], "release", false),
        (&["--debug"], "debug", false),
        (&["--profile", "dist"], "dist", true),
        (&["--", "--profile", "dist"], "dist", true),
        (&["--", "--release", "--features", "more"], "release", true),
    ] {
        let output = workspace.build("", arguments)?;
        assert_eq!(the_file(&output)?, of(profile)?, "{arguments:?}");
        assert_eq!(output.err.contains(lines), lacks_lines, "{arguments:?}: {output:?}");
    }
    let manifest = manifest.to_str().context("a path of text")?;
    let mut elsewhere = workspace.command("", &["--debug", "--manifest-path", manifest])?;
    assert_eq!(the_file(&run(elsewhere.current_dir(std::env::temp_dir()))?)?, of("debug")?);

    let report = workspace.build("", &["--json"])?.json()?;
    assert_eq!((&report["plugin"], &report["errors"]), (&"worker_graph".into(), &0.into()));
    assert_eq!(report["file"], of("release")?.display().to_string());

    workspace.build("", &["--", "--features", "none-such"])?.refused(1, &["none-such"])?;
    workspace.build("", &["--features", "more"])?.refused(2, &[])?;
    workspace
        .build("", &["--target", "riscv64gc-unknown-linux-gnu"])?
        .refused(2, &["aarch64-unknown-linux-gnu"])
}

#[test]
fn what_does_not_compile_or_is_no_plugin_is_told() -> Result<()> {
    let workspace = Workspace::new(&["broken"])?;
    workspace.plugin("broken", "broken")?;
    for (source, parts) in [
        (
            "fn broken() -> u8 { \"text\" }\n",
            &["mismatched types", "cargo did not build the package `broken`"][..],
        ),
        ("", &["does not export `urom_plugin_get_iface`"]),
    ] {
        fs::write(workspace.path().join("broken/src/lib.rs"), source)?;
        workspace.build("", &[])?.refused(1, parts)?;
    }
    Ok(())
}
