//! The UCX that a build was linked with, as cargo reports it, and what of it goes into an installed
//! prefix.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use fs_err as fs;
use serde::Deserialize;

use crate::pkgconfig;
use crate::place::{Placer, files_below};

/// Where the unpacked package lies in a prefix. The `build.rs` of `urom-service` and of
/// `libdoca/urom` look for it there.
const IN_PREFIX: &str = "lib/urom-ucx";

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum LinkedUcx {
    /// The loader and pkg-config find it by themselves.
    System,
    /// The user's own, with its library directory. It stays where it is.
    Users(PathBuf),
    /// An unpacked PyPI package, with the directory that holds its `libucx`.
    Package(PathBuf),
}

/// The part of cargo's messages that says what a build script found.
#[derive(Deserialize)]
struct Message {
    reason: String,
    #[serde(default)]
    linked_libs: Vec<String>,
    #[serde(default)]
    linked_paths: Vec<String>,
}

impl LinkedUcx {
    /// Reads it from what `cargo build --message-format=json` printed.
    pub(crate) fn of(messages: &[u8]) -> Result<Self> {
        for line in messages.split(|byte| *byte == b'\n').filter(|line| line.starts_with(b"{")) {
            let message: Message = serde_json::from_slice(line)
                .context("cargo printed something else than messages")?;
            if message.reason == "build-script-executed"
                && message.linked_libs.iter().any(|lib| lib == "dylib=ucp")
            {
                let path = message.linked_paths.first().map(String::as_str);
                return Ok(Self::in_directory(
                    path.map(|path| path.strip_prefix("native=").unwrap_or(path)),
                ));
            }
        }
        anyhow::bail!(
            "cargo did not say which UCX it linked with: nothing that was built needs ucx-sys"
        )
    }

    fn in_directory(directory: Option<&str>) -> Self {
        let Some(directory) = directory.map(PathBuf::from) else { return Self::System };
        match directory.parent().and_then(Path::parent) {
            Some(package) if directory.ends_with("libucx/lib") => Self::Package(package.to_owned()),
            _ => Self::Users(directory),
        }
    }

    /// Puts into a prefix what its programs need, with a `ucx.pc` where pkg-config would not find
    /// one.
    pub(crate) fn place(&self, placer: &mut Placer) -> Result<()> {
        match self {
            Self::System => Ok(()),
            Self::Users(directory) => {
                let Some(root) = directory.parent() else { return Ok(()) };
                // Libraries without headers are no use to a C program.
                let Ok(version) = version(&root.join("include")) else { return Ok(()) };
                let text = pkgconfig::ucx(&version, &root.join("include"), directory);
                placer.text(&text, "lib/pkgconfig/ucx.pc")
            }
            Self::Package(package) => {
                for file in files_below(package)? {
                    if is_needed(&file) {
                        placer.file(&package.join(&file), Path::new(IN_PREFIX).join(&file))?;
                    }
                    if let Some(plain) = plain_name(&file).filter(|_| is_needed(&file)) {
                        let name = file.file_name().context("a file has a name")?;
                        placer
                            .symlink(name, Path::new(IN_PREFIX).join(file.with_file_name(plain)))?;
                    }
                }
                let version = version(&package.join("libucx/include"))?;
                let inside = |directory| Path::new("${prefix}").join(IN_PREFIX).join(directory);
                let text =
                    pkgconfig::ucx(&version, &inside("libucx/include"), &inside("libucx/lib"));
                placer.text(&text, "lib/pkgconfig/ucx.pc")
            }
        }
    }

    pub(crate) fn describe(&self) -> String {
        match self {
            Self::System => "the system's, which is not copied".to_owned(),
            Self::Users(directory) => {
                format!("that in {}, which is not copied", directory.display())
            }
            Self::Package(_) => format!("the kit's own, copied to {IN_PREFIX}"),
        }
    }
}

/// Whether a file of the package is needed to run and compile: not static libraries, tools,
/// examples and benchmarks. The package has three copies of each library; the one with the soname
/// is taken.
fn is_needed(file: &Path) -> bool {
    let name = file.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    if file.starts_with("libucx/lib") {
        return soname_end(name).is_some() && !name.contains("perftest");
    }
    let above =
        file.parent().and_then(Path::file_name).and_then(|name| name.to_str()).unwrap_or_default();
    file.starts_with("libucx/include")
        || file.starts_with("libucx/etc")
        || above.ends_with(".libs")
        || above == "licenses"
}

/// The name without a version of a library in the package, to be made a link to it.
fn plain_name(file: &Path) -> Option<&str> {
    let name = file.file_name()?.to_str()?;
    if file.starts_with("libucx/lib") { soname_end(name).map(|end| &name[..end]) } else { None }
}

