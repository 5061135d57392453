//! Tests of `uromd top`'s tables.

use super::*;
use crate::daemon::{CommandStatus, WorkerStatus};

/// A service that runs for an hour, with two commands and two workers.
pub(in crate::top) fn sample(at: Instant, received: u64) -> Sample {
    let command = |plugin: &str, command: &str, received, failed| CommandStatus {
        plugin: plugin.to_owned(),
        command: command.to_owned(),
        received,
        in_flight: 3,
        failed,
        p50: Some(12e-6),
        p99: None,
    };
    let worker = |id: &str, state: &str, commands| WorkerStatus {
        id: id.to_owned(),
        group: 0,
        state: state.to_owned(),
        started: 7,
        plugins: vec!["allreduce".to_owned(), "rdmo".to_owned()],
        hosts: 2,
        unread: 512,
        memory: 3 << 20,
        commands,
    };
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs();
    let status = ServiceStatus {
        version: "0.1.0".to_owned(),
        ucx: "1.20.0".to_owned(),
        address: "127.0.0.1:18700".to_owned(),
        started: now - 3600,
        draining: false,
        hosts: vec!["127.0.0.1:5000".to_owned()],
        workers: vec![worker("auto-1", "ready", received), worker("auto-2", "starting", 0)],
        commands: vec![
            command("allreduce", "Allreduce", received, 4),
            command("rdmo", "Append", 10 * received, received),
        ],
    };
    Sample { at, status }
}

/// Two states of one service, two seconds apart.
fn two(first: u64, second: u64) -> [Sample; 2] {
    let start = Instant::now();
    let before = sample(start, first);
    let mut now = sample(start + Duration::from_secs(2), second);
    now.status.started = before.status.started;
    [before, now]
}

fn text(tables: &Tables, table: usize) -> Vec<Vec<String>> {
    let rows = tables.tables[table].rows.iter();
    rows.map(|row| row.iter().map(ToString::to_string).collect()).collect()
}

/// The cells of the column with this head, from the first row on.
fn cells(tables: &Tables, table: usize, head: &str) -> Vec<String> {
    let columns = tables.tables[table].columns;
    let column = columns.iter().position(|column| column.head == head).unwrap();
    text(tables, table).into_iter().map(|row| row[column].clone()).collect()
}

#[test]
fn rates_are_the_difference_of_two_states_for_each_second() {
    let [before, now] = two(100, 103);
    let tables = Tables::new(Some(&before), &now);
    let row = ["allreduce", "Allreduce", "1.5", "3", "0", "4", "12 us", "-"];
    assert_eq!(text(&tables, 0)[0], row);
    assert_eq!(cells(&tables, 0, "PER SECOND"), ["1.5", "15"]);
    assert_eq!(cells(&tables, 0, "FAILED/S"), ["0", "1.5"]);
    let row = ["auto-1", "ready", "2", "1.5", "512 B", "3.0 MiB", "allreduce rdmo"];
    assert_eq!(text(&tables, 1)[0], row);
    assert_eq!(tables.head[1], "hosts: 1; workers: 2, 1 ready, 1 starting; memory: 6.0 MiB");
    assert_eq!(tables.head[2], "commands: 16 per second, 6 in flight, 1.5 failed per second");
}

#[test]
fn a_first_state_and_a_restarted_service_have_no_rates() {
    let [before, mut now] = two(100, 103);
    let none = |tables: &Tables| {
        assert_eq!(cells(tables, 0, "PER SECOND"), ["-", "-"]);
        assert_eq!(cells(tables, 1, "PER SECOND")[0], "-");
        assert!(tables.head[2].contains("commands: - per second"), "{}", tables.head[2]);
    };
    none(&Tables::new(None, &now));
    // No time has passed.
    none(&Tables::new(Some(&before), &sample(before.at, 200)));
    now.status.started += 60;
    none(&Tables::new(Some(&before), &now));
    // It restarted within a second.
    let [before, now] = two(100, 20);
    none(&Tables::new(Some(&before), &now));
}

