//! Runs commands in a fresh directory. Each starts in the last directory of the previous command.

use std::fs::File;
use std::path::PathBuf;
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use fs_err as fs;
use fs_err::os::unix::fs::symlink;
use rustix::process::{Pid, Signal, kill_process};

use super::transcript;
use crate::directory::remove_directory;
use crate::process::GuardedChild;
use crate::shell;
use crate::workspace::Workspace;

/// Limit of a command. The longest builds the tool with all its dependencies.
const LIMIT: Duration = Duration::from_secs(20 * 60);

/// Limit for the first output, and for the end, of a background program.
const MOMENT: Duration = Duration::from_secs(60);

pub(super) struct Terminal {
    pub(super) directory: PathBuf,
    /// Contains the fresh directory, and directories that are kept for the next run.
    root: PathBuf,
    kit: PathBuf,
    /// An unpacked UCX for the clone's set-up.
    ucx: PathBuf,
    beside: Vec<BackgroundProgram>,
}

struct BackgroundProgram {
    program: GuardedChild,
    command: String,
    printed: PathBuf,
}

impl BackgroundProgram {
    fn printed(&self) -> Result<String> {
        Ok(String::from_utf8_lossy(&fs::read(&self.printed)?).into_owned())
    }

    fn ended(&self, status: ExitStatus) -> Result<()> {
        let BackgroundProgram { command, .. } = self;
        ensure!(
            status.success(),
            "`{command}` ended with {status}, and printed\n{}",
            self.printed()?
        );
        Ok(())
    }
}

impl Terminal {
    /// Makes the fresh directory, `guide/fresh` in the build tree. Removes the previous one.
    pub(super) fn open(workspace: &Workspace) -> Result<Terminal> {
        let root = workspace.target_dir.join("guide");
        // A tool of an earlier run would hide a missing installation on the page.
        remove_directory(&root.join("tools"))?;
        Terminal::inside(root, workspace.root.clone(), workspace.target_dir.join("ucx"))
    }

    fn inside(root: PathBuf, kit: PathBuf, ucx: PathBuf) -> Result<Terminal> {
        let directory = root.join("fresh");
        // Removes links to build trees, but not the build trees.
        remove_directory(&directory)?;
        fs::create_dir_all(&directory)?;
        Ok(Terminal { directory, root, kit, ucx, beside: Vec::new() })
    }

    /// Runs a command, which must succeed and print `shown`.
    pub(super) fn run(&mut self, command: &str, shown: &[String]) -> Result<()> {
        let directory_file = self.root.join("directory");
        let script = format!("trap 'pwd >\"{}\"' EXIT\n{command}\n", directory_file.display());
        let mut running = self.start(command, &script)?;
        let status =
            running.program.wait(LIMIT).with_context(|| running.printed().unwrap_or_default())?;
        running.ended(status)?;
        transcript::compare(shown, &running.printed()?)?;
        self.directory = fs::read_to_string(&directory_file)?.trim_end().into();
        self.keep_builds()
    }

    /// Starts a background command, and waits until it has printed `shown`.
    pub(super) fn start_beside(&mut self, command: &str, shown: &[String]) -> Result<()> {
        let mut running = self.start(command, &format!("exec {command}"))?;
        let deadline = Instant::now() + MOMENT;
        while !transcript::reached(shown, &running.printed()?) {
            ensure!(
                Instant::now() < deadline && running.program.child.try_wait()?.is_none(),
                "the page shows\n\n{}\n\nand it printed\n\n{}",
                shown.join("\n"),
                running.printed()?
            );
            std::thread::sleep(Duration::from_millis(50));
        }
        self.beside.push(running);
        Ok(())
    }

    /// Sends SIGINT to the background commands. All must succeed.
    pub(super) fn end(self) -> Result<()> {
        for mut running in self.beside {
            kill_process(Pid::from_child(&running.program.child), Signal::INT)?;
            let status = running.program.wait(MOMENT)?;
            running.ended(status)?;
        }
        Ok(())
    }