/// Where `.so` ends in a name such as `libucp.so.0`.
fn soname_end(name: &str) -> Option<usize> {
    let end = name.find(".so.")? + ".so".len();
    let number = &name[end + 1..];
    (!number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())).then_some(end)
}

fn version(include: &Path) -> Result<String> {
    let header = include.join("ucp/api/ucp_version.h");
    let text = fs::read_to_string(&header)?;
    let number = |name: &str| {
        text.lines()
            .find_map(|line| line.strip_prefix("#define ")?.trim().strip_prefix(name))
            .map(str::trim)
    };
    let both = number("UCP_API_MAJOR").zip(number("UCP_API_MINOR"));
    let (major, minor) = both.with_context(|| format!("{} has no version", header.display()))?;
    Ok(format!("{major}.{minor}.0"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::place::Transfer;

    fn reported(paths: &str) -> Result<LinkedUcx> {
        let other = r#"{"reason":"build-script-executed","linked_libs":["dylib=z"],"linked_paths":["native=/z"]}"#;
        let ucx = format!(
            r#"{{"reason":"build-script-executed","linked_libs":["dylib=ucp","dylib=ucs"],"linked_paths":[{paths}]}}"#
        );
        let artifact = r#"{"reason":"compiler-artifact","filenames":[]}"#;
        LinkedUcx::of(format!("{artifact}\n{other}\n{ucx}\n").as_bytes())
    }

    #[test]
    fn cargo_says_which_ucx_was_linked() {
        assert_eq!(reported("").expect("well-formed"), LinkedUcx::System);
        assert_eq!(
            reported(r#""native=/opt/ucx/lib""#).expect("well-formed"),
            LinkedUcx::Users("/opt/ucx/lib".into())
        );
        let unpacked = r#""native=/t/ucx/1.22.0-x86_64/libucx/lib""#;
        assert_eq!(
            reported(unpacked).expect("well-formed"),
            LinkedUcx::Package("/t/ucx/1.22.0-x86_64".into())
        );
    }

    #[test]
    fn a_build_without_ucx_is_an_error() {
        assert!(LinkedUcx::of(b"").is_err());
        assert!(LinkedUcx::of(b"{\"reason\":\"build-finished\"}\n").is_err());
        assert!(LinkedUcx::of(b"{ not a message\n").is_err());
    }

    #[test]
    fn of_the_package_one_copy_of_each_library_is_taken_with_headers_and_licences() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let (package, root) = (directory.path().join("package"), directory.path().join("prefix"));
        let version_header = "libucx/include/ucp/api/ucp_version.h";
        let needed = [
            "libucx/lib/libucp.so.0",
            "libucx/lib/ucx/libuct_cma.so.0",
            "x.libs/libz-1.so",
            version_header,
        ];
        let others = [
            "libucx/lib/libucp.so",
            "libucx/lib/libucp.so.0.0.0",
            "libucx/lib/libucp.a",
            "libucx/lib/pkgconfig/ucx.pc",
            "libucx/lib/ucx/libucx_perftest_cuda.so.0",
            "libucx/bin/ucx_info",
            "libucx/load.py",
        ];
        for file in needed.iter().chain(&others).chain(&["x.dist-info/licenses/LICENSE"]) {
            let path = package.join(file);
            fs::create_dir_all(path.parent().expect("it has one")).expect("a directory");
            fs::write(path, "#define UCP_API_MAJOR    1\n#define UCP_API_MINOR    22\n")
                .expect("a file");
        }
        let mut placer = Placer::new(&root, Transfer::Copy);
        LinkedUcx::Package(package).place(&mut placer).expect("it is complete");
        let mut expected: Vec<_> =
            needed.iter().map(|file| format!("{IN_PREFIX}/{file}")).collect();
        expected.extend(
            [
                "libucx/lib/libucp.so",
                "libucx/lib/ucx/libuct_cma.so",
                "x.dist-info/licenses/LICENSE",
            ]
            .map(|file| format!("{IN_PREFIX}/{file}")),
        );
        expected.push("lib/pkgconfig/ucx.pc".to_owned());
        expected.sort();
        let found = files_below(&root).expect("readable");
        assert_eq!(found, expected.iter().map(PathBuf::from).collect::<Vec<_>>());
        let plain =
            fs::read_link(root.join(IN_PREFIX).join("libucx/lib/libucp.so")).expect("a link");
        assert_eq!(plain, Path::new("libucp.so.0"));
        let text = fs::read_to_string(root.join("lib/pkgconfig/ucx.pc")).expect("it was written");
        assert!(text.contains("Version: 1.22.0\n"), "{text}");
    }
}
