//! `cargo xtask install`: installs DOCA's C interface; for C tests, see [`for_tests`].

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use fs_err as fs;

use crate::directory::{DirectoryWriter, TransferMode, files_below, make_directory};
use crate::linked_ucx::LinkedUcx;
use crate::pkgconfig::{self, RELEASE};
use crate::target::BuildTarget;
use crate::workspace::{BuildProfile, Workspace};
use crate::{filter, plugins, setup, shell};

pub(crate) const PACKAGES: [&str; 3] = ["urom-service", "libdoca", "urom-ucx-emulation"];

/// The live view of `uromd top`.
const FEATURES: [&str; 1] = ["urom-service/top"];

/// For programs with LD_PRELOAD, and optionally for uromd's workers.
const EMULATION: &str = "liburom_ucx_emulation.so";

/// Builds with optimisations and installs to `prefix`, which may contain an older installation.
pub(crate) fn run(workspace: &Workspace, prefix: &Path, target: Option<BuildTarget>) -> Result<()> {
    let prefix = usable(prefix)?;
    setup::run(workspace, target)?;
    let built = build(workspace, target)?;
    let ucx = LinkedUcx::find(workspace, target)?;
    let mut writer = DirectoryWriter::new(&prefix, TransferMode::Copy);
    lay_out(workspace, &built, &ucx, &mut writer)
        .and_then(|()| write_manual(&prefix.join("share")))
        .with_context(|| format!("installing into {}", prefix.display()))?;
    print!("{}", report(&prefix, &ucx, writer.written().len()));
    let host = BuildTarget::host()?;
    if let Some(target) = target.filter(|target| *target != host) {
        println!(
            "It is for {}: copy all of it there, links as links (`rsync -a`). The commands are for \
             that machine, with its directory there.",
            target.triple()
        );
    }
    Ok(())
}

/// Builds everything that is installed, and returns the build's directory.
pub(crate) fn build(workspace: &Workspace, target: Option<BuildTarget>) -> Result<PathBuf> {
    let built = plugins::build(workspace, target, BuildProfile::Dist, &[], &PACKAGES, &FEATURES)?;
    filter::make(&built, target)?;
    Ok(built)
}

/// Writes manual pages and completions.
pub(crate) fn write_manual(share: &Path) -> Result<()> {
    shell::run(shell::cargo().args(["run", "--quiet", "-p", "xtask-manual", "--"]).arg(share))
}

/// Links an unoptimised build to its `prefix` in `profile_dir`, and removes other files there.
pub(crate) fn for_tests(
    workspace: &Workspace,
    target: Option<BuildTarget>,
    profile: BuildProfile,
) -> Result<()> {
    let profile_dir = workspace.profile_dir(target, profile);
    let prefix = profile_dir.join("prefix");
    filter::make(&profile_dir, target)?;
    let mut writer = DirectoryWriter::new(&prefix, TransferMode::Link);
    lay_out(workspace, &profile_dir, &LinkedUcx::find(workspace, target)?, &mut writer)
        .and_then(|()| writer.remove_others())
        .with_context(|| format!("laying out {} for the tests", prefix.display()))
}

/// Creates the prefix, checks write access, and returns the absolute path.
fn usable(prefix: &Path) -> Result<PathBuf> {
    let prefix = std::path::absolute(prefix).with_context(|| {
        format!("--prefix {}: its absolute path is not known", prefix.display())
    })?;
    let cannot = || format!("--prefix {}: this program cannot write there", prefix.display());
    make_directory(&prefix).with_context(cannot)?;
    tempfile::tempfile_in(&prefix).with_context(cannot)?;
    Ok(prefix)
}

fn lay_out(
    workspace: &Workspace,
    profile_dir: &Path,
    ucx: &LinkedUcx,
    writer: &mut DirectoryWriter,
) -> Result<()> {
    lay_out_own(workspace, profile_dir, ucx, writer)?;
    // Configure scripts of other distributions look here. An existing directory is not changed.
    if !writer.has_directory("lib64") {
        writer.symlink("lib", "lib64")?;
    }
    let systemd = workspace.root.join("deploy/systemd");
    let unit = fs::read_to_string(systemd.join("uromd.service"))?;
    let uromd = in_unit(&writer.root().join("bin/uromd"));
    writer.text(&unit.replace("/usr/bin/uromd", &uromd), "lib/systemd/system/uromd.service")?;
    writer.file(&systemd.join("uromd.sysusers"), "lib/sysusers.d/urom.conf")
}

