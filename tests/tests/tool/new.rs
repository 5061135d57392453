//! `cargo urom new`. What it makes is built and run by `cargo xtask template`.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::common::{Said, run, tool};

const CLONE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");

struct Place(tempfile::TempDir);

impl Place {
    fn new() -> Result<Place> {
        Ok(Place(tempfile::tempdir()?))
    }

    fn new_in(&self, arguments: &[&str]) -> Result<Said> {
        run(self.command(arguments)?.env_remove("CARGO_TARGET_DIR"))
    }

    fn command(&self, arguments: &[&str]) -> Result<Command> {
        let mut command = tool()?;
        command.arg("new").args(arguments).current_dir(self.0.path());
        Ok(command)
    }

    fn make(&self, arguments: &[&str]) -> Result<Files> {
        let output = self.new_in(arguments)?;
        ensure!(output.code == Some(0), "{output:?}");
        files(&self.0.path().join(arguments[0]))
    }

    /// Makes none, and ends with this code, for a reason that has these words.
    fn refuse(&self, code: i32, arguments: &[&str], words: &[&str]) -> Result<()> {
        self.new_in(arguments)?.refused(code, words).with_context(|| format!("{arguments:?}"))
    }

    fn is_empty(&self) -> Result<bool> {
        Ok(fs::read_dir(self.0.path())?.next().is_none())
    }
}

type Files = BTreeMap<PathBuf, String>;

fn files(root: &Path) -> Result<Files> {
    let (mut files, mut directories) = (Files::new(), vec![root.to_owned()]);
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(&directory)? {
            let path = entry?.path();
            if path.is_dir() {
                directories.push(path);
            } else {
                files.insert(path.strip_prefix(root)?.to_owned(), fs::read_to_string(&path)?);
            }
        }
    }
    Ok(files)
}

fn text<'a>(files: &'a Files, path: &str) -> Result<&'a str> {
    files.get(Path::new(path)).map(String::as_str).with_context(|| format!("there is no {path}"))
}

#[test]
fn the_templates_answers_give_the_workspace_that_lies_in_the_template() -> Result<()> {
    // As seen from templates/plugin, the clone is two directories above.
    let place = Place::new()?;
    for part in ["urom-abi", "urom-pdk", "urom-host"] {
        symlink(fs::canonicalize(CLONE)?.join(part), place.0.path().join(part))?;
    }
    fs::create_dir(place.0.path().join("templates"))?;
    let output = place.new_in(&[
        "templates/example",
        "--plugin",
        "worker_example",
        "--kit",
        "path=../..",
    ])?;
    assert_eq!(output.code, Some(0), "{output:?}");
    let made = files(&place.0.path().join("templates/example"))?;
    let mut template = files(&Path::new(CLONE).join("templates/plugin"))?;
    template.retain(|path, _| {
        let is_source = !["target", "Cargo.lock", "cargo-generate.toml"]
            .iter()
            .any(|other| path.starts_with(other));
        is_source && path.extension().is_none_or(|extension| extension != "liquid")
    });
    assert_eq!(made.keys().collect::<Vec<_>>(), template.keys().collect::<Vec<_>>());
    for (path, text) in &made {
        assert_eq!(text, &template[path], "{}", path.display());
    }
    Ok(())
}

#[test]
fn a_name_is_enough() -> Result<()> {
    let place = Place::new()?;
    let output = place.new_in(&["my-calc"])?;
    assert_eq!(output.code, Some(0), "{output:?}");
    assert!(output.err.contains("Created worker_my_calc in my-calc"), "{output:?}");
    for step in ["cd my-calc", "cargo run", "cargo test", "cargo urom build"] {
        assert!(output.out.contains(step), "{output:?}");
    }
    let made = files(&place.0.path().join("my-calc"))?;
    assert!(text(&made, "plugin/Cargo.toml")?.contains("name = \"worker_my_calc\""));
    assert!(text(&made, "protocol/src/lib.rs")?.contains("plugin = \"worker_my_calc\""));
    for part in ["protocol", "plugin", "host"] {
        let name = format!("name = \"my-calc-{part}\"");
        assert!(text(&made, &format!("{part}/Cargo.toml"))?.contains(&name), "{part}");
    }
    // The tool was built from a clone that exists.
    let clone = format!("{}\"", fs::canonicalize(CLONE)?.join("urom-pdk").display());
    assert!(text(&made, "Cargo.toml")?.contains(&clone), "{made:?}");
    Ok(())
}

