//! `cargo xtask package`: the crates that are there to be published, as they would be uploaded.
//!
//! Cargo packages them together and builds each from its package, with the others taken from
//! theirs. What it says about it beyond that is a fault here: a package goes out once and for all.

use std::path::Path;
use std::process::Stdio;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, bail};
use fs_err as fs;

use crate::place::remove_directory;
use crate::shell;
use crate::workspace::{Published, Workspace};

/// What the public registry takes, as cargo's reference of the manifest says.
const MOST_KEYWORDS: usize = 5;
const LONGEST_KEYWORD: usize = 20;

/// The categories in use, each looked up in the registry's list: it drops those it does not know
/// without an error.
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

/// Files that every package has.
const FILES: [&str; 4] = ["Cargo.toml", "README.md", "CHANGELOG.md", "LICENSE"];

/// Packages all of them; with `allow_dirty`, with changes that are not committed.
pub(crate) fn run(workspace: &Workspace, allow_dirty: bool) -> Result<()> {
    let packages = workspace.published();
    let licence = fs::read_to_string(workspace.root.join("LICENSE")).context("reading LICENSE")?;
    let mut faults =
        packages.iter().flat_map(|package| faults(package, &licence)).collect::<Vec<_>>();
    for package in &packages {
        let listed = files(package.name, allow_dirty)?;
        let missing = FILES.iter().filter(|file| !listed.lines().any(|line| line == **file));
        faults.extend(missing.map(|file| format!("{}: its package has no {file}", package.name)));
    }
    if !faults.is_empty() {
        bail!("not fit to be published:\n  {}", faults.join("\n  "));
    }

    let place = workspace.target_dir.join("packaging");
    remove_directory(&place)?;
    let fresh = place.join(unique()?);
    build(&packages, &fresh, allow_dirty)?;
    let kept = workspace.target_dir.join("package");
    keep(&packages, &fresh.join("package"), &kept)?;
    remove_directory(&place)?;
    println!("{} packages are fit to be published, in {}", packages.len(), kept.display());
    Ok(())
}

/// Packages them in a build tree of its own, and builds each.
///
/// The path of the tree must be new. Cargo unpacks the stand-in for the registry into its home by
/// that path, and takes what is there for unchanged, because a registry never has two packages of
/// one version.
fn build(packages: &[Published], tree: &Path, allow_dirty: bool) -> Result<()> {
    let mut command = shell::cargo();
    command
        .arg("package")
        .args(allow_dirty.then_some("--allow-dirty"))
        .arg("--target-dir")
        .arg(tree);
    for package in packages {
        command.args(["-p", package.name]);
    }
    // Nothing of this is run.
    command.env("CARGO_PROFILE_DEV_DEBUG", "0");
    eprintln!("$ {}", shell::display(&command));
    let output = command.stdout(Stdio::null()).output().context("could not start cargo")?;
    let said = String::from_utf8_lossy(&output.stderr);
    eprint!("{said}");
    if !output.status.success() {
        bail!("`{}` failed: {}", shell::display(&command), output.status);
    }
    let warnings = warnings(&said);
    if !warnings.is_empty() {
        bail!("cargo packages them, but warns:\n  {}", warnings.join("\n  "));
    }
    Ok(())
}

/// A name that no run before had.
fn unique() -> Result<String> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).context("the clock is before 1970")?;
    Ok(now.as_nanos().to_string())
}

/// Moves the packages to where cargo puts them as a rule.
fn keep(packages: &[Published], from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to)?;
    for package in packages {
        let file = format!("{}-{}.crate", package.name, package.version);
        let (from, to) = (from.join(&file), to.join(&file));
        fs::rename(&from, &to)?;
    }
    Ok(())
}

/// What goes into a package, a path a line.
fn files(package: &str, allow_dirty: bool) -> Result<String> {
    let mut command = shell::cargo();
    command.args(["package", "--list", "-p", package]).args(allow_dirty.then_some("--allow-dirty"));
    let output = command.output().context("could not start cargo")?;
    if !output.status.success() {
        bail!(
            "`{}` failed:\n{}",
            shell::display(&command),
            String::from_utf8_lossy(&output.stderr)
        );
    }
    String::from_utf8(output.stdout)
        .context("cargo package --list printed a name that is not UTF-8")
}