/// Lays out everything that only programs of the prefix read.
pub(crate) fn lay_out_own(
    workspace: &Workspace,
    profile_dir: &Path,
    ucx: &LinkedUcx,
    writer: &mut DirectoryWriter,
) -> Result<()> {
    writer.file(&profile_dir.join("uromd"), "bin/uromd")?;

    let in_lib = |name: &str| Path::new("lib").join(name);
    for name in [filter::REAL, EMULATION] {
        writer.file(&profile_dir.join(name), in_lib(name))?;
    }
    for library in pkgconfig::libraries() {
        let plain = format!("lib{library}.so");
        let (file, soname) = (format!("{plain}.{RELEASE}"), filter::soname(&library));
        writer.file(&profile_dir.join(&plain), in_lib(&file))?;
        writer.symlink(&file, in_lib(&soname))?;
        writer.symlink(&soname, in_lib(&plain))?;
    }
    for (name, text) in pkgconfig::doca() {
        writer.text(&text, Path::new("lib/pkgconfig").join(name))?;
    }
    for header in headers_of(workspace)? {
        writer.file(&header, in_folder("include", &header)?)?;
    }
    // A separate folder, because a program may have a header of the same name.
    for header in protocol_headers(&workspace.root)? {
        writer.file(&header, in_folder("include/urom", &header)?)?;
    }
    let deploy = workspace.root.join("deploy");
    writer
        .file(&deploy.join("systemd/uromd.default"), Path::new(DEPLOYMENT).join("uromd.default"))?;
    for file in DEPLOYED {
        writer.file(&deploy.join(file), Path::new(DEPLOYMENT).join(file))?;
    }
    ucx.install(writer)
}

/// The directory of the files that systemd does not read.
const DEPLOYMENT: &str = "share/urom/deploy";

const DEPLOYED: [&str; 6] = [
    "container/Containerfile",
    "container/entrypoint",
    "container/health",
    "container/uromd.yaml",
    "kubernetes/servicemonitor.yaml",
    "kubernetes/uromd.yaml",
];

/// Formats a program's path for a unit. systemd itself refuses a path with quotes.
fn in_unit(program: &Path) -> String {
    let text = program.display().to_string().replace('%', "%%");
    if text.contains(char::is_whitespace) { format!("\"{text}\"") } else { text }
}

fn in_folder(folder: &str, file: &Path) -> Result<PathBuf> {
    Ok(Path::new(folder).join(file.file_name().context("a header has a name")?))
}

fn protocol_headers(root: &Path) -> Result<Vec<PathBuf>> {
    let mut headers = Vec::new();
    for plugin in fs::read_dir(root.join("plugins"))? {
        let include = plugin?.path().join("include");
        if include.is_dir() {
            headers.extend(files_below(&include)?.into_iter().map(|file| include.join(file)));
        }
    }
    headers.sort();
    Ok(headers)
}

fn headers_of(workspace: &Workspace) -> Result<Vec<PathBuf>> {
    let directory = workspace.root.join("urom-abi/include");
    let files = files_below(&directory)?.into_iter();
    let headers = files.filter(|file| file.extension().is_some_and(|end| end == "h"));
    Ok(headers.map(|file| directory.join(file)).collect())
}

