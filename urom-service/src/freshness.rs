//! Detects plugins in cargo's directories that are older than their sources: `cargo run -p HOST`
//! builds the host alone. Cargo writes a list of sources, `libNAME.d`, beside each library; `cargo
//! urom build` writes one beside its copies ([`list_of_copy`]).

mod sources;

use std::borrow::Cow;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use urom_os::named_file;

pub use self::sources::list_of_copy;
use self::sources::sources;

/// The directory, beside cargo's libraries, with the copies of `cargo urom build`.
pub const COPIES: &str = "urom";

/// Returns a source that is newer than the library. `None` if no source is newer, and without a
/// list for the file: for a link, and for a file copied or moved without a new list. A deleted
/// source counts with its directory's time: a build script may name files that never existed. A
/// plugin in an image lacks sources, so a package must exist.
fn old_by(library: &Path) -> Option<PathBuf> {
    if library.is_symlink() {
        return None;
    }
    let library = library.canonicalize().ok()?;
    let list = named_file::read(&library.with_extension("d"), sources::MOST).ok()?;
    let sources = sources(&list, &library)?;
    let built = modified(&library).ok()?;
    // A time in the future, from another machine's clock, stays newer after every build.
    let now = SystemTime::now();
    sources.into_iter().find(|source| {
        let changed = source.ancestors().find_map(|path| modified(path).ok());
        changed.is_some_and(|at| built < at && at <= now)
            && source.ancestors().any(|path| path.join("Cargo.toml").is_file())
    })
}

fn modified(file: &Path) -> io::Result<SystemTime> {
    fs::metadata(file)?.modified()
}

/// Returns the command that builds a directory's libraries, for a sentence that begins with `run`.
/// `None` if cargo does not build into it, or without a workspace.
pub(crate) fn command_for(directory: &Path) -> Option<String> {
    let profile = directory.parent().filter(|_| directory.ends_with(COPIES)).unwrap_or(directory);
    // Cargo marks its build directory; a directory with a target triple is one level deeper.
    if !profile.ancestors().skip(1).take(2).any(|path| path.join("CACHEDIR.TAG").exists()) {
        return None;
    }
    command_in(package().as_deref().unwrap_or(directory), directory)
}

/// The package of this program, from cargo's environment: the build directory may be far from it.
fn package() -> Option<PathBuf> {
    std::env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from)
}

fn root(path: &Path) -> Option<&Path> {
    path.ancestors().find(|path| path.join("Cargo.lock").is_file())
}

/// Returns a path in the workspace of a library in `directory` with this source. The program, from
/// `package`, may belong to another workspace.
fn workspace_path<'a>(source: &Path, package: Option<&'a Path>, directory: &'a Path) -> &'a Path {
    let has = |path: &Path| root(path).is_some_and(|root| source.starts_with(root));
    match package {
        Some(package) if has(package) || !has(directory) => package,
        _ => directory,
    }
}

fn command_in(path: &Path, directory: &Path) -> Option<String> {
    let root = root(path)?;
    let copies = directory.parent().filter(|_| directory.ends_with(COPIES));
    let built = copies.unwrap_or(directory);
    let above = built.parent().and_then(Path::file_name).and_then(OsStr::to_str);
    let target = above.filter(|name| is_triple(name)).map(|name| format!(" --target {name}"));
    let target = target.unwrap_or_default();
    let profile: Cow<'_, str> = match (built.file_name().and_then(OsStr::to_str), copies) {
        (None, _) | (Some("debug"), None) | (Some("release"), Some(_)) => "".into(),
        (Some("debug"), Some(_)) => " --debug".into(),
        (Some("release"), None) => " --release".into(),
        (Some(name), _) => format!(" --profile {name}").into(),
    };
    let verb = if copies.is_some() { "urom build" } else { "build --workspace" };
    Some(format!("`cargo {verb}{profile}{target}` in {}", root.display()))
}

fn is_triple(name: &str) -> bool {
    name.ends_with("-unknown-linux-gnu")
}

