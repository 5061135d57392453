//! What a contributor and the CI run, one subcommand each: `cargo xtask help`.
//!
//! Everything here works on a machine that has Rust, a C linker and nothing else; what is missing
//! is installed by the set-up, which every subcommand that needs it runs first and which costs
//! nothing once it is done.

mod bindings;
mod committed;
mod cross;
mod debian;
mod demo;
mod fuzz;
mod guide;
mod headers;
mod install;
mod linked_ucx;
mod measure;
mod package;
mod pkgconfig;
mod place;
mod plugins;
mod process;
mod release;
mod releases;
mod sanitize;
mod setup;
mod shell;
mod steps;
mod target;
mod template;
mod test;
mod tools;
mod ucx;
mod workspace;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

use target::Target;
use workspace::{Profile, Workspace};

#[derive(Parser)]
#[command(
    name = "cargo xtask",
    bin_name = "cargo xtask",
    about = "The tasks of this project's contributors",
    version
)]
struct Cli {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Installs what the build needs: Debian packages, UCX, and the target's own tools.
    Setup {
        /// Sets up for this target instead of this machine.
        #[arg(long, value_name = "TRIPLE")]
        target: Option<Target>,
    },
    /// Builds the plugins and links each as NAME.so into the profile's plugins directory.
    Plugins {
        /// Builds with optimisations.
        #[arg(long)]
        release: bool,
        /// Builds for this target instead of this machine.
        #[arg(long, value_name = "TRIPLE")]
        target: Option<Target>,
    },
    /// Builds and installs what C programs need: uromd and what makes a service of it, DOCA's
    /// libraries, headers and pkg-config files.
    Install {
        /// Where to: include, lib and bin are made in it.
        #[arg(long, value_name = "DIR")]
        prefix: PathBuf,
        /// Builds for this target, such as a BlueField's, instead of this machine.
        #[arg(long, value_name = "TRIPLE")]
        target: Option<Target>,
    },
    /// Runs every test, documentation tests included.
    Test {
        /// Tests this target, under qemu-user when the machine is another.
        #[arg(long, value_name = "TRIPLE")]
        target: Option<Target>,
        /// Tests this package only; may be given more than once.
        #[arg(short, long = "package", value_name = "PACKAGE")]
        package: Vec<String>,
        /// Runs the tests of `ucx`, `urom-wire`, `urom-service` and `libdoca-host`, the whole path
        /// and the examples on this release of UCX, such as 1.16.0, which is unpacked from PyPI.
        /// Nothing is built again for it.
        #[arg(long, value_name = "VERSION", value_parser = ucx::release, conflicts_with_all = ["target", "package", "args"])]
        ucx: Option<String>,
        /// Passed on to the test programs.
        #[arg(last = true)]
        args: Vec<String>,
    },
    /// Runs host programs of this machine against a service for BlueField's cores, under qemu-user.
    Cross,
    /// Starts the service and runs the examples against it: the multi-worker bootstrap, and ping
    /// pong with mpirun and without.
    Demo,
    /// Measures the kit against raw UCX.
    Bench {
        /// Passed on to the benchmark program: `--quick`, `--list`, `--launches N`, `--record`, and
        /// the names of suites; `-- --help` says more.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        args: Vec<String>,
    },
    /// Breaks processes and links of a running service, and checks what everybody else makes of it.
    Faults {
        /// Passed on to the program: `--rounds N`, `--seed N`, `--short`, and the names of suites;
        /// `-- --help` says more.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        args: Vec<String>,
    },
    /// Makes the committed UCX bindings again from UCX 1.16's headers.
    Bindings {
        /// Writes nothing and fails when they differ from what is committed.
        #[arg(long)]
        check: bool,
    },
    /// Does what the guide's start page says, in a fresh place, and builds the guide with mdBook.
    Guide,
    /// Makes the committed C headers of the plugins' protocols again.
    Headers {
        /// Writes nothing and fails when they differ from what is committed.
        #[arg(long)]
        check: bool,
    },
    /// Packages the crates that are there to be published, and builds each from its package.
    Package {
        /// Takes changes along that are not committed.
        #[arg(long)]
        allow_dirty: bool,
    },
    /// Generates a workspace for every combination of the template's answers, builds and runs each.
    Template {
        /// Two combinations only, and not those that build the kit anew.
        #[arg(long)]
        quick: bool,
        /// Generates nothing but what is committed: the template's workspace in place, and
        /// cargo-urom's copy of it.
        #[arg(long, conflicts_with = "quick")]
        bless: bool,
    },
    /// Holds the dependencies to the rules of deny.toml.
    Deny,
    /// Runs tests under what sees wrong accesses, leaks and races: the sanitizers, valgrind and
    /// Miri.
    Sanitize {
        /// These checks only.
        checks: Vec<sanitize::Check>,
        /// With the service's and the host's whole suites, real processes among them, which takes
        /// much longer.
        #[arg(long)]
        full: bool,
    },
    /// Runs them under Miri only.
    Miri,
    /// Runs the fuzz targets.
    Fuzz {
        /// This one only.
        target: Option<String>,
        /// How many inputs each is given.
        #[arg(long, default_value_t = 1_000_000)]
        runs: u64,
        /// Without the address sanitizer, which is five times as fast.
        #[arg(long, conflicts_with = "merge")]
        unsanitized: bool,
        /// Runs none: adds the inputs that earlier runs found, and that reach something new, to
        /// those in fuzz/corpus.
        #[arg(long, conflicts_with = "runs")]
        merge: bool,
    },
}