    fn start(&self, command: &str, script: &str) -> Result<BackgroundProgram> {
        // Restores the default action of SIGINT, which a background parent may ignore.
        let mut program = Command::new("env");
        program.args(["--default-signal=INT", "sh", "-c", script]).current_dir(&self.directory);
        for (name, _) in std::env::vars_os() {
            // The reader's shell lacks cargo's variables.
            if name.to_str().is_some_and(|name| name.starts_with("CARGO") && name != "CARGO_HOME") {
                program.env_remove(name);
            }
        }
        let tools = self.root.join("tools");
        program.env("PATH", shell::path_behind([tools.join("bin")])?);
        program.env("CARGO_INSTALL_ROOT", tools);
        // The page's name of the repository.
        program.env("KIT", &self.kit).env("CARGO_TERM_COLOR", "never");
        // Only the behaviour matters, so the build skips optimisations.
        program.env("CARGO_PROFILE_RELEASE_DEBUG", "false");
        program.env("CARGO_PROFILE_RELEASE_OPT_LEVEL", "0");
        // One stream, as in a terminal.
        let printed = self.root.join(format!("printed-{}", self.beside.len()));
        let file = File::create(&printed)?;
        program.stdin(Stdio::null()).stdout(file.try_clone()?).stderr(file);
        Ok(BackgroundProgram {
            program: GuardedChild::start(&mut program)?,
            command: command.to_owned(),
            printed,
        })
    }

    /// Gives each new workspace a persistent build tree, to compile its dependencies only once.
    fn keep_builds(&self) -> Result<()> {
        for entry in fs::read_dir(self.root.join("fresh"))? {
            let (workspace, name) = entry.map(|entry| (entry.path(), entry.file_name()))?;
            let target = workspace.join("target");
            if !workspace.join("Cargo.toml").is_file() || target.symlink_metadata().is_ok() {
                continue;
            }
            let kept = self.root.join("builds").join(name);
            fs::create_dir_all(&kept)?;
            let ucx = kept.join("ucx");
            if self.ucx.is_dir() && ucx.symlink_metadata().is_err() {
                symlink(&self.ucx, &ucx)?;
            }
            symlink(&kept, &target)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn terminal() -> (tempfile::TempDir, Terminal) {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let [root, kit, ucx] = ["root", "kit", "ucx"].map(|name| directory.path().join(name));
        let terminal = Terminal::inside(root, kit, ucx).expect("it can be made");
        (directory, terminal)
    }

    fn lines(shown: &str) -> Vec<String> {
        shown.lines().map(str::to_owned).collect()
    }

    #[test]
    fn commands_follow_each_other_in_one_directory() {
        let (_directory, mut terminal) = terminal();
        terminal.run("mkdir a && cd a", &[]).expect("it succeeds");
        terminal.run("echo $KIT; pwd >&2", &lines("…/kit\n…/fresh/a")).expect("it succeeds");
        assert!(terminal.directory.ends_with("fresh/a"));
    }

    #[test]
    fn a_command_that_fails_or_prints_something_else_is_shown_with_it() {
        let (_directory, mut terminal) = terminal();
        for (command, parts) in
            [("printf why; exit 3", ["3", "why"]), ("echo b", ["shows\n\na", "b"])]
        {
            let error = terminal.run(command, &lines("a")).expect_err("it fails").to_string();
            assert!(parts.iter().all(|part| error.contains(part)), "{error}");
        }
    }

    #[test]
    fn a_program_that_stays_is_stopped_in_the_end() {
        let (_directory, mut terminal) = terminal();
        let stays = "sh -c 'trap \"exit 0\" INT; echo here; while :; do sleep 0.1; done'";
        terminal.start_beside(stays, &lines("here")).expect("it says so");
        terminal.run("echo meanwhile", &lines("meanwhile")).expect("it succeeds");
        terminal.end().expect("it ends with success");
        let (_directory, mut terminal) = self::terminal();
        terminal.start_beside("sh -c 'echo here; exec sleep 1000'", &lines("here")).expect("it is");
        let error = terminal.end().expect_err("a signal ends it").to_string();
        assert!(error.contains("sleep 1000"), "{error}");
    }

    #[test]
    fn a_new_workspace_builds_where_the_last_one_of_its_name_did() {
        let (_directory, mut terminal) = terminal();
        for last in ["", "file\n"] {
            terminal.run("mkdir calc other && touch calc/Cargo.toml", &[]).expect("it succeeds");
            terminal.run("ls calc/target", &lines(last)).expect("it is linked");
            terminal.run("touch calc/target/file && rm -r calc other", &[]).expect("it succeeds");
        }
    }
}
