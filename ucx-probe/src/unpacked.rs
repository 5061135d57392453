//! Checks version and machine of a UCX directory.

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

use crate::OLDEST;
use crate::found::{Found, Source};

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct UnfitUcx {
    pub(crate) reason: String,
    pub(crate) is_of_other_machine: bool,
}

impl From<String> for UnfitUcx {
    fn from(reason: String) -> Self {
        Self { reason, is_of_other_machine: false }
    }
}

/// Returns the ELF `e_machine` of `arch`.
pub(crate) fn machine(arch: &str) -> Result<u16, String> {
    match arch {
        "x86_64" => Ok(62),
        "aarch64" => Ok(183),
        other => {
            Err(format!("there are bindings for x86_64 and aarch64 Linux, and none for `{other}`"))
        }
    }
}

/// Checks the root of an installed or unpacked UCX, or the directory that pip creates around it.
pub(crate) fn look_into(source: Source, root: &Path, arch: &str) -> Result<Found, UnfitUcx> {
    let inner = root.join("libucx");
    let root = if inner.join("include").is_dir() { &inner } else { root };
    let lib64 = root.join("lib64");
    let has_lib64 = lib64.join("libucp.so").is_file() && !root.join("lib/libucp.so").is_file();
    let libraries = if has_lib64 { lib64 } else { root.join("lib") };
    look_at(source, libraries, &root.join("include"), arch)
}

/// Checks libraries and headers, which may be in different directories.
pub(crate) fn look_at(
    source: Source,
    libraries: PathBuf,
    include: &Path,
    arch: &str,
) -> Result<Found, UnfitUcx> {
    let header = include.join("ucp/api/ucp_version.h");
    let version = version(&header)?;
    if version < OLDEST {
        let (major, minor) = version;
        return Err(format!("{} is of UCX {major}.{minor}", header.display()).into());
    }
    let library = libraries.join("libucp.so");
    check_machine(&library, arch)?;
    // The build script prints the path to cargo on one line.
    if library.to_str().is_none_or(|path| path.contains('\n')) {
        return Err(format!("{} has a name that cargo cannot be told", library.display()).into());
    }
    Ok(Found { source, version, directory: Some(libraries), files: vec![library, header] })
}

fn version(header: &Path) -> Result<(u32, u32), String> {
    let text = fs::read_to_string(header).map_err(|error| failed("reading", header, &error))?;
    let number = |name: &str| {
        let value = |line: &str| {
            let mut words = line.strip_prefix('#')?.split_whitespace();
            let fits = words.next() == Some("define") && words.next() == Some(name);
            fits.then(|| words.next()?.parse::<u32>().ok()).flatten()
        };
        text.lines().find_map(value)
    };
    let version = number("UCP_API_MAJOR").zip(number("UCP_API_MINOR"));
    version.ok_or_else(|| format!("{} lacks UCP_API_MAJOR and UCP_API_MINOR", header.display()))
}

/// Checks that a shared library is for `arch`. Reads only its first bytes.
pub(crate) fn check_machine(library: &Path, arch: &str) -> Result<(), UnfitUcx> {
    let expected = machine(arch)?;
    let mut start = [0; 20];
    let read = File::open(library).and_then(|mut file| file.read_exact(&mut start));
    read.map_err(|error| failed("reading", library, &error))?;
    // Magic (4 bytes), 64 bits, little-endian. `e_machine` is at offset 18.
    if !start.starts_with(b"\x7fELF\x02\x01") {
        return Err(UnfitUcx::from(format!(
            "{} is not a shared library of a 64-bit little-endian machine",
            library.display()
        )));
    }
    if u16::from_le_bytes([start[18], start[19]]) != expected {
        let reason = format!("{} is not for {arch}", library.display());
        return Err(UnfitUcx { reason, is_of_other_machine: true });
    }
    Ok(())
}

pub(crate) fn failed(what: &str, path: &Path, error: &std::io::Error) -> String {
    format!("{what} {}: {error}", path.display())
}

#[cfg(test)]
mod tests {
    use super::{look_into as look_into_of, *};
    use crate::test_trees::{Sample, elf};

    fn look_into(root: &Path, arch: &str) -> Result<Found, UnfitUcx> {
        look_into_of(Source::BuildTree, root, arch)
    }

    #[test]
    fn libraries_may_lie_in_lib64_and_all_of_it_in_the_directory_that_pip_made() {
        let sample = Sample::new();
        let root = sample.ucx("pip/libucx", (1, 22), "aarch64");
        fs::rename(root.join("lib"), root.join("lib64")).expect("it is there");
        let found = look_into(&sample.path("pip"), "aarch64").expect("it fits");
        assert_eq!(found.directory, Some(root.join("lib64")));
    }

    #[test]
    fn an_old_one_is_refused_with_its_version() {
        let sample = Sample::new();
        let root = sample.ucx("old", (0, 99), "x86_64");
        let reason = look_into(&root, "x86_64").expect_err("it is old").reason;
        assert!(reason.ends_with("is of UCX 0.99"), "{reason}");
        let root = sample.ucx("new", OLDEST, "x86_64");
        look_into(&root, "x86_64").expect("the oldest that will do");
    }

    #[test]
    fn headers_without_library_and_broken_libraries_are_refused() {
        let sample = Sample::new();
        let root = sample.ucx("broken", (1, 22), "x86_64");
        let library = root.join("lib/libucp.so");
        let contents: [&[u8]; 5] = [
            b"",
            b"\x7fELF\x02\x01",
            b"INPUT(libucp.so.0)  ",
            &elf(62)[..19],
            b"\x7fELF\x01\x01______________",
        ];
        for content in contents {
            fs::write(&library, content).expect("writable");
            let unfit = look_into(&root, "x86_64").expect_err("it is broken");
            assert!(!unfit.is_of_other_machine, "{content:?}");
        }
        fs::remove_file(&library).expect("it is there");
        look_into(&root, "x86_64").expect_err("there is no library");
    }

    #[test]
    fn a_header_without_numbers_is_refused() {
        let sample = Sample::new();
        let root = sample.ucx("odd", (1, 22), "x86_64");
        let texts = [
            "",
            "#define UCP_API_MAJOR one\n#define UCP_API_MINOR 22\n",
            "#define UCP_API_MAJOR 1\n",
        ];
        for text in texts {
            fs::write(root.join("include/ucp/api/ucp_version.h"), text).expect("writable");
            let reason = look_into(&root, "x86_64").expect_err("it lacks a version").reason;
            assert!(reason.contains("UCP_API_MINOR"), "{reason}");
        }
    }

    #[test]
    fn a_path_that_is_no_line_of_text_is_refused() {
        let sample = Sample::new();
        let root = sample.ucx("two\nlines", (1, 22), "x86_64");
        let reason = look_into(&root, "x86_64").expect_err("it is two lines").reason;
        assert!(reason.contains("cargo cannot be told"), "{reason}");
    }
}