/// What is missing or wrong in the manifest and beside it.
fn faults(package: &Published, licence: &str) -> Vec<String> {
    let mut faults = Vec::new();
    let mut fault = |text: String| faults.push(format!("{}: {text}", package.name));
    for (key, value) in [("description", package.description), ("license", package.license)] {
        if value.is_none_or(str::is_empty) {
            fault(format!("its manifest has no {key}"));
        }
    }
    let documentation = format!("https://docs.rs/{}", package.name);
    if package.documentation != Some(&documentation) {
        fault(format!("its manifest does not say documentation = {documentation:?}"));
    }
    if package.readme != Some("README.md") {
        fault("its manifest does not say readme = \"README.md\"".into());
    }
    if package.keywords.is_empty() || package.keywords.len() > MOST_KEYWORDS {
        fault(format!("{} keywords, not 1 to {MOST_KEYWORDS}", package.keywords.len()));
    }
    for keyword in package.keywords.iter().filter(|keyword| !is_keyword(keyword)) {
        fault(format!("{keyword:?} is no keyword of at most {LONGEST_KEYWORD} bytes"));
    }
    if package.categories.is_empty() {
        fault("its manifest has no categories".into());
    }
    for category in
        package.categories.iter().filter(|category| !CATEGORIES.contains(&category.as_str()))
    {
        fault(format!("{category:?} is not among the categories of xtask/src/package.rs"));
    }
    let mut contains =
        |file: &str, right: &dyn Fn(&str) -> bool, what: &str| match read(package.folder, file) {
            Ok(text) if right(&text) => {}
            Ok(_) => fault(format!("its {file} {what}")),
            Err(error) => fault(format!("{error:#}")),
        };
    let version = format!("## {}", package.version);
    contains("LICENSE", &|text| text == licence, "is not the workspace's");
    contains("README.md", &|text| text.lines().any(|line| line.starts_with("# ")), "has no title");
    contains(
        "CHANGELOG.md",
        &|text| text.lines().any(|line| line == version),
        &format!("has no heading `{version}`"),
    );
    faults
}

fn read(folder: &Path, file: &str) -> Result<String> {
    Ok(fs::read_to_string(folder.join(file))?)
}

fn is_keyword(word: &str) -> bool {
    word.len() <= LONGEST_KEYWORD
        && word.starts_with(|c: char| c.is_ascii_alphabetic())
        && word.chars().all(|c| c.is_ascii_alphanumeric() || "-_+".contains(c))
}

/// The lines in which cargo or the compiler warns.
fn warnings(said: &str) -> Vec<&str> {
    said.lines().filter(|line| line.starts_with("warning")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const LICENCE: &str = "BSD 3-Clause License\n";

    /// A folder with what every package has.
    fn folder() -> tempfile::TempDir {
        let folder = tempfile::tempdir().expect("a temporary directory");
        for (file, text) in
            [("LICENSE", LICENCE), ("README.md", "# p\n"), ("CHANGELOG.md", "# C\n\n## 0.1.0\n")]
        {
            fs::write(folder.path().join(file), text).expect("it can be written");
        }
        folder
    }

    fn package<'a>(folder: &'a Path, words: &'a [String]) -> Published<'a> {
        Published {
            name: "p",
            version: "0.1.0",
            folder,
            description: Some("a package"),
            license: Some("BSD-3-Clause"),
            documentation: Some("https://docs.rs/p"),
            readme: Some("README.md"),
            keywords: words,
            categories: words,
        }
    }

    #[test]
    fn a_package_with_everything_has_no_faults() {
        let (folder, words) = (folder(), ["encoding".to_owned()]);
        assert_eq!(faults(&package(folder.path(), &words), LICENCE), Vec::<String>::new());
    }

    #[test]
    fn every_missing_file_is_named() {
        let words = ["encoding".to_owned()];
        for file in &FILES[1..] {
            let folder = folder();
            fs::remove_file(folder.path().join(file)).expect("it is there");
            let faults = faults(&package(folder.path(), &words), LICENCE);
            assert!(faults.len() == 1 && faults[0].contains(file), "{faults:?}");
        }
    }

    #[test]
    fn another_licence_and_a_changelog_of_another_version_are_faults() {
        let (folder, words) = (folder(), ["encoding".to_owned()]);
        let mut package = package(folder.path(), &words);
        package.version = "0.2.0";
        let faults = faults(&package, "another text");
        assert!(faults.len() == 2, "{faults:?}");
        assert!(faults[0].contains("LICENSE") && faults[1].contains("## 0.2.0"), "{faults:?}");
    }

    #[test]
    fn what_the_registry_would_refuse_or_drop_is_a_fault() {
        let (folder, none) = (folder(), Vec::new());
        let mut package = package(folder.path(), &none);
        (package.documentation, package.readme) = (None, Some("other.md"));
        let found = faults(&package, LICENCE).join("\n");
        for part in ["documentation", "readme", "0 keywords", "no categories"] {
            assert!(found.contains(part), "{part}: {found}");
        }
        let words = ["two words".to_owned(), "a-keyword-of-21-bytes".to_owned()];
        (package.keywords, package.categories) = (&words, &words);
        assert_eq!(faults(&package, LICENCE).len(), 6, "{found}");
    }

    #[test]
    fn only_lines_that_warn_are_warnings() {
        let said = "   Packaging p\nwarning: ignoring test\n   Compiling warning v1.0.0\n";
        assert_eq!(warnings(said), ["warning: ignoring test"]);
    }
}
