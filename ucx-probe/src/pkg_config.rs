//! Finds UCX by pkg-config. The crate `pkg-config` works only in build scripts, not in tools.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::Command;

use crate::OLDEST;
use crate::found::{Found, Source};
use crate::search::Search;
use crate::unpacked::{UnfitUcx, check_machine};

/// Variables that pkg-config itself reads. The target's own variable overrides the general one.
const SETTINGS: [&str; 3] = ["PKG_CONFIG_PATH", "PKG_CONFIG_LIBDIR", "PKG_CONFIG_SYSROOT_DIR"];

/// All variables that the search reads.
pub(crate) const VARIABLES: [&str; 5] =
    ["PKG_CONFIG", "PKG_CONFIG_ALLOW_CROSS", SETTINGS[0], SETTINGS[1], SETTINGS[2]];

struct PkgConfig {
    program: OsString,
    settings: Vec<(&'static str, OsString)>,
}

/// Checks that UCX is new enough, where it is, and that it fits the target's machine.
pub(crate) fn search(search: &Search) -> Result<Found, UnfitUcx> {
    let pkg_config = PkgConfig::new(search)?;
    let (major, minor) = OLDEST;
    pkg_config.ask(&["--print-errors", "--exists", &format!("ucx >= {major}.{minor}")])?;
    let text = pkg_config.ask(&["--modversion", "ucx"])?;
    let mut numbers = text.split('.').map_while(|number| number.parse().ok());
    let version = numbers.next().zip(numbers.next());
    let version = version.ok_or_else(|| format!("pkg-config ucx: `{text}` is not a version"))?;
    let answer = |directory, files| Found { source: Source::PkgConfig, version, directory, files };

    let directory = PathBuf::from(pkg_config.ask(&["--variable=libdir", "ucx"])?);
    let library = directory.join("libucp.so");
    if !search.foreign && pkg_config.ask(&["--libs-only-L", "ucx"])?.is_empty() {
        // On the linker's default path. If the file has another name there, no file is watched.
        return Ok(answer(None, Vec::from_iter(library.is_file().then_some(library))));
    }
    // The PyPI package contains the path of its build machine, so also ask for its current path.
    let moved =
        pkg_config.ask(&["--define-prefix", "--variable=libdir", "ucx"]).ok().map(PathBuf::from);
    let mut reasons = Vec::new();
    for directory in
        pkg_config.below_sysroot(&directory).into_iter().chain([directory]).chain(moved)
    {
        let library = directory.join("libucp.so");
        match check_machine(&library, &search.arch) {
            Ok(()) => return Ok(answer(Some(directory), vec![library])),
            Err(unfit) => reasons.push(unfit.reason),
        }
    }
    reasons.dedup();
    Err(format!("pkg-config ucx {text}: {}", reasons.join("; ")).into())
}

impl PkgConfig {
    /// Refuses a foreign target if pkg-config is set up only for the build machine.
    fn new(search: &Search) -> Result<Self, String> {
        let Search { target, foreign, .. } = search;
        let mut has_own = false;
        let mut read = |name| {
            let value = if *foreign { search.variable_of_target(name) } else { None };
            has_own |= value.is_some();
            value.or_else(|| search.variable(name))
        };
        let program = read("PKG_CONFIG").unwrap_or_else(|| "pkg-config".into());
        let settings: Vec<_> =
            SETTINGS.into_iter().filter_map(|name| Some((name, read(name)?))).collect();
        let allowed = read("PKG_CONFIG_ALLOW_CROSS").map(|value| value != "0");
        let has_sysroot = settings.iter().any(|(name, _)| *name == "PKG_CONFIG_SYSROOT_DIR");
        if *foreign && !allowed.unwrap_or(has_sysroot || has_own) {
            return Err(format!(
                "pkg-config is not set up for {target} (PKG_CONFIG_ALLOW_CROSS=1 with \
                 PKG_CONFIG_LIBDIR for it)"
            ));
        }
        Ok(Self { program, settings })
    }

    fn ask(&self, arguments: &[&str]) -> Result<String, String> {
        let mut command = Command::new(&self.program);
        let output = command.args(arguments).envs(self.settings.iter().cloned()).output();
        let program = self.program.to_string_lossy();
        let output =
            output.map_err(|error| format!("pkg-config: `{program}` does not run: {error}"))?;
        if !output.status.success() {
            let text = String::from_utf8_lossy(&output.stderr);
            let line = text.lines().map(str::trim).find(|line| !line.is_empty());
            return Err(format!("pkg-config: {}", line.unwrap_or("it failed and did not say why")));
        }
        let text = String::from_utf8(output.stdout);
        Ok(text
            .map_err(|_| format!("pkg-config: `{program}` answered with something else than text"))?
            .trim()
            .to_owned())
    }

