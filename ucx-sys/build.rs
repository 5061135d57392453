//! Finds UCX 1.16 or newer, tells cargo how to link with it, and says what was tried when there is none.

use std::env;
use std::fmt::Display;
use std::fs;
use std::path::{Path, PathBuf};

const OLDEST: (u32, u32) = (1, 16);

/// A UCX to link with.
struct Found {
    /// The directory of the libraries; nothing when the linker and the loader find them by themselves.
    directory: Option<PathBuf>,
}

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=UROM_UCX_DIR");
    let searches: [fn() -> Result<Found, String>; 3] = [from_environment, from_pkg_config, from_build_tree];
    let mut attempts = Vec::new();
    for search in searches {
        match search() {
            Ok(found) => return link(&found),
            Err(reason) => attempts.push(reason),
        }
    }
    println!("cargo::error=no UCX {}.{} or newer to link with", OLDEST.0, OLDEST.1);
    for (number, reason) in attempts.iter().enumerate() {
        println!("cargo::error=  {}. {reason}", number + 1);
    }
    println!(
        "cargo::error=run `cargo xtask setup` in the clone of this kit; a workspace elsewhere then sets"
    );
    println!("cargo::error=  UROM_UCX_DIR=<clone>/target/ucx/<version>-<arch>/libucx");
}

fn link(found: &Found) {
    println!("cargo::rustc-link-lib=dylib=ucp");
    println!("cargo::rustc-link-lib=dylib=ucs");
    let directory = found.directory.as_deref().map(Path::display);
    println!("cargo::metadata=libdir={}", directory.as_ref().map_or(String::new(), ToString::to_string));
    if let Some(directory) = directory {
        println!("cargo::rustc-link-search=native={directory}");
        println!("cargo::metadata=rpath={directory}");
        // For the tests of this package; no other package sees this line.
        println!("cargo::rustc-link-arg=-Wl,-rpath,{directory}");
        println!("cargo::rerun-if-changed={directory}/libucp.so");
    }
}

/// The directory that the user names.
fn from_environment() -> Result<Found, String> {
    let Some(root) = env::var_os("UROM_UCX_DIR") else {
        return Err("UROM_UCX_DIR is not set (a directory with lib/ and include/)".into());
    };
    let root = fs::canonicalize(&root).map_err(|error| at("UROM_UCX_DIR", &root.display(), &error))?;
    let directory = unpacked(&root).map_err(|reason| format!("UROM_UCX_DIR: {reason}"))?;
    Ok(Found { directory: Some(directory) })
}

/// What pkg-config knows, when the build is for this machine.
fn from_pkg_config() -> Result<Found, String> {
    let oldest = format!("{}.{}", OLDEST.0, OLDEST.1);
    let probe = |arguments: &[&str]| {
        let mut config = pkg_config::Config::new();
        config.atleast_version(&oldest).cargo_metadata(false).print_system_libs(false);
        arguments.iter().for_each(|argument| {
            config.arg(argument);
        });
        config.probe("ucx").map_err(|error| format!("pkg-config ucx >= {oldest}: {}", in_a_line(&error)))
    };
    let library = probe(&[])?;
    if library.link_paths.is_empty() {
        return Ok(Found { directory: None });
    }
    // The file of the PyPI package names the place where it was built, so ask for the place where it is.
    let mut candidates = library.link_paths;
    candidates.extend(probe(&["--define-prefix"]).map(|moved| moved.link_paths).unwrap_or_default());
    match candidates.iter().find(|directory| directory.join("libucp.so").is_file()) {
        Some(directory) => Ok(Found { directory: Some(directory.clone()) }),
        None => Err(format!("pkg-config ucx {}: no libucp.so in {candidates:?}", library.version)),
    }
}

/// What pkg-config said, without the page of advice that comes with it.
fn in_a_line(error: &pkg_config::Error) -> String {
    let text = match error {
        pkg_config::Error::Command { cause, .. } => format!("it does not run: {cause}"),
        pkg_config::Error::Failure { output, .. } | pkg_config::Error::ProbeFailure { output, .. } => {
            String::from_utf8_lossy(&output.stderr).into_owned()
        }
        other => other.to_string(),
    };
    let line = text.lines().map(str::trim).find(|line| !line.is_empty());
    line.unwrap_or("it failed and did not say why").to_owned()
}

/// The newest unpacked package in the `ucx` directory of the build tree or of the kit's own.
fn from_build_tree() -> Result<Found, String> {
    let arch = env::var("CARGO_CFG_TARGET_ARCH").map_err(|error| error.to_string())?;
    let out = PathBuf::from(env::var_os("OUT_DIR").ok_or("OUT_DIR is not set")?);
    let clone = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").ok_or("CARGO_MANIFEST_DIR is not set")?);
    let clone = clone.parent().ok_or("the kit lies in no directory")?.join("target/ucx");
    let mut rejected = Vec::new();
    let mut versions: Vec<(Vec<u32>, PathBuf)> = Vec::new();
    for directory in out.ancestors().map(|ancestor| ancestor.join("ucx")).chain([clone.clone()]) {
        for entry in fs::read_dir(&directory).into_iter().flatten().flatten() {
            let name = entry.file_name();
            let version = name.to_str().and_then(|name| name.strip_suffix(&arch)?.strip_suffix('-'));
            let version = version.map(|version| version.split('.').map(str::parse).collect::<Result<_, _>>());
            if let Some(Ok(version)) = version {
                versions.push((version, entry.path().join("libucx")));
            }
        }
    }
    versions.sort();
    versions.dedup();
    for (_, root) in versions.iter().rev() {
        match unpacked(root) {
            Ok(directory) => return Ok(Found { directory: Some(directory) }),
            Err(reason) => rejected.push(reason),
        }
    }
    if rejected.is_empty() {
        rejected.push(format!(
            "no ucx/<version>-{arch}/libucx beside or above {}, and no <version>-{arch}/libucx in {}",
            out.display(),
            clone.display()
        ));
    }
    Err(rejected.join("; "))
}

/// The library directory of an unpacked UCX for the target, after a look at its version and its machine.
fn unpacked(root: &Path) -> Result<PathBuf, String> {
    let header = root.join("include/ucp/api/ucp_version.h");
    let text = fs::read_to_string(&header).map_err(|error| at("reading", &header.display(), &error))?;
    let number = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix("#define ")?.trim().strip_prefix(name))?;
        line.trim().parse::<u32>().ok()
    };
    let version = number("UCP_API_MAJOR").zip(number("UCP_API_MINOR"));
    let (major, minor) = version.ok_or_else(|| format!("{} has no version", header.display()))?;
    if (major, minor) < OLDEST {
        return Err(format!("{} is UCX {major}.{minor}", root.display()));
    }
    let library = root.join("lib/libucp.so");
    let bytes = fs::read(&library).map_err(|error| at("reading", &library.display(), &error))?;
    let machine = match env::var("CARGO_CFG_TARGET_ARCH").as_deref() {
        Ok("x86_64") => 62,
        Ok("aarch64") => 183,
        other => return Err(format!("no bindings for the architecture {other:?}")),
    };
    match bytes.get(18..20) {
        Some(&[low, high]) if u16::from_le_bytes([low, high]) == machine => Ok(root.join("lib")),
        _ => Err(format!("{} is not for the target's machine", library.display())),
    }
}

fn at(what: &str, path: &dyn Display, error: &dyn Display) -> String {
    format!("{what} {path}: {error}")
}
