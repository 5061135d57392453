//! The roster's rules, as events and the actions they give.

use super::*;
use crate::daemon::fuzzing::numbers;

#[path = "roster_limits_tests.rs"]
mod limits;

const KNOWN: u64 = 0b111;

fn wish(id: u64) -> StartWorker {
    StartWorker { id, plugins: 0b1, gid: 0, env: None, cpus: None }
}

fn address() -> SocketAddr {
    "127.0.0.1:5000".parse().unwrap()
}

/// A roster with tickets 1, 2, 3 and so on; actions as short texts.
struct Fixture {
    roster: Roster,
}

impl Fixture {
    fn new() -> Fixture {
        Fixture { roster: Roster::new(Limits::default(), numbers()) }
    }

    /// Worker 7 is ready and told of host 1.
    fn ready_for_one() -> Fixture {
        let mut fixture = Fixture::new();
        fixture.start(1, wish(7));
        fixture.ready(1);
        fixture
    }

    /// Host 1 is on its way there.
    fn told() -> Fixture {
        let mut fixture = Fixture::ready_for_one();
        fixture.roster.expected(1, 1);
        fixture
    }

    fn start(&mut self, host: HostKey, worker: StartWorker) -> Vec<String> {
        texts(self.roster.start(host, host * 10, worker, KNOWN))
    }

    fn ready(&mut self, serial: Serial) -> Vec<String> {
        texts(self.roster.ready(serial, address()))
    }
}

/// A host is on the way to this worker, by this ticket.
fn promised(serial: Serial, ticket: u128) -> [String; 2] {
    [format!("worker {serial}: expect {ticket}"), format!("expire {serial} {ticket}")]
}

fn texts(actions: Vec<Action>) -> Vec<String> {
    let text = |action| match action {
        Action::Spawn { serial, id, host, .. } => format!("spawn {serial} as {id} for {host}"),
        Action::ToWorker(serial, DaemonToWorker::Expect { ticket }) => {
            format!("worker {serial}: expect {ticket}")
        }
        Action::ToWorker(serial, DaemonToWorker::Forget { ticket }) => {
            format!("worker {serial}: forget {ticket}")
        }
        Action::ToWorker(serial, DaemonToWorker::Leave) => format!("worker {serial}: leave"),
        Action::ToWorker(serial, DaemonToWorker::Stop) => format!("worker {serial}: stop"),
        Action::ToWorker(serial, DaemonToWorker::Open { .. }) => format!("worker {serial}: open"),
        Action::ToWorker(serial, DaemonToWorker::Ping) => format!("worker {serial}: ping"),
        Action::Abandon(serial) => format!("abandon {serial}"),
        Action::ToHost(host, DaemonToHost::Started { request, id, ticket, .. }) => {
            format!("host {host}: {request} started {id} ticket {ticket}")
        }
        Action::ToHost(host, DaemonToHost::Failed { request, failure }) => {
            format!(
                "host {host}: {request} failed {}",
                failure.code().name().trim_start_matches("DOCA_ERROR_")
            )
        }
        Action::ToHost(host, other) => format!("host {host}: {other:?}"),
        Action::Expire(serial, ticket) => format!("expire {serial} {ticket}"),
    };
    actions.into_iter().map(text).collect()
}

fn lost() -> Failure {
    Failure::new(DocaError::CONNECTION_RESET, "lost")
}

#[test]
fn a_host_is_told_when_its_worker_expects_it() {
    let mut fixture = Fixture::new();
    assert_eq!(fixture.start(1, wish(7)), ["spawn 1 as 7 for 1"]);
    assert!(fixture.roster.expected(1, 1).is_empty(), "not before it is ready");
    assert_eq!(fixture.ready(1), promised(1, 1));
    assert_eq!(texts(fixture.roster.expected(1, 1)), ["host 1: 10 started 7 ticket 1"]);
    assert_eq!(fixture.start(2, wish(7)), promised(1, 2));
    assert_eq!(texts(fixture.roster.expected(1, 2)), ["host 2: 20 started 7 ticket 2"]);
    assert!(fixture.roster.expected(1, 2).is_empty(), "a host is told once");
    assert!(fixture.roster.expected(1, 3).is_empty() && fixture.roster.expected(2, 1).is_empty());
    assert!(fixture.ready(1).is_empty(), "ready twice means nothing");
}

