//! The tables of `uromd top`: rates from two states of a service, sorting and the filter.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt::{self, Display, Formatter};
use std::time::{Duration, Instant, SystemTime};

use crate::daemon::ServiceStatus;
use crate::operator::duration;

/// A service's state, and when it arrived.
#[derive(Debug, Clone)]
pub(super) struct Sample {
    pub(super) at: Instant,
    pub(super) status: ServiceStatus,
}

#[derive(Debug)]
pub(super) struct Column {
    pub(super) head: &'static str,
    /// The value of `--sort`.
    name: &'static str,
}

const fn column(head: &'static str, name: &'static str) -> Column {
    Column { head, name }
}

const COMMANDS: [Column; 8] = [
    column("PLUGIN", "plugin"),
    column("COMMAND", "command"),
    column("PER SECOND", PER_SECOND),
    column("IN FLIGHT", "in-flight"),
    column("FAILED/S", "failed-per-second"),
    column("FAILED", "failed"),
    column("P50", "p50"),
    column("P99", "p99"),
];

const WORKERS: [Column; 7] = [
    column("WORKER", "worker"),
    column("STATE", "state"),
    column("HOSTS", "hosts"),
    column("PER SECOND", PER_SECOND),
    column("UNREAD", "unread"),
    column("MEMORY", "memory"),
    column("PLUGINS", "plugins"),
];

const PER_SECOND: &str = "per-second";

const COLUMNS: [&[Column]; 2] = [&COMMANDS, &WORKERS];

/// A value, which is shown rounded and sorted exactly.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Cell {
    Text(String),
    Count(u64),
    Bytes(u64),
    /// Per second, if there are two states of one service.
    Rate(Option<f64>),
    Seconds(Option<f64>),
}

impl Cell {
    /// Other programs' text, without characters that control a terminal.
    fn text(text: &str) -> Cell {
        Cell::Text(text.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect())
    }

    fn number(&self) -> f64 {
        match self {
            Cell::Text(_) => 0.0,
            Cell::Count(count) | Cell::Bytes(count) => *count as f64,
            Cell::Rate(value) | Cell::Seconds(value) => value.unwrap_or(-1.0),
        }
    }

    /// Text begins with A, numbers with the largest.
    fn compare(&self, other: &Cell) -> Ordering {
        match (self, other) {
            (Cell::Text(one), Cell::Text(other)) => one.cmp(other),
            _ => other.number().total_cmp(&self.number()),
        }
    }
}

impl Display for Cell {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Cell::Text(text) => f.write_str(text),
            Cell::Count(count) => count.fmt(f),
            Cell::Bytes(count) => f.write_str(&bytes(*count)),
            Cell::Rate(None) | Cell::Seconds(None) => f.write_str("-"),
            Cell::Rate(Some(rate)) if *rate > 0.0 && *rate < 10.0 => write!(f, "{rate:.1}"),
            Cell::Rate(Some(rate)) => write!(f, "{rate:.0}"),
            Cell::Seconds(Some(seconds)) => f.write_str(&duration(*seconds)),
        }
    }
}

fn bytes(count: u64) -> String {
    let scale = [(30, "GiB"), (20, "MiB"), (10, "KiB")];
    match scale.iter().find(|(bits, _)| count >> bits > 0) {
        Some((bits, unit)) => format!("{:.1} {unit}", count as f64 / (1_u64 << bits) as f64),
        None => format!("{count} B"),
    }
}

#[derive(Debug)]
pub(super) struct Table {
    pub(super) columns: &'static [Column],
    pub(super) rows: Vec<Vec<Cell>>,
}

/// A screen's content.
#[derive(Debug)]
pub(super) struct Tables {
    /// Lines on the whole service.
    pub(super) head: [String; 3],
    /// Commands and workers.
    pub(super) tables: [Table; 2],
}

