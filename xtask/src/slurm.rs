//! `cargo xtask slurm`: runs the guide's job script under a real Slurm of one and of two nodes.
//!
//! The daemons are children of this program, with files in a temporary directory.

use std::ffi::OsString;
use std::fs::File;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use fs_err as fs;

use crate::process::GuardedChild;
use crate::workspace::{Purpose, Workspace};
use crate::{debian, plugins, setup, shell, steps};

const PAGE: &str = "docs/src/cluster.md";
const PROGRAMS: [&str; 3] = ["ping_pong --iterations 200", "multi_worker_bootstrap --once", "rdma"];
const LIMIT: Duration = Duration::from_secs(30);

pub(crate) fn run(workspace: &Workspace) -> Result<()> {
    setup::run(workspace, None)?;
    debian::ensure(&debian::SLURM)?;
    let programs = plugins::build_for_use(workspace, None)?;
    let script = job_script(&fs::read_to_string(workspace.root.join(PAGE))?)?;
    for nodes in [1, 2] {
        let cluster = Cluster::start(programs.clone(), nodes)?;
        let result = cluster.jobs(&script).and_then(|()| cluster.launcher_that_dies());
        if result.is_err() {
            cluster.show_logs();
        }
        result.with_context(|| format!("Slurm with {nodes} node(s)"))?;
    }
    println!("slurm: ok");
    Ok(())
}

/// The first script on the guide's page.
fn job_script(page: &str) -> Result<String> {
    let script = page.split_once("```sh\n#!").and_then(|(_, rest)| rest.split_once("```"));
    let (script, _) =
        script.with_context(|| format!("{PAGE} lacks a block that begins with #!"))?;
    Ok(format!("#!{script}"))
}

/// A running Slurm. Dropping it ends its jobs, then its daemons.
struct Cluster {
    /// In drop order: slurmds before the daemons that they report to.
    daemons: Vec<GuardedChild>,
    directory: tempfile::TempDir,
    programs: PathBuf,
    path: OsString,
    nodes: u16,
}

impl Cluster {
    fn start(programs: PathBuf, nodes: u16) -> Result<Cluster> {
        let directory = tempfile::tempdir()?;
        let at = directory.path().to_owned();
        // munged requires that every user can reach its socket.
        fs::set_permissions(&at, PermissionsExt::from_mode(0o711))?;
        for name in ["munge.key", "urom.key"] {
            let mut random = File::open("/dev/urandom")?;
            let mut key = fs::File::create(at.join(name))?;
            std::io::copy(&mut std::io::Read::take(&mut random, 64), &mut key)?;
            fs::set_permissions(at.join(name), PermissionsExt::from_mode(0o600))?;
        }
        fs::create_dir(at.join("state"))?;
        let user = shell::read(Command::new("id").arg("-un"))?;
        let machine = rustix::system::uname().nodename().to_string_lossy().into_owned();
        let machine = machine.split('.').next().unwrap_or_default();
        let ports = steps::free_ports(usize::from(nodes) + 1)?;
        for node in 1..=nodes {
            // Two nodes must not share the PMIx server's directory.
            fs::create_dir(at.join(format!("tmp-n{node}")))?;
            fs::create_dir(at.join(format!("spool-n{node}")))?;
        }
        fs::write(at.join("slurm.conf"), configuration(&at, user.trim(), machine, &ports))?;

        let path = shell::path_behind([programs.clone()])?;
        let mut cluster = Cluster { daemons: Vec::new(), directory, programs, path, nodes };
        let shown = at.display();
        let munge = format!(
            "--foreground --key-file={shown}/munge.key --socket={shown}/munge \
             --pid-file={shown}/munge.pid --seed-file={shown}/munge.seed"
        );
        cluster.daemon("munged", &munge)?;
        let socket = at.join("munge");
        cluster.wait("munged listens", || socket.exists())?;
        cluster.daemon("slurmctld", "-D")?;
        for node in 1..=nodes {
            cluster.daemon("slurmd", &format!("-D -N n{node}"))?;
        }
        let idle = || {
            let output = cluster.slurm("sinfo").args(["-h", "-t", "idle", "-o", "%D"]).output();
            output.is_ok_and(|it| it.stdout.trim_ascii() == nodes.to_string().as_bytes())
        };
        if let Err(error) = cluster.wait("all nodes are idle", idle) {
            cluster.show_logs();
            return Err(error);
        }
        Ok(cluster)
    }

