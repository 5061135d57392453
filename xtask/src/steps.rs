//! What the demo runs once the service listens: the bootstrap, then ping pong under mpirun and
//! without it, then RDMA, then RDMO.

use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use crate::process::Guarded;
use crate::shell;

/// What cargo is told to build the programs: four workers in two groups, two processes that send
/// messages to each other, which mpirun may start, and twice two of which one changes the other's
/// memory.
pub(crate) const PACKAGES: [&str; 8] =
    ["-p", "multi-worker-bootstrap", "-p", "ping-pong", "-p", "rdma", "-p", "rdmo"];

/// What ping pong sends under mpirun.
const MESSAGES: [&str; 3] = [
    "--size 1 --iterations 2000",
    "--size 4000 --iterations 2000",
    "--size 1048576 --registered --iterations 40",
];

const RUN_LIMIT: Duration = Duration::from_secs(60);

/// Programs that run at the same time.
pub(crate) type Step = Vec<Command>;

/// All steps, for programs in `directory` and a service at `address`.
pub(crate) fn all(directory: &Path, address: &str) -> Result<Vec<Step>> {
    let mut bootstrap = Command::new(directory.join("multi_worker_bootstrap"));
    bootstrap.args(["--once", "--service", address]);
    let mut steps = vec![vec![bootstrap]];

    let ping_pong = directory.join("ping_pong");
    for message in MESSAGES {
        let mut command = mpirun(rustix::process::geteuid().is_root());
        command.arg(&ping_pong).args(shell::words(message)).args(["--service", address]);
        steps.push(vec![command]);
    }
    let place = free_place()?;
    let player = |rank| {
        let mut command = Command::new(&ping_pong);
        command.args(["--rendezvous", &place, "--rank", rank]);
        command.args(["--message", "hello from the other process", "--service", address]);
        command
    };
    steps.push(vec![player("0"), player("1")]);

    let place = free_place()?;
    let side = |rank| {
        let mut command = Command::new(directory.join("rdma"));
        command.args(["--rendezvous", &place, "--rank", rank, "--service", address]);
        command
    };
    steps.push(vec![side("0"), side("1")]);

    let place = free_place()?;
    let port = place.rsplit(':').next().context("a place has a port")?;
    let end = |arguments: &str| {
        let mut command = Command::new(directory.join("rdmo"));
        command.args(shell::words(arguments)).args(["--perf", "--time", "200", "--port", port]);
        command
    };
    let mut server = end("--mode server");
    server.args(["--service", address]);
    steps.push(vec![server, end("--mode client --server-name 127.0.0.1")]);
    Ok(steps)
}

/// Open MPI's launcher for two processes of this machine.
fn mpirun(root: bool) -> Command {
    let mut command = Command::new("mpirun");
    if root {
        command.arg("--allow-run-as-root");
    }
    // However many cores there are: two processes, neither kept to one core, which the other may
    // need. Nothing but shared memory, and by the way that works in containers: no warnings about
    // devices that are not there.
    command.args(shell::words(
        "--oversubscribe --bind-to none --mca pml ob1 --mca btl self,vader \
         --mca btl_vader_single_copy_mechanism none -np 2",
    ));
    command
}

/// A place to meet on this machine that was free a moment ago.
fn free_place() -> Result<String> {
    free_ports(1).map(|ports| format!("127.0.0.1:{}", ports[0]))
}

/// Ports of 127.0.0.1 that were free a moment ago. They are below those that the kernel hands out,
/// which UCX of other processes takes all the time.
pub(crate) fn free_ports(count: usize) -> Result<Vec<u16>> {
    let free = |port: &u16| TcpListener::bind(("127.0.0.1", *port)).is_ok();
    let ports: Vec<u16> = (20_000..32_000).filter(free).take(count).collect();
    ensure!(ports.len() == count, "no free port on 127.0.0.1");
    Ok(ports)
}

/// Runs the programs of a step, and waits for all of them.
pub(crate) fn run(step: Step) -> Result<()> {
    let mut running = Vec::with_capacity(step.len());
    for mut command in step {
        command.stdin(Stdio::null());
        eprintln!("$ {}", shell::display(&command));
        running.push((Guarded::start(&mut command)?, command));
    }
    running.into_iter().try_for_each(|(mut program, command)| {
        program.wait(RUN_LIMIT).and_then(|status| shell::good(&command, status))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(steps: Vec<Step>) -> Vec<Vec<String>> {
        steps.iter().map(|step| step.iter().map(shell::display).collect()).collect()
    }

    #[test]
    fn every_program_is_told_where_the_service_listens() {
        let steps =
            lines(all(Path::new("/there"), "127.0.0.1:4711").expect("there is a free port"));
        assert_eq!(steps.iter().map(Vec::len).collect::<Vec<_>>(), [1, 1, 1, 1, 2, 2, 2]);
        for line in steps.concat() {
            let is_client = line.contains("--mode client");
            assert_eq!(line.ends_with("--service 127.0.0.1:4711"), !is_client, "{line}");
        }
    }

    #[test]
    fn mpirun_is_allowed_to_run_as_root_only_as_root() {
        for root in [false, true] {
            let line = shell::display(&mpirun(root));
            assert_eq!(line.contains("--allow-run-as-root"), root, "{line}");
            assert!(line.ends_with("-np 2"), "{line}");
        }
    }

    fn sh(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn programs_of_one_step_run_at_the_same_time() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let pipe = directory.path().join("pipe").display().to_string();
        let made = Command::new("mkfifo").arg(&pipe).status().expect("mkfifo starts");
        assert!(made.success());
        // Either waits for the other.
        run(vec![sh(&format!("read line <'{pipe}'")), sh(&format!("echo line >'{pipe}'"))])
            .expect("both end");
    }

    #[test]
    fn a_program_that_fails_is_named_with_its_status() {
        let error = run(vec![sh("exit 0"), sh("exit 3")]).expect_err("one fails").to_string();
        assert!(error.contains("exit 3") && error.contains("exit status: 3"), "{error}");
    }
}