#[test]
fn a_host_that_wants_a_worker_that_has_just_died_gets_a_new_one() {
    let mut fixture = Fixture::told();
    fixture.roster.arrived(1, 1);
    assert_eq!(fixture.start(1, wish(7)), promised(1, 2));
    assert_eq!(texts(fixture.roster.gone(1, &lost())), ["spawn 2 as 7 for 1"]);
    assert!(fixture.roster.expected(1, 2).is_empty());
    assert_eq!(fixture.ready(2), promised(2, 3));
    assert_eq!(texts(fixture.roster.expected(2, 3)), ["host 1: 10 started 7 ticket 3"]);
}

#[test]
fn several_hosts_that_want_a_worker_that_has_just_died_share_the_new_one() {
    let mut fixture = Fixture::new();
    fixture.start(1, StartWorker { plugins: 0b111, ..wish(7) });
    fixture.ready(1);
    fixture.roster.expected(1, 1);
    fixture.start(2, wish(7));
    fixture.start(3, wish(7));
    let actions = texts(fixture.roster.gone(1, &lost()));
    assert!(actions == ["spawn 2 as 7 for 2"] || actions == ["spawn 2 as 7 for 3"], "{actions:?}");
    assert_eq!(fixture.ready(2).len(), 4, "both are on the way");
}

#[test]
fn a_worker_that_dies_as_soon_as_it_is_ready_fails_those_who_had_it_started() {
    let mut fixture = Fixture::ready_for_one();
    assert_eq!(
        texts(fixture.roster.gone(1, &lost())),
        ["host 1: 10 failed CONNECTION_RESET"],
        "not again and again"
    );
}

#[test]
fn a_worker_that_does_not_confirm_in_time_fails_the_request() {
    let mut fixture = Fixture::ready_for_one();
    assert_eq!(
        texts(fixture.roster.expired(1, 1)),
        ["worker 1: forget 1", "host 1: 10 failed TIME_OUT"]
    );
}

#[test]
fn hosts_that_ask_while_it_starts_share_the_worker_and_its_failure() {
    let mut fixture = Fixture::new();
    fixture.start(1, wish(7));
    assert!(fixture.start(2, wish(7)).is_empty());
    assert_eq!(
        texts(fixture.roster.failed(1, &Failure::new(DocaError::DRIVER, "no"))),
        ["host 1: 10 failed DRIVER", "host 2: 20 failed DRIVER", "abandon 1"]
    );
    assert_eq!(fixture.start(1, wish(7)), ["spawn 2 as 7 for 1"], "the id is free");
}

#[test]
fn a_worker_that_dies_while_it_starts_fails_the_request_and_a_late_word_of_it_means_nothing() {
    let mut fixture = Fixture::new();
    fixture.start(1, wish(7));
    assert_eq!(texts(fixture.roster.gone(1, &lost())), ["host 1: 10 failed CONNECTION_RESET"]);
    assert!(fixture.ready(1).is_empty() && fixture.roster.gone(1, &lost()).is_empty());
    assert!(fixture.roster.empty(1).is_empty() && fixture.roster.expired(1, 1).is_empty());
}

#[test]
fn only_a_worker_that_is_not_ready_can_be_overdue() {
    let mut fixture = Fixture::new();
    let late = Failure::new(DocaError::TIME_OUT, "late");
    fixture.start(1, wish(1));
    fixture.start(1, wish(2));
    fixture.ready(1);
    assert!(fixture.roster.overdue(1, &late).is_empty());
    assert_eq!(
        texts(fixture.roster.overdue(2, &late)),
        ["host 1: 10 failed TIME_OUT", "abandon 2"]
    );
}

#[test]
fn an_empty_worker_leaves_unless_somebody_is_on_the_way() {
    let mut fixture = Fixture::told();
    fixture.roster.arrived(1, 1);
    fixture.start(2, wish(7));
    fixture.roster.arrived(1, 2);
    assert!(
        fixture.roster.empty(1).is_empty(),
        "host 2 has a ticket, and cannot have come without knowing it"
    );
    fixture.roster.expected(1, 2);
    fixture.roster.arrived(1, 2);
    assert_eq!(texts(fixture.roster.empty(1)), ["worker 1: leave", "abandon 1"]);
    assert_eq!(
        fixture.start(2, wish(7)),
        ["spawn 2 as 7 for 2"],
        "at once, while the old process still ends"
    );
    assert!(
        fixture.roster.gone(1, &lost()).is_empty(),
        "the end of the old one does not touch the new one"
    );
    assert_eq!(fixture.ready(2).len(), 2);
}

