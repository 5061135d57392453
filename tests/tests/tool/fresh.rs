//! What `cargo urom new` makes never runs an old plugin: however its host is started, the plugin is
//! as its sources are, or there is an error that says what to do.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime};

use anyhow::{Context, Result, ensure};
use urom_tests::{profile_directory, without_service};

use crate::common::{KIT, Said, run, tool};

/// A new workspace, which builds into a directory that stays.
struct Calc {
    place: tempfile::TempDir,
    target: PathBuf,
}

impl Calc {
    /// `name` is the test's own, because the names of files that are built come from it.
    fn new(name: &str) -> Result<Calc> {
        let place = tempfile::tempdir()?;
        let project = place.path().join(name);
        run(tool()?.args(["new", "--kit", &format!("path={KIT}")]).arg(&project))?.good()?;
        // The versions that were built before, so that nothing has to be fetched.
        fs::copy(format!("{KIT}/Cargo.lock"), project.join("Cargo.lock"))?;
        let target = profile_directory()?.join("tool-new");
        for end in ["so", "d"] {
            // From an earlier run of the test.
            let _ = fs::remove_file(target.join(format!("debug/libworker_{name}.{end}")));
        }
        Ok(Calc { place: Calc::at(place, name)?, target })
    }

    fn at(place: tempfile::TempDir, name: &str) -> Result<tempfile::TempDir> {
        fs::rename(place.path().join(name), place.path().join("ws"))?;
        Ok(place)
    }

    fn root(&self) -> PathBuf {
        self.place.path().join("ws")
    }

    fn cargo(&self, directory: &str, words: &[&str]) -> Result<Said> {
        let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        cargo.args(words).current_dir(self.root().join(directory));
        cargo.env("CARGO_TARGET_DIR", &self.target).env("CARGO_NET_OFFLINE", "true");
        run(without_service(cargo.env_remove("CARGO_MANIFEST_DIR")))
    }

    /// Changes a text, as an editor that is used a moment later does.
    fn edit(&self, file: &str, from: &str, to: &str) -> Result<()> {
        let path = self.root().join(file);
        let text = fs::read_to_string(&path)?;
        ensure!(text.contains(from), "{file} has no {from:?}");
        fs::write(path, text.replace(from, to))?;
        Ok(())
    }

    /// Makes what was built older than later edits by any clock, and its sources older yet.
    fn age(&self, plugin: &str) -> Result<()> {
        let set = |file: PathBuf, seconds| -> Result<()> {
            let file = fs::File::options().append(true).open(file)?;
            Ok(file.set_modified(SystemTime::now() - Duration::from_secs(seconds))?)
        };
        set(self.root().join("plugin/src/lib.rs"), 10)?;
        set(self.target.join(format!("debug/libworker_{plugin}.so")), 5)
    }
}

#[test]
fn after_an_edit_no_old_plugin_runs_however_the_host_is_started() -> Result<()> {
    let calc = Calc::new("edited")?;
    // A second host, so that cargo does not know which program `cargo run` means.
    fs::create_dir(calc.root().join("host/src/bin"))?;
    fs::copy(calc.root().join("host/src/main.rs"), calc.root().join("host/src/bin/second.rs"))?;
    calc.edit(
        "host/src/main.rs",
        "fn main()",
        "#[test]\nfn sums() {\n    main().unwrap();\n}\n\nfn main()",
    )?;
    calc.cargo("", &["build", "--workspace"])?.good()?;
    let starts: [(&str, &[&str]); 5] = [
        ("", &["run", "-p", "edited-host", "--bin", "edited-host"]),
        ("", &["run", "--bin", "second"]),
        ("host", &["run", "--bin", "edited-host"]),
        ("plugin", &["run", "--manifest-path", "../host/Cargo.toml", "--bin", "second"]),
        ("", &["test", "-p", "edited-host", "--bin", "edited-host"]),
    ];
    let is_refused = |source: &str| -> Result<()> {
        let source = fs::canonicalize(calc.root().join(source))?;
        let old = format!("is older than its source {}", source.display());
        for (directory, words) in starts {
            let said = calc.cargo(directory, words)?;
            let text = said.out.clone() + &said.err;
            assert!(said.code != Some(0) && text.contains(&old), "{words:?}: {said:?}");
            assert!(text.contains("run `cargo build --workspace` in "), "{words:?}: {said:?}");
            // What it says is enough, so nothing sends the reader to the log.
            assert!(!text.contains("log says"), "{words:?}: {said:?}");
        }
        Ok(())
    };
    calc.age("edited")?;
    calc.edit(
        "plugin/src/lib.rs",
        "self.sum.set(self.sum.get() + own)",
        "self.sum.set(self.sum.get() + 10.0 * own)",
    )?;
    is_refused("plugin/src/lib.rs")?;
    calc.cargo("", &["build", "--workspace"])?.good()?;
    for (directory, words) in starts.into_iter().filter(|(_, words)| words[0] == "run") {
        let said = calc.cargo(directory, words)?.good()?;
        assert!(said.contains("the sum of 2 values is 30\n"), "{words:?}: {said}");
    }
    calc.cargo("", &["test", "-p", "edited-host", "--bin", "edited-host"])?.good()?;

    calc.age("edited")?;
    calc.edit("protocol/src/lib.rs", "The sum of all values so far.", "The sum of all values.")?;
    is_refused("protocol/src/lib.rs")
}

