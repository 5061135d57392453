//! The registry's rules, as events and resulting actions.

#[path = "registry_limit_tests.rs"]
mod limits;

use super::*;
use crate::daemon::fuzzing::{found, numbers};

fn known() -> [FoundPlugin; 3] {
    [1, 2, 4].map(found)
}

fn wish(id: u64) -> StartWorker {
    StartWorker { id, plugins: 0b1, gid: 0, env: None, cpus: None }
}

fn with_variables(env: &[&str]) -> StartWorker {
    StartWorker { env: Some(env.iter().map(|text| (*text).to_owned()).collect()), ..wish(7) }
}

fn lost() -> Failure {
    Failure::new(DocaError::CONNECTION_RESET, "lost")
}

/// A registry with tokens 1, 2, 3 and so on, after a [script](play).
fn after(limits: DaemonLimits, script: &str) -> Registry {
    let mut registry = Registry::new(limits, numbers());
    play(&mut registry, script);
    registry
}

fn plays(script: &str) {
    after(DaemonLimits::default(), script);
}

fn plays_within(workers: usize, workers_per_host: usize, script: &str) {
    after(DaemonLimits { hosts: 9, workers, workers_per_host }, script);
}

/// Runs a script. Each line is an event, and the actions after `->` if they matter. Host 1 sends
/// request 10, host 2 request 20. `start HOST ID` accepts `plugins=MASK`, `gid=N` and
/// `env=NAME=value`; the id may be `any`.
fn play(registry: &mut Registry, script: &str) {
    for line in script.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let (event, expected) = line
            .split_once("->")
            .map_or((line, None), |(event, expected)| (event, Some(expected.trim())));
        let words: Vec<&str> = event.split_whitespace().collect();
        let number = |at: usize| words[at].parse::<u64>().expect(line);
        let token = || u128::from(number(2));
        let actions = match words[0] {
            "start" => {
                let id = if words[2] == "any" { WORKER_ID_ANY } else { number(2) };
                registry.start(number(1), number(1) * 10, asked(id, &words[3..]), &known())
            }
            "ready" => registry.ready(number(1), ([127, 0, 0, 1], 5000).into()),
            "expected" => registry.expected(number(1), token()),
            "arrived" => {
                registry.arrived(number(1), token());
                Vec::new()
            }
            "departed" => {
                registry.departed(number(1), token());
                Vec::new()
            }
            "expired" => registry.expired(number(1), token()),
            "silent" => {
                registry.silent(number(1));
                Vec::new()
            }
            "overdue" => {
                registry.overdue(number(1), &Failure::new(DocaError::TIME_OUT, "it is late"))
            }
            "failed" => registry.failed(number(1), &Failure::new(DocaError::DRIVER, "it cannot")),
            "gone" => registry.gone(number(1), &lost()),
            "empty" => registry.empty(number(1)),
            "host_gone" => registry.host_gone(number(1)),
            "stop" => registry.stop(),
            other => panic!("{other}"),
        };
        if let Some(expected) = expected {
            assert_eq!(texts(actions).join(", "), expected, "{line}");
        }
    }
}

fn asked(id: u64, more: &[&str]) -> StartWorker {
    let mut worker = wish(id);
    for word in more {
        match word.split_once('=').expect(word) {
            ("plugins", mask) => worker.plugins = mask.parse().unwrap(),
            ("gid", gid) => worker.gid = gid.parse().unwrap(),
            ("env", variable) => worker.env = Some(vec![variable.to_owned()]),
            other => panic!("{other:?}"),
        }
    }
    worker
}

fn texts(actions: Vec<DaemonAction>) -> Vec<String> {
    let text = |action| match action {
        DaemonAction::Spawn { serial, id, host, .. } => {
            format!("spawn {serial} as {id} for {host}")
        }
        DaemonAction::ToWorker(serial, DaemonToWorker::Expect { token }) => {
            format!("worker {serial}: expect {token}")
        }
        DaemonAction::ToWorker(serial, DaemonToWorker::Forget { token }) => {
            format!("worker {serial}: forget {token}")
        }
        DaemonAction::ToWorker(serial, other) => format!("worker {serial}: {other:?}"),
        DaemonAction::Abandon(serial) => format!("abandon {serial}"),
        DaemonAction::ToHost(host, DaemonToHost::Started { request, id, token, .. }) => {
            format!("host {host}: {request} started {id} token {token}")
        }
        DaemonAction::ToHost(host, DaemonToHost::Failed { request, failure }) => {
            let code = failure.code.name();
            format!("host {host}: {request} failed {}", code.trim_start_matches("DOCA_ERROR_"))
        }
        DaemonAction::ToHost(host, other) => format!("host {host}: {other:?}"),
        DaemonAction::Expire(serial, token) => format!("expire {serial} {token}"),
    };
    actions.into_iter().map(text).collect()
}