impl Tables {
    /// Computes rates from two states, unless the service restarted between them.
    pub(super) fn new(before: Option<&Sample>, now: &Sample) -> Tables {
        let before = before.filter(|before| before.status.started == now.status.started);
        let seconds = before.map(|before| now.at.duration_since(before.at).as_secs_f64());
        // A counter that goes back is another service's, too: `started` counts whole seconds.
        let rate = |before: Option<u64>, count: u64| {
            let more = count.checked_sub(before.unwrap_or_default())?;
            Some(more as f64 / seconds.filter(|seconds| *seconds > 0.0)?)
        };
        let status = &now.status;
        let earlier = before.map(|before| &before.status);
        let known: HashMap<_, _> = earlier
            .iter()
            .flat_map(|status| &status.commands)
            .map(|command| ((&command.plugin, &command.command), command))
            .collect();
        let [mut total, mut failures] = [Some(0.0), Some(0.0)];
        let commands = status.commands.iter().map(|command| {
            let known = known.get(&(&command.plugin, &command.command));
            let received = rate(known.map(|known| known.received), command.received);
            let failed = rate(known.map(|known| known.failed), command.failed);
            total = total.zip(received).map(|(sum, rate)| sum + rate);
            failures = failures.zip(failed).map(|(sum, rate)| sum + rate);
            vec![
                Cell::text(&command.plugin),
                Cell::text(&command.command),
                Cell::Rate(received),
                Cell::Count(command.in_flight),
                Cell::Rate(failed),
                Cell::Count(command.failed),
                Cell::Seconds(command.p50),
                Cell::Seconds(command.p99),
            ]
        });
        let commands = Table { columns: &COMMANDS, rows: commands.collect() };
        let known: HashMap<_, _> = earlier
            .iter()
            .flat_map(|status| &status.workers)
            .map(|worker| ((&worker.id, worker.started), worker.commands))
            .collect();
        let workers = status.workers.iter().map(|worker| {
            let known = known.get(&(&worker.id, worker.started)).copied();
            vec![
                Cell::text(&worker.id),
                Cell::text(&worker.state),
                Cell::Count(worker.hosts),
                Cell::Rate(rate(known, worker.commands)),
                Cell::Bytes(worker.unread),
                Cell::Bytes(worker.memory),
                Cell::text(&worker.plugins.join(" ")),
            ]
        });
        let workers = Table { columns: &WORKERS, rows: workers.collect() };
        let rates = [total, failures].map(|rate| Cell::Rate(rate.filter(|_| seconds.is_some())));
        Tables { head: head(status, &rates), tables: [commands, workers] }
    }
}

fn head(status: &ServiceStatus, [total, failures]: &[Cell; 2]) -> [String; 3] {
    let ServiceStatus { version, ucx, address, hosts, workers, commands, .. } = status;
    let started = SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(status.started));
    let up = started.and_then(|started| SystemTime::now().duration_since(started).ok());
    let up = humantime::format_duration(Duration::from_secs(up.unwrap_or_default().as_secs()));
    let does = if status.draining { "drains" } else { "serves" };
    let mut states: BTreeMap<&str, usize> = BTreeMap::new();
    workers.iter().for_each(|worker| *states.entry(&worker.state).or_default() += 1);
    let states: String = states.iter().map(|(state, count)| format!(", {count} {state}")).collect();
    // Another program may answer with any numbers.
    let sum = |counts: &mut dyn Iterator<Item = u64>| counts.fold(0, u64::saturating_add);
    let in_flight = sum(&mut commands.iter().map(|command| command.in_flight));
    let memory = Cell::Bytes(sum(&mut workers.iter().map(|worker| worker.memory)));
    [
        format!("uromd {version} with UCX {ucx} {does} {address}, up {up}"),
        format!("hosts: {}; workers: {}{states}; memory: {memory}", hosts.len(), workers.len()),
        format!(
            "commands: {total} per second, {in_flight} in flight, {failures} failed per second"
        ),
    ]
    .map(|line| Cell::text(&line).to_string())
}

/// How a table is sorted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Order {
    pub(super) column: usize,
    pub(super) is_reversed: bool,
}

/// The rows that are shown, and their order.
#[derive(Debug)]
pub(super) struct Choice {
    pub(super) filter: String,
    /// Of commands and workers.
    pub(super) orders: [Order; 2],
}

impl Default for Choice {
    fn default() -> Choice {
        let order = |columns: &[Column]| {
            let column = columns.iter().position(|column| column.name == PER_SECOND);
            Order { column: column.unwrap_or_default(), is_reversed: false }
        };
        Choice { filter: String::new(), orders: COLUMNS.map(order) }
    }
}

impl Choice {
    /// Sorts each table that has a column with this name.
    pub(super) fn sort_by(&mut self, name: &str) -> Result<(), String> {
        let names = COLUMNS.map(|columns| columns.iter().position(|column| column.name == name));
        if names == [None, None] {
            let names: BTreeSet<_> = COLUMNS
                .iter()
                .flat_map(|columns| columns.iter().map(|column| column.name))
                .collect();
            return Err(format!("expected one of {}", Vec::from_iter(names).join(", ")));
        }
        for (order, column) in self.orders.iter_mut().zip(names) {
            order.column = column.unwrap_or(order.column);
        }
        Ok(())
    }

    pub(super) fn apply(&self, tables: &mut Tables) {
        let wanted = self.filter.to_lowercase();
        for (table, order) in tables.tables.iter_mut().zip(self.orders) {
            table.rows.retain(|row| {
                row.iter().any(|cell| match cell {
                    Cell::Text(text) => text.to_lowercase().contains(&wanted),
                    _ => false,
                })
            });
            table.rows.sort_by(|one, other| {
                let by = one[order.column].compare(&other[order.column]);
                let by = if order.is_reversed { by.reverse() } else { by };
                // Equal values keep their places from one screen to the next.
                by.then_with(|| one[0].compare(&other[0])).then_with(|| one[1].compare(&other[1]))
            });
        }
    }
}

#[cfg(test)]
#[path = "table_tests.rs"]
pub(super) mod tests;