#[test]
fn a_missing_build_an_edit_during_one_and_a_lost_source_are_told_with_the_command_that_helps()
-> Result<()> {
    let calc = Calc::new("during")?;
    calc.edit("plugin/src/lib.rs", "use std::cell::Cell;", "mod extra;\nuse std::cell::Cell;")?;
    fs::write(calc.root().join("plugin/src/extra.rs"), "")?;
    // A build script that names what never was there, which cargo's list has then, too.
    fs::write(
        calc.root().join("plugin/build.rs"),
        "fn main() {\n    println!(\"cargo::rerun-if-changed=src/never.rs\");\n}\n",
    )?;
    // Older than the library will ever be made.
    let old = SystemTime::now() - Duration::from_secs(1 << 20);
    fs::File::options()
        .append(true)
        .open(calc.root().join("plugin/build.rs"))?
        .set_modified(old)?;
    let run = || calc.cargo("", &["run", "-p", "during-host"]);
    let build = || -> Result<()> {
        calc.cargo("", &["build", "--workspace"])?.good()?;
        run()?.good()?;
        Ok(())
    };
    let source = |name: &str| calc.root().join("plugin/src").join(name);
    let said = run()?.bad()?;
    let (place, root) = (calc.target.join("debug"), fs::canonicalize(calc.root())?);
    for part in [
        format!("it looked in {}", place.display()),
        format!("run `cargo build --workspace` in {}", root.display()),
    ] {
        assert!(said.contains(&part), "no {part} in {said}");
    }
    build()?;

    // As if edited after the compiler had read the file, and before the library was there.
    let library = calc.target.join("debug/libworker_during.so");
    let later = SystemTime::now() + Duration::from_secs(2);
    fs::File::options().append(true).open(&library)?.set_modified(later)?;
    std::thread::sleep(Duration::from_millis(20));
    let file = fs::File::options().append(true).open(source("extra.rs"))?;
    file.set_modified(SystemTime::now())?;
    let said = run()?.bad()?;
    assert!(said.contains("is older than its source") && said.contains("src/extra.rs"), "{said}");
    build()?;

    calc.edit("plugin/src/lib.rs", "mod extra;\n", "")?;
    calc.age("during")?;
    fs::remove_file(source("extra.rs"))?;
    let said = run()?.bad()?;
    assert!(said.contains("src/extra.rs, which is gone: run `cargo build --workspace`"), "{said}");
    build()?;

    // The directory of what never was there has changed since.
    fs::write(source("other.rs"), "")?;
    build()?;
    fs::remove_file(calc.root().join("plugin/build.rs"))?;
    build()?;
    Ok(())
}

#[test]
fn lists_without_the_workspaces_directory_are_understood() -> Result<()> {
    let calc = Calc::new("based")?;
    let target = fs::canonicalize(&calc.target)?;
    fs::create_dir(calc.root().join(".cargo"))?;
    let base = target.to_str().context("a text")?;
    fs::write(
        calc.root().join(".cargo/config.toml"),
        format!("[build]\ndep-info-basedir = {base:?}\n"),
    )?;
    calc.cargo("", &["build", "--workspace"])?.good()?;
    let list = fs::read_to_string(calc.target.join("debug/libworker_based.d"))?;
    assert!(list.starts_with("debug/libworker_based.so: "), "{list}");
    calc.cargo("", &["run", "-p", "based-host"])?.good()?;
    calc.age("based")?;
    calc.edit("plugin/src/lib.rs", "use std::cell::Cell;", "// Edited.\nuse std::cell::Cell;")?;
    let said = calc.cargo("", &["run", "-p", "based-host"])?.bad()?;
    assert!(said.contains("is older than its source"), "{said}");
    Ok(())
}

#[test]
fn a_host_that_cargo_builds_elsewhere_finds_the_plugin() -> Result<()> {
    let calc = Calc::new("apart")?;
    calc.edit(
        "host/src/main.rs",
        "fn main()",
        "#[test]\nfn sums() {\n    main().unwrap();\n}\n\nfn main()",
    )?;
    let elsewhere = calc.target.join("elsewhere");
    fs::create_dir(calc.root().join(".cargo"))?;
    fs::write(
        calc.root().join(".cargo/config.toml"),
        format!("[build]\nbuild-dir = {:?}\n", elsewhere.to_str().context("a text")?),
    )?;
    calc.cargo("", &["build", "--workspace"])?.good()?;
    assert!(Path::new(&elsewhere).join("debug/deps").is_dir(), "it builds there");
    calc.cargo("", &["test", "-p", "apart-host"])?.good()?;
    Ok(())
}