#[test]
fn tickets_of_a_host_that_is_gone_are_forgotten() {
    let mut fixture = Fixture::new();
    fixture.start(1, wish(7));
    fixture.start(2, wish(7));
    fixture.ready(1);
    assert_eq!(texts(fixture.roster.host_gone(1)), ["worker 1: forget 1"]);
    assert!(fixture.roster.empty(1).is_empty(), "host 2 is on the way");
    assert_eq!(texts(fixture.roster.host_gone(2)), ["worker 1: forget 2"]);
    assert_eq!(texts(fixture.roster.empty(1)), ["worker 1: leave", "abandon 1"]);
}

#[test]
fn no_worker_is_started_for_a_host_that_was_given_up() {
    let mut fixture = Fixture::ready_for_one();
    fixture.start(2, wish(7));
    fixture.start(3, wish(7));
    // One that does not read is gone before anybody asks for its plugins, and again when its stream
    // has ended.
    assert_eq!(texts(fixture.roster.host_gone(2)), ["worker 1: forget 2"]);
    let told = ["spawn 2 as 7 for 3", "host 1: 10 failed CONNECTION_RESET"];
    assert_eq!(
        texts(fixture.roster.gone(1, &lost())),
        told,
        "who is told may be given up then, but is no worker's first host"
    );
    assert!(fixture.roster.host_gone(2).is_empty());
}

fn with_variables(env: &[&str]) -> StartWorker {
    StartWorker { env: Some(env.iter().map(|text| (*text).to_owned()).collect()), ..wish(7) }
}

