//! Debian packages: which are missing, and how to install them from where this program stands.

use std::path::Path;
use std::process::Command;

use anyhow::{Result, bail};

use crate::shell;

/// Something the build needs from the system, how it is recognised, and the packages that bring it.
///
/// It is recognised by what it does, not by its package: a compiler from elsewhere will do, and the
/// check costs a few file look-ups.
pub(crate) struct Need {
    found: Found,
    packages: &'static [&'static str],
}

enum Found {
    Program(&'static str),
    File(&'static str),
    Pip,
}

/// Links every Rust program and compiles the tests' C programs. Without recommended packages gcc
/// comes without libc's headers.
pub(crate) const C_COMPILER: Need =
    Need { found: Found::Program("cc"), packages: &["gcc", "libc6-dev"] };
/// Reads the generated C headers as C++.
pub(crate) const CXX_COMPILER: Need = Need { found: Found::Program("c++"), packages: &["g++"] };
/// Finds the system's UCX.
pub(crate) const PKG_CONFIG: Need =
    Need { found: Found::Program("pkg-config"), packages: &["pkg-config"] };
/// Builds the tests' C programs as many users do, with the ninja that comes along.
pub(crate) const MESON: Need = Need { found: Found::Program("meson"), packages: &["meson"] };
/// What cargo-generate links with.
pub(crate) const OPENSSL: Need =
    Need { found: Found::File("/usr/include/openssl/ssl.h"), packages: &["libssl-dev"] };
/// Runs the plugin tests under a memory checker.
pub(crate) const VALGRIND: Need =
    Need { found: Found::Program("valgrind"), packages: &["valgrind"] };
/// Makes network namespaces and links, and slows them down.
pub(crate) const IPROUTE: Need = Need { found: Found::Program("ip"), packages: &["iproute2"] };
/// Drops packets.
pub(crate) const NFTABLES: Need = Need { found: Found::Program("nft"), packages: &["nftables"] };
/// Reads the unit of systemd.
pub(crate) const SYSTEMD: Need =
    Need { found: Found::Program("systemd-analyze"), packages: &["systemd"] };
/// Downloads UCX.
pub(crate) const PIP: Need = Need { found: Found::Pip, packages: &["python3", "python3-pip"] };
/// Links aarch64 programs.
pub(crate) const AARCH64_COMPILER: Need =
    Need { found: Found::Program("aarch64-linux-gnu-gcc"), packages: &["gcc-aarch64-linux-gnu"] };
/// The C library aarch64 programs are linked to and run with.
pub(crate) const AARCH64_LIBC: Need = Need {
    found: Found::File("/usr/aarch64-linux-gnu/lib/libc.so.6"),
    packages: &["libc6-dev-arm64-cross"],
};
pub(crate) const AARCH64_EMULATOR: Need =
    Need { found: Found::Program("qemu-aarch64-static"), packages: &["qemu-user-static"] };
/// Builds what the feature `mpi` needs.
pub(crate) const MPI_COMPILER: Need =
    Need { found: Found::Program("mpicc"), packages: &["libopenmpi-dev"] };
/// Starts the tests and examples that use it.
pub(crate) const MPI_LAUNCHER: Need =
    Need { found: Found::Program("mpirun"), packages: &["openmpi-bin"] };
/// Reads C headers: UCX's, and MPI's for the feature `mpi`. Of this very version, so that the UCX
/// bindings come out the same everywhere.
pub(crate) const LIBCLANG: Need =
    Need { found: Found::File("/usr/lib/llvm-14/lib/libclang.so"), packages: &["libclang-14-dev"] };

impl Need {
    fn is_met(&self) -> bool {
        match self.found {
            Found::Program(name) => shell::on_path(name).is_some(),
            Found::File(path) => Path::new(path).exists(),
            Found::Pip => python_with_pip().is_some(),
        }
    }
}

/// The python to run pip with: the first on the search path, or else the one that apt brings.
pub(crate) fn python_with_pip() -> Option<&'static str> {
    ["python3", "/usr/bin/python3"]
        .into_iter()
        .find(|python| shell::succeeds(Command::new(python).args(["-m", "pip", "--version"])))
}

/// Installs what `needs` lack. Does not touch apt when nothing is missing.
pub(crate) fn ensure(needs: &[&Need]) -> Result<()> {
    let missing: Vec<&Need> = needs.iter().copied().filter(|need| !need.is_met()).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let packages: Vec<&str> = missing.iter().flat_map(|need| need.packages).copied().collect();
    install(&packages)?;
    match missing.into_iter().find(|need| !need.is_met()) {
        Some(need) => {
            bail!(
                "apt-get installed {} without an error, yet it is not usable",
                need.packages.join(" ")
            )
        }
        None => Ok(()),
    }
}

fn install(packages: &[&str]) -> Result<()> {
    if shell::on_path("apt-get").is_none() {
        bail!(
            "missing on this machine, named as Debian 12 names them: {}. There is no apt-get here: install what \
             corresponds to them, then run this command again",
            packages.join(" ")
        );
    }
    let root = rustix::process::geteuid().is_root();
    let sudo = shell::on_path("sudo").is_some();
    let passwordless = !root && sudo && shell::succeeds(Command::new("sudo").args(["-n", "true"]));
    match Means::of(root, sudo, passwordless) {
        Means::Direct => apt(&["apt-get"], packages),
        Means::Sudo => apt(&["sudo", "-n", "apt-get"], packages),
        Means::AskUser { with } => bail!(
            "Debian packages are missing, and this needs root. Run this, then the same command again:\n\n    {}\n",
            command_for_user(with, packages)
        ),
    }
}

/// How apt-get can be run.
#[derive(Debug, PartialEq, Eq)]
enum Means {
    Direct,
    Sudo,
    /// Only by the user, who has to give a password.
    AskUser {
        with: &'static str,
    },
}

impl Means {
    fn of(root: bool, sudo: bool, passwordless: bool) -> Self {
        match (root, sudo, passwordless) {
            (true, _, _) => Self::Direct,
            (false, true, true) => Self::Sudo,
            (false, true, false) => Self::AskUser { with: "sudo sh -c" },
            (false, false, _) => Self::AskUser { with: "su -c" },
        }
    }
}

fn apt(program: &[&str], packages: &[&str]) -> Result<()> {
    let run = |label: &str, words: Vec<&str>| {
        let mut command = Command::new(program[0]);
        command.args(&program[1..]).args(words).env("DEBIAN_FRONTEND", "noninteractive");
        shell::step(label, &mut command)
    };
    run("set-up: updating apt's package lists", update_words())?;
    run(
        &format!("set-up: installing Debian packages: {}", packages.join(" ")),
        install_words(packages),
    )
}

fn update_words() -> Vec<&'static str> {
    vec!["-q", "update"]
}

