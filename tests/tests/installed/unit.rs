//! The systemd unit: systemd's analysis, and uromd and its workers within its limits.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::net::UnixDatagram;
use std::path::PathBuf;
use std::process::Command;
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, anyhow, ensure};
use rustix::fs::{CWD, FileType, Mode, mknodat};
use rustix::process::{Resource, Rlimit, Signal, setrlimit};
use urom_tests::c::{DEVICE, Host, Service, Source, prefix};
use urom_tests::{PluginDirectory, Uromd};

/// Highest allowed `systemd-analyze security` exposure in tenths (0 to 100). The rest is the
/// network and the exceptions in the unit's comments.
const EXPOSURE: u32 = 20;

const SLOW: Duration = Duration::from_secs(300);

fn unit() -> Result<PathBuf> {
    Ok(prefix()?.lib().join("systemd/system/uromd.service"))
}

fn settings(name: &str) -> Result<Vec<String>> {
    let text = fs::read_to_string(unit()?)?;
    let value = |line: &str| Some(line.strip_prefix(name)?.strip_prefix('=')?.to_owned());
    Ok(text.lines().filter_map(value).collect())
}

fn analyze(words: &[&str]) -> Result<String> {
    let mut command = Command::new("systemd-analyze");
    let output =
        command.arg("--no-pager").args(words).output().context("`cargo xtask setup` brings it")?;
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8(said)?;
    ensure!(output.status.success(), "{command:?} ended with {}:\n{said}", output.status);
    Ok(said)
}

#[test]
fn systemd_takes_the_unit_without_a_word() -> Result<()> {
    let unit = unit()?;
    let unit = unit.to_str().context("a path in UTF-8")?;
    assert_eq!(analyze(&["verify", "--man=no", "--recursive-errors=no", unit])?, "");
    Ok(())
}

#[test]
fn the_sandbox_leaves_little_to_attack() -> Result<()> {
    let unit = unit()?;
    let unit = unit.to_str().context("a path in UTF-8")?;
    let said = analyze(&["security", "--offline=true", &format!("--threshold={EXPOSURE}"), unit])?;
    println!("{}", said.lines().last().unwrap_or_default());
    Ok(())
}

/// The user and the settings that the unit names exist, and uromd accepts the settings.
#[test]
fn uromd_starts_with_the_sample_settings_and_few_enough_files() -> Result<()> {
    let prefix = prefix()?;
    let uromd = prefix.uromd();
    assert_eq!(
        settings("ExecStart")?,
        [format!("{} --control /run/uromd/control $SERVICE_ARGS", uromd.display())]
    );
    let users = fs::read_to_string(prefix.lib().join("sysusers.d/urom.conf"))?;
    let user = settings("User")?.concat();
    ensure!(
        users.lines().any(|line| line.starts_with(&format!("u {user} "))),
        "no user {user}:\n{users}"
    );
    let sample = fs::read_to_string(prefix.root().join("share/urom/deploy/uromd.default"))?;
    let variables = sample
        .lines()
        .filter(|line| !line.starts_with('#'))
        .filter_map(|line| line.split_once('='));
    let (arguments, others): (Vec<_>, Vec<_>) =
        variables.partition(|(name, _)| *name == "SERVICE_ARGS");
    let arguments = arguments.iter().flat_map(|(_, value)| value.split_whitespace());

    let files = settings("LimitNOFILE")?.concat();
    let (soft, hard) = files.split_once(':').context("two limits")?;
    let limit = Rlimit { current: Some(soft.parse()?), maximum: Some(hard.parse()?) };
    let directory = tempfile::tempdir()?;
    let (socket, log) = (directory.path().join("notify"), directory.path().join("log"));
    let manager = UnixDatagram::bind(&socket)?;
    manager.set_read_timeout(Some(Duration::from_secs(20)))?;
    let mut command = Command::new(&uromd);
    command
        .args(arguments)
        .envs(others)
        .env("NOTIFY_SOCKET", &socket)
        .stderr(fs::File::create(&log)?);
    let command = within(command, limit);
    let uromd = Uromd::start_at(command, "127.0.0.1:0", "/opt/urom/plugins")?;
    let mut message = [0; 64];
    let length = manager.recv(&mut message)?;
    assert_eq!(&message[..length], b"READY=1");
    ensure!(uromd.stop()?.success());
    let log = fs::read_to_string(log)?;
    ensure!(log.contains("stopping") && !log.contains("LimitNOFILE"), "{log}");
    Ok(())
}

fn within(mut command: Command, limit: Rlimit) -> Command {
    use std::os::unix::process::CommandExt;
    // SAFETY: the closure only makes one system call: it neither locks nor allocates.
    unsafe { command.pre_exec(move || Ok(setrlimit(Resource::Nofile, limit)?)) };
    command
}

/// System calls of a line such as `@ipc read`, with groups expanded.
fn system_calls(line: &str) -> Result<BTreeSet<String>> {
    let (mut found, mut open) =
        (BTreeSet::new(), line.split_whitespace().map(str::to_owned).collect::<Vec<_>>());
    while let Some(name) = open.pop() {
        if !name.starts_with('@') {
            found.insert(name);
            continue;
        }
        let listed = analyze(&["syscall-filter", &name])?;
        let inside = listed.lines().filter_map(|line| line.strip_prefix("    "));
        open.extend(inside.filter(|name| !name.starts_with('#')).map(str::to_owned));
    }
    Ok(found)
}

#[test]
fn the_sandbox_allows_every_system_call_of_daemon_and_workers() -> Result<()> {
    let mut allowed = BTreeSet::new();
    for line in settings("SystemCallFilter")? {
        match line.strip_prefix('~') {
            Some(denied) => {
                let denied = system_calls(denied)?;
                allowed.retain(|name| !denied.contains(name));
            }
            None => allowed.extend(system_calls(&line)?),
        }
    }
    ensure!(allowed.contains("read") && !allowed.contains("mount"), "{allowed:?}");

    let used = used_system_calls()?;
    ensure!(
        used.contains("execve") && used.contains("sched_setaffinity"),
        "workers were seen: {used:?}"
    );
    let refused: Vec<_> = used.iter().filter(|name| !allowed.contains(*name)).collect();
    ensure!(refused.is_empty(), "{refused:?}");
    Ok(())
}

/// System calls of a daemon with workers from start to end, by strace.
fn used_system_calls() -> Result<BTreeSet<String>> {
    let directory = tempfile::tempdir()?;
    let summary = directory.path().join("summary");
    mknodat(CWD, &summary, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0)?;
    let reader = {
        let summary = summary.clone();
        thread::spawn(move || fs::read_to_string(summary))
    };
    let prefix = prefix()?;
    let mut strace = Command::new("strace");
    // -D makes strace the daemon's child, so that signals reach the daemon.
    strace.args(["-D", "-f", "-qq", "-c", "-U", "name", "-o"]).arg(&summary).arg(prefix.uromd());
    let plugins = PluginDirectory::with(&["worker_graph"])?;
    let service = Service::daemon_by(strace, &prefix, plugins, |command| command)?;
    let host = Host::new(Source::new("graph_host.c").program()?).arg(DEVICE).limit(SLOW);
    host.run(&service)?.success()?;
    service.uromd().context("it is a daemon")?.signal(Signal::TERM)?;
    let summary = reader.join().map_err(|_| anyhow!("the reader panicked"))??;
    let is_name = |line: &&str| !line.starts_with('-') && !["syscall", "total", ""].contains(line);
    Ok(summary.lines().map(str::trim).filter(is_name).map(str::to_owned).collect())
}