#[test]
fn a_worker_is_joined_with_its_own_environment_and_with_no_other() {
    let own = ["A=1", "B=old", "B=x=y", "C="];
    for ready in [false, true] {
        let mut fixture = Fixture::new();
        fixture.start(1, with_variables(&own));
        if ready {
            fixture.ready(1);
        }
        let mut start = |env: &[&str]| {
            let actions = fixture.roster.start(2, 20, with_variables(env), 0b111);
            match &actions[..] {
                [Action::ToHost(2, DaemonToHost::Failed { failure, .. })] => {
                    assert_eq!(failure.code(), DocaError::ALREADY_EXIST);
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
}

#[test]
fn a_worker_without_an_environment_is_joined_with_an_empty_one() {
    let mut fixture = Fixture::ready_for_one();
    assert_eq!(fixture.start(2, with_variables(&[])), promised(1, 2));
}

#[test]
fn a_worker_that_fell_silent_is_followed_by_one_with_the_environment_that_is_asked_for() {
    let mut fixture = Fixture::ready_for_one();
    let with_env = with_variables(&["MARK=kept"]);
    assert_eq!(fixture.start(2, with_env.clone()), ["host 2: 20 failed ALREADY_EXIST"], "it runs");
    fixture.roster.silent(1);
    assert!(fixture.roster.group(0).is_empty(), "nobody is sent there by its group");
    assert_eq!(fixture.start(2, with_env.clone()), promised(1, 2));
    let told = fixture.roster.gone(1, &lost());
    let [Action::Spawn { serial: 2, id: 7, host: 2, worker }, Action::ToHost(1, _)] = &told[..]
    else {
        panic!("{told:?}")
    };
    assert_eq!(worker.env, with_env.env);
    fixture.roster.silent(1);
    assert_eq!(
        fixture.start(3, with_variables(&["MARK=lost"])),
        ["host 3: 30 failed ALREADY_EXIST"],
        "the old one's silence is over"
    );
}

#[test]
fn of_several_who_wait_for_the_end_of_a_silent_worker_one_with_an_environment_has_the_next_started()
{
    let with_env = with_variables(&["MARK=kept"]);
    // Tickets are in no order, so not once only.
    for with in 2..12 {
        let mut fixture = Fixture::new();
        fixture.start(1, wish(7));
        fixture.ready(1);
        fixture.roster.silent(1);
        for host in 2..12 {
            fixture.start(host, if host == with { with_env.clone() } else { wish(7) });
        }
        let told = fixture.roster.gone(1, &lost());
        let Some(Action::Spawn { worker, .. }) = told.first() else { panic!("{told:?}") };
        assert_eq!(worker.env, with_env.env);
        assert_eq!(fixture.ready(2).len(), 2 * 10, "and the others join it");
    }
}

#[test]
fn a_worker_that_falls_silent_while_it_starts_is_none_to_follow() {
    let mut fixture = Fixture::new();
    fixture.start(1, wish(7));
    fixture.roster.silent(1);
    let with_env = with_variables(&["MARK=kept"]);
    assert_eq!(fixture.start(2, with_env), ["host 2: 20 failed ALREADY_EXIST"]);
}

#[test]
fn a_worker_that_nobody_waits_for_any_more_leaves_when_it_is_ready() {
    let mut fixture = Fixture::new();
    fixture.start(1, wish(7));
    assert!(fixture.roster.host_gone(1).is_empty());
    assert_eq!(fixture.ready(1), ["worker 1: leave", "abandon 1"]);
}

#[test]
fn a_ticket_that_is_not_used_runs_out_and_a_used_one_does_not() {
    let mut fixture = Fixture::new();
    fixture.start(1, wish(7));
    fixture.start(2, wish(7));
    fixture.ready(1);
    fixture.roster.expected(1, 1);
    fixture.roster.expected(1, 2);
    fixture.roster.arrived(1, 1);
    assert!(fixture.roster.expired(1, 1).is_empty());
    assert_eq!(texts(fixture.roster.expired(1, 2)), ["worker 1: forget 2", "expire 1 2"]);
    assert!(fixture.roster.expired(1, 2).is_empty());
    assert!(fixture.roster.host_gone(2).is_empty(), "it is forgotten");
}

#[test]
fn who_was_given_up_keeps_no_worker_that_its_last_host_left() {
    let mut fixture = Fixture::told();
    texts(fixture.roster.expired(1, 1));
    assert_eq!(texts(fixture.roster.empty(1)), ["worker 1: leave", "abandon 1"]);
}

#[test]
fn a_wish_that_does_not_fit_is_refused() {
    let mut fixture = Fixture::ready_for_one();
    let with_env = with_variables(&["MARK=kept"]);
    assert_eq!(fixture.start(2, with_env), ["host 2: 20 failed ALREADY_EXIST"]);
    for plugins in [0b11, 0, 0b1001] {
        let worker = StartWorker { plugins, ..wish(7) };
        assert_eq!(fixture.start(2, worker), ["host 2: 20 failed INVALID_VALUE"], "{plugins:b}");
    }
    let fewer = StartWorker { plugins: 0b110, ..wish(8) };
    fixture.start(1, fewer.clone());
    fixture.ready(2);
    assert_eq!(
        fixture.start(2, StartWorker { plugins: 0b100, ..fewer }).len(),
        2,
        "a part of its plugins is enough"
    );
}

#[test]
fn generated_ids_pass_over_those_in_use() {
    let mut fixture = Fixture::new();
    let WorkerId(first) = WorkerId::generated(1);
    fixture.start(1, wish(first));
    fixture.start(1, wish(first + 1));
    assert_eq!(fixture.start(1, wish(WORKER_ID_ANY)), [format!("spawn 3 as {} for 1", first + 2)]);
    fixture.roster.gone(1, &lost());
    assert_eq!(fixture.start(1, wish(WORKER_ID_ANY)), [format!("spawn 4 as {} for 1", first + 3)]);
}

#[test]
fn a_group_lists_its_ready_workers_in_rising_order() {
    let mut fixture = Fixture::new();
    for (serial, id) in [(1, 9), (2, 3), (3, 5), (4, 1)] {
        fixture.start(1, StartWorker { gid: (id == 5).into(), ..wish(id) });
        if id != 1 {
            fixture.ready(serial);
        }
    }
    assert_eq!(fixture.roster.group(0), [3, 9]);
    assert_eq!(fixture.roster.group(1), [5]);
    assert!(fixture.roster.group(2).is_empty());
}

#[test]
fn stopping_refuses_what_waits_and_what_comes() {
    let mut fixture = Fixture::new();
    fixture.start(1, wish(1));
    fixture.ready(1);
    fixture.roster.expected(1, 1);
    fixture.start(3, wish(1));
    fixture.start(1, wish(2));
    assert_eq!(
        texts(fixture.roster.stop()),
        [
            "worker 1: stop",
            "host 3: 30 failed SHUTDOWN",
            "abandon 1",
            "worker 2: stop",
            "host 1: 10 failed SHUTDOWN",
            "abandon 2"
        ]
    );
    assert_eq!(fixture.start(1, wish(3)), ["host 1: 10 failed SHUTDOWN"]);
}

#[test]
fn a_host_that_is_there_keeps_no_worker_that_says_it_is_empty() {
    let mut fixture = Fixture::new();
    fixture.start(1, wish(1));
    fixture.ready(1);
    fixture.roster.expected(1, 1);
    fixture.roster.arrived(1, 1);
    // What comes late of its ticket changes nothing.
    assert!(fixture.roster.expired(1, 1).is_empty() && fixture.roster.host_gone(1).is_empty());
    assert_eq!(texts(fixture.roster.empty(1)), ["worker 1: leave", "abandon 1"]);
}
