//! `cargo xtask slurm`: the examples under Slurm, on one node and on two that this machine plays.
//!
//! Each cluster is a munged, a slurmctld and a slurmd for each node, without systemd, and has its
//! files in a temporary directory. Jobs run the guide's script, `deploy/slurm/urom.sh`.

use std::io::Write as _;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use fs_err as fs;
use fs_err::os::unix::fs::OpenOptionsExt;
use tempfile::TempDir;

use crate::process::Guarded;
use crate::workspace::{Purpose, Workspace};
use crate::{debian, release, setup, shell};

/// A job's programs, with the arguments for one run.
const PROGRAMS: [(&str, &str); 3] = [
    ("ping_pong", "--size 4000 --iterations 200"),
    ("multi_worker_bootstrap", "--once"),
    ("rdma", ""),
];

/// The time in which a cluster starts, and ends.
const LIMIT: Duration = Duration::from_secs(60);

/// Sets up, builds, and runs the programs on one node and on two.
pub(crate) fn run(workspace: &Workspace) -> Result<()> {
    debian::ensure(&[&debian::SLURM])?;
    setup::run(workspace, None)?;
    let programs = release::build(workspace, None)?;
    let script = workspace.root.join("deploy/slurm/urom.sh");
    for nodes in [1, 2] {
        let cluster = Cluster::start(nodes)?;
        for (program, arguments) in PROGRAMS {
            let name = format!("slurm: {program} on {nodes} of {nodes} nodes");
            let job = Job { script: &script, programs: &programs, program, arguments };
            shell::timed(&name, || cluster.run(&job))?;
        }
        cluster.stop()?;
    }
    println!("slurm: ok");
    Ok(())
}

/// A program between two processes, in the script that starts its services.
struct Job<'a> {
    script: &'a Path,
    programs: &'a Path,
    program: &'a str,
    arguments: &'a str,
}

/// A Slurm of this user's own. Dropping it kills its daemons.
struct Cluster {
    directory: TempDir,
    nodes: u16,
    /// In the order of their start.
    daemons: Vec<Guarded>,
}

impl Cluster {
    fn start(nodes: u16) -> Result<Cluster> {
        let directory = tempfile::Builder::new().prefix("slurm-").tempdir()?;
        // munged refuses a socket that others cannot reach.
        fs::set_permissions(directory.path(), PermissionsExt::from_mode(0o711))?;
        let mut cluster = Cluster { directory, nodes, daemons: Vec::new() };
        cluster.write_files()?;
        let place = cluster.directory.path().display().to_string();
        cluster.daemon("munged", &format!(
            "--foreground --key-file={place}/key --socket={place}/munge.sock \
             --pid-file={place}/munge.pid --seed-file={place}/munge.seed --log-file={place}/munge.log"
        ))?;
        cluster.wait("munged", |cluster| Ok(cluster.file("munge.sock").exists()))?;
        cluster.daemon("slurmctld", "-D")?;
        for node in 1..=nodes {
            cluster.daemon("slurmd", &format!("-D -N n{node}"))?;
        }
        cluster.wait("its nodes", |cluster| {
            let mut states = cluster.command("sinfo", "-h -N -o %T");
            let states = states.stderr(Stdio::null()).output()?.stdout;
            Ok(states == "idle\n".repeat(nodes.into()).into_bytes())
        })?;
        Ok(cluster)
    }

    fn file(&self, name: &str) -> std::path::PathBuf {
        self.directory.path().join(name)
    }

    fn write_files(&self) -> Result<()> {
        let mut key = [0; 64];
        rustix::rand::getrandom(&mut key, rustix::rand::GetRandomFlags::empty())?;
        for name in ["key", "urom.key"] {
            let mut file = fs::OpenOptions::new();
            let file = file.write(true).create_new(true).mode(0o600);
            file.open(self.file(name))?.write_all(&key)?;
        }
        let names = rustix::system::uname();
        let machine = names.nodename().to_str()?.split('.').next().unwrap_or_default();
        fs::create_dir(self.file("state"))?;
        for node in 1..=self.nodes {
            fs::create_dir(self.file(&format!("spool-n{node}")))?;
            fs::create_dir(self.file(&format!("tmp-n{node}")))?;
        }
        let user = if rustix::process::geteuid().is_root() { "root".into() } else { user()? };
        let text = configuration(&self.directory.path().display().to_string(), machine, &user);
        fs::write(self.file("slurm.conf"), text + &nodes(self.nodes, machine, ports(self.nodes)?))?;
        Ok(())
    }

    /// A command of Slurm's for this cluster.
    fn command(&self, program: &str, arguments: &str) -> Command {
        let path = shell::on_path(program).unwrap_or_else(|| program.into());
        let mut command = Command::new(path);
        command.args(shell::words(arguments)).env("SLURM_CONF", self.file("slurm.conf"));
        command.stdin(Stdio::null());
        command
    }

    fn daemon(&mut self, program: &str, arguments: &str) -> Result<()> {
        let log = self.file(&format!("{program}-{}.log", self.daemons.len()));
        let log = fs::File::create(log)?.into_file();
        let mut command = self.command(program, arguments);
        command.stdout(log.try_clone()?).stderr(log);
        self.daemons.push(Guarded::start(&mut command)?);
        Ok(())
    }