fn main() -> ExitCode {
    let Err(error) = run(Cli::parse().task) else { return ExitCode::SUCCESS };
    eprintln!("error: {error:#}");
    // The code of the command that failed; one that was killed has none.
    let code = error.downcast_ref::<shell::Failed>().and_then(|failed| failed.status.code());
    code.and_then(|code| u8::try_from(code).ok()).map_or(ExitCode::FAILURE, ExitCode::from)
}

fn run(task: Task) -> anyhow::Result<()> {
    let workspace = &Workspace::load()?;
    match task {
        Task::Setup { target } => setup::run(workspace, target),
        Task::Plugins { release, target } => {
            setup::run(workspace, target)?;
            plugins::build(workspace, target, if release { Profile::Release } else { Profile::Dev })
        }
        Task::Install { prefix, target } => install::run(workspace, &prefix, target),
        Task::Test { ucx: Some(version), .. } => releases::run(workspace, &version),
        Task::Test { target, package, args, .. } => test::run(workspace, target, &package, &args),
        Task::Cross => cross::run(workspace),
        Task::Demo => demo::run(workspace),
        Task::Bench { args } => measure::BENCH.run(workspace, &args),
        Task::Faults { args } => measure::FAULTS.run(workspace, &args),
        Task::Bindings { check } => {
            setup::for_bindings()?;
            bindings::run(&workspace.target_dir, check)
        }
        Task::Template { bless: true, .. } => template::bless(workspace),
        Task::Template { quick, .. } => template::run(workspace, quick),
        Task::Deny => shell::run(&mut tools::deny(workspace, &workspace.root.join("Cargo.toml"))?),
        Task::Sanitize { checks, full } => sanitize::run(workspace, &checks, full),
        Task::Miri => sanitize::run(workspace, &[sanitize::Check::Miri], true),
        Task::Fuzz { target, runs, unsanitized, merge } => {
            let run = fuzz::Work::Run { inputs: runs, sanitized: !unsanitized };
            let work = if merge { fuzz::Work::Merge } else { run };
            fuzz::run(workspace, target.as_deref(), &work)
        }
        Task::Guide => guide::run(workspace),
        Task::Headers { check } => headers::run(&workspace.root, check),
        Task::Package { allow_dirty } => {
            setup::run(workspace, None)?;
            package::run(workspace, allow_dirty)
        }
    }
}
