//! UCX: the system's if new enough, else a pinned PyPI package, as in `ucx-probe`.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use fs_err as fs;

use crate::debian;
use crate::shell;
use crate::target::BuildTarget;

/// The version to unpack.
pub(crate) const VERSION: &str = ucx_probe::PINNED;

/// The oldest supported UCX on PyPI. Bindings from its headers work with all later versions.
pub(crate) const OLDEST: &str = "1.16.0.post2";

/// Disables UCX's hooks into the C library, which delay program starts by 0.4 s.
pub(crate) const HOOKS: (&str, &str) = ("UCX_MEM_EVENTS", "n");

/// Checks a release from the command line.
pub(crate) fn release(text: &str) -> std::result::Result<String, String> {
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    if text.split('.').count() == 3 && text.split('.').all(is_number) {
        return Ok(text.to_owned());
    }
    Err("expected three numbers, such as 1.16.0".to_owned())
}

/// Returns PyPI's version of a release.
pub(crate) fn package(version: &str) -> &str {
    if version == "1.16.0" { OLDEST } else { version }
}

/// Returns [`HOOKS`] for tests with an unpacked UCX of a release that does not crash with it.
pub(crate) fn short_starts(
    target_dir: &Path,
    target: BuildTarget,
) -> Option<(&'static str, &'static str)> {
    let found = ucx_probe::Search::new(target.triple()).target_directory(target_dir).find().ok()?;
    let safe = found.source == ucx_probe::Source::BuildTree && found.version >= (1, 22);
    (safe && std::env::var_os(HOOKS.0).is_none()).then_some(HOOKS)
}

pub(crate) fn system_is_new_enough() -> bool {
    let (major, minor) = ucx_probe::OLDEST;
    shell::succeeds(
        Command::new("pkg-config").args([&format!("--atleast-version={major}.{minor}"), "ucx"]),
    )
}

/// The directory of an unpacked package, with `libucx/include` and `libucx/lib`.
pub(crate) fn directory(target_dir: &Path, version: &str, target: BuildTarget) -> PathBuf {
    target_dir.join("ucx").join(format!("{version}-{}", target.arch()))
}

/// Unpacks `version` atomically unless it is there. Needs [`debian::PIP`].
pub(crate) fn unpack(target_dir: &Path, version: &str, target: BuildTarget) -> Result<PathBuf> {
    let directory = directory(target_dir, version, target);
    if directory.is_dir() {
        return Ok(directory);
    }
    let parent = target_dir.join("ucx");
    fs::create_dir_all(&parent)?;
    remove_abandoned(&parent)?;
    let partial = parent.join(format!("{PARTIAL}{}", std::process::id()));
    let python =
        debian::python_with_pip().context("pip is not usable: python3 -m pip --version fails")?;
    let label = format!("set-up: UCX {version} for {} (PyPI's libucx-cu12)", target.arch());
    if let Err(error) = shell::timed(&label, || fetch(python, version, target, &partial)) {
        let _ = fs::remove_dir_all(&partial);
        return Err(error);
    }
    if let Err(error) = fs::rename(&partial, &directory) {
        let _ = fs::remove_dir_all(&partial);
        // Another set-up may have finished first.
        if !directory.is_dir() {
            return Err(error).with_context(|| format!("could not create {}", directory.display()));
        }
    }
    Ok(directory)
}

fn fetch(python: &str, version: &str, target: BuildTarget, directory: &Path) -> Result<()> {
    fs::create_dir(directory)?;
    let mut pip = Command::new(python);
    pip.args(pip_arguments(version, target, directory)).envs(PIP_ENVIRONMENT);
    // On the same file system pip renames the unpacked files instead of copying them, which on a
    // full disk causes one error for each file.
    pip.env("TMPDIR", directory);
    shell::quietly(&mut pip).with_context(|| {
        let directory = directory.display();
        format!("pip could not install UCX into {directory} (PIP_INDEX_URL names its index)")
    })
}

/// Variables, because an old pip ignores unknown variables but refuses unknown options. Debian's
/// guard is disabled, because the packages go to a separate directory.
const PIP_ENVIRONMENT: [(&str, &str); 3] = [
    ("PIP_BREAK_SYSTEM_PACKAGES", "1"),
    ("PIP_ROOT_USER_ACTION", "ignore"),
    ("PIP_DISABLE_PIP_VERSION_CHECK", "1"),
];

fn pip_arguments(version: &str, target: BuildTarget, directory: &Path) -> Vec<OsString> {
    let words = format!(
        "-m pip install --quiet --no-deps --no-compile --only-binary=:all: \
         --platform manylinux_2_28_{} libucx-cu12=={version} --target",
        target.arch()
    );
    let words = shell::words(&words).map(OsString::from);
    words.chain([directory.as_os_str().to_owned()]).collect()
}

const PARTIAL: &str = "partial-";

/// Removes remains of interrupted set-ups. The name contains the process id.
fn remove_abandoned(parent: &Path) -> Result<()> {
    for entry in fs::read_dir(parent)? {
        let path = entry?.path();
        let owner = path.file_name().and_then(|name| name.to_str()?.strip_prefix(PARTIAL));
        if let Some(owner) = owner
            && !Path::new("/proc").join(owner).exists()
        {
            fs::remove_dir_all(&path)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_release_is_three_numbers() {
        assert_eq!(release("1.16.0"), Ok("1.16.0".to_owned()));
        for text in ["", "1.16", "1.16.0.post2", "1.16.x", "1..0", "../1.16.0"] {
            assert!(release(text).is_err_and(|error| error.contains("1.16.0")), "{text}");
        }
    }

    #[test]
    fn only_abandoned_remains_are_removed() {
        let parent = tempfile::tempdir().expect("a temporary directory");
        let own = format!("{PARTIAL}{}", std::process::id());
        // Beyond the kernel's limit of process ids, 2^22.
        let names = ["partial-4194305", own.as_str(), "1.22.0-x86_64"];
        for name in names {
            fs::create_dir_all(parent.path().join(name).join("libucx")).expect("a directory");
        }
        remove_abandoned(parent.path()).expect("readable");
        let left = names.map(|name| parent.path().join(name).exists());
        assert_eq!(left, [false, true, true]);
    }
}