/// Returns why a file is stale, and the remedy.
pub fn stale(library: &Path) -> Option<(String, String)> {
    let source = old_by(library)?;
    let gone = if source.exists() { "" } else { ", which does not exist" };
    let why = format!("older than its source {}{gone}", source.display());
    // A relative path does not lead to the workspace above it.
    let library = std::path::absolute(library).ok()?;
    let directory = library.parent()?;
    let package = package();
    let path = workspace_path(&source, package.as_deref(), directory);
    let command = command_in(path, directory);
    let again = command.unwrap_or_else(|| match directory.ends_with(COPIES) {
        true => "`cargo urom build`".to_owned(),
        false => "`cargo build`".to_owned(),
    });
    Some((why, format!("run {again}")))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    struct TestDirectory(tempfile::TempDir);

    impl TestDirectory {
        fn new() -> TestDirectory {
            let tree = TestDirectory(tempfile::tempdir().unwrap());
            fs::create_dir_all(tree.path("a src")).unwrap();
            fs::create_dir_all(tree.path("target/debug")).unwrap();
            for file in ["Cargo.lock", "Cargo.toml", "a src/lib.rs", "target/debug/libp.so"] {
                fs::write(tree.path(file), "").unwrap();
            }
            let list = format!(
                "{}: {}\n",
                tree.escaped("target/debug/libp.so"),
                tree.escaped("a src/lib.rs")
            );
            fs::write(tree.path("target/debug/libp.d"), list).unwrap();
            tree.set("target/debug/libp.so", SystemTime::now() - Duration::from_secs(3600));
            tree
        }

        fn path(&self, name: &str) -> PathBuf {
            self.0.path().canonicalize().unwrap().join(name)
        }

        fn escaped(&self, name: &str) -> String {
            self.path(name).display().to_string().replace(' ', "\\ ")
        }

        fn set(&self, name: &str, modified: SystemTime) {
            fs::File::options()
                .write(true)
                .open(self.path(name))
                .unwrap()
                .set_modified(modified)
                .unwrap();
        }

        fn newer(&self) -> Option<PathBuf> {
            old_by(&self.path("target/debug/libp.so"))
        }
    }

    #[test]
    fn a_source_that_was_changed_after_the_build_is_found() {
        let tree = TestDirectory::new();
        let now = SystemTime::now();
        for (changed, is_newer) in [
            (now, true),
            (now - Duration::from_secs(7200), false),
            // A clock in the future.
            (now + Duration::from_secs(3600), false),
        ] {
            tree.set("a src/lib.rs", changed);
            assert_eq!(tree.newer(), is_newer.then(|| tree.path("a src/lib.rs")), "{changed:?}");
        }
    }

    #[test]
    fn a_source_that_is_gone_counts_when_it_was_there() {
        let tree = TestDirectory::new();
        tree.set("a src/lib.rs", SystemTime::now() - Duration::from_secs(7200));
        fs::create_dir(tree.path("a src/inner")).unwrap();
        let (list, gone) = (tree.path("target/debug/libp.d"), "a src/inner/never.rs");
        let rule = fs::read_to_string(&list).unwrap();
        fs::write(&list, format!("{} {}\n", rule.trim_end(), tree.escaped(gone))).unwrap();
        for (age, expected) in [(7200, None), (60, Some(tree.path(gone)))] {
            let at = SystemTime::now() - Duration::from_secs(age);
            fs::File::open(tree.path("a src/inner")).unwrap().set_modified(at).unwrap();
            assert_eq!(tree.newer(), expected, "{age}");
        }
        let (why, _) = stale(&tree.path("target/debug/libp.so")).unwrap();
        assert!(why.ends_with("inner/never.rs, which does not exist"), "{why}");
        fs::remove_file(tree.path("Cargo.toml")).unwrap();
        assert_eq!(tree.newer(), None, "no package is there");
    }

    #[test]
    fn names_in_a_list_may_be_without_the_workspaces_directory() {
        let tree = TestDirectory::new();
        tree.set("a src/lib.rs", SystemTime::now());
        for target in ["target/debug/libp.so", "target/debug/libp.rlib", "debug/libp.so"] {
            let source =
                if target.starts_with("target") { "a\\ src/lib.rs" } else { "../a\\ src/lib.rs" };
            fs::write(tree.path("target/debug/libp.d"), format!("{target}: {source}\n")).unwrap();
            let newer = tree.newer().and_then(|source| source.canonicalize().ok());
            assert_eq!(newer, Some(tree.path("a src/lib.rs")), "{target}");
        }
        let (library, copy) = (tree.path("target/debug/libp.so"), tree.path("elsewhere/p.so"));
        let list = list_of_copy(&library, &copy).unwrap();
        let list = String::from_utf8(list).unwrap();
        assert!(list.starts_with(&format!("{}: ", tree.escaped("elsewhere/p.so"))), "{list}");
        assert!(list.split_once(": ").unwrap().1.starts_with('/'), "{list}");
        fs::write(tree.path("target/debug/libp.d"), "debug/libq.so: lib.rs\n").unwrap();
        assert_eq!(tree.newer(), None);
    }

    #[test]
    fn a_library_that_no_list_is_about_is_as_old_as_it_is() {
        let tree = TestDirectory::new();
        tree.set("a src/lib.rs", SystemTime::now());
        fs::create_dir(tree.path("elsewhere")).unwrap();
        for end in ["so", "d"] {
            let (from, to) = (format!("target/debug/libp.{end}"), format!("elsewhere/libp.{end}"));
            fs::copy(tree.path(&from), tree.path(&to)).unwrap();
        }
        assert_eq!(old_by(&tree.path("elsewhere/libp.so")), None);
        assert_eq!(
            list_of_copy(&tree.path("elsewhere/libp.so"), &tree.path("elsewhere/p.so")),
            None
        );
        std::os::unix::fs::symlink(tree.path("target/debug/libp.so"), tree.path("elsewhere/p.so"))
            .unwrap();
        assert_eq!(old_by(&tree.path("elsewhere/p.so")), None);
        for list in ["", ":", "no rule", ": a"] {
            fs::write(tree.path("target/debug/libp.d"), list).unwrap();
            assert_eq!(tree.newer(), None, "{list:?}");
        }
        fs::remove_file(tree.path("target/debug/libp.d")).unwrap();
        assert_eq!(tree.newer(), None);
    }

    #[test]
    fn a_copy_with_a_list_of_its_own_is_as_old_as_the_library() {
        let tree = TestDirectory::new();
        let (library, copy) =
            (tree.path("target/debug/libp.so"), tree.path("target/debug/a copy/p.so"));
        fs::create_dir(tree.path("target/debug/a copy")).unwrap();
        fs::copy(&library, &copy).unwrap();
        fs::write(copy.with_extension("d"), list_of_copy(&library, &copy).unwrap()).unwrap();
        tree.set("a src/lib.rs", SystemTime::now() - Duration::from_secs(60));
        assert_eq!(old_by(&copy), None, "a copy of now");
        tree.set("target/debug/a copy/p.so", modified(&library).unwrap());
        assert_eq!(old_by(&copy), Some(tree.path("a src/lib.rs")));
        // Outside the workspace, the age does not matter.
        fs::rename(tree.path("target/debug/a copy"), tree.path("elsewhere")).unwrap();
        assert_eq!(old_by(&tree.path("elsewhere/p.so")), None);
    }

    #[test]
    fn the_list_of_a_library_of_several_kinds_counts_for_each() {
        let tree = TestDirectory::new();
        fs::write(tree.path("target/debug/libp.rlib"), "").unwrap();
        let list = format!(
            "{}: {}\n",
            tree.escaped("target/debug/libp.rlib"),
            tree.escaped("a src/lib.rs")
        );
        fs::write(tree.path("target/debug/libp.d"), list).unwrap();
        tree.set("a src/lib.rs", SystemTime::now());
        assert_eq!(tree.newer(), Some(tree.path("a src/lib.rs")));
    }

    #[test]
    fn a_host_is_told_what_to_do_about_an_old_library_and_of_the_log_only_without_a_reason() {
        let tree = TestDirectory::new();
        tree.set("a src/lib.rs", SystemTime::now());
        let of = |plugin: &str| {
            let directory = tree.path("target/debug");
            let (why, hint) = crate::embedded::not_served(plugin, Some(directory.as_os_str()));
            format!("{why}; {hint}")
        };
        let (old, absent) = (of("p"), of("q"));
        assert!(old.contains("older than its source") && old.contains("run `cargo build"), "{old}");
        assert!(!old.contains("log says"), "{old}");
        assert_eq!(absent.matches("log says").count(), 1, "{absent}");
    }

    #[test]
    fn the_command_names_the_workspace_and_the_profile() {
        let tree = TestDirectory::new();
        let root = tree.path("");
        let root = root.to_str().unwrap().trim_end_matches('/');
        let aarch64 = "target/aarch64-unknown-linux-gnu/debug";
        let of_aarch64 = "target/aarch64-unknown-linux-gnu/release/urom";
        for (directory, command) in [
            ("target/debug", "build --workspace"),
            ("target/release", "build --workspace --release"),
            ("target/dist", "build --workspace --profile dist"),
            (aarch64, "build --workspace --target aarch64-unknown-linux-gnu"),
            ("target/release/urom", "urom build"),
            ("target/debug/urom", "urom build --debug"),
            ("target/dist/urom", "urom build --profile dist"),
            (of_aarch64, "urom build --target aarch64-unknown-linux-gnu"),
        ] {
            let expected = format!("`cargo {command}` in {root}");
            let directory = tree.path(directory);
            assert_eq!(
                command_in(&directory, &directory).as_ref(),
                Some(&expected),
                "{directory:?}"
            );
            let elsewhere =
                Path::new("/elsewhere").join(directory.strip_prefix(tree.path("target")).unwrap());
            assert_eq!(
                command_in(&tree.path("a src"), &elsewhere),
                Some(expected),
                "{directory:?}"
            );
        }
        assert_eq!(command_in(Path::new("/proc"), Path::new("/proc")), None);
    }

    #[test]
    fn a_library_of_another_workspace_is_built_there() {
        let (own, other) = (TestDirectory::new(), TestDirectory::new());
        let (package, directory) = (own.path("a src"), other.path("target/debug"));
        let of = |source: &Path| workspace_path(source, Some(&package), &directory);
        assert_eq!(of(&other.path("a src/lib.rs")), directory);
        assert_eq!(of(&own.path("a src/lib.rs")), package);
        assert_eq!(of(Path::new("/elsewhere/lib.rs")), package);
        assert_eq!(workspace_path(&own.path("a src/lib.rs"), None, &directory), directory);
    }

    #[test]
    fn no_command_builds_what_lies_where_cargo_does_not_build() {
        let tree = TestDirectory::new();
        let directory = tree.path("target/debug");
        assert_eq!(command_for(&directory), None);
        fs::write(tree.path("target/CACHEDIR.TAG"), "").unwrap();
        assert!(command_for(&directory).is_some());
        assert!(command_for(&directory.join(COPIES)).is_some());
    }
}
