//! Packages that set-up unpacks: `ucx/<version>-<arch>/libucx` in the build tree, or in that of the
//! kit's clone.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::found::{Found, Source};
use crate::unpacked::look_into;

/// Takes the newest one for `arch`, beside and above `place` and in the `target` directory of the
/// kit.
pub(crate) fn search(place: Option<&Path>, kit: &Path, arch: &str) -> Result<Found, String> {
    let mut directories = place.map(beside_and_above).unwrap_or_default();
    directories.push(kit.join("target/ucx"));
    newest(&directories, arch).map_err(|reasons| {
        if !reasons.is_empty() {
            return reasons.join("; ");
        }
        let beside = place.map(|place| format!("beside or above {}, nor in ", place.display()));
        let kit = kit.join("target");
        format!(
            "no ucx/<version>-{arch}/libucx {}{}",
            beside.as_deref().unwrap_or("in "),
            kit.display()
        )
    })
}

/// Takes the newest one in these `ucx` directories.
fn newest(directories: &[PathBuf], arch: &str) -> Result<Found, Vec<String>> {
    let mut packages: Vec<_> =
        directories.iter().flat_map(|directory| packages(directory, arch)).collect();
    packages.sort();
    packages.dedup();
    let mut reasons = Vec::new();
    for (_, root) in packages.iter().rev() {
        match look_into(root, arch) {
            Ok(unpacked) => {
                return Ok(Found {
                    source: Source::BuildTree,
                    version: unpacked.version,
                    directory: Some(unpacked.libraries),
                    told: true,
                    files: unpacked.files,
                });
            }
            Err(unfit) => reasons.push(unfit.reason),
        }
    }
    Err(reasons)
}

/// Packages with names such as `1.22.0-x86_64`, and their versions.
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

/// The `ucx` directories of a build. Those that anybody may write to, such as in `/tmp`, are left
/// out.
fn beside_and_above(place: &Path) -> Vec<PathBuf> {
    let shared = |directory: &Path| {
        fs::metadata(directory)
            .is_ok_and(|metadata| metadata.permissions().mode() & 0o1002 == 0o1002)
    };
    place
        .ancestors()
        .filter(|directory| !shared(directory))
        .map(|directory| directory.join("ucx"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_trees::Sample;

    #[test]
    fn the_newest_one_for_the_machine_is_taken_by_number() {
        let sample = Sample::new();
        for version in [(1, 9), (1, 16), (1, 22), (1, 100)] {
            sample.ucx(
                &format!("ucx/{}.{}.0-aarch64/libucx", version.0, version.1),
                version,
                "aarch64",
            );
        }
        sample.ucx("ucx/2.0.0-x86_64/libucx", (2, 0), "x86_64");
        let found = newest(&[sample.path("ucx")], "aarch64").expect("there are some");
        assert_eq!(found.version, (1, 100));
        assert_eq!(found.rpath(), Some(&*sample.path("ucx/1.100.0-aarch64/libucx/lib")));
    }

    #[test]
    fn one_that_does_not_fit_is_passed_over() {
        let sample = Sample::new();
        let fits = sample.ucx("ucx/1.16.0-x86_64/libucx", (1, 16), "x86_64");
        sample.ucx("ucx/1.22.0-x86_64/libucx", (1, 22), "aarch64");
        sample.ucx("ucx/1.21.0-x86_64/libucx", (1, 15), "x86_64");
        fs::create_dir_all(sample.path("ucx/1.20.0-x86_64")).expect("a directory");
        let found = newest(&[sample.path("ucx")], "x86_64").expect("one fits");
        assert_eq!(found.directory.as_deref(), Some(&*fits.join("lib")));
    }

    #[test]
    fn each_one_that_does_not_fit_is_named_when_none_does() {
        let sample = Sample::new();
        sample.ucx("ucx/1.22.0-x86_64/libucx", (1, 22), "aarch64");
        sample.ucx("ucx/1.9.0-x86_64/libucx", (1, 9), "x86_64");
        fs::create_dir_all(sample.path("target")).expect("a directory");
        fs::rename(sample.path("ucx"), sample.path("target/ucx")).expect("it is there");
        let reason = search(None, &sample.path(""), "x86_64").expect_err("none fits");
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
        let reasons = newest(&[sample.path("ucx"), sample.path("none")], "x86_64")
            .expect_err("none has the name");
        assert!(reasons.is_empty(), "{reasons:?}");
        let place = Path::new("/nowhere/target");
        let reason = |place| search(place, Path::new("/kit"), "x86_64").expect_err("there is none");
        assert_eq!(
            reason(Some(place)),
            "no ucx/<version>-x86_64/libucx beside or above /nowhere/target, nor in /kit/target"
        );
        assert_eq!(reason(None), "no ucx/<version>-x86_64/libucx in /kit/target");
    }

    #[test]
    fn links_are_followed_and_circles_end() {
        let sample = Sample::new();
        let root = sample.ucx("elsewhere/1.22.0-x86_64/libucx", (1, 22), "x86_64");
        std::os::unix::fs::symlink("elsewhere", sample.path("ucx")).expect("a link");
        std::os::unix::fs::symlink("1.99.0-x86_64", sample.path("elsewhere/1.99.0-x86_64"))
            .expect("a link");
        let found = newest(&[sample.path("ucx")], "x86_64").expect("it is behind a link");
        let directory = found.directory.as_deref().expect("it has one");
        assert_eq!(fs::canonicalize(directory).expect("it is there"), root.join("lib"));
        fs::remove_file(sample.path("ucx")).expect("it is there");
        std::os::unix::fs::symlink("ucx", sample.path("ucx")).expect("a link");
        newest(&[sample.path("ucx")], "x86_64").expect_err("a circle has nothing in it");
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
