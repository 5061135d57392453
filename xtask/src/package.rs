//! `cargo xtask package`: packages the published crates.
//!
//! Cargo packages them together, and builds each from its package with the other packages. Warnings
//! are errors, because a published package cannot be changed.

use std::process::{Command, Stdio};
use std::time::UNIX_EPOCH;

use anyhow::{Context, Result, ensure};
use fs_err as fs;

use crate::directory::remove_directory;
use crate::shell;
use crate::workspace::{Package, Workspace};

/// Limits of the public registry, from cargo's manifest reference.
const MOST_KEYWORDS: usize = 5;
const LONGEST_KEYWORD: usize = 20;

/// The categories in use. Each is in the registry's list: the registry silently drops others.
const CATEGORIES: &[&str] = &[
    "api-bindings",
    "asynchronous",
    "command-line-utilities",
    "development-tools::build-utils",
    "development-tools::cargo-plugins",
    "development-tools::debugging",
    "development-tools::procedural-macro-helpers",
    "encoding",
    "external-ffi-bindings",
    "hardware-support",
    "network-programming",
];

const FILES: [&str; 4] = ["Cargo.toml", "README.md", "CHANGELOG.md", "LICENSE"];

pub(crate) fn run(workspace: &Workspace, allow_dirty: bool) -> Result<()> {
    let packages: Vec<_> = workspace.published().collect();
    let licence = fs::read_to_string(workspace.root.join("LICENSE"))?;
    let mut faults = Vec::new();
    for package in &packages {
        faults.extend(faults_of(package, &licence));
        let listed = shell::read(cargo_package(allow_dirty).args(["--list", "-p", &package.name]))?;
        let missing = FILES.iter().filter(|file| !listed.lines().any(|line| line == **file));
        faults.extend(missing.map(|file| format!("{}: its package lacks {file}", package.name)));
    }
    ensure!(faults.is_empty(), "not fit to be published:\n  {}", faults.join("\n  "));

    let packaging = workspace.target_dir.join("packaging");
    remove_directory(&packaging)?;
    // A new path for each run: cargo caches unpacked packages in its home by this path, and assumes
    // that a package of the same version does not change.
    let fresh = packaging.join(UNIX_EPOCH.elapsed()?.as_nanos().to_string());
    let mut command = cargo_package(allow_dirty);
    command.arg("--target-dir").arg(&fresh);
    command.args(packages.iter().flat_map(|package| ["-p", &package.name]));
    build(&mut command)?;
    // Cargo's usual directory for packages.
    let kept = workspace.target_dir.join("package");
    fs::create_dir_all(&kept)?;
    for Package { name, version, .. } in &packages {
        let file = format!("{name}-{version}.crate");
        fs::rename(fresh.join("package").join(&file), kept.join(&file))?;
    }
    remove_directory(&packaging)?;
    println!("{} packages are fit to be published, in {}", packages.len(), kept.display());
    Ok(())
}

fn cargo_package(allow_dirty: bool) -> Command {
    let mut command = shell::cargo();
    command.arg("package").args(allow_dirty.then_some("--allow-dirty"));
    command
}

/// A warning is an error.
fn build(command: &mut Command) -> Result<()> {
    // These builds are not run.
    command.env("CARGO_PROFILE_DEV_DEBUG", "0");
    eprintln!("$ {}", shell::display(command));
    let output = command.stdout(Stdio::null()).output().context("could not start cargo")?;
    let said = String::from_utf8_lossy(&output.stderr);
    eprint!("{said}");
    shell::good(command, output.status)?;
    let warnings = warnings(&said);
    ensure!(warnings.is_empty(), "cargo packages them, but warns:\n  {}", warnings.join("\n  "));
    Ok(())
}

