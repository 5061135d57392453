//! `--kit vendor`: copies the kit's crates to a nested workspace of the new workspace.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use cargo_metadata::{DependencyKind, MetadataCommand};
use fs_err as fs;

/// The crates of the template, and this tool, for CI machines.
const NEEDED: [&str; 6] = ["cargo-urom", "ucx", "ucx-probe", "urom-abi", "urom-host", "urom-pdk"];

/// Directories that builds of other crates do not need.
const LEFT_OUT: [&str; 4] = ["benches", "examples", "target", "tests"];

/// Copies crates of a clone and their dependencies there to the new directory `into`.
pub(super) fn copy(clone: &Path, into: &Path) -> Result<()> {
    let root = clone.join("Cargo.toml");
    let metadata = MetadataCommand::new().manifest_path(&root).no_deps().exec();
    let metadata = metadata.with_context(|| format!("cargo cannot read {}", root.display()))?;
    let by_name: BTreeMap<_, _> = metadata.packages.iter().map(|p| (p.name.as_str(), p)).collect();
    let mut needed = NEEDED.to_vec();
    let mut members = Vec::new();
    while let Some(name) = needed.pop() {
        let package =
            by_name.get(name).with_context(|| format!("{} lacks {name}", root.display()))?;
        let member = package.manifest_path.parent().and_then(|directory| {
            directory.strip_prefix(&metadata.workspace_root).ok().map(|member| member.as_str())
        });
        let member = member.with_context(|| format!("{name} is outside {}", clone.display()))?;
        if members.contains(&member) {
            continue;
        }
        members.push(member);
        copy_crate(&clone.join(member), &into.join(member))?;
        let used =
            package.dependencies.iter().filter(|used| used.kind != DependencyKind::Development);
        needed.extend(used.filter(|used| used.path.is_some()).map(|used| &*used.name));
    }
    members.sort_unstable();
    fs::write(into.join("Cargo.toml"), workspace(&fs::read_to_string(&root)?, &members))?;
    for file in ["Cargo.lock", "LICENSE"] {
        fs::copy(clone.join(file), into.join(file))?;
    }
    shorten_lock(into)
}

/// Removes unused packages from the copied `Cargo.lock`, for `cargo install --locked`. Versions do
/// not change. Uses the network only if the offline update fails.
fn shorten_lock(directory: &Path) -> Result<()> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let update = |options: &[&str]| {
        let mut command = Command::new(&cargo);
        command.args(["update", "--workspace", "--quiet"]).args(options).current_dir(directory);
        command.output().context("cannot run cargo")
    };
    let mut updated = update(&["--offline"])?;
    if !updated.status.success() {
        updated = update(&[])?;
    }
    ensure!(
        updated.status.success(),
        "`cargo update --workspace` failed in {}: {}",
        directory.display(),
        String::from_utf8_lossy(&updated.stderr).trim()
    );
    Ok(())
}

/// Copies a crate's directory without tests, and removes them from the manifest.
fn copy_crate(from: &Path, to: &Path) -> Result<()> {
    copy_directory(from, to, &LEFT_OUT)?;
    let text = fs::read_to_string(from.join("Cargo.toml"))?;
    let text = filtered(&text, |section, _| {
        !["[dev-dependencies]", "[[bench]]", "[[example]]", "[[test]]"].contains(&section)
    });
    Ok(fs::write(to.join("Cargo.toml"), text)?)
}

fn copy_directory(from: &Path, to: &Path, left_out: &[&str]) -> Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let (name, path) = entry.map(|entry| (entry.file_name(), entry.path()))?;
        if !path.is_dir() {
            fs::copy(&path, to.join(name))?;
        } else if !left_out.iter().any(|&other| name == other) && !path.join("Cargo.toml").exists()
        {
            copy_directory(&path, &to.join(name), &[])?;
        }
    }
    Ok(())
}

/// Returns the copy's manifest, with its members and only their entries.
fn workspace(text: &str, members: &[&str]) -> String {
    let rest = filtered(text, |section, line| {
        let path = line.split_once("path = \"").and_then(|(_, path)| path.split_once('"'));
        // A profile of a plugin that is not copied would be a warning.
        !["", "[workspace]"].contains(&section)
            && !section.starts_with("[profile.release.package.")
            && path.is_none_or(|(path, _)| members.contains(&path))
    });
    let members: String = members.iter().map(|member| format!("    {member:?},\n")).collect();
    format!(
        "# The kit's crates without their tests, as `cargo urom new --kit vendor` copied them.
# To renew them, put the directory `kit` of a newer workspace here.
[workspace]
resolver = \"3\"
members = [
{members}]

{rest}"
    )
}

/// Keeps the lines that `keeps` accepts. It receives the section's heading and the line.
fn filtered(text: &str, mut keeps: impl FnMut(&str, &str) -> bool) -> String {
    let mut section = "";
    let kept = text.lines().filter(|line| {
        if line.starts_with('[') {
            section = line;
        }
        keeps(section, line)
    });
    kept.map(|line| format!("{line}\n")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_copy_has_every_crate_that_it_names_and_no_tests() {
        let clone = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the clone");
        let scratch = tempfile::tempdir().expect("a temporary directory");
        let kit = scratch.path().join("kit");
        copy(clone, &kit).expect("the clone is whole");
        for member in NEEDED.into_iter().chain(["libdoca/host", "urom-pdk-derive"]) {
            assert!(kit.join(member).join("src").is_dir(), "{member}");
            assert!(!kit.join(member).join("tests").exists(), "{member}");
        }
        assert!(!kit.join("xtask").exists());
        // cargo reads every manifest without a change of the lock file.
        let metadata = MetadataCommand::new()
            .manifest_path(kit.join("Cargo.toml"))
            .other_options(["--locked", "--offline"].map(str::to_owned))
            .exec()
            .expect("a whole workspace");
        let paths = metadata.packages.iter().filter(|package| package.source.is_none());
        assert!(paths.clone().all(|p| p.manifest_path.starts_with(&kit)), "{:?}", kit.display());
        copy(&kit, &scratch.path().join("second")).expect("the copy is whole");
    }

    #[test]
    fn a_directory_without_the_crates_is_refused() {
        let scratch = tempfile::tempdir().expect("a temporary directory");
        let (clone, kit) = (scratch.path().join("clone"), scratch.path().join("kit"));
        copy(&clone, &kit).expect_err("the clone is missing");
        fs::create_dir(&clone).expect("a directory");
        fs::write(clone.join("Cargo.toml"), "[workspace]\n").expect("a file");
        let error = copy(&clone, &kit).expect_err("its crates are missing").to_string();
        assert!(error.contains("lacks urom-pdk"), "{error}");
    }

    #[test]
    fn sections_and_entries_of_what_is_not_copied_are_left_out() {
        let text = "# a\n[workspace]\nmembers = [\n    \"a\",\n    \"b\",\n]\n\n[workspace.dependencies]\n\
            a = { path = \"a\", version = \"1\" }\nb = { path = \"b\" }\nc = \"1\"\n";
        let made = workspace(text, &["b"]);
        let expected = "members = [\n    \"b\",\n]\n\n[workspace.dependencies]\nb = { path = \"b\" }\nc = \"1\"\n";
        assert!(made.ends_with(expected), "{made}");
    }
}
