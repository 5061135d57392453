//! The metrics of a snapshot in Prometheus's text format. The guide's page on metrics lists the
//! names; labels have the bounds that are stated there.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use prometheus::proto::{
    Bucket, Counter, Gauge, Histogram, LabelPair, Metric, MetricFamily, MetricType,
};
use prometheus::{Encoder, TextEncoder};
use urom_abi::DocaError;
use urom_abi::host_memory::MemoryPath;

use crate::daemon::snapshot::{Snapshot, WorkerState};
use crate::daemon::turns;
use crate::log::Log;
use crate::metrics::{BUCKETS, CommandSums, REFUSALS, bucket_limit};

/// The content type of the text.
pub(crate) const TEXT: &str = prometheus::TEXT_FORMAT;

pub(crate) fn text(snapshot: &Snapshot) -> String {
    let mut families = Families::default();
    service(&mut families, snapshot);
    commands(&mut families, snapshot);
    let mut text = Vec::new();
    // Writing to memory does not fail, and no family is empty.
    let _ = TextEncoder::new().encode(&families.0, &mut text);
    String::from_utf8(text).unwrap_or_default()
}

type Labels<'a> = &'a [(&'a str, &'a str)];

#[derive(Default)]
struct Families(Vec<MetricFamily>);

impl Families {
    fn add(&mut self, kind: MetricType, name: &str, help: &str, metrics: Vec<Metric>) {
        if metrics.is_empty() {
            return;
        }
        let mut family = MetricFamily::default();
        family.set_name(name.to_owned());
        family.set_help(help.to_owned());
        family.set_field_type(kind);
        family.set_metric(metrics);
        self.0.push(family);
    }

    fn counter(&mut self, name: &str, help: &str, value: u64) {
        self.add(MetricType::COUNTER, name, help, vec![counter(&[], value)]);
    }

    fn gauge(&mut self, name: &str, help: &str, value: f64) {
        self.add(MetricType::GAUGE, name, help, vec![gauge(&[], value)]);
    }
}

fn labelled(labels: Labels<'_>) -> Metric {
    let pair = |(name, value): &(&str, &str)| {
        let mut pair = LabelPair::default();
        pair.set_name((*name).to_owned());
        pair.set_value((*value).to_owned());
        pair
    };
    let mut metric = Metric::default();
    metric.set_label(labels.iter().map(pair).collect());
    metric
}

fn counter(labels: Labels<'_>, value: u64) -> Metric {
    let (mut metric, mut counter) = (labelled(labels), Counter::default());
    counter.set_value(value as f64);
    metric.set_counter(counter);
    metric
}

fn gauge(labels: Labels<'_>, value: f64) -> Metric {
    let (mut metric, mut gauge) = (labelled(labels), Gauge::default());
    gauge.set_value(value);
    metric.set_gauge(gauge);
    metric
}

fn histogram(labels: Labels<'_>, buckets: &[u64; BUCKETS], nanoseconds: u64) -> Metric {
    let (mut metric, mut histogram) = (labelled(labels), Histogram::default());
    let mut count = 0;
    let mut bounds = Vec::new();
    for (index, more) in buckets.iter().enumerate() {
        count += more;
        if let Some(limit) = bucket_limit(index) {
            let mut bucket = Bucket::default();
            bucket.set_upper_bound(limit as f64 / 1e9);
            bucket.set_cumulative_count(count);
            bounds.push(bucket);
        }
    }
    histogram.set_bucket(bounds);
    histogram.set_sample_count(count);
    histogram.set_sample_sum(nanoseconds as f64 / 1e9);
    metric.set_histogram(histogram);
    metric
}

fn seconds(time: SystemTime) -> f64 {
    time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or(Duration::ZERO).as_secs_f64()
}

