//! `cargo xtask upgrade`: hosts of the previous protocol with this tree's service, and the reverse.

use std::collections::BTreeSet;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use fs_err as fs;

use crate::workspace::{BuildProfile, Workspace};
use crate::{shell, test};

/// The commit before the range of protocols: it speaks only 14, `OLDEST_PROTOCOL` of `urom-wire`. A
/// change that raises this protocol names the last commit without the newest one here.
const BEFORE: &str = "970ff542d51121e977c7cd268d3d29deb4ee8406";

/// The program that this tree's tests start as `uromd`.
const UROMD: &str = "UROM_TEST_UROMD";

const PACKAGE: &str = "urom-tests";

/// Runs the tests of `whole_path` that both trees have and that start `uromd`: the previous tree's
/// hosts and plugins with this tree's service, then this tree's with the previous service.
pub(crate) fn run(workspace: &Workspace) -> Result<()> {
    let mut git = git(workspace);
    if !shell::succeeds(git.args(["cat-file", "-e", &format!("{BEFORE}^{{commit}}")])) {
        let reason = format!("this tree has no history with commit {BEFORE}");
        ensure!(std::env::var_os("CI").is_none(), "{reason}: clone the whole repository");
        println!("left out: {reason}");
        return Ok(());
    }
    let old = Tree::before(workspace)?;
    let new = Tree { root: workspace.root.clone(), target: workspace.target_dir.clone() };
    // Builds the programs and plugins of the previous tree's tests.
    shell::run(old.cargo("xtask test -p urom-tests -- --list").stdout(std::io::stderr()))?;
    test::prepare(workspace, None, &[PACKAGE.to_owned()], false)?;
    shell::run(&mut new.cargo("build -p urom-tests --examples"))?;

    let shared: Vec<_> = old.tests()?.intersection(&new.tests()?).cloned().collect();
    ensure!(!shared.is_empty(), "the trees have no test in common");
    // The previous tree's tests start only the program of their own build directory.
    let previous = workspace.target_dir.join("upgrade/uromd");
    replace(&old.uromd(), &previous)?;
    replace(&new.uromd(), &old.uromd())?;
    let on = |tree: &Tree| {
        let mut tests = tree.cargo("test -p urom-tests --test whole_path -- --exact");
        test::set_environment(workspace, None, tests.args(&shared)).map(|()| tests)
    };
    let count = shared.len();
    eprintln!("{count} tests: hosts of {BEFORE}, the service of this tree");
    let forward = passes(&mut on(&old)?);
    let [started, ours, theirs] = [&old.uromd(), &new.uromd(), &previous].map(fs::read);
    let ours = ours?;
    ensure!(started? == ours && theirs? != ours, "cargo has replaced a service during the tests");
    eprintln!("{count} tests: hosts of this tree, the service of {BEFORE}");
    let back = passes(on(&new)?.env(UROMD, &previous));
    forward.context("the previous hosts, this service")?;
    back.context("these hosts, the previous service")?;
    println!("upgrade: {count} tests passed in both directions");
    Ok(())
}

/// Runs tests, without the echo of their names.
fn passes(tests: &mut Command) -> Result<()> {
    let status = tests.status()?;
    ensure!(status.success(), "the tests failed: {status}");
    Ok(())
}

struct Tree {
    root: PathBuf,
    target: PathBuf,
}

impl Tree {
    /// Unpacks the previous tree, which keeps its build and shares the unpacked UCX.
    fn before(workspace: &Workspace) -> Result<Tree> {
        let upgrade = workspace.target_dir.join("upgrade");
        let root = upgrade.join(BEFORE);
        if !root.is_dir() {
            let (archive, part) = (upgrade.join("source.tar"), upgrade.join("source"));
            fs::create_dir_all(&part)?;
            shell::run(git(workspace).args(["archive", BEFORE, "--output"]).arg(&archive))?;
            shell::run(Command::new("tar").arg("-xf").arg(&archive).arg("-C").arg(&part))?;
            fs::remove_file(archive)?;
            fs::rename(part, &root)?;
        }
        let target = root.join("target");
        fs::create_dir_all(&target)?;
        let ucx = workspace.target_dir.join("ucx");
        if ucx.is_dir() && target.join("ucx").symlink_metadata().is_err() {
            symlink(ucx, target.join("ucx"))?;
        }
        Ok(Tree { root, target })
    }

    fn cargo(&self, words: &str) -> Command {
        let mut cargo = shell::cargo();
        cargo.args(shell::words(words)).current_dir(&self.root);
        cargo.env("CARGO_TARGET_DIR", &self.target);
        cargo
    }

    fn uromd(&self) -> PathBuf {
        self.target.join(BuildProfile::Dev.directory()).join("uromd")
    }

    /// Names of the tests that start `uromd`.
    fn tests(&self) -> Result<BTreeSet<String>> {
        let list = "test -p urom-tests --test whole_path -- --list --format terse";
        Ok(starting_uromd(&shell::read(&mut self.cargo(list))?))
    }
}

fn starting_uromd(list: &str) -> BTreeSet<String> {
    let names = list.lines().filter_map(|line| line.strip_suffix(": test"));
    names.filter(|name| !name.contains("embedded")).map(str::to_owned).collect()
}

fn git(workspace: &Workspace) -> Command {
    let mut git = Command::new("git");
    git.arg("-C").arg(&workspace.root);
    git
}

/// Copies a program to a new file: cargo links its programs to other names.
fn replace(from: &Path, to: &Path) -> Result<()> {
    if to.exists() {
        fs::remove_file(to)?;
    }
    fs::copy(from, to)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_without_uromd_are_not_selected() {
        let list = "with_uromd::a: test\nembedded::a: test\nc_embedded::b: test\nb: benchmark\n\n";
        assert_eq!(starting_uromd(list), BTreeSet::from(["with_uromd::a".to_owned()]));
    }

    #[test]
    fn a_replaced_program_keeps_its_other_names() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let [one, linked, other] =
            ["one", "linked", "other"].map(|name| directory.path().join(name));
        fs::write(&one, "one").expect("a file");
        fs::hard_link(&one, &linked).expect("a link");
        fs::write(&other, "other").expect("a file");
        replace(&other, &linked).expect("both are there");
        let read = |file: &Path| fs::read_to_string(file).expect("a file");
        assert_eq!((read(&one), read(&linked)), ("one".to_owned(), "other".to_owned()));
    }
}