fn faults_of(package: &Package, licence: &str) -> Vec<String> {
    let Package { name, version, keywords, categories, .. } = package;
    let mut faults = Vec::new();
    let mut demand = |is_met: bool, fault: String| {
        faults.extend((!is_met).then(|| format!("{name}: {fault}")));
    };
    let has = |value: &Option<String>| value.as_ref().is_some_and(|value| !value.is_empty());
    demand(has(&package.description), "its manifest lacks a description".into());
    demand(has(&package.license), "its manifest lacks a license".into());
    let documentation = format!("https://docs.rs/{name}");
    for (key, value, want) in [
        ("documentation", &package.documentation, &*documentation),
        ("readme", &package.readme, "README.md"),
    ] {
        let fault = format!("its manifest does not say {key} = {want:?}");
        demand(value.as_deref() == Some(want), fault);
    }
    let count = keywords.len();
    demand(
        (1..=MOST_KEYWORDS).contains(&count),
        format!("{count} keywords, not 1 to {MOST_KEYWORDS}"),
    );
    for word in keywords {
        let fault = format!("{word:?} is not a keyword of at most {LONGEST_KEYWORD} bytes");
        demand(is_keyword(word), fault);
    }
    demand(!categories.is_empty(), "its manifest lacks categories".into());
    for category in categories {
        let fault = format!("{category:?} is not among the categories of xtask/src/package.rs");
        demand(CATEGORIES.contains(&&**category), fault);
    }
    let mut file =
        |name: &str, fault: &str, is_right: &dyn Fn(&str) -> bool| match fs::read_to_string(
            package.manifest_path.with_file_name(name),
        ) {
            Ok(text) => demand(is_right(&text), format!("its {name} {fault}")),
            Err(error) => demand(false, error.to_string()),
        };
    file("LICENSE", "is not the workspace's", &|text| text == licence);
    file("README.md", "lacks a title", &|text| text.lines().any(|line| line.starts_with("# ")));
    let heading = format!("## {version}");
    let fault = format!("lacks a heading `{heading}`");
    file("CHANGELOG.md", &fault, &|text| text.lines().any(|line| line == heading));
    faults
}

fn is_keyword(word: &str) -> bool {
    word.len() <= LONGEST_KEYWORD
        && word.starts_with(|c: char| c.is_ascii_alphabetic())
        && word.chars().all(|c| c.is_ascii_alphanumeric() || "-_+".contains(c))
}

fn warnings(said: &str) -> Vec<&str> {
    said.lines().filter(|line| line.starts_with("warning")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const LICENCE: &str = "BSD 3-Clause License\n";

    fn folder() -> tempfile::TempDir {
        let folder = tempfile::tempdir().expect("a temporary directory");
        for (file, text) in
            [("LICENSE", LICENCE), ("README.md", "# p\n"), ("CHANGELOG.md", "# C\n\n## 0.1.0\n")]
        {
            fs::write(folder.path().join(file), text).expect("it can be written");
        }
        folder
    }

    fn package(folder: &tempfile::TempDir) -> Package {
        let manifest_path = folder.path().join("Cargo.toml");
        let some = |text: &str| Some(text.to_owned());
        let mut package = Package::named("p");
        package.manifest_path = manifest_path;
        package.description = some("a package");
        package.license = some("BSD-3-Clause");
        package.documentation = some("https://docs.rs/p");
        package.readme = some("README.md");
        package.keywords.extend(some("encoding"));
        package.categories.extend(some("encoding"));
        package
    }

    #[test]
    fn a_package_with_everything_has_no_faults() {
        assert_eq!(faults_of(&package(&folder()), LICENCE), Vec::<String>::new());
    }

    #[test]
    fn every_missing_file_is_named() {
        for file in &FILES[1..] {
            let folder = folder();
            fs::remove_file(folder.path().join(file)).expect("it is there");
            let faults = faults_of(&package(&folder), LICENCE);
            assert!(faults.len() == 1 && faults[0].contains(file), "{faults:?}");
        }
    }

    #[test]
    fn every_other_fault_is_named() {
        let folder = folder();
        let mut package = package(&folder);
        let finds = |package: &Package, licence: &str, parts: &[&str]| {
            let faults = faults_of(package, licence);
            assert_eq!(faults.len(), parts.len(), "{faults:?}");
            assert!(
                faults.iter().zip(parts).all(|(fault, part)| fault.contains(part)),
                "{faults:?}"
            );
        };
        package.version = "0.2.0".to_owned();
        finds(&package, "another text", &["LICENSE", "## 0.2.0"]);
        package.version = "0.1.0".to_owned();
        (package.documentation, package.readme) = (None, Some("other.md".to_owned()));
        (package.keywords, package.categories) = (Vec::new(), Vec::new());
        let parts = ["documentation", "readme", "0 keywords", "lacks categories"];
        finds(&package, LICENCE, &parts);
        let words = ["two words".to_owned(), "a-keyword-of-21-bytes".to_owned()];
        (package.keywords, package.categories) = (words.to_vec(), words.to_vec());
        assert_eq!(faults_of(&package, LICENCE).len(), 6);
    }

    #[test]
    fn only_lines_that_warn_are_warnings() {
        let said = "   Packaging p\nwarning: ignoring test\n   Compiling warning v1.0.0\n";
        assert_eq!(warnings(said), ["warning: ignoring test"]);
    }
}
