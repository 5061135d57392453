//! Every combination of answers, built and run in one target directory.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use fs_err as fs;

use super::commands::{Promise, promised};
use super::generate::{Answers, Generator, Kit, urom_new};
use super::{FOLDER, tree};
use crate::place::remove_directory;
use crate::target::Target;
use crate::workspace::{Profile, Workspace};
use crate::{shell, tools, ucx};

/// What `cargo run` prints in a generated workspace.
const ANSWER: &str = "the sum of 2 values is 3\nthe sum of 3 values is 6.5\n";

/// From `cargo generate` to that, with dependencies compiled.
const TIME_LIMIT: Duration = Duration::from_secs(60);

/// The kit's crates that a generated workspace can come to need, and their folders.
const CRATES: [&str; 11] = [
    "libdoca-host",
    "ucx",
    "ucx-probe",
    "ucx-sys",
    "urom-abi",
    "urom-host",
    "urom-log",
    "urom-pdk",
    "urom-pdk-derive",
    "urom-service",
    "urom-wire",
];

struct Place<'a> {
    workspace: &'a Workspace,
    generator: &'a Generator,
    tool: PathBuf,
    /// Where they are made: far from the clone, whose settings would reach them otherwise.
    scratch: tempfile::TempDir,
    /// cargo's target directory.
    target: PathBuf,
    /// The search path with the tool in front.
    path: OsString,
}

/// All combinations; `quick` takes the first and the last of them, and no form that checks the kit
/// anew.
pub(super) fn run(workspace: &Workspace, generator: &Generator, quick: bool) -> Result<()> {
    let place = Place::new(workspace, generator)?;
    let kit = || Kit::Path(workspace.root.display().to_string());
    let all = [
        Answers { project: "plain", plugin: "worker_plain", kit: kit(), ..Answers::default() },
        Answers {
            project: "with-ucx",
            plugin: "worker_with_ucx",
            ucx: true,
            kit: kit(),
            ..Answers::default()
        },
        Answers {
            project: "for_c",
            plugin: "worker_c_2",
            c_header: true,
            kit: kit(),
            ..Answers::default()
        },
        // The longest name there may be.
        Answers {
            project: "all-of-it",
            plugin: "worker_with_ucx_and_a_c_header_and_a_long_name2",
            ucx: true,
            c_header: true,
            kit: kit(),
        },
    ];
    for answers in all.iter().filter(|answers| !quick || answers.ucx == answers.c_header) {
        place.whole(answers).with_context(|| format!("with the answers {answers:?}"))?;
    }
    if !quick {
        place.with_git().context("with the kit from git")?;
        place.with_registry().context("with the kit from a registry")?;
    }
    place.time(&Answers {
        project: "timed",
        plugin: "worker_timed",
        kit: kit(),
        ..Answers::default()
    })
}

impl<'a> Place<'a> {
    fn new(workspace: &'a Workspace, generator: &'a Generator) -> Result<Self> {
        let mut build = shell::cargo();
        build.args(["build", "--quiet", "-p", "cargo-urom"]);
        shell::step("template: building cargo-urom", &mut build)?;
        let programs = workspace.profile_dir(None, Profile::Dev);
        let before = std::env::var_os("PATH").unwrap_or_default();
        let path = std::iter::once(programs.clone()).chain(std::env::split_paths(&before));
        Ok(Self {
            workspace,
            generator,
            tool: programs.join("cargo-urom"),
            scratch: tempfile::tempdir().context("no temporary directory")?,
            target: workspace.target_dir.join("template"),
            path: std::env::join_paths(path).context("the search path cannot be written")?,
        })
    }

    fn directory(&self, name: &str) -> Result<PathBuf> {
        let directory = self.scratch.path().join(name);
        fs::create_dir(&directory)?;
        Ok(directory)
    }

    fn cargo(&self, project: &Path) -> Command {
        let mut cargo = shell::cargo();
        cargo.current_dir(project).env("CARGO_TARGET_DIR", &self.target).env("PATH", &self.path);
        cargo
    }

    /// Everything that the template promises: the files, and each command of README and CI.
    fn whole(&self, answers: &Answers) -> Result<()> {
        let template = self.workspace.root.join(FOLDER);
        let project = self.generator.path(&self.directory(answers.project)?, &template, answers)?;
        let files = tree::read(&project)?;
        tree::without_placeholders(&files)?;
        let new =
            urom_new(&self.tool, &self.directory(&format!("{}-new", answers.project))?, answers)?;
        tree::same(&files, &tree::read(&new)?)
            .context("cargo generate and cargo urom new differ")?;
        for promise in promised(&files)? {
            self.keep(&promise, &project, answers)?;
        }
        tree::same(&files, &tree::read(&project)?)
            .context("the commands have changed the workspace")?;
        self.deny(&project)
    }

    /// What it depends on is held to the rules for this repository.
    fn deny(&self, project: &Path) -> Result<()> {
        let mut deny = tools::deny(self.workspace, &project.join("Cargo.toml"))?;
        shell::step("template: cargo deny", deny.env("CARGO_TARGET_DIR", &self.target))
    }

