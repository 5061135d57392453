//! `Uromd` with a plugin built by the test.

use std::time::Duration;

use urom_host::test_util::{Uromd, plugin};
use urom_host::{DocaError, Service, block_on_for};

const LIMIT: Duration = Duration::from_secs(30);

fn graph() -> tempfile::TempDir {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let file = plugin("graph-plugin").expect("the graph plugin is built");
    std::os::unix::fs::symlink(file, directory.path().join("worker_graph.so")).expect("a link");
    directory
}

#[test]
fn a_plugin_that_was_built_answers_through_a_uromd_of_the_tests_own() {
    let plugins = graph();
    let uromd = Uromd::start(plugins.path()).expect("uromd starts");
    let service =
        Service::builder().address(uromd.address()).connect_blocking().expect("it serves");
    let graph = service.plugin::<graph_protocol::Protocol>().expect("it found the plugin");
    let answer = block_on_for(LIMIT, async {
        let worker = service.worker().plugin(&graph).start().await?;
        let done = graph.task_loopback(&worker, 42).submit()?.await?;
        worker.stop().await?;
        Ok::<_, urom_host::Error>(done.data)
    });
    assert_eq!(answer.expect("in time").expect("an answer"), 42);
}

#[test]
fn two_of_them_listen_at_two_addresses_and_a_dropped_one_at_none() {
    let plugins = graph();
    let [first, second] = [(); 2].map(|()| Uromd::start(plugins.path()).expect("uromd starts"));
    assert_ne!(first.address(), second.address());
    let address = first.address().to_owned();
    drop(first);
    let error = Service::builder()
        .address(address.as_str())
        .connect_blocking()
        .expect_err("no program listens there");
    assert!(error.to_string().contains(&address), "{error}");
    Service::builder()
        .address(second.address())
        .connect_blocking()
        .expect("the other one still serves");
}

#[test]
fn a_directory_that_is_not_there_serves_nothing() {
    let uromd = Uromd::start("/no/such/directory").expect("it does not keep it from starting");
    let service =
        Service::builder().address(uromd.address()).connect_blocking().expect("it serves");
    let error = service.plugin::<graph_protocol::Protocol>().expect_err("the plugin is missing");
    assert_eq!(error.code(), DocaError::NOT_FOUND);
}

#[test]
#[ignore = "the other process of a test in this file"]
fn warned() {
    let uromd = Uromd::start("/no/such/directory").expect("it starts");
    Service::builder().address(uromd.address()).connect_blocking().expect("it serves");
    drop(uromd);
    assert!(std::env::var_os("FAIL_AFTERWARDS").is_none(), "as the test asks");
}

#[test]
fn what_it_logs_is_shown_of_a_test_that_fails_and_of_no_other() {
    let shown = |fails: bool| {
        let program = std::env::current_exe().expect("this program's file");
        let mut command = std::process::Command::new(program);
        command.args(["--exact", "--ignored", "warned"]).env_remove("RUST_TEST_NOCAPTURE");
        if fails {
            command.env("FAIL_AFTERWARDS", "1");
        }
        let output = command.output().expect("it runs");
        assert_eq!(output.status.success(), !fails);
        [output.stdout, output.stderr].concat().windows(5).any(|bytes| bytes == b"[WRN]")
    };
    assert!(shown(true), "the log tells why");
    assert!(!shown(false), "nobody asks");
}

#[test]
#[ignore = "the other process of the test below"]
fn a_worker_is_asked_for_its_variables() {
    let uromd = Uromd::start(plugin("faulty-plugin").expect("it is built")).expect("uromd starts");
    let service =
        Service::builder().address(uromd.address()).connect_blocking().expect("it serves");
    let faulty = service.plugin::<faulty_protocol::Protocol>().expect("it found the plugin");
    let values = block_on_for(LIMIT, async {
        let worker = service.worker().plugin(&faulty).start().await?;
        let mut values = Vec::new();
        for variable in ["LLVM_PROFILE_FILE", "LSAN_OPTIONS", "UBSAN_OPTIONS", "SOME_SECRET"] {
            let answer =
                faulty.task_env(&worker, faulty_protocol::env_name(variable)).submit()?.await?;
            values.push((answer.len != u64::MAX).then(|| {
                String::from_utf8_lossy(&answer.value[..answer.len as usize]).into_owned()
            }));
        }
        worker.stop().await?;
        Ok::<_, urom_host::Error>(values)
    });
    let values = values.expect("in time").expect("answers");
    let given = |text: &str| Some(text.to_owned());
    assert_eq!(values, [given("/prof/%p.profraw"), given("exitcode=7"), None, None]);
}

#[test]
fn coverage_and_sanitizers_of_workers_do_as_they_do_in_the_test() {
    let program = std::env::current_exe().expect("this program");
    let mut other = std::process::Command::new(program);
    other.args(["--exact", "--ignored", "--nocapture", "a_worker_is_asked_for_its_variables"]);
    other
        .env("LLVM_PROFILE_FILE", "/prof/%p.profraw")
        .env("LSAN_OPTIONS", "exitcode=7")
        .env("SOME_SECRET", "1");
    let output = other.env_remove("UBSAN_OPTIONS").output().expect("it starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}
