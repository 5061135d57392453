//! Whether a plugin that lies where cargo put it is older than its sources.
//!
//! `cargo run -p HOST` builds the host alone, and would find whatever plugin an earlier build left behind. Cargo writes a
//! list of sources, `libNAME.d`, beside each library that it builds: those of the package, and of every other package that
//! was found by its path. `cargo urom build` writes such a list beside its copy of a library, too:
//! [`list_of_copy`].

use std::borrow::Cow;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// The directory beside cargo's libraries in which `cargo urom build` leaves its copies.
pub const COPIES: &str = "urom";

/// A source that was changed after the library was built. `None` without one, and for a file that no list
/// is about: a link, and a file that was copied or moved without a new list.
fn newer_source(library: &Path) -> Option<PathBuf> {
    if library.is_symlink() {
        return None;
    }
    let library = library.canonicalize().ok()?;
    let list = fs::read(library.with_extension("d")).ok()?;
    let built = modified(&library).ok()?;
    // What lies in the future, by another machine's clock, stays newer however often it is built.
    let now = SystemTime::now();
    let is_newer = |source: &PathBuf| modified(source).is_ok_and(|at| built < at && at <= now);
    sources(&list, &library)?.into_iter().find(is_newer)
}

fn modified(file: &Path) -> io::Result<SystemTime> {
    fs::metadata(file)?.modified()
}

/// The contents of a file `NAME.d` beside the copy `NAME.so` of a library: cargo's list of sources, for the
/// copy. `None` where cargo wrote no list.
///
/// Give the copy the library's time of modification: a source may have been changed between the two.
pub fn list_of_copy(library: &Path, copy: &Path) -> Option<Vec<u8>> {
    let library = library.canonicalize().ok()?;
    let list = fs::read(library.with_extension("d")).ok()?;
    sources(&list, &library)?;
    let target = list.windows(2).position(|pair| pair == b": ")?;
    let copy = std::path::absolute(copy).ok()?;
    let name = copy.as_os_str().as_bytes().iter().fold(Vec::new(), |mut name, byte| {
        name.extend((*byte == b' ').then_some(b'\\'));
        name.push(*byte);
        name
    });
    Some([&name, list.get(target..)?].concat())
}

/// The files that a list names for a library: a rule of make, in which spaces within names are escaped.
fn sources(list: &[u8], library: &Path) -> Option<Vec<PathBuf>> {
    let rule = list.split(|byte| *byte == b'\n').next()?;
    let mut names = vec![Vec::new()];
    let mut bytes = rule.iter();
    while let Some(&byte) = bytes.next() {
        match byte {
            b'\\' if bytes.as_slice().first() == Some(&b' ') => {
                bytes.next();
                names.last_mut()?.push(b' ');
            }
            b' ' => names.push(Vec::new()),
            _ => names.last_mut()?.push(byte),
        }
    }
    let mut names = names.into_iter();
    let target = names.next()?;
    let target = target.strip_suffix(b":").map(OsStr::from_bytes).map(Path::new)?;
    // One list is for all kinds of the library, and names one of them, such as `libNAME.rlib`.
    let target = target.canonicalize().ok()?;
    (target.with_extension("") == library.with_extension(""))
        .then(|| names.map(OsString::from_vec).map(PathBuf::from).collect())
}

/// The command that builds what cargo, or `cargo urom build`, leaves in a directory, for a sentence that
/// begins with `run`. `None` where there is no workspace.
pub(crate) fn command_for(directory: &Path) -> Option<String> {
    // Cargo tells those that it starts which package they are of: the directory may be far from it.
    let package = std::env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from);
    command_in(package.as_deref().unwrap_or(directory), directory)
}