#[test]
fn new_commands_and_workers_count_from_zero() {
    let [mut before, mut now] = two(100, 120);
    before.status.commands.clear();
    now.status.workers[0].started += 1;
    let tables = Tables::new(Some(&before), &now);
    assert_eq!(cells(&tables, 0, "PER SECOND"), ["60", "600"]);
    assert_eq!(cells(&tables, 1, "PER SECOND")[0], "60");
}

#[test]
fn rows_are_sorted_by_a_column_and_equal_ones_by_their_names() {
    let [before, now] = two(100, 103);
    let sorted = |choice: &Choice| {
        let mut tables = Tables::new(Some(&before), &now);
        choice.apply(&mut tables);
        [cells(&tables, 0, "PLUGIN"), cells(&tables, 1, "WORKER")].map(|names| names.join(" "))
    };
    let mut choice = Choice::default();
    assert_eq!(sorted(&choice), ["rdmo allreduce", "auto-1 auto-2"]);
    choice.orders[0].is_reversed = true;
    assert_eq!(sorted(&choice)[0], "allreduce rdmo");
    choice.orders[0].is_reversed = false;
    for (column, names) in [
        ("plugin", "allreduce rdmo"),
        ("failed", "rdmo allreduce"),
        ("p50", "allreduce rdmo"),
        ("p99", "allreduce rdmo"),
    ] {
        choice.sort_by(column).unwrap();
        assert_eq!(sorted(&choice)[0], names, "{column}");
    }
    choice.sort_by("state").unwrap();
    assert_eq!(sorted(&choice), ["allreduce rdmo", "auto-1 auto-2"]);
    choice.orders[1].is_reversed = true;
    assert_eq!(sorted(&choice)[1], "auto-2 auto-1");
    for wrong in ["", "PLUGIN", "speed", "p99 "] {
        assert!(choice.sort_by(wrong).unwrap_err().contains("per-second"), "{wrong}");
    }
}

#[test]
fn the_filter_finds_parts_of_names_in_both_tables() {
    for (filter, commands, workers) in
        [("", 2, 2), ("APPEND", 1, 0), ("auto-2", 0, 1), ("allreduce", 1, 2), ("103", 0, 0)]
    {
        let [before, now] = two(100, 103);
        let mut tables = Tables::new(Some(&before), &now);
        Choice { filter: filter.to_owned(), ..Choice::default() }.apply(&mut tables);
        let [found, working] = [0, 1].map(|table| tables.tables[table].rows.len());
        assert_eq!((found, working), (commands, workers), "{filter}");
    }
}

#[test]
fn names_do_not_control_the_terminal() {
    let [before, mut now] = two(1, 1);
    now.status.commands[0].plugin = "\x1b[2Jx\n".to_owned();
    now.status.address = "\x1b]0;title\x07".to_owned();
    now.status.workers[0].state = "\r".to_owned();
    let tables = Tables::new(Some(&before), &now);
    let all = format!("{:?} {:?} {:?}", tables.head, text(&tables, 0), text(&tables, 1));
    assert!(!all.contains("\\u{1b}") && !all.contains("\\n") && !all.contains("\\r"), "{all}");
}

#[test]
fn extreme_values_are_shown() {
    let mut now = sample(Instant::now(), u64::MAX / 10);
    now.status.started = u64::MAX;
    now.status.workers.iter_mut().for_each(|worker| worker.memory = u64::MAX);
    now.status.commands.iter_mut().for_each(|command| command.in_flight = u64::MAX);
    now.status.commands[0].p50 = Some(f64::NAN);
    let mut tables = Tables::new(None, &now);
    Choice::default().apply(&mut tables);
    assert!(tables.head[0].ends_with("up 0s"), "{}", tables.head[0]);
    assert!(tables.head[1].ends_with("17179869184.0 GiB"), "{}", tables.head[1]);
}