    /// Maps a directory of the target to its path on this machine.
    fn below_sysroot(&self, directory: &std::path::Path) -> Option<PathBuf> {
        let (_, sysroot) =
            self.settings.iter().find(|(name, _)| *name == "PKG_CONFIG_SYSROOT_DIR")?;
        Some(PathBuf::from(sysroot).join(directory.strip_prefix("/").ok()?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_trees::Sample;

    const THIS: &str = "x86_64-unknown-linux-gnu";
    const OTHER: &str = "aarch64-unknown-linux-gnu";

    /// A fake `pkg-config` for a UCX in `libdir`. `options` are the `-L` options.
    fn fake(sample: &Sample, version: &str, libdir: &str, options: &str) -> OsString {
        let script = format!(
            "case \"$*\" in\n*--exists*) exit 0;;\n*--modversion*) echo {version};;\n\
             --variable*) echo {libdir};;\n\
             --define-prefix*) echo \"$PKG_CONFIG_PATH\";;\n*) echo {options};;\nesac"
        );
        sample.program("pkg-config", &script).into()
    }

    fn found(target: &str, set: Vec<(&'static str, OsString)>) -> Result<Found, String> {
        let read = move |name: &str| set.iter().find(|(known, _)| *known == name)?.1.clone().into();
        let search = Search { foreign: target != THIS, ..Search::with(target, read) };
        super::search(&search).map_err(|unfit| unfit.reason)
    }

    #[test]
    fn one_elsewhere_is_named_to_linker_and_loader_wherever_it_was_moved() {
        let sample = Sample::new();
        let there = sample.library("opt/lib", "x86_64");
        let libdir = there.to_str().expect("readable");
        for (version, libdir, options, directory) in [
            ((1, 18), "/usr/lib", "", None),
            ((1, 18), libdir, "-L/opt/lib", Some(&there)),
            ((1, 22), "/built/there/lib", "-L/built/there/lib", Some(&there)),
        ] {
            let program = fake(&sample, &format!("{}.{}.1", version.0, version.1), libdir, options);
            let path = there.clone().into();
            let set = vec![("PKG_CONFIG", program), ("PKG_CONFIG_PATH", path)];
            let found = found(THIS, set).expect("it is new");
            assert_eq!((found.version, found.directory.as_ref()), (version, directory));
            assert_eq!(found.rpath(), directory.map(|directory| &**directory));
        }
    }

    #[test]
    fn libraries_that_are_missing_or_for_another_machine_are_named() {
        let sample = Sample::new();
        let directory = sample.library("opt/lib", "aarch64");
        for libdir in [directory.to_str().expect("readable"), "/nowhere"] {
            let program = fake(&sample, "1.18.1", libdir, &format!("-L{libdir}"));
            let reason = found(THIS, vec![("PKG_CONFIG", program)]);
            let reason = reason.expect_err("it does not fit");
            assert!(reason.contains(&format!("{libdir}/libucp.so")), "{reason}");
        }
    }

    #[test]
    fn failures_are_reported_in_one_line() {
        let sample = Sample::new();
        let ask =
            |program: OsString| found(THIS, vec![("PKG_CONFIG", program)]).expect_err("it fails");
        let program = sample.program(
            "unknown",
            "echo >&2; echo 'Package ucx was not found' >&2; echo 'Perhaps' >&2; exit 1",
        );
        assert_eq!(ask(program.into()), "pkg-config: Package ucx was not found");
        assert_eq!(
            ask(sample.program("silent", "exit 3").into()),
            "pkg-config: it failed and did not say why"
        );
        let reason = ask(sample.path("missing").into());
        assert!(reason.contains("does not run"), "{reason}");
        let reason = ask(fake(&sample, "new", "/usr/lib", ""));
        assert!(reason.contains("`new` is not a version"), "{reason}");
    }

    #[test]
    fn a_foreign_target_uses_pkg_config_only_where_that_was_set_up() {
        let sample = Sample::new();
        let directory = sample.library("opt/lib", "aarch64");
        let libdir = directory.to_str().expect("readable");
        let program = fake(&sample, "1.22.0", libdir, "");
        let ask = |more: &[(&'static str, &str)]| {
            let mut set = vec![("PKG_CONFIG", program.clone())];
            set.extend(more.iter().map(|(name, value)| (*name, OsString::from(value))));
            found(OTHER, set).map(|found| found.directory)
        };
        assert!(ask(&[]).expect_err("it would be this machine's").contains("not set up"));
        assert!(ask(&[("PKG_CONFIG_ALLOW_CROSS", "0"), ("PKG_CONFIG_SYSROOT_DIR", "/s")]).is_err());
        for set_up in [
            ("PKG_CONFIG_ALLOW_CROSS", "1"),
            ("PKG_CONFIG_SYSROOT_DIR", "/s"),
            ("PKG_CONFIG_PATH_aarch64_unknown_linux_gnu", "/p"),
        ] {
            assert_eq!(ask(&[set_up]), Ok(Some(directory.clone())), "{set_up:?}");
        }
    }

    #[test]
    fn below_a_sysroot_the_library_is_looked_for_there_first() {
        let sample = Sample::new();
        let directory = sample.library("root/usr/lib", "aarch64");
        let program = fake(&sample, "1.22.0", "/usr/lib", "");
        let set =
            vec![("PKG_CONFIG", program), ("PKG_CONFIG_SYSROOT_DIR", sample.path("root").into())];
        let found = found(OTHER, set).expect("it is there");
        assert_eq!(found.directory.as_deref(), Some(&*directory));
    }
}
