//! A host under the system's limits gets an error that names the limit, without a panic or hang.

mod embedded_support;

use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Output};

use embedded_support::{Graph, LIMIT, plugins};
use urom_host::memory::{Access, Mmap};
use urom_host::{DocaError, Result, Service, block_on_for};

const OUTCOME: &str = "outcome: ";

const WORKS: &str = "it works";

fn whole_path(service: &Service) -> Result<()> {
    block_on_for(LIMIT, async {
        let graph = service.plugin::<Graph>()?;
        let worker = service.worker().plugin(&graph).start().await?;
        assert_eq!(graph.task_loopback(&worker, 42).submit()?.await?.data, 42);
        worker.stop().await
    })?
}

fn outcome(result: Result<(), impl std::fmt::Display>) {
    println!("\n{OUTCOME}{}", result.map_or_else(|error| error.to_string(), |()| WORKS.to_owned()));
}

#[test]
#[ignore = "the other process of tests below"]
fn a_host() {
    outcome(Service::connect_blocking().and_then(|service| whole_path(&service)));
}

#[test]
#[ignore = "the other process of a test below"]
fn a_host_whose_descriptors_run_out_while_it_runs() {
    let service = Service::connect_blocking().unwrap();
    whole_path(&service).unwrap();
    for free in 0..64 {
        let mut open: Vec<_> = std::iter::from_fn(|| File::open("/dev/null").ok()).collect();
        open.truncate(open.len() - free);
        let result = whole_path(&service);
        drop(open);
        outcome(result);
    }
}

#[test]
#[ignore = "the other process of a test below"]
fn a_host_with_memory() {
    outcome(Mmap::allocate(4096, Access::LOCAL_READ_WRITE).map(drop));
}

fn host(words: &str, test: &str) -> Output {
    let plugins = plugins();
    // So that a host of another user finds them.
    fs::set_permissions(plugins.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let script = format!("{words} \"$0\" --exact --ignored --nocapture {test}");
    let mut shell = Command::new("sh");
    shell.args(["-c", &script]).arg(std::env::current_exe().unwrap());
    shell.env("UROM_PLUGIN_PATH", plugins.path());
    shell.output().unwrap()
}

#[track_caller]
fn outcomes(words: &str, test: &str) -> Vec<String> {
    let output = host(words, test);
    let said = String::from_utf8_lossy(&output.stderr);
    let told = String::from_utf8_lossy(&output.stdout);
    let case = format!("{words}: {}\n{told}\n{said}", output.status);
    assert!(output.status.success() && !said.contains("panicked"), "{case}");
    let lines = told.lines().filter_map(|line| line.strip_prefix(OUTCOME)).map(str::to_owned);
    let lines: Vec<_> = lines.collect();
    assert!(!lines.is_empty(), "{case}");
    lines
}

#[test]
fn however_few_files_a_host_may_open_it_is_told_the_limit_and_its_need() {
    for limit in 10..=40 {
        let told = &outcomes(&format!("ulimit -n {limit} && exec"), "a_host")[0];
        let limit = format!("may have {limit} open");
        for part in ["too many open files", &limit, "needs ", "ulimit -n"] {
            assert!(told.contains(part), "no {part} in {told}");
        }
    }
    for limit in (44..96).step_by(4) {
        let outcome = &outcomes(&format!("ulimit -n {limit} && exec"), "a_host")[0];
        assert!(outcome == WORKS || outcome.contains("too many open files"), "{limit}: {outcome}");
    }
    assert_eq!(outcomes("ulimit -n 96 && exec", "a_host"), [WORKS]);
}

#[test]
fn a_host_whose_descriptors_run_out_is_told_so_and_goes_on_with_others() {
    let test = "a_host_whose_descriptors_run_out_while_it_runs";
    let outcomes = outcomes("ulimit -n 256 && exec", test);
    assert_eq!(outcomes.len(), 64);
    for (free, outcome) in outcomes.iter().enumerate() {
        let is_explained = outcome.to_lowercase().contains("too many open files");
        assert!(outcome == WORKS || is_explained, "{free} free: {outcome}");
        assert!(!outcome.contains(&DocaError::UNEXPECTED.to_string()), "{free} free: {outcome}");
    }
    assert_eq!(outcomes[63], WORKS);
}

#[test]
fn a_host_that_may_write_no_file_is_served_without_shared_memory() {
    let directory = tempfile::tempdir().unwrap();
    let log = directory.path().join("log").display().to_string();
    // In blocks of 512 bytes: none, too few for UCX, and enough.
    for limit in [0, 1, 8192, 131_071, 131_072] {
        for log in ["", &format!("2>{log}")] {
            let words = format!("ulimit -f {limit} && exec {log}");
            assert_eq!(outcomes(&words, "a_host"), [WORKS], "{words}");
        }
    }
}

#[test]
fn memory_that_is_longer_than_a_file_may_be_is_an_error_that_names_the_limit() {
    for (limit, wrong) in [(0, true), (7, true), (8, false)] {
        let outcome = &outcomes(&format!("ulimit -f {limit} && exec"), "a_host_with_memory")[0];
        assert_eq!(outcome.contains("ulimit -f"), wrong, "{limit}: {outcome}");
        assert_eq!(outcome != WORKS, wrong, "{limit}: {outcome}");
    }
}

#[test]
fn a_host_without_what_ucx_needs_of_the_system_is_told_what() {
    // Frames need no UCX shared memory.
    for (hidden, options, expected) in
        [("/proc", "", "/proc must be"), ("/dev/shm", "-o ro", WORKS)]
    {
        let mount = format!("mount -t tmpfs {options} none {hidden}");
        let root = if rustix::process::geteuid().is_root() { "" } else { "--map-root-user" };
        let words = format!("exec unshare --mount {root} sh -c '{mount} && exec \"$@\"' sh");
        let outcome = &outcomes(&words, "a_host")[0];
        assert!(outcome.contains(expected), "{hidden}: {outcome}");
    }
}

#[test]
fn however_few_threads_a_host_may_have_it_is_told_the_limit() {
    if !rustix::process::geteuid().is_root() {
        eprintln!("left out: the user's other processes count");
        return;
    }
    // Root is exempt; this user has only this process.
    for limit in 1..=14 {
        let user = "setpriv --reuid 54321 --clear-groups";
        let words = format!("exec {user} prlimit --nproc={limit}");
        let Output { status, stdout, stderr } = host(&words, "a_host");
        // A service with too few threads explains that in its log.
        let told = String::from_utf8([stdout, stderr].concat()).unwrap();
        assert!(status.success() && !told.contains("panicked"), "{limit}: {status}: {told}");
        assert!(told.contains(WORKS) || told.contains("ulimit -u"), "{limit}: {told}");
    }
}
