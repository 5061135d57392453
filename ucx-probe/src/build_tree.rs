//! Finds the packages of `cargo xtask setup`, in the build tree or in the clone of the kit.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::found::{Found, Source};
use crate::unpacked::{UnfitUcx, look_into};

/// Returns the newest fit for `arch` beside or above `path`, or in the kit's `target` directory.
pub(crate) fn search(path: Option<&Path>, kit: &Path, arch: &str) -> Result<Found, UnfitUcx> {
    let directories = path.map(beside_and_above).into_iter().flatten();
    let directories = directories.chain([kit.join("target/ucx")]);
    let mut packages: Vec<_> =
        directories.flat_map(|directory| packages(&directory, arch)).collect();
    packages.sort();
    packages.dedup();
    let mut reasons = Vec::new();
    for (_, root) in packages.iter().rev() {
        match look_into(Source::BuildTree, root, arch) {
            Ok(found) => return Ok(found),
            Err(unfit) => reasons.push(unfit.reason),
        }
    }
    if reasons.is_empty() {
        let beside = path.map(|path| format!("beside or above {}, nor ", path.display()));
        let (beside, kit) = (beside.unwrap_or_default(), kit.join("target"));
        reasons.push(format!("no ucx/<version>-{arch}/libucx {beside}in {}", kit.display()));
    }
    Err(reasons.join("; ").into())
}

/// Lists packages with names such as `1.22.0-x86_64`, and their versions.
fn packages(directory: &Path, arch: &str) -> Vec<(Vec<u32>, PathBuf)> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let package = |entry: fs::DirEntry| {
        let name = entry.file_name();
        let version = name.to_str()?.strip_suffix(arch)?.strip_suffix('-')?;
        let version: Result<Vec<u32>, _> = version.split('.').map(str::parse).collect();
        Some((version.ok()?, entry.path().join("libucx")))
    };
    entries.filter_map(package).collect()
}

/// Returns the `ucx` directories of a build, without shared directories such as `/tmp`.
fn beside_and_above(path: &Path) -> Vec<PathBuf> {
    let shared = |directory: &Path| {
        fs::metadata(directory)
            .is_ok_and(|metadata| metadata.permissions().mode() & 0o1002 == 0o1002)
    };
    path.ancestors()
        .filter(|directory| !shared(directory))
        .map(|directory| directory.join("ucx"))
        .collect()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::test_trees::Sample;

    fn newest(sample: &Sample, arch: &str) -> Result<Found, String> {
        search(Some(&sample.path("")), &sample.path("kit"), arch).map_err(|unfit| unfit.reason)
    }

    #[test]
    fn the_newest_one_that_fits_is_taken_by_number() {
        let sample = Sample::new();
        for (name, version, arch) in [
            ("1.9.0-aarch64", (1, 9), "aarch64"),
            ("1.16.0-aarch64", (1, 16), "aarch64"),
            ("1.100.0-aarch64", (1, 100), "aarch64"),
            ("1.22.0-aarch64", (1, 22), "aarch64"),
            ("2.0.0-x86_64", (2, 0), "x86_64"),
            ("1.101.0-aarch64", (1, 101), "x86_64"),
            ("1.102.0-aarch64", (1, 15), "aarch64"),
        ] {
            sample.ucx(&format!("ucx/{name}/libucx"), version, arch);
        }
        fs::create_dir_all(sample.path("ucx/1.103.0-aarch64")).expect("a directory");
        let found = newest(&sample, "aarch64").expect("some fit");
        assert_eq!(found.version, (1, 100));
        assert_eq!(found.rpath(), Some(&*sample.path("ucx/1.100.0-aarch64/libucx/lib")));
    }

    #[test]
    fn each_one_that_does_not_fit_is_named_when_none_does() {
        let sample = Sample::new();
        sample.ucx("target/ucx/1.22.0-x86_64/libucx", (1, 22), "aarch64");
        sample.ucx("target/ucx/1.9.0-x86_64/libucx", (1, 9), "x86_64");
        let reason = search(None, &sample.path(""), "x86_64").expect_err("none fits").reason;
        assert!(
            reason.contains("is not for x86_64") && reason.contains("is of UCX 1.9"),
            "{reason}"
        );
    }

    #[test]
    fn other_names_are_not_looked_into() {
        let sample = Sample::new();
        for name in [
            "partial-17",
            "x86_64",
            "-x86_64",
            "1.22.0",
            "1.22.0-rc1-x86_64",
            "..-x86_64",
            "1.22.0-x86_64-old",
        ] {
            sample.ucx(&format!("ucx/{name}/libucx"), (1, 22), "x86_64");
        }
        let reason = newest(&sample, "x86_64").expect_err("none has the name");
        assert!(reason.starts_with("no ucx/<version>-x86_64/libucx beside or above "), "{reason}");
        let path = Path::new("/nowhere/target");
        for (path, beside) in
            [(Some(path), "beside or above /nowhere/target, nor in"), (None, "in")]
        {
            let reason = search(path, Path::new("/kit"), "x86_64").expect_err("it is missing");
            let expected = format!("no ucx/<version>-x86_64/libucx {beside} /kit/target");
            assert_eq!(reason.reason, expected);
        }
    }

    #[test]
    fn links_are_followed_and_circles_end() {
        let sample = Sample::new();
        let root = sample.ucx("elsewhere/1.22.0-x86_64/libucx", (1, 22), "x86_64");
        symlink("elsewhere", sample.path("ucx")).expect("a link");
        symlink("1.99.0-x86_64", sample.path("elsewhere/1.99.0-x86_64")).expect("a link");
        let found = newest(&sample, "x86_64").expect("it is behind a link");
        let directory = found.directory.as_deref().expect("it has one");
        assert_eq!(fs::canonicalize(directory).expect("it is there"), root.join("lib"));
        fs::remove_file(sample.path("ucx")).expect("it is there");
        symlink("ucx", sample.path("ucx")).expect("a link");
        newest(&sample, "x86_64").expect_err("a circle has nothing in it");
    }

    #[test]
    fn a_directory_that_anybody_may_write_to_is_left_out() {
        let sample = Sample::new();
        fs::create_dir_all(sample.path("shared/target/debug")).expect("a directory");
        fs::set_permissions(sample.path("shared"), fs::Permissions::from_mode(0o1777))
            .expect("it is ours");
        let directories = beside_and_above(&sample.path("shared/target/debug"));
        assert!(directories.contains(&sample.path("shared/target/ucx")), "{directories:?}");
        assert!(!directories.contains(&sample.path("shared/ucx")), "{directories:?}");
        assert!(directories.contains(&PathBuf::from("/ucx")), "{directories:?}");
    }
}