    fn keep(&self, promise: &Promise, project: &Path, answers: &Answers) -> Result<()> {
        if promise.is_for_aarch64()
            && let Some(missing) = self.missing_for_aarch64(answers)
        {
            println!("left out: `{}` in {}: {missing}", promise.0, answers.project);
            return Ok(());
        }
        if promise.0 == "cargo run" {
            return self.answers(project);
        }
        let mut cargo = self.cargo(project);
        promise.give_to(&mut cargo);
        shell::step(&format!("template: {}: {}", answers.project, promise.0), &mut cargo)
    }

    /// Runs the host program, which must print what the plugin answered.
    fn answers(&self, project: &Path) -> Result<()> {
        let mut cargo = self.cargo(project);
        let (status, printed) = shell::output(cargo.args(["run", "--quiet"]))?;
        let printed = String::from_utf8_lossy(&printed);
        ensure!(status.success(), "the host program failed: {status}");
        ensure!(printed == ANSWER, "the host program printed {printed:?} and not {ANSWER:?}");
        Ok(())
    }

    /// Checks a workspace whose kit is compiled anew. What it does does not depend on where that is
    /// from.
    fn compiles(&self, project: &Path) -> Result<()> {
        let mut check = self.cargo(project);
        shell::step(
            "template: cargo check",
            check.args(["check", "--quiet", "--workspace", "--all-targets"]),
        )
    }

    /// What this machine lacks for the other one's plugins.
    fn missing_for_aarch64(&self, answers: &Answers) -> Option<String> {
        let triple = Target::Aarch64.triple();
        let mut rustc = Command::new("rustc");
        let libraries = rustc.args(["--print", "target-libdir", "--target", triple]).output();
        let libraries =
            libraries.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned());
        if !libraries.is_ok_and(|directory| Path::new(&directory).is_dir()) {
            return Some(format!("rustup target add {triple}"));
        }
        if shell::on_path("aarch64-linux-gnu-gcc").is_none() {
            return Some("there is no aarch64-linux-gnu-gcc".to_owned());
        }
        let ucx = ucx::directory(&self.workspace.target_dir, ucx::VERSION, Target::Aarch64);
        (answers.ucx && !ucx.is_dir()).then(|| format!("run cargo xtask setup --target {triple}"))
    }

    /// From this repository's last commit, as from any address.
    fn with_git(&self) -> Result<()> {
        let clone = self.target.join("kit");
        remove_directory(&clone)?;
        let mut git = Command::new("git");
        git.args(["clone", "--quiet"]).arg(&self.workspace.root).arg(&clone);
        shell::step("template: cloning this repository", &mut git)?;
        let address = format!("file://{}", clone.display());
        let answers = Answers {
            project: "from-git",
            plugin: "worker_from_git",
            kit: Kit::Git(address.clone()),
            ..Answers::default()
        };
        let project = self.generator.git(&self.directory("git")?, &address, FOLDER, &answers)?;
        tree::without_placeholders(&tree::read(&project)?)?;
        self.compiles(&project)?;

        // In the clone's root no answer has to be given. Cargo finds the kit where the workspace
        // says it is.
        let answers = Answers { project: "in-clone", ..Answers::default() };
        let project = self.generator.in_clone(&clone, FOLDER, &answers)?;
        tree::without_placeholders(&tree::read(&project)?)?;
        let mut metadata = self.cargo(&project);
        metadata.args(["metadata", "--quiet", "--format-version", "1"]).stdout(Stdio::null());
        shell::step("template: cargo metadata in a clone's root", &mut metadata)
    }

    /// With plain versions, which this clone's crates are put in the place of.
    fn with_registry(&self) -> Result<()> {
        let answers = Answers {
            project: "from-registry",
            plugin: "worker_from_registry",
            kit: Kit::Registry,
            ..Answers::default()
        };
        let template = self.workspace.root.join(FOLDER);
        let project = self.generator.path(&self.directory("registry")?, &template, &answers)?;
        tree::without_placeholders(&tree::read(&project)?)?;
        let manifest = project.join("Cargo.toml");
        let mut text = fs::read_to_string(&manifest)?;
        text.push_str("\n[patch.crates-io]\n");
        for krate in CRATES {
            text.push_str(&format!(
                "{krate} = {{ path = \"{}\" }}\n",
                self.workspace.root.join(krate).display()
            ));
        }
        fs::write(&manifest, text)?;
        self.compiles(&project)
    }

    /// How long it takes from nothing to an answer.
    fn time(&self, answers: &Answers) -> Result<()> {
        let directory = self.directory("time")?;
        let template = self.workspace.root.join(FOLDER);
        let start = Instant::now();
        let project = self.generator.path(&directory, &template, answers)?;
        self.answers(&project)?;
        let time = start.elapsed();
        println!(
            "template: {:.1} s from cargo generate to the first answer, dependencies compiled",
            time.as_secs_f64()
        );
        if time > TIME_LIMIT {
            bail!("that is more than {} s", TIME_LIMIT.as_secs());
        }
        Ok(())
    }
}