#[test]
fn a_host_is_told_once_when_its_worker_expects_it() {
    plays(
        "start 1 7    -> spawn 1 as 7 for 1
         expected 1 1 ->
         ready 1      -> worker 1: expect 1, expire 1 1
         ready 1      ->
         expected 1 1 -> host 1: 10 started 7 token 1
         start 2 7    -> worker 1: expect 2, expire 1 2
         expected 1 2 -> host 2: 20 started 7 token 2
         expected 1 2 ->
         expected 1 3 ->
         expected 2 1 ->",
    );
}

#[test]
fn a_host_that_wants_a_worker_that_has_just_died_gets_a_new_one() {
    plays(
        "start 1 7
         ready 1
         expected 1 1
         arrived 1 1
         start 1 7    -> worker 1: expect 2, expire 1 2
         gone 1       -> spawn 2 as 7 for 1
         expected 1 2 ->
         ready 2      -> worker 2: expect 3, expire 2 3
         expected 2 3 -> host 1: 10 started 7 token 3",
    );
}

#[test]
fn several_hosts_that_want_a_worker_that_has_just_died_share_the_new_one() {
    let script = "start 1 7 plugins=7
                  ready 1
                  expected 1 1
                  start 2 7
                  start 3 7";
    let mut registry = after(DaemonLimits::default(), script);
    let actions = texts(registry.gone(1, &lost()));
    assert!(actions == ["spawn 2 as 7 for 2"] || actions == ["spawn 2 as 7 for 3"], "{actions:?}");
    let both = registry.ready(2, ([127, 0, 0, 1], 5000).into());
    assert_eq!(both.len(), 4, "both are on the way");
}

#[test]
fn a_worker_that_fails_fails_those_who_had_it_started_and_its_late_words_mean_nothing() {
    plays(
        "start 1 7
         start 2 7 ->
         failed 1  -> host 1: 10 failed DRIVER, host 2: 20 failed DRIVER, abandon 1
         start 1 7 -> spawn 2 as 7 for 1
         gone 2    -> host 1: 10 failed CONNECTION_RESET
         ready 2   ->
         gone 2    ->
         empty 2   ->
         expired 2 1 ->
         start 1 7 -> spawn 3 as 7 for 1
         ready 3
         gone 3    -> host 1: 10 failed CONNECTION_RESET",
    );
}

#[test]
fn a_worker_that_does_not_confirm_in_time_or_is_overdue_fails_the_request() {
    plays(
        "start 1 7
         ready 1
         overdue 1   ->
         expired 1 1 -> worker 1: forget 1, host 1: 10 failed TIME_OUT
         start 1 8
         overdue 2   -> host 1: 10 failed TIME_OUT, abandon 2",
    );
}

#[test]
fn an_empty_worker_leaves_unless_somebody_is_on_the_way() {
    // Host 2 did not receive its token, so it cannot have arrived. The next worker starts while
    // the old process still ends.
    plays(
        "start 1 7
         ready 1
         expected 1 1
         arrived 1 1
         start 2 7
         arrived 1 2
         empty 1     ->
         expected 1 2
         arrived 1 2
         expired 1 1 ->
         host_gone 1 ->
         empty 1     -> worker 1: Leave, abandon 1
         start 2 7   -> spawn 2 as 7 for 2
         gone 1      ->
         ready 2     -> worker 2: expect 3, expire 2 3",
    );
}

#[test]
fn tokens_of_a_host_that_is_gone_are_forgotten_and_no_worker_stays_for_it() {
    plays(
        "start 1 7
         start 2 7
         ready 1
         host_gone 1 -> worker 1: forget 1
         empty 1     ->
         host_gone 2 -> worker 1: forget 2
         empty 1     -> worker 1: Leave, abandon 1
         start 1 8
         host_gone 1 ->
         ready 2     -> worker 2: Leave, abandon 2",
    );
}

#[test]
fn no_worker_is_started_for_a_host_that_was_cancelled() {
    // A host that does not read is removed before its plugins are used, and again at its end.
    plays(
        "start 1 7
         ready 1
         start 2 7
         start 3 7
         host_gone 2 -> worker 1: forget 2
         gone 1      -> spawn 2 as 7 for 3, host 1: 10 failed CONNECTION_RESET
         host_gone 2 ->",
    );
}

#[test]
fn a_token_that_is_not_used_runs_out_and_a_used_one_does_not() {
    plays(
        "start 1 7
         start 2 7
         ready 1
         expected 1 1
         expected 1 2
         arrived 1 1
         expired 1 1 ->
         expired 1 2 -> worker 1: forget 2, expire 1 2
         expired 1 2 ->
         host_gone 2 ->
         empty 1     -> worker 1: Leave, abandon 1",
    );
}