fn install_words<'a>(packages: &[&'a str]) -> Vec<&'a str> {
    let mut words =
        vec!["-q", "-o", "DPkg::Lock::Timeout=120", "install", "-y", "--no-install-recommends"];
    words.extend(packages);
    words
}

fn command_for_user(with: &str, packages: &[&str]) -> String {
    let install = packages.join(" ");
    format!("{with} 'apt-get update && apt-get install -y --no-install-recommends {install}'")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn root_runs_apt_itself_others_need_a_sudo_without_password() {
        for sudo in [false, true] {
            for passwordless in [false, true] {
                assert_eq!(Means::of(true, sudo, passwordless), Means::Direct);
            }
        }
        assert_eq!(Means::of(false, true, true), Means::Sudo);
        assert_eq!(Means::of(false, true, false), Means::AskUser { with: "sudo sh -c" });
        assert_eq!(Means::of(false, false, false), Means::AskUser { with: "su -c" });
        assert_eq!(Means::of(false, false, true), Means::AskUser { with: "su -c" });
    }

    #[test]
    fn the_command_for_the_user_is_one_line_that_does_it_all() {
        assert_eq!(
            command_for_user("sudo sh -c", &["valgrind", "pkg-config"]),
            "sudo sh -c 'apt-get update && apt-get install -y --no-install-recommends valgrind pkg-config'"
        );
    }

    #[test]
    fn apt_is_never_left_waiting_for_an_answer() {
        let words = install_words(&["valgrind"]);
        assert!(words.contains(&"-y"), "{words:?}");
        assert_eq!(words.last(), Some(&"valgrind"));
    }

    #[test]
    fn a_need_is_met_by_what_it_is_for() {
        let file = tempfile::NamedTempFile::new().expect("a temporary file");
        let path: &'static str = Box::leak(file.path().to_str().expect("a readable path").into());
        let need = Need { found: Found::File(path), packages: &["nothing"] };
        assert!(need.is_met());
        ensure(&[&need]).expect("nothing is missing, so apt is not asked");
        drop(file);
        assert!(!need.is_met());
        assert!(!Need { found: Found::Program("no-such-program-here"), packages: &[] }.is_met());
    }
}