    fn file(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn slurm(&self, program: &str) -> Command {
        let mut command = Command::new(shell::on_path(program).unwrap_or_else(|| program.into()));
        command.env("PATH", &self.path);
        command.env("SLURM_CONF", self.file("slurm.conf")).env_remove(shell::LIBRARY_PATH);
        command.env("UROM_PLUGIN_PATH", self.programs.join(Purpose::Use.directory()));
        command.env("UROM_KEY_FILE", self.file("urom.key")).env("TMPDIR", self.directory.path());
        command
    }

    fn daemon(&mut self, program: &str, arguments: &str) -> Result<()> {
        let name = format!("{program}-{}.log", self.daemons.len());
        let log = fs::File::create(self.file(&name))?.into_parts().0;
        let mut command = self.slurm(program);
        command.args(shell::words(arguments)).stdout(log.try_clone()?).stderr(log);
        eprintln!("$ {} &", shell::display(&command));
        self.daemons.insert(0, GuardedChild::start(&mut command)?);
        Ok(())
    }

    fn wait(&self, what: &str, is_so: impl Fn() -> bool) -> Result<()> {
        let deadline = Instant::now() + LIMIT;
        while !is_so() {
            ensure!(Instant::now() < deadline, "not within {} s: {what}", LIMIT.as_secs());
            std::thread::sleep(Duration::from_millis(50));
        }
        Ok(())
    }

    fn lists(&self, arguments: &str) -> bool {
        let output = self.slurm("squeue").arg("-h").args(shell::words(arguments)).output();
        output.is_ok_and(|it| it.status.success() && !it.stdout.trim_ascii().is_empty())
    }

    /// Runs the guide's script with each program, in parallel on the same nodes.
    fn jobs(&self, script: &str) -> Result<()> {
        let job = self.file("job.sh");
        fs::write(&job, script)?;
        let jobs = PROGRAMS.map(|program| {
            let mut command = self.slurm("sbatch");
            command.args(["--wait", &format!("--nodes={}", self.nodes), "--ntasks=2"]);
            command.arg(format!("--output={}/job-%j.log", self.directory.path().display()));
            command.arg(&job).args(shell::words(program));
            command
        });
        steps::run(jobs.into())?;
        // The services end after their scripts.
        self.wait("all jobs are over", || !self.lists(""))?;
        let left = fs::read_dir(self.directory.path())?.flatten();
        let left = left.map(|entry| entry.file_name().display().to_string());
        let left: Vec<_> = left.filter(|name| name.starts_with("urom-")).collect();
        ensure!(left.is_empty(), "services did not take back their address files: {left:?}");
        Ok(())
    }

    /// Kills an `srun` whose processes use a service. They must end, and the service must serve
    /// others and end when Slurm stops it.
    fn launcher_that_dies(&self) -> Result<()> {
        let file = self.file("service");
        let service = format!("@{}", file.display());
        let mut uromd = self.slurm("srun");
        uromd.args(shell::words("--nodes=1 uromd --listen 127.0.0.1:0 --address-file")).arg(&file);
        uromd.stderr(File::create(self.file("service.log"))?);
        let mut uromd = GuardedChild::start(&mut uromd)?;
        self.wait("the service has an address", || file.metadata().is_ok_and(|it| it.len() > 0))?;

        let processes = |program: &str| {
            let mut command = self.slurm("srun");
            command.args(["--mpi=pmix", &format!("--nodes={}", self.nodes), "--ntasks=2"]);
            command.args(shell::words(program)).args(["--service", &service]);
            command
        };
        let mut ranks = GuardedChild::start(&mut processes("ping_pong --iterations 10000000"))?;
        // After an early kill, `srun` would not have started its processes.
        let log = self.file("service.log");
        let runs = || fs::read_to_string(&log).is_ok_and(|text| text.contains("(ping_pong, "));
        self.wait("ping pong uses the service", runs)?;
        // Not the group, because the second process of `srun` ends the ranks.
        ranks.child.kill()?;
        self.wait("ping pong has ended", || !self.lists("--name=ping_pong"))?;
        steps::run(vec![processes("multi_worker_bootstrap --once")])?;

        shell::run(self.slurm("scancel").args(["--signal=TERM", "--name=uromd"]))?;
        let status = uromd.wait(LIMIT)?;
        ensure!(status.success(), "the service was cancelled and did not end cleanly: {status}");
        ensure!(!file.exists(), "the service did not take back its address file");
        Ok(())
    }

    fn show_logs(&self) {
        for entry in fs::read_dir(self.directory.path()).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.extension().is_some_and(|extension| extension == "log") {
                let text = fs::read(&path).unwrap_or_default();
                eprintln!("--- {}:\n{}---", path.display(), String::from_utf8_lossy(&text));
            }
        }
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        // The processes of jobs are not children of this program.
        if self.lists("") {
            shell::succeeds(self.slurm("scancel").arg("--state=RUNNING"));
            shell::succeeds(self.slurm("scancel").arg("--state=PENDING"));
            if let Err(error) = self.wait("cancelled jobs are over", || !self.lists("")) {
                eprintln!("{error}");
            }
        }
    }
}

/// Nodes `n1`, `n2`, .. of this machine; the first port is the controller's.
fn configuration(at: &Path, user: &str, machine: &str, ports: &[u16]) -> String {
    let at = at.display();
    let mut text = format!(
        "ClusterName=urom\nSlurmctldHost={machine}(127.0.0.1)\nSlurmUser={user}\n\
         SlurmdUser={user}\nSlurmctldPort={}\nAuthType=auth/munge\nAuthInfo=socket={at}/munge\n\
         CredType=cred/munge\nProctrackType=proctrack/linuxproc\nTaskPlugin=task/none\n\
         JobAcctGatherType=jobacct_gather/none\nSelectType=select/cons_tres\n\
         AccountingStorageType=accounting_storage/none\nSelectTypeParameters=CR_Core\n\
         MpiDefault=none\nReturnToService=2\nSlurmdParameters=config_overrides\n\
         StateSaveLocation={at}/state\nSlurmdSpoolDir={at}/spool-%n\n\
         SlurmctldPidFile={at}/slurmctld.pid\nSlurmdPidFile={at}/slurmd-%n.pid\n\
         TmpFS={at}/tmp-%n\nPartitionName=all Nodes=ALL Default=YES State=UP\n",
        ports[0]
    );
    for (node, port) in ports.iter().enumerate().skip(1) {
        text += &format!(
            "NodeName=n{node} NodeHostname={machine} NodeAddr=127.0.0.1 Port={port} CPUs=16 \
             RealMemory=1000 State=UNKNOWN\n"
        );
    }
    text
}