#[test]
fn a_worker_is_joined_with_its_own_environment_and_with_no_other() {
    let own = ["A=1", "B=old", "B=x=y", "C="];
    for ready in [false, true] {
        let mut registry = after(DaemonLimits::default(), "");
        registry.start(1, 10, with_variables(&own), &known());
        if ready {
            play(&mut registry, "ready 1");
        }
        let mut start = |env: &[&str]| {
            let actions = registry.start(2, 20, with_variables(env), &known());
            match &actions[..] {
                [DaemonAction::ToHost(2, DaemonToHost::Failed { failure, .. })] => {
                    assert_eq!(failure.code, DocaError::ALREADY_EXIST);
                    Err(failure.text.to_string())
                }
                _ => Ok(()),
            }
        };
        for same in [&own[..], &["C=", "B=x=y", "A=1"]] {
            assert_eq!(start(same), Ok(()), "{same:?}");
        }
        for (other, differs) in [
            (&["A=1", "B=old", "C="][..], "`B`"),
            (&["A=1", "C=secret", "B=secret"], "`C`"),
            (&["D=secret", "A=1", "B=x=y", "C="], "`D`"),
            (&["A=1"], "`B`"),
            (&[], "`A`"),
            (&["A=1", "secret"], "not NAME=value"),
        ] {
            let text = start(other).unwrap_err();
            let names = text.contains(&format!("{differs} of its environment"));
            assert!(names && !text.contains("secret"), "{text}");
        }
    }
    let mut registry = after(DaemonLimits::default(), "start 1 7");
    assert!(
        registry.start(2, 20, with_variables(&[]), &known()).is_empty(),
        "an empty one fits none"
    );
}

#[test]
fn a_worker_that_fell_silent_is_followed_by_one_with_the_environment_that_is_asked_for() {
    // A worker that falls silent during its start is not replaced.
    let mut registry = after(
        DaemonLimits::default(),
        "start 4 8
         silent 1
         start 2 8 env=MARK=kept -> host 2: 20 failed ALREADY_EXIST
         start 1 7
         ready 2
         start 2 7 env=MARK=kept -> host 2: 20 failed ALREADY_EXIST
         silent 2
         start 2 7 env=MARK=kept -> worker 2: expect 2, expire 2 2",
    );
    assert!(registry.group(0).is_empty(), "nobody is sent there by its group");
    let told = registry.gone(2, &lost());
    let [DaemonAction::Spawn { serial: 3, id: 7, host: 2, worker }, DaemonAction::ToHost(1, _)] =
        &told[..]
    else {
        panic!("{told:?}")
    };
    assert_eq!(worker.env, with_variables(&["MARK=kept"]).env);
    play(&mut registry, "silent 2\n start 3 7 env=MARK=lost -> host 3: 30 failed ALREADY_EXIST");
}

#[test]
fn of_several_who_wait_for_the_end_of_a_silent_worker_one_with_an_environment_has_the_next_started()
{
    // Tokens are random, so try several times.
    for with in 2..12 {
        let mut registry = after(DaemonLimits::default(), "start 1 7\n ready 1\n silent 1");
        let with_env = with_variables(&["MARK=kept"]);
        for host in 2..12 {
            let worker = if host == with { with_env.clone() } else { wish(7) };
            registry.start(host, 1, worker, &known());
        }
        let told = registry.gone(1, &lost());
        let Some(DaemonAction::Spawn { worker, .. }) = told.first() else { panic!("{told:?}") };
        assert_eq!(worker.env, with_env.env);
        let joined = registry.ready(2, ([127, 0, 0, 1], 5000).into());
        assert_eq!(joined.len(), 2 * 10, "and the others join it");
    }
}

#[test]
fn plugins_that_are_unknown_or_not_the_workers_are_refused() {
    plays(
        "start 1 7 plugins=6
         ready 1
         start 2 7 plugins=4 -> worker 1: expect 2, expire 1 2
         start 2 7 plugins=7 -> host 2: 20 failed INVALID_VALUE
         start 2 7 plugins=0 -> host 2: 20 failed INVALID_VALUE
         start 2 8 plugins=9 -> host 2: 20 failed INVALID_VALUE",
    );
}

#[test]
fn generated_ids_pass_over_those_in_use() {
    let WorkerId(first) = WorkerId::generated(1);
    plays(&format!(
        "start 1 {first}
         start 1 {}
         start 1 any -> spawn 3 as {} for 1
         gone 1
         start 1 any -> spawn 4 as {} for 1",
        first + 1,
        first + 2,
        first + 3
    ));
}

#[test]
fn a_group_lists_its_ready_workers_in_rising_order() {
    let script =
        "start 1 9\n start 1 3\n start 1 5 gid=1\n start 1 1\n ready 1\n ready 2\n ready 3";
    let registry = after(DaemonLimits::default(), script);
    assert_eq!([0, 1, 2].map(|gid| registry.group(gid)), [vec![3, 9], vec![5], vec![]]);
}

#[test]
fn stopping_refuses_what_waits_and_what_comes() {
    let mut registry = after(
        DaemonLimits::default(),
        "start 1 1\n ready 1\n expected 1 1\n start 3 1\n start 1 2",
    );
    let expected = [
        "worker 1: Stop",
        "host 3: 30 failed SHUTDOWN",
        "abandon 1",
        "worker 2: Stop",
        "host 1: 10 failed SHUTDOWN",
        "abandon 2",
    ];
    assert_eq!(texts(registry.stop()), expected);
    play(&mut registry, "start 1 3 -> host 1: 10 failed SHUTDOWN");
}
