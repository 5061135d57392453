//! The UCX of a build, and its files in an installed prefix.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::directory::{DirectoryWriter, files_below};
use crate::pkgconfig;
use crate::target::BuildTarget;
use crate::workspace::Workspace;

/// Directory of the package in a prefix. Also in `build.rs` of `urom-service` and `libdoca/c`.
pub(crate) const IN_PREFIX: &str = "lib/urom-ucx";

pub(crate) struct LinkedUcx {
    version: (u32, u32),
    origin: UcxOrigin,
}

#[derive(Debug, PartialEq, Eq)]
enum UcxOrigin {
    /// The loader and pkg-config find it by default.
    System,
    /// The user's library directory, which is not copied.
    Users(PathBuf),
    /// Parent directory of an unpacked PyPI package's `libucx`.
    Package(PathBuf),
}

impl UcxOrigin {
    fn of(directory: Option<PathBuf>) -> Self {
        let Some(directory) = directory else { return Self::System };
        match directory.parent().and_then(Path::parent) {
            Some(package) if directory.ends_with("libucx/lib") => Self::Package(package.to_owned()),
            _ => Self::Users(directory),
        }
    }
}

impl LinkedUcx {
    pub(crate) fn find(workspace: &Workspace, target: Option<BuildTarget>) -> Result<Self> {
        let target = target.map_or_else(BuildTarget::host, Ok)?;
        let search = ucx_probe::Search::new(target.triple());
        let found = search.target_directory(&workspace.target_dir).find()?;
        Ok(Self { version: found.version, origin: UcxOrigin::of(found.directory) })
    }

    /// Installs the libraries and headers, and a `ucx.pc` unless pkg-config has one.
    pub(crate) fn install(&self, writer: &mut DirectoryWriter) -> Result<()> {
        let (include, lib) = match &self.origin {
            UcxOrigin::System => return Ok(()),
            UcxOrigin::Users(lib) => {
                // C programs also need the headers.
                let include = lib.with_file_name("include");
                if !include.join("ucp/api/ucp.h").is_file() {
                    return Ok(());
                }
                (include, lib.clone())
            }
            UcxOrigin::Package(package) => {
                for file in files_below(package)?.into_iter().filter(|file| is_needed(file)) {
                    let path = Path::new(IN_PREFIX).join(&file);
                    writer.file(&package.join(&file), &path)?;
                    if let Some(plain) = plain_name(&file) {
                        let name = file.file_name().context("a file has a name")?;
                        writer.symlink(name, path.with_file_name(plain))?;
                    }
                }
                let inside = Path::new("${prefix}").join(IN_PREFIX).join("libucx");
                (inside.join("include"), inside.join("lib"))
            }
        };
        writer.text(&pkgconfig::ucx(self.version, &include, &lib), "lib/pkgconfig/ucx.pc")
    }

    /// Whether other machines with the same system have it, or get it with the prefix.
    pub(crate) fn is_portable(&self) -> bool {
        !matches!(self.origin, UcxOrigin::Users(_))
    }

    pub(crate) fn describe(&self) -> String {
        match &self.origin {
            UcxOrigin::System => "the system's, which is not copied".to_owned(),
            UcxOrigin::Users(lib) => format!("that in {}, which is not copied", lib.display()),
            UcxOrigin::Package(_) => format!("the kit's own, copied to {IN_PREFIX}"),
        }
    }
}

/// Whether programs need a file of the package: not static libraries, tools, examples and
/// benchmarks. Of the three copies of a library, only the copy with the soname is needed.
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

/// The unversioned name of a library, for a link.
fn plain_name(file: &Path) -> Option<&str> {
    let name = file.file_name()?.to_str()?;
    if file.starts_with("libucx/lib") { soname_end(name).map(|end| &name[..end]) } else { None }
}

/// The end of `.so` in a name such as `libucp.so.0`.
fn soname_end(name: &str) -> Option<usize> {
    let end = name.find(".so.")? + ".so".len();
    let number = &name[end + 1..];
    (!number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())).then_some(end)
}

#[cfg(test)]
pub(crate) mod tests {
    use std::fs;

    use super::*;
    use crate::directory::TransferMode;

    impl LinkedUcx {
        pub(crate) fn system() -> Self {
            Self { version: ucx_probe::OLDEST, origin: UcxOrigin::System }
        }
    }

    #[test]
    fn an_unpacked_package_is_identified_by_its_directory() {
        let of = |directory: &str| UcxOrigin::of(Some(directory.into()));
        assert_eq!(UcxOrigin::of(None), UcxOrigin::System);
        assert_eq!(of("/opt/ucx/lib"), UcxOrigin::Users("/opt/ucx/lib".into()));
        let unpacked = "/t/ucx/1.22.0-x86_64";
        assert_eq!(of(&format!("{unpacked}/libucx/lib")), UcxOrigin::Package(unpacked.into()));
    }

    #[test]
    fn only_ucx_in_a_directory_of_the_user_is_not_portable() {
        let of = |directory: Option<&str>| LinkedUcx {
            version: (1, 22),
            origin: UcxOrigin::of(directory.map(PathBuf::from)),
        };
        assert!(of(None).is_portable() && of(Some("/t/ucx/1.22.0/libucx/lib")).is_portable());
        assert!(!of(Some("/opt/ucx/lib")).is_portable());
    }

    #[test]
    fn of_the_package_one_copy_of_each_library_is_taken_with_headers_and_licences() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let (package, root) = (directory.path().join("package"), directory.path().join("prefix"));
        let needed = [
            "libucx/lib/libucp.so.0",
            "libucx/lib/ucx/libuct_cma.so.0",
            "x.libs/libz-1.so",
            "libucx/include/ucp/api/ucp.h",
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
            fs::write(path, "").expect("a file");
        }
        let mut writer = DirectoryWriter::new(&root, TransferMode::Copy);
        let ucx = LinkedUcx { version: (1, 22), origin: UcxOrigin::Package(package) };
        ucx.install(&mut writer).expect("it is complete");
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