fn report(prefix: &Path, ucx: &LinkedUcx, files: usize) -> String {
    let shown = shell::quote(&prefix.to_string_lossy());
    format!(
        "installed {files} files in {shown}: include, lib (also as lib64), lib/pkgconfig, bin/uromd,\n\
         lib/systemd, share/man, {DEPLOYMENT}. UCX is {}.\n\
         A C host program is compiled and run with\n\n    \
         export PKG_CONFIG_PATH={shown}/lib/pkgconfig LD_LIBRARY_PATH={shown}/lib\n    \
         cc -DDOCA_ALLOW_EXPERIMENTAL_API host.c -o host $(pkg-config --cflags --libs doca-urom doca-common doca-argp)\n    \
         UROM_PLUGIN_PATH=DIRECTORY_OF_THE_PLUGINS ./host\n\n\
         docs/src/c-interface.md says more, and how to compile a plugin.\n",
        ucx.describe()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prefix_that_cannot_be_one_is_refused_with_its_name() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let file = directory.path().join("file");
        fs::write(&file, "").expect("a file");
        for prefix in [file.clone(), file.join("below")] {
            let error = format!("{:#}", usable(&prefix).expect_err("there is a file"));
            assert!(error.contains(&format!("--prefix {}", prefix.display())), "{error}");
            assert!(
                error.contains(&format!("{} is in the way: it is not a directory", file.display())),
                "{error}"
            );
        }
        // Not even root may write there.
        let error =
            format!("{:#}", usable(Path::new("/proc/self")).expect_err("it is the kernel's"));
        assert!(error.contains("--prefix /proc/self: this program cannot write there"), "{error}");
    }

    #[test]
    fn a_prefix_is_made_and_nothing_is_left_in_it() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let prefix = directory.path().join("a/b");
        assert_eq!(usable(&prefix).expect("it can be made"), prefix);
        assert_eq!(usable(&prefix).expect("it is there"), prefix);
        assert_eq!(fs::read_dir(&prefix).expect("it was made").count(), 0);
        assert!(usable(Path::new("target")).expect("it is there").is_absolute());
    }

    const BUILT: [&str; 6] = [
        "uromd",
        filter::REAL,
        "libdoca_common.so",
        "libdoca_argp.so",
        "libdoca_urom.so",
        EMULATION,
    ];

    fn install(directory: &Path, content: &str) -> Result<DirectoryWriter> {
        let built = directory.join("built");
        make_directory(&built)?;
        for file in BUILT.iter().filter(|_| !content.is_empty()) {
            fs::write(built.join(file), format!("{content} {file}"))?;
        }
        let mut writer = DirectoryWriter::new(&directory.join("prefix"), TransferMode::Copy);
        lay_out(&Workspace::load()?, &built, &LinkedUcx::system(), &mut writer)?;
        Ok(writer)
    }

    #[test]
    fn an_installation_is_complete_and_replaces_an_older_one() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let prefix = directory.path().join("prefix");
        for content in ["old", "new"] {
            let writer = install(directory.path(), content).expect("all is there");
            for file in [
                "bin/uromd",
                "lib/libdoca_common.so.2",
                "lib64/libdoca_argp.so",
                "lib/libdoca_urom.so.2.7.0",
                "lib/liburom_ucx_emulation.so",
            ] {
                let text = fs::read_to_string(prefix.join(file)).expect(file);
                let name = Path::new(file).file_name().and_then(|name| name.to_str()).expect(file);
                let built = name
                    .split_once(".so")
                    .map_or(name.to_owned(), |(name, _)| format!("{name}.so"));
                assert_eq!(text, format!("{content} {built}"), "{file}");
            }
            assert!(
                !writer.written().contains(Path::new("lib/pkgconfig/ucx.pc")),
                "the system has its own"
            );
            let unit = fs::read_to_string(prefix.join("lib/systemd/system/uromd.service"))
                .expect("the unit");
            let start = format!(
                "\nExecStart={} --control /run/uromd/control $SERVICE_ARGS\n",
                prefix.join("bin/uromd").display()
            );
            assert!(unit.contains(&start) && !unit.contains("=/usr/bin"), "{unit}");
        }
        let uromd = directory.path().join("built/uromd");
        fs::remove_file(&uromd).expect("it is there");
        let error = install(directory.path(), "").err().expect("uromd is missing");
        assert!(format!("{error:#}").contains(&uromd.display().to_string()), "{error:#}");
        assert_eq!(
            fs::read_to_string(prefix.join("bin/uromd")).expect("the installed one"),
            "new uromd"
        );
    }

    #[test]
    fn a_unit_names_a_program_wherever_it_is() {
        for (path, named) in [
            ("/usr/local/bin/uromd", "/usr/local/bin/uromd"),
            ("/a b/uromd", "\"/a b/uromd\""),
            ("/100%/uromd", "/100%%/uromd"),
        ] {
            assert_eq!(in_unit(Path::new(path)), named);
        }
    }

    #[test]
    fn a_prefix_that_has_a_lib64_of_its_own_keeps_it() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let prefix = directory.path().join("prefix");
        make_directory(&prefix.join("lib64")).expect("a directory");
        fs::write(prefix.join("lib64/libz.so"), "somebody's").expect("a file");
        install(directory.path(), "new").expect("it is not in the way");
        assert_eq!(
            fs::read_to_string(prefix.join("lib64/libz.so")).expect("it stays"),
            "somebody's"
        );
        assert!(prefix.join("lib/libdoca_urom.so.2").is_file());
    }

    #[test]
    fn every_installed_file_is_in_the_workspace() {
        let workspace = Workspace::load().expect("cargo knows this workspace");
        for package in PACKAGES {
            assert!(workspace.has_package(package), "{package} is not in the workspace");
        }
        let mut headers = headers_of(&workspace).expect("they are there");
        headers.extend(protocol_headers(&workspace.root).expect("they are there"));
        for name in ["doca_urom.h", "doca_urom_plugin.h", "worker_graph.h", "worker_sandbox.h"] {
            assert!(
                headers.iter().any(|header| header.ends_with(name) && header.is_file()),
                "{name}: {headers:?}"
            );
        }
    }
}
