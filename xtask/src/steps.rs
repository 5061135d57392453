//! The demo's programs: bootstrap, ping pong with and without mpirun, RDMA, RDMO, and allreduce.

use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use crate::process::GuardedChild;
use crate::shell;

pub(crate) const PACKAGES: [&str; 5] =
    ["multi-worker-bootstrap", "ping-pong", "rdma", "rdmo", "allreduce"];

const MESSAGES: [&str; 3] = [
    "--size 1 --iterations 2000",
    "--size 4000 --iterations 2000",
    "--size 1048576 --registered --iterations 40",
];

const RUN_LIMIT: Duration = Duration::from_secs(60);

pub(crate) type DemoStep = Vec<Command>;

pub(crate) fn all(directory: &Path, address: &str) -> Result<Vec<DemoStep>> {
    let with_service = |mut command: Command, words: &str| {
        command.args(shell::words(words)).args(["--service", address]);
        command
    };
    let bootstrap = Command::new(directory.join("multi_worker_bootstrap"));
    let mut steps = vec![vec![with_service(bootstrap, "--once")]];

    let ping_pong = directory.join("ping_pong");
    for message in MESSAGES {
        steps.push(vec![with_service(mpirun(2, &ping_pong), message)]);
    }
    let message = ["--message", "hello from the other process"];
    for (program, options) in [(ping_pong, &message[..]), (directory.join("rdma"), &[])] {
        let endpoint = free_endpoint()?;
        let end = |rank| {
            let mut command = Command::new(&program);
            command.args(["--rendezvous", &endpoint, "--rank", rank]).args(options);
            with_service(command, "")
        };
        steps.push(vec![end("0"), end("1")]);
    }

    let endpoint = free_endpoint()?;
    let port = endpoint.rsplit(':').next().context("an endpoint has a port")?;
    let end = |arguments: &str| {
        let mut command = Command::new(directory.join("rdmo"));
        command.args(shell::words(arguments)).args(["--perf", "--time", "200", "--port", port]);
        command
    };
    let server = with_service(end("--mode server"), "");
    steps.push(vec![server, end("--mode client --server-name 127.0.0.1")]);

    let allreduce = mpirun(4, &directory.join("allreduce"));
    steps.push(vec![with_service(allreduce, "--perf --time 100")]);
    Ok(steps)
}

fn mpirun(processes: u32, program: &Path) -> Command {
    let mut command = Command::new("mpirun");
    if rustix::process::geteuid().is_root() {
        command.arg("--allow-run-as-root");
    }
    // Without core binding, because another process may need the core. Only shared memory, in the
    // mode that works in containers, avoids warnings about missing devices.
    command.args(shell::words(
        "--oversubscribe --bind-to none --mca pml ob1 --mca btl self,vader \
         --mca btl_vader_single_copy_mechanism none",
    ));
    command.args(["-np", &processes.to_string()]).arg(program);
    command
}

pub(crate) fn free_endpoint() -> Result<String> {
    free_ports(1).map(|ports| format!("127.0.0.1:{}", ports[0]))
}

/// Returns ports of 127.0.0.1 that were just free. They are below the kernel's ephemeral ports,
/// which other UCX processes use.
pub(crate) fn free_ports(count: usize) -> Result<Vec<u16>> {
    let free = |port: &u16| TcpListener::bind(("127.0.0.1", *port)).is_ok();
    let ports: Vec<u16> = (20_000..32_000).filter(free).take(count).collect();
    ensure!(ports.len() == count, "no free port on 127.0.0.1");
    Ok(ports)
}

pub(crate) fn run(step: DemoStep) -> Result<()> {
    let mut running = Vec::with_capacity(step.len());
    for mut command in step {
        command.stdin(Stdio::null());
        eprintln!("$ {}", shell::display(&command));
        running.push((GuardedChild::start(&mut command)?, command));
    }
    running.into_iter().try_for_each(|(mut program, command)| {
        program.wait(RUN_LIMIT).and_then(|status| shell::good(&command, status))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sh(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn a_program_that_fails_is_named_with_its_status() {
        let error = run(vec![sh("exit 0"), sh("exit 3")]).expect_err("one fails").to_string();
        assert!(error.contains("exit 3") && error.contains("exit status: 3"), "{error}");
    }
}