fn service(families: &mut Families, snapshot: &Snapshot) {
    let (observed, sums) = (&snapshot.observed, snapshot.observed.sums());
    let ucx = ucx::version().to_string();
    let info = gauge(&[("ucx", &ucx), ("version", env!("CARGO_PKG_VERSION"))], 1.0);
    let help = "The release of the service, and the release of UCX that it runs with.";
    families.add(MetricType::GAUGE, "urom_build_info", help, vec![info]);
    let help = "When the daemon started, in seconds since 1970.";
    families.gauge("urom_start_time_seconds", help, seconds(snapshot.started));
    families.gauge("urom_hosts", "Hosts connected to the daemon.", snapshot.hosts.len() as f64);
    let plugins = snapshot.plugins.unwrap_or_default();
    families.gauge("urom_plugins", "Plugins that the last search found.", plugins as f64);
    let mut states: BTreeMap<_, u64> = WorkerState::ALL.map(|state| (state, 0)).into();
    for (state, _) in snapshot.workers() {
        *states.entry(state).or_default() += 1;
    }
    let states = states.iter().map(|(state, n)| gauge(&[("state", state.name())], *n as f64));
    let help = "Workers by state.";
    families.add(MetricType::GAUGE, "urom_workers", help, states.collect());
    let help = "Workers that were started.";
    families.counter("urom_worker_starts_total", help, observed.starts);
    let help = "Workers that did not start, or ended while hosts used them.";
    families.counter("urom_worker_failures_total", help, observed.failures);
    let oldest = observed.running.values().map(|worker| seconds(worker.started));
    let oldest = oldest.reduce(f64::min).map(|oldest| gauge(&[], oldest));
    let help = "When the oldest running worker started, in seconds since 1970.";
    let name = "urom_oldest_worker_start_time_seconds";
    families.add(MetricType::GAUGE, name, help, oldest.into_iter().collect());
    let by_daemon = snapshot.refused.iter().map(|(reason, n)| ("daemon", *reason, *n));
    let by_workers = REFUSALS.iter().zip(sums.refused).map(|(reason, n)| ("worker", *reason, n));
    let refused = by_daemon
        .chain(by_workers)
        .map(|(process, reason, n)| counter(&[("process", process), ("reason", reason)], n));
    let help = "Hosts that the daemon or a worker refused, by reason.";
    families.add(MetricType::COUNTER, "urom_refused_hosts_total", help, refused.collect());
    let help = "Hosts that workers disconnected: for invalid frames, or too many unread answers.";
    families.counter("urom_evicted_hosts_total", help, sums.evicted);
    let help = "Commands for a plugin that the worker had not loaded.";
    families.counter("urom_unserved_commands_total", help, sums.unserved);
    let help = "Lines of the daemon's log that could not be written.";
    families.counter("urom_log_lines_lost_total", help, Log::lost());
    let help = "Bytes of commands that workers received, with headers and padding.";
    families.counter("urom_received_bytes_total", help, sums.received);
    let help = "Bytes of answers that workers sent, with headers and padding.";
    families.counter("urom_sent_bytes_total", help, sums.sent);
    let pages = || observed.running.values().map(|worker| worker.page.header());
    let connections: u64 = pages().map(|page| page.hosts.get()).sum();
    families.gauge("urom_connections", "Hosts' connections to workers.", connections as f64);
    let unread: u64 = pages().map(|page| page.unread.get()).sum();
    let help = "Bytes of answers that workers keep because hosts have not read earlier ones.";
    families.gauge("urom_unread_bytes", help, unread as f64);
    let mut by_path = |name: &str, help: &str, value: &dyn Fn(usize) -> u64| {
        let paths = [MemoryPath::MAPPED, MemoryPath::PROCESS, MemoryPath::NETWORK];
        let one = |path: MemoryPath| gauge(&[("path", path.name())], value(path.0 as usize) as f64);
        families.add(MetricType::GAUGE, name, help, paths.map(one).into());
    };
    by_path("urom_shared_memories", "Memories that hosts share with workers, by path.", &|path| {
        pages().map(|page| page.memories[path].get()).sum()
    });
    by_path("urom_shared_memory_bytes", "Bytes of these memories, by path.", &|path| {
        pages().map(|page| page.memory_bytes[path].get()).sum()
    });
    let (buckets, nanoseconds) = turns::histogram();
    let turns = histogram(&[], &buckets, nanoseconds);
    let help = "Duration of the turns of the daemon's loop, which delay its heartbeats.";
    families.add(MetricType::HISTOGRAM, "urom_daemon_turn_seconds", help, vec![turns]);
}

fn commands(families: &mut Families, snapshot: &Snapshot) {
    let sums = snapshot.observed.sums();
    let all: Vec<(&str, String, &CommandSums)> = sums
        .plugins
        .iter()
        .flat_map(|(plugin, sums)| sums.received().map(|(name, sums)| (&**plugin, name, sums)))
        .collect();
    let mut each =
        |kind, name: &str, help: &str, one: &dyn Fn(Labels<'_>, &CommandSums) -> Metric| {
            let metric = |(plugin, command, sums): &(&str, String, &CommandSums)| {
                one(&[("command", command), ("plugin", plugin)], sums)
            };
            families.add(kind, name, help, all.iter().map(metric).collect());
        };
    let help = "Commands that workers received.";
    each(MetricType::COUNTER, "urom_commands_total", help, &|labels, sums| {
        counter(labels, sums.received())
    });
    let help = "Commands that were not answered yet.";
    each(MetricType::GAUGE, "urom_commands_in_flight", help, &|labels, sums| {
        gauge(labels, sums.in_flight() as f64)
    });
    let help = "Commands that their hosts cancelled.";
    each(MetricType::COUNTER, "urom_cancelled_commands_total", help, &|labels, sums| {
        counter(labels, sums.cancelled)
    });
    let help = "Commands whose deadline has passed.";
    each(MetricType::COUNTER, "urom_timed_out_commands_total", help, &|labels, sums| {
        counter(labels, sums.timed_out)
    });
    let help = "Time from a command's receipt to its answer. Of the commands that end within the \
                plugin's call, one in 64 is timed, and counts 64 times.";
    each(MetricType::HISTOGRAM, "urom_command_duration_seconds", help, &|labels, sums| {
        histogram(labels, &sums.buckets, sums.nanoseconds)
    });
    let mut answers = Vec::new();
    for (plugin, command, sums) in &all {
        let mut add = |code: &str, count| {
            let labels = [("code", code), ("command", &**command), ("plugin", *plugin)];
            if count > 0 {
                answers.push(counter(&labels, count));
            }
        };
        add("SUCCESS", sums.succeeded());
        for (code, count) in sums.codes.iter().enumerate() {
            add(code_name(code as u32), *count);
        }
    }
    let help = "Answers to commands, by code.";
    families.add(MetricType::COUNTER, "urom_answers_total", help, answers);
}

/// The name of a code without `DOCA_ERROR_`.
fn code_name(code: u32) -> &'static str {
    let name = DocaError::from_code(code).name();
    name.strip_prefix("DOCA_ERROR_").unwrap_or(name)
}
