//! Finds missing Debian packages, and installs them.

use std::path::Path;
use std::process::Command;

use anyhow::{Result, bail, ensure};

use crate::shell;

/// A requirement of the build, a test for it, and its packages. The test looks for the tool instead
/// of the package, so a compiler from elsewhere suffices.
pub(crate) struct Need {
    /// A program, the path of a file, or the text of [`PIP`].
    found: &'static str,
    packages: &'static [&'static str],
}

/// Links Rust programs, and compiles C tests. A minimal gcc lacks libc's headers.
pub(crate) const C_COMPILER: Need = Need { found: "cc", packages: &["gcc", "libc6-dev"] };
/// Compiles the generated C headers as C++.
pub(crate) const CXX_COMPILER: Need = Need { found: "c++", packages: &["g++"] };
pub(crate) const PKG_CONFIG: Need = Need { found: "pkg-config", packages: &["pkg-config"] };
/// Builds the tests' C programs, with ninja, which the package includes.
pub(crate) const MESON: Need = Need { found: "meson", packages: &["meson"] };
/// cargo-generate links with it.
pub(crate) const OPENSSL: Need =
    Need { found: "/usr/include/openssl/ssl.h", packages: &["libssl-dev"] };
/// Checks the memory of plugin tests.
pub(crate) const VALGRIND: Need = Need { found: "valgrind", packages: &["valgrind"] };
/// Makes network namespaces, and slow links.
pub(crate) const IPROUTE: Need = Need { found: "ip", packages: &["iproute2"] };
pub(crate) const NFTABLES: Need = Need { found: "nft", packages: &["nftables"] };
/// Checks the systemd unit.
pub(crate) const SYSTEMD: Need = Need { found: "systemd-analyze", packages: &["systemd"] };
/// Finds the packages of a program's libraries; cargo-deb runs it, and xz.
pub(crate) const SHLIBDEPS: Need = Need { found: "dpkg-shlibdeps", packages: &["dpkg-dev"] };
pub(crate) const PIP: Need =
    Need { found: "python3 -m pip", packages: &["python3", "python3-pip"] };
pub(crate) const AARCH64_COMPILER: Need =
    Need { found: "aarch64-linux-gnu-gcc", packages: &["gcc-aarch64-linux-gnu"] };
pub(crate) const AARCH64_LIBC: Need =
    Need { found: "/usr/aarch64-linux-gnu/lib/libc.so.6", packages: &["libc6-dev-arm64-cross"] };
pub(crate) const AARCH64_EMULATOR: Need =
    Need { found: "qemu-aarch64-static", packages: &["qemu-user-static"] };
/// Builds the feature `mpi`.
pub(crate) const MPI_COMPILER: Need = Need { found: "mpicc", packages: &["libopenmpi-dev"] };
pub(crate) const MPI_LAUNCHER: Need = Need { found: "mpirun", packages: &["openmpi-bin"] };
/// Starts a local Slurm, and jobs with PMIx.
pub(crate) const SLURM: [&Need; 4] = [
    &Need { found: "munged", packages: &["munge"] },
    &Need { found: "slurmctld", packages: &["slurmctld", "slurm-wlm-basic-plugins"] },
    &Need { found: "slurmd", packages: &["slurmd", "libpmix2"] },
    &Need { found: "srun", packages: &["slurm-client"] },
];
/// Tests compare PMIx's headers with Rust's structures.
pub(crate) const PMIX_HEADERS: Need = Need {
    found: if cfg!(target_arch = "aarch64") {
        "/usr/lib/aarch64-linux-gnu/pkgconfig/pmix.pc"
    } else {
        "/usr/lib/x86_64-linux-gnu/pkgconfig/pmix.pc"
    },
    packages: &["libpmix-dev"],
};
/// Parses UCX's and MPI's headers. A fixed version makes the UCX bindings reproducible.
pub(crate) const LIBCLANG: Need =
    Need { found: "/usr/lib/llvm-14/lib/libclang.so", packages: &["libclang-14-dev"] };