    /// Waits until `is_there`; the error has the daemons' logs.
    fn wait(&self, what: &str, is_there: impl Fn(&Cluster) -> Result<bool>) -> Result<()> {
        let deadline = Instant::now() + LIMIT;
        while !is_there(self)? {
            if Instant::now() > deadline {
                bail!("Slurm's {what} did not come within {} s\n{}", LIMIT.as_secs(), self.logs());
            }
            thread::sleep(Duration::from_millis(50));
        }
        Ok(())
    }

    fn logs(&self) -> String {
        let files = fs::read_dir(self.directory.path()).into_iter().flatten().flatten();
        let logs =
            files.map(|file| file.path()).filter(|file| file.extension() == Some("log".as_ref()));
        logs.map(|log| {
            format!("--- {}\n{}", log.display(), fs::read_to_string(&log).unwrap_or_default())
        })
        .collect()
    }

    /// Runs a job of two processes, and checks that each node's service ended cleanly after it.
    fn run(&self, job: &Job<'_>) -> Result<()> {
        let output = self.file("job.out");
        let mut path = vec![job.programs.to_owned()];
        path.extend(std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()));
        let mut batch =
            self.command("sbatch", &format!("--wait --nodes={} --ntasks=2", self.nodes));
        batch
            .arg("--output")
            .arg(&output)
            .arg("--chdir")
            .arg(self.directory.path())
            .arg(job.script);
        batch.arg(job.programs.join(job.program)).args(shell::words(job.arguments));
        batch.env("PATH", std::env::join_paths(path)?);
        batch.env("UROM_PLUGIN_PATH", job.programs.join(Purpose::Use.directory()));
        batch.env("UROM_KEY_FILE", self.file("urom.key"));
        let ended = shell::quietly(&mut batch);
        let text = fs::read_to_string(&output).unwrap_or_default();
        ended.with_context(|| format!("the job printed\n{text}\n{}", self.logs()))?;
        let clean = text.lines().filter(|line| line.contains("stopping the service")).count();
        ensure!(clean == usize::from(self.nodes), "{clean} services ended cleanly:\n{text}");
        let ids = 1..=PROGRAMS.len();
        let mut files =
            ids.flat_map(|id| (1..=self.nodes).map(move |n| format!("/tmp/urom-{id}-n{n}")));
        let left = files.find(|file| Path::new(file).exists());
        ensure!(left.is_none(), "the address file {left:?} is left");
        Ok(())
    }

    /// Ends the daemons, the last first.
    fn stop(mut self) -> Result<()> {
        while let Some(mut daemon) = self.daemons.pop() {
            daemon.terminate(LIMIT)?;
        }
        Ok(())
    }
}

fn user() -> Result<String> {
    Ok(shell::read(Command::new("id").arg("-un"))?.trim().to_owned())
}

/// The ports of the controller and of `nodes` nodes: free a moment ago, one after another.
fn ports(nodes: u16) -> Result<u16> {
    let is_free = |port: u16| TcpListener::bind(("127.0.0.1", port)).is_ok();
    let mut firsts = (20_000..32_000).step_by(8);
    let first = firsts.find(|first| (*first..=first + nodes).all(is_free));
    first.context("no free ports on 127.0.0.1")
}

fn configuration(place: &str, machine: &str, user: &str) -> String {
    format!(
        "\
ClusterName=urom
SlurmctldHost={machine}(127.0.0.1)
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={place}/munge.sock
CredType=cred/munge
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
MpiDefault=none
ReturnToService=2
SlurmdParameters=config_overrides
StateSaveLocation={place}/state
SlurmdSpoolDir={place}/spool-%n
SlurmctldPidFile={place}/slurmctld.pid
SlurmdPidFile={place}/slurmd-%n.pid
TmpFS={place}/tmp-%n
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"
    )
}

/// The lines of the nodes, all of them this machine.
fn nodes(nodes: u16, machine: &str, first: u16) -> String {
    let line = |node| {
        let port = first + node;
        format!(
            "NodeName=n{node} NodeHostname={machine} NodeAddr=127.0.0.1 Port={port} CPUs=8 \
             RealMemory=1000 State=UNKNOWN\n"
        )
    };
    (1..=nodes).map(line).fold(format!("SlurmctldPort={first}\n"), |text, line| text + &line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_guide_shows_the_script_that_jobs_run() {
        let workspace = Workspace::load().expect("cargo knows this workspace");
        let read = |path: &str| fs::read_to_string(workspace.root.join(path)).expect(path);
        let script = read("deploy/slurm/urom.sh");
        assert!(read("docs/src/cluster.md").contains(&script), "docs/src/cluster.md shows another");
    }

    #[test]
    fn each_node_has_a_port_of_its_own_beside_the_controller() {
        let text = nodes(2, "machine", 20_000);
        let ports: Vec<_> =
            text.match_indices("Port=").map(|(at, _)| &text[at + 5..at + 10]).collect();
        assert_eq!(ports, ["20000", "20001", "20002"], "{text}");
    }
}
