//! A directory with UCX in it: whether its version and its machine fit.

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

use crate::OLDEST;

/// Why a directory is no UCX to link with.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Unfit {
    /// It is one, for another machine.
    OtherMachine(String),
    /// Anything else.
    Other(String),
}

impl Unfit {
    pub(crate) fn map(self, change: impl FnOnce(String) -> String) -> Self {
        match self {
            Self::OtherMachine(reason) => Self::OtherMachine(change(reason)),
            Self::Other(reason) => Self::Other(change(reason)),
        }
    }

    pub(crate) fn reason(self) -> String {
        let (Self::OtherMachine(reason) | Self::Other(reason)) = self;
        reason
    }
}

/// A directory that was looked into.
#[derive(Debug)]
pub(crate) struct Unpacked {
    pub(crate) version: (u32, u32),
    pub(crate) libraries: PathBuf,
    pub(crate) files: Vec<PathBuf>,
}

/// What `e_machine` of an ELF file must be for programs of `arch`, or why it cannot be told.
pub(crate) fn machine(arch: &str) -> Result<u16, String> {
    match arch {
        "x86_64" => Ok(62),
        "aarch64" => Ok(183),
        other => {
            Err(format!("there are bindings for x86_64 and aarch64 Linux, and none for `{other}`"))
        }
    }
}

/// Looks into the root of an installed or unpacked UCX, or into the directory around it that pip
/// makes.
pub(crate) fn look_into(root: &Path, arch: &str) -> Result<Unpacked, Unfit> {
    let inner = root.join("libucx");
    let root = if inner.join("include").is_dir() { &inner } else { root };
    let lib64 = root.join("lib64");
    let has_lib64 = lib64.join("libucp.so").is_file() && !root.join("lib/libucp.so").is_file();
    let libraries = if has_lib64 { lib64 } else { root.join("lib") };
    look_at(libraries, &root.join("include"), arch)
}

/// Looks at libraries and headers that need not lie together.
pub(crate) fn look_at(libraries: PathBuf, include: &Path, arch: &str) -> Result<Unpacked, Unfit> {
    let header = include.join("ucp/api/ucp_version.h");
    let version = version(&header).map_err(Unfit::Other)?;
    if version < OLDEST {
        let (major, minor) = version;
        return Err(Unfit::Other(format!("{} is of UCX {major}.{minor}", header.display())));
    }
    let library = libraries.join("libucp.so");
    check_machine(&library, arch)?;
    // A build script names it to cargo, in one line.
    if library.to_str().is_none_or(|path| path.contains('\n')) {
        return Err(Unfit::Other(format!(
            "{} has a name that cargo cannot be told",
            library.display()
        )));
    }
    Ok(Unpacked { version, libraries, files: vec![library, header] })
}

/// The version of the headers.
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
    version.ok_or_else(|| format!("{} has no UCP_API_MAJOR and UCP_API_MINOR", header.display()))
}

/// Whether a shared library is for programs of `arch`. Reads the first bytes and runs nothing.
pub(crate) fn check_machine(library: &Path, arch: &str) -> Result<(), Unfit> {
    let expected = machine(arch).map_err(Unfit::Other)?;
    let mut start = [0; 20];
    let read = File::open(library).and_then(|mut file| file.read_exact(&mut start));
    read.map_err(|error| Unfit::Other(failed("reading", library, &error)))?;
    // Four bytes of magic; 64 bits; little-endian. The machine is the second half-word after these
    // sixteen bytes.
    if !start.starts_with(b"\x7fELF\x02\x01") {
        return Err(Unfit::Other(format!(
            "{} is no shared library of a 64-bit little-endian machine",
            library.display()
        )));
    }
    if u16::from_le_bytes([start[18], start[19]]) != expected {
        return Err(Unfit::OtherMachine(format!("{} is not for {arch}", library.display())));
    }
    Ok(())
}

pub(crate) fn failed(what: &str, path: &Path, error: &std::io::Error) -> String {
    format!("{what} {}: {error}", path.display())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::{Sample, elf};

    #[test]
    fn a_whole_one_is_taken_with_its_version_and_its_libraries() {
        let sample = Sample::new();
        let root = sample.ucx("opt", (1, 18), "x86_64");
        let unpacked = look_into(&root, "x86_64").expect("it fits");
        assert_eq!(unpacked.version, (1, 18));
        assert_eq!(unpacked.libraries, root.join("lib"));
    }

    #[test]
    fn libraries_may_lie_in_lib64_and_all_of_it_in_the_directory_that_pip_made() {
        let sample = Sample::new();
        let root = sample.ucx("pip/libucx", (1, 22), "aarch64");
        fs::rename(root.join("lib"), root.join("lib64")).expect("it is there");
        let unpacked = look_into(&sample.path("pip"), "aarch64").expect("it fits");
        assert_eq!(unpacked.libraries, root.join("lib64"));
    }

    #[test]
    fn an_old_one_is_refused_with_its_version() {
        let sample = Sample::new();
        for old in [(1, 15), (0, 99)] {
            let root = sample.ucx("old", old, "x86_64");
            let reason = look_into(&root, "x86_64").expect_err("it is old").reason();
            assert!(reason.ends_with(&format!("is of UCX {}.{}", old.0, old.1)), "{reason}");
        }
        let root = sample.ucx("new", OLDEST, "x86_64");
        look_into(&root, "x86_64").expect("the oldest that will do");
    }

    #[test]
    fn one_for_another_machine_is_told_from_other_failures() {
        let sample = Sample::new();
        let root = sample.ucx("arm", (1, 22), "aarch64");
        assert!(matches!(look_into(&root, "x86_64"), Err(Unfit::OtherMachine(_))));
        let missing = look_into(&sample.path("nowhere"), "x86_64").expect_err("it is not there");
        assert!(
            matches!(&missing, Unfit::Other(reason) if reason.contains("ucp_version.h")),
            "{missing:?}"
        );
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
            assert!(matches!(look_into(&root, "x86_64"), Err(Unfit::Other(_))), "{content:?}");
        }
        fs::remove_file(&library).expect("it is there");
        assert!(matches!(look_into(&root, "x86_64"), Err(Unfit::Other(_))));
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
            let reason = look_into(&root, "x86_64").expect_err("it has no version").reason();
            assert!(reason.contains("UCP_API_MINOR"), "{reason}");
        }
    }

    #[test]
    fn a_link_that_leads_in_a_circle_is_an_error() {
        let sample = Sample::new();
        let root = sample.ucx("circle", (1, 22), "x86_64");
        let library = root.join("lib/libucp.so");
        fs::remove_file(&library).expect("it is there");
        std::os::unix::fs::symlink("libucp.so", &library).expect("a link");
        let reason = look_into(&root, "x86_64").expect_err("it leads nowhere").reason();
        assert!(reason.contains("libucp.so"), "{reason}");
    }

    #[test]
    fn a_path_that_is_no_line_of_text_is_refused() {
        let sample = Sample::new();
        let root = sample.ucx("two\nlines", (1, 22), "x86_64");
        let reason = look_into(&root, "x86_64").expect_err("it is two lines").reason();
        assert!(reason.contains("cargo cannot be told"), "{reason}");
    }

    #[test]
    fn a_machine_without_bindings_is_named() {
        let sample = Sample::new();
        let root = sample.ucx("any", (1, 22), "x86_64");
        let reason = look_into(&root, "riscv64gc").expect_err("there are no bindings").reason();
        assert!(reason.contains("riscv64gc"), "{reason}");
    }
}