impl Need {
    fn is_met(&self) -> bool {
        match self.found {
            path if path.starts_with('/') => Path::new(path).exists(),
            pip if pip == PIP.found => python_with_pip().is_some(),
            program => shell::on_path(program).is_some(),
        }
    }
}

/// Returns a python with pip: the first on the search path, or else apt's.
pub(crate) fn python_with_pip() -> Option<&'static str> {
    ["python3", "/usr/bin/python3"]
        .into_iter()
        .find(|python| shell::succeeds(Command::new(python).args(["-m", "pip", "--version"])))
}

pub(crate) struct MissingPackages<'a> {
    needs: Vec<&'a Need>,
    root: bool,
}

/// Installs the packages of missing needs. Otherwise does not run apt.
pub(crate) fn ensure(needs: &[&Need]) -> Result<()> {
    missing(needs)?.install()
}

pub(crate) fn missing<'a>(needs: &[&'a Need]) -> Result<MissingPackages<'a>> {
    let needs: Vec<_> = needs.iter().copied().filter(|need| !need.is_met()).collect();
    let root = rustix::process::geteuid().is_root();
    let missing = MissingPackages { needs, root };
    if missing.needs.is_empty() {
        return Ok(missing);
    }
    let packages = missing.packages();
    ensure!(
        shell::on_path("apt-get").is_some(),
        "missing on this machine, named as Debian 12 names them: {packages}. There is no apt-get \
         here: install what corresponds to them, then run this command again"
    );
    let has_sudo = shell::on_path("sudo").is_some();
    if !root && !shell::succeeds(Command::new("sudo").args(["-n", "true"])) {
        bail!(
            "Debian packages are missing, and this needs root. Run this, then the same command \
             again:\n\n    {}\n",
            command_for_user(has_sudo, &packages)
        );
    }
    Ok(missing)
}

impl MissingPackages<'_> {
    fn packages(&self) -> String {
        let packages = self.needs.iter().flat_map(|need| need.packages);
        packages.copied().collect::<Vec<_>>().join(" ")
    }

    pub(crate) fn install(&self) -> Result<()> {
        if self.needs.is_empty() {
            return Ok(());
        }
        let packages = self.packages();
        shell::step("set-up: updating apt's package lists", &mut self.apt("update"))?;
        let install = format!("-o DPkg::Lock::Timeout=120 {INSTALL} {packages}");
        let label = format!("set-up: installing Debian packages: {packages}");
        shell::step(&label, &mut self.apt(&install))?;
        match self.needs.iter().find(|need| !need.is_met()) {
            Some(Need { packages, .. }) => {
                let packages = packages.join(" ");
                bail!("apt-get installed {packages} without an error, yet it is not usable")
            }
            None => Ok(()),
        }
    }

    fn apt(&self, words: &str) -> Command {
        let mut command = Command::new(if self.root { "env" } else { "sudo" });
        if !self.root {
            command.args(["-n", "env"]);
        }
        command.args(shell::words("DEBIAN_FRONTEND=noninteractive apt-get -q"));
        command.args(shell::words(words));
        command
    }
}

const INSTALL: &str = "install -y --no-install-recommends";

fn command_for_user(has_sudo: bool, packages: &str) -> String {
    let root = if has_sudo { "sudo sh -c" } else { "su -c" };
    format!("{root} 'apt-get update && apt-get {INSTALL} {packages}'")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_for_the_user_is_one_line_that_does_it_all() {
        let command = "'apt-get update && apt-get install -y --no-install-recommends a b'";
        assert_eq!(command_for_user(true, "a b"), format!("sudo sh -c {command}"));
        assert_eq!(command_for_user(false, "a b"), format!("su -c {command}"));
    }

    #[test]
    fn a_need_is_met_by_what_it_is_for() {
        let file = tempfile::NamedTempFile::new().expect("a temporary file");
        let path: &'static str = Box::leak(file.path().to_str().expect("a readable path").into());
        let need = Need { found: path, packages: &["nothing"] };
        assert!(need.is_met());
        ensure(&[&need]).expect("nothing is missing, so apt is not asked");
        drop(file);
        assert!(!need.is_met());
        assert!(!Need { found: "no-such-program-here", packages: &[] }.is_met());
    }
}