/// The same for the workspace around `place`.
fn command_in(place: &Path, directory: &Path) -> Option<String> {
    let root = place.ancestors().find(|place| place.join("Cargo.lock").is_file())?;
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

/// Whether a directory's name is the triple of a target: the kit is for Linux with its usual C library.
fn is_triple(name: &str) -> bool {
    name.ends_with("-unknown-linux-gnu")
}

/// Why a file is not served: it is older than one of its sources. With what to do about it.
pub fn stale(library: &Path) -> Option<(String, String)> {
    let source = newer_source(library)?;
    // A path from the working directory does not show the workspace around it.
    let library = std::path::absolute(library).ok()?;
    let directory = library.parent()?;
    let again = command_for(directory).unwrap_or_else(|| match directory.ends_with(COPIES) {
        true => "`cargo urom build`".to_owned(),
        false => "`cargo build`".to_owned(),
    });
    Some((format!("older than its source {}", source.display()), format!("run {again}")))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    /// A workspace with a library that was built an hour ago from one source.
    struct Place(tempfile::TempDir);

    impl Place {
        fn new() -> Place {
            let place = Place(tempfile::tempdir().unwrap());
            fs::create_dir_all(place.path("a src")).unwrap();
            fs::create_dir_all(place.path("target/debug")).unwrap();
            for file in ["Cargo.lock", "a src/lib.rs", "target/debug/libp.so"] {
                fs::write(place.path(file), "").unwrap();
            }
            let list =
                format!("{}: {}\n", place.escaped("target/debug/libp.so"), place.escaped("a src/lib.rs"));
            fs::write(place.path("target/debug/libp.d"), list).unwrap();
            place.set("target/debug/libp.so", SystemTime::now() - Duration::from_secs(3600));
            place
        }

        fn path(&self, name: &str) -> PathBuf {
            self.0.path().canonicalize().unwrap().join(name)
        }

        fn escaped(&self, name: &str) -> String {
            self.path(name).display().to_string().replace(' ', "\\ ")
        }

        fn set(&self, name: &str, modified: SystemTime) {
            fs::File::options().write(true).open(self.path(name)).unwrap().set_modified(modified).unwrap();
        }

        fn newer(&self) -> Option<PathBuf> {
            newer_source(&self.path("target/debug/libp.so"))
        }
    }

    #[test]
    fn a_source_that_was_changed_after_the_build_is_found() {
        let place = Place::new();
        let now = SystemTime::now();
        for (changed, is_newer) in [
            (now, true),
            (now - Duration::from_secs(7200), false),
            // A clock that is ahead.
            (now + Duration::from_secs(3600), false),
        ] {
            place.set("a src/lib.rs", changed);
            assert_eq!(place.newer(), is_newer.then(|| place.path("a src/lib.rs")), "{changed:?}");
        }
    }

    #[test]
    fn a_library_that_no_list_is_about_is_as_old_as_it_is() {
        let place = Place::new();
        place.set("a src/lib.rs", SystemTime::now());
        fs::create_dir(place.path("elsewhere")).unwrap();
        for end in ["so", "d"] {
            let (from, to) = (format!("target/debug/libp.{end}"), format!("elsewhere/libp.{end}"));
            fs::copy(place.path(&from), place.path(&to)).unwrap();
        }
        assert_eq!(newer_source(&place.path("elsewhere/libp.so")), None);
        assert_eq!(list_of_copy(&place.path("elsewhere/libp.so"), &place.path("elsewhere/p.so")), None);
        std::os::unix::fs::symlink(place.path("target/debug/libp.so"), place.path("elsewhere/p.so")).unwrap();
        assert_eq!(newer_source(&place.path("elsewhere/p.so")), None);
        for list in ["", ":", "no rule", "libp.so: a", ": a"] {
            fs::write(place.path("target/debug/libp.d"), list).unwrap();
            assert_eq!(place.newer(), None, "{list:?}");
        }
        fs::remove_file(place.path("target/debug/libp.d")).unwrap();
        assert_eq!(place.newer(), None);
    }

    #[test]
    fn a_copy_with_a_list_of_its_own_is_as_old_as_the_library() {
        let place = Place::new();
        let (library, copy) = (place.path("target/debug/libp.so"), place.path("target/debug/a copy/p.so"));
        fs::create_dir(place.path("target/debug/a copy")).unwrap();
        fs::copy(&library, &copy).unwrap();
        fs::write(copy.with_extension("d"), list_of_copy(&library, &copy).unwrap()).unwrap();
        place.set("a src/lib.rs", SystemTime::now() - Duration::from_secs(60));
        assert_eq!(newer_source(&copy), None, "a copy of now");
        place.set("target/debug/a copy/p.so", modified(&library).unwrap());
        assert_eq!(newer_source(&copy), Some(place.path("a src/lib.rs")));
        // Somewhere else it is as old as it is.
        fs::rename(place.path("target/debug/a copy"), place.path("elsewhere")).unwrap();
        assert_eq!(newer_source(&place.path("elsewhere/p.so")), None);
    }

    #[test]
    fn the_list_of_a_library_of_several_kinds_counts_for_each() {
        let place = Place::new();
        fs::write(place.path("target/debug/libp.rlib"), "").unwrap();
        let list =
            format!("{}: {}\n", place.escaped("target/debug/libp.rlib"), place.escaped("a src/lib.rs"));
        fs::write(place.path("target/debug/libp.d"), list).unwrap();
        place.set("a src/lib.rs", SystemTime::now());
        assert_eq!(place.newer(), Some(place.path("a src/lib.rs")));
    }

    #[test]
    fn a_host_is_told_what_to_do_about_an_old_library_and_of_the_log_only_without_a_reason() {
        let place = Place::new();
        place.set("a src/lib.rs", SystemTime::now());
        let of = |plugin: &str| {
            let directory = place.path("target/debug");
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
        let place = Place::new();
        let root = place.path("");
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
            let directory = place.path(directory);
            assert_eq!(command_in(&directory, &directory).as_ref(), Some(&expected), "{directory:?}");
            let elsewhere =
                Path::new("/elsewhere").join(directory.strip_prefix(place.path("target")).unwrap());
            assert_eq!(command_in(&place.path("a src"), &elsewhere), Some(expected), "{directory:?}");
        }
        assert_eq!(command_in(Path::new("/proc"), Path::new("/proc")), None);
    }
}
