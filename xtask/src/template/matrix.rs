//! Builds and runs every combination of answers in one target directory.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use fs_err as fs;

use super::commands::promised;
use super::generate::{Answers, cargo_generate, urom_new};
use super::{FOLDER, tree};
use crate::directory::remove_directory;
use crate::target::BuildTarget;
use crate::workspace::{BuildProfile, Workspace};
use crate::{shell, tools, ucx};

/// Last line of `cargo run` in every generated workspace.
const ANSWER: &str = "the sum of 3 values is 6.5\n";

/// From `cargo generate` to that line, with compiled dependencies.
const TIME_LIMIT: Duration = Duration::from_secs(60);

/// Records two commands, of which one fails, and replays them.
const RECORDS: &str = r#"
mkdir recorded
library=$(cargo urom build)
cargo urom run "$library" --listen 127.0.0.1:0 --address-file recorded/address --record recorded &
service=$!
trap 'kill $service' EXIT
until test -s recorded/address; do sleep 0.1; done
cargo urom call "$library" --service @recorded/address accumulate 'values=[1,2.5]' \
    + accumulate 'values=[nan]' || true
trap - EXIT
kill $service
wait $service
mv recorded/*.urec recorded/1.urec
cargo urom show recorded/1.urec --failed
cargo urom replay recorded/1.urec "$library"
cargo test --quiet -p "$(basename "$PWD")-plugin" a_recording
"#;

struct Matrix<'a> {
    workspace: &'a Workspace,
    generator: &'a Path,
    tool: PathBuf,
    /// Far from the clone, so its settings do not apply.
    scratch: tempfile::TempDir,
    target: PathBuf,
    path: OsString,
}

/// Runs all combinations; with `quick`, the first and the last, and without a new build of the kit.
pub(super) fn run(workspace: &Workspace, generator: &Path, quick: bool) -> Result<()> {
    let matrix = Matrix::new(workspace, generator)?;
    let kit = format!("path={}", matrix.seen_from_projects(&workspace.root)?.display());
    // The last has the longest possible name.
    for (project, plugin, kind, c_header) in [
        ("plain", "worker_plain", "answers", false),
        ("with-peers", "worker_with_peers", "peers", false),
        ("for_c", "worker_c_2", "answers", true),
        ("all-of-it", "worker_with_peers_and_c_header_and_a_long_name2", "peers", true),
    ] {
        if !quick || (kind == "peers") == c_header {
            let license = if c_header { "MIT OR Apache-2.0" } else { "" };
            let answers = Answers { kind, c_header, license, ..Answers::of(project, plugin, &kit) };
            matrix.whole(&answers).with_context(|| format!("with the answers {answers:?}"))?;
        }
    }
    if !quick {
        matrix.with_copy().context("with a copy of the kit")?;
        matrix.with_git().context("with the kit from git")?;
        matrix.with_registry().context("with the kit from a registry")?;
    }
    matrix.time(&Answers::of("timed", "worker_timed", &kit))
}

impl<'a> Matrix<'a> {
    fn new(workspace: &'a Workspace, generator: &'a Path) -> Result<Self> {
        let mut build = shell::cargo();
        build.args(["build", "--quiet", "-p", "cargo-urom"]);
        shell::step("template: building cargo-urom", &mut build)?;
        let programs = workspace.profile_dir(None, BuildProfile::Dev);
        let cargo = Path::new(build.get_program()).parent().map(Path::to_owned);
        let path = shell::path_behind([Some(programs.clone()), cargo].into_iter().flatten())?;
        Ok(Self {
            workspace,
            generator,
            tool: programs.join("cargo-urom"),
            scratch: tempfile::tempdir().context("no temporary directory")?,
            target: workspace.target_dir.join("template"),
            path,
        })
    }

    /// A path relative to a project, two directories below the scratch directory.
    fn seen_from_projects(&self, path: &Path) -> Result<PathBuf> {
        let depth = self.scratch.path().canonicalize()?.components().skip(1).count() + 2;
        Ok(Path::new(&"../".repeat(depth)).join(path.strip_prefix("/")?))
    }

    fn directory(&self, name: &str) -> Result<PathBuf> {
        let directory = self.scratch.path().join(name);
        fs::create_dir(&directory)?;
        Ok(directory)
    }

    fn generate(&self, answers: &Answers) -> Result<PathBuf> {
        let template = self.workspace.root.join(FOLDER);
        let into = self.directory(answers.project)?;
        let from = [OsStr::new("--path"), template.as_os_str()];
        cargo_generate(self.generator, &into, from, answers)
    }

    fn with_environment(&self, mut command: Command, project: &Path) -> Command {
        command.current_dir(project).env("CARGO_TARGET_DIR", &self.target).env("PATH", &self.path);
        command
    }

    fn cargo(&self, project: &Path) -> Command {
        self.with_environment(shell::cargo(), project)
    }

    /// Checks the files, the dependencies, and each command of README and CI.
    fn whole(&self, answers: &Answers) -> Result<()> {
        let project = self.generate(answers)?;
        let files = tree::read(&project)?;
        tree::without_placeholders(&files)?;
        let beside = self.directory(&format!("{}-new", answers.project))?;
        let new = urom_new(&self.tool, &beside, answers)?;
        tree::same(&files, &tree::read(&new)?)
            .context("cargo generate and cargo urom new differ")?;
        for promise in promised(&files)? {
            self.keep(&promise, &project, answers)?;
        }
        tree::same(&files, &tree::read(&project)?)
            .context("the commands have changed the workspace")?;
        if answers.kind == "answers" {
            self.replays(&project, answers)?;
        }
        let mut deny = tools::deny(self.workspace, &project.join("Cargo.toml"))?;
        shell::step("template: cargo deny", deny.env("CARGO_TARGET_DIR", &self.target))
    }

    fn keep(&self, promise: &str, project: &Path, answers: &Answers) -> Result<()> {
        let aarch64 =
            ucx::directory(&self.workspace.target_dir, ucx::VERSION, BuildTarget::Aarch64);
        if promise.contains("aarch64") && !aarch64.is_dir() {
            let set_up = format!("cargo xtask setup --target {}", BuildTarget::Aarch64.triple());
            println!("left out: `{promise}` in {}: run {set_up}", answers.project);
            return Ok(());
        }
        if promise == "cargo run" {
            return self.answers(project);
        }
        let mut shell = Command::new("sh");
        shell::forget_package(&mut shell);
        let mut shell = self.with_environment(shell, project);
        shell::step(
            &format!("template: {}: {promise}", answers.project),
            shell.args(["-c", promise]),
        )
    }

    /// Runs the host program, which must print the plugin's answer.
    fn answers(&self, project: &Path) -> Result<()> {
        let printed = shell::read(self.cargo(project).args(["run", "--quiet"]))?;
        let ends = printed.ends_with(ANSWER);
        ensure!(ends, "the host program printed {printed:?}, which does not end with {ANSWER:?}");
        Ok(())
    }

    /// Records a failure of the plugin behind a service, replays it, and makes it a test of the
    /// plugin.
    fn replays(&self, project: &Path, answers: &Answers) -> Result<()> {
        let tests = project.join("plugin/src/tests.rs");
        let test = "\n#[test]\nfn a_recording_is_repeated() {\n    \
            let file = concat!(env!(\"CARGO_MANIFEST_DIR\"), \"/../recorded/1.urec\");\n    \
            let recording = urom_pdk::test_util::Recording::open(file).unwrap();\n    \
            assert_eq!(recording.replay::<Reduction>().compared, 2);\n}\n";
        fs::write(&tests, fs::read_to_string(&tests)? + test)?;
        let mut shell = Command::new("sh");
        shell::forget_package(&mut shell);
        let mut shell = self.with_environment(shell, project);
        shell.env("PLUGIN", answers.plugin);
        shell::step(
            &format!("template: {}: a recording", answers.project),
            shell.args(["-ec", RECORDS]),
        )
    }

    /// Compiles a workspace with a new build of the kit.
    fn compiles(&self, project: &Path) -> Result<()> {
        let mut check = self.cargo(project);
        check.args(shell::words("check --quiet --workspace --all-targets"));
        shell::step("template: cargo check", &mut check)
    }

    fn with_copy(&self) -> Result<()> {
        let answers = Answers::of("with-copy", "worker_with_copy", "vendor");
        let project = urom_new(&self.tool, &self.directory("copy")?, &answers)?;
        let moved = self.scratch.path().join("moved");
        fs::rename(project, &moved)?;
        self.compiles(&moved)
    }

    /// From a git clone of this repository's last commit.
    fn with_git(&self) -> Result<()> {
        let clone = self.target.join("kit");
        remove_directory(&clone)?;
        let mut git = Command::new("git");
        git.args(["clone", "--quiet"]).arg(&self.workspace.root).arg(&clone);
        shell::step("template: cloning this repository", &mut git)?;
        let address = format!("file://{}", clone.display());
        let answers = Answers::of("from-git", "worker_from_git", &format!("git={address}"));
        let from = ["--git", &address, FOLDER];
        let project = cargo_generate(self.generator, &self.directory("git")?, from, &answers)?;
        tree::without_placeholders(&tree::read(&project)?)?;
        self.compiles(&project)?;

        // Inside of the clone, every default answer must work, and cargo must find the kit.
        let answers = Answers::of("in-clone", "worker_example", "path=..");
        let from = ["--path", FOLDER, "--no-workspace"];
        let project = cargo_generate(self.generator, &clone, from, &answers)?;
        tree::without_placeholders(&tree::read(&project)?)?;
        let mut metadata = self.cargo(&project);
        metadata.args(shell::words("metadata --quiet --format-version 1")).stdout(Stdio::null());
        shell::step("template: cargo metadata in a clone's root", &mut metadata)
    }

    /// With versions, patched to use this clone's crates.
    fn with_registry(&self) -> Result<()> {
        let answers = Answers::of("from-registry", "worker_from_registry", "registry");
        let project = self.generate(&answers)?;
        tree::without_placeholders(&tree::read(&project)?)?;
        let manifest = project.join("Cargo.toml");
        let mut text = fs::read_to_string(&manifest)?;
        text.push_str("\n[patch.crates-io]\n");
        for package in self.workspace.published() {
            let folder = package.manifest_path.with_file_name("");
            text.push_str(&format!("{} = {{ path = {folder:?} }}\n", package.name));
        }
        fs::write(&manifest, text)?;
        self.compiles(&project)
    }

    fn time(&self, answers: &Answers) -> Result<()> {
        let start = Instant::now();
        self.answers(&self.generate(answers)?)?;
        let (seconds, limit) = (start.elapsed().as_secs_f64(), TIME_LIMIT.as_secs_f64());
        println!("template: {seconds:.1} s to the first answer, dependencies compiled");
        ensure!(seconds <= limit, "that is more than {limit} s");
        Ok(())
    }
}