#[test]
fn options_add_what_they_are_named_after() -> Result<()> {
    let place = Place::new()?;
    let plain = place.make(&["plain"])?;
    let ucx = place.make(&["ucx", "--ucx"])?;
    let c = place.make(&["c", "--c-header", "--plugin", "other"])?;
    assert!(
        !plain.contains_key(Path::new("plugin/build.rs"))
            && !plain.contains_key(Path::new("protocol/tests/c_header.rs"))
    );
    assert!(text(&ucx, "plugin/build.rs")?.contains("emit_rpath"));
    assert!(text(&ucx, "plugin/src/lib.rs")?.contains("self.worker.progress()"));
    assert!(!text(&plain, "plugin/src/lib.rs")?.contains("ucx"));
    assert!(text(&c, "include/other.h")?.contains("#define OTHER_PLUGIN_NAME \"other\""));
    assert!(text(&c, "protocol/tests/c_header.rs")?.contains("use c_protocol::Protocol;"));
    assert!(text(&c, "README.md")?.contains("`other.h`"));
    Ok(())
}

#[test]
fn the_kit_comes_from_where_it_is_told_to() -> Result<()> {
    let place = Place::new()?;
    let git = place.make(&["git", "--kit", "git=file:///somewhere/kit"])?;
    let registry = place.make(&["registry", "--kit", "registry"])?;
    let path = place.make(&["path", "--kit", &format!("path={CLONE}")])?;
    assert!(text(&git, "Cargo.toml")?.contains("urom-pdk = { git = \"file:///somewhere/kit\" }"));
    assert!(
        text(&path, "Cargo.toml")?
            .contains(&format!("urom-pdk = {{ path = \"{CLONE}/urom-pdk\" }}"))
    );
    // This release, and what a registry has for it.
    let version = format!("urom-pdk = \"{}\"", env!("CARGO_PKG_VERSION"));
    assert!(text(&registry, "Cargo.toml")?.contains(&version), "{version}");
    Ok(())
}

#[test]
fn a_kit_that_is_not_there_is_told_before_anything_is_made() -> Result<()> {
    let place = Place::new()?;
    place.refuse(1, &["calc", "--kit", "path=../nowhere"], &["../nowhere", "as seen from calc"])?;
    place.refuse(2, &["calc", "--kit", "path=a\"b"], &["quotes"])?;
    assert!(place.is_empty()?);
    Ok(())
}

#[test]
fn names_that_cargo_or_a_service_would_not_take_are_refused() -> Result<()> {
    let place = Place::new()?;
    place.refuse(2, &["2calc"], &["2calc", "is no name for a project"])?;
    place.refuse(2, &["calc", "--plugin", "std"], &["is no name for a plugin"])?;
    let long = "a".repeat(48);
    place.refuse(2, &["calc", "--plugin", &long], &["48 bytes"])?;
    // With worker_ in front it is too long for the plugin, and good for all else.
    place.refuse(2, &[&long], &["say --plugin NAME"])?;
    place.refuse(2, &[".."], &["has no name"])?;
    place.refuse(2, &[], &["<PATH>"])?;
    assert!(place.is_empty()?);
    let made = place.make(&[&long, "--plugin", "short"])?;
    assert!(text(&made, "plugin/Cargo.toml")?.contains("name = \"short\""));
    Ok(())
}

#[test]
fn what_exists_is_left_alone() -> Result<()> {
    let place = Place::new()?;
    let (file, directory) = (place.0.path().join("file"), place.0.path().join("directory"));
    fs::write(&file, "precious")?;
    fs::create_dir(&directory)?;
    for name in ["file", "directory"] {
        place.refuse(1, &[name], &["choose another name"])?;
    }
    assert_eq!(fs::read_to_string(file)?, "precious");
    assert!(fs::read_dir(directory)?.next().is_none());
    place.refuse(1, &["no/such/parent/calc"], &["no/such/parent/calc: make no/such/parent first"])
}

#[test]
fn a_missing_ucx_is_told_with_what_brings_it() -> Result<()> {
    let place = Place::new()?;
    let output = run(place.command(&["calc"])?.env("UROM_UCX_DIR", "/nowhere"))?;
    // The workspace is there all the same: UCX can come later.
    assert_eq!(output.code, Some(0), "{output:?}");
    for words in ["missing on this machine: no UCX", "/nowhere", "libucx-cu12"] {
        assert!(output.err.contains(words), "{output:?}");
    }
    Ok(())
}

#[test]
fn the_help_shows_an_example() -> Result<()> {
    let output = run(tool()?.args(["new", "--help"]))?;
    assert_eq!(output.code, Some(0));
    assert!(output.out.contains("cargo urom new calc --ucx --c-header"), "{output:?}");
    Ok(())
}
