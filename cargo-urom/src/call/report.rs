//! What is printed of an answer, and of many.

use std::fmt::Write;
use std::time::Duration;

use anyhow::Result;
use serde_json::{Map, Value, json};
use urom_host::Answer;

use super::repeat::Tally;
use super::request::{Notification, Reading, Request};
use crate::message::Shown;
use crate::output::{self, plain};

/// A notification, for people: its name, and its fields as one would give them.
///
/// # Errors
/// Nobody reads it.
pub(super) fn answer(reading: &Reading, took: Duration) -> Result<()> {
    match &reading.notification {
        None => {}
        Some(Notification::Decoded(decoded)) => {
            let mut text = plain(decoded.variant.name) + "\n";
            for (name, value) in &decoded.fields {
                _ = writeln!(text, "  {} = {}", plain(name), plain(&value.to_string()));
            }
            output::result(&text)?;
            for remark in &decoded.remarks {
                output::note(remark);
            }
        }
        Some(Notification::Bytes(bytes)) => {
            output::result(&format!("{}\n", plain(&bytes.to_string())))?
        }
    }
    output::progress("Answered", &format!("in {}", time(nanoseconds(took))));
    Ok(())
}

/// The same for scripts.
pub(super) fn answer_json(
    plugin: &str,
    request: &Request,
    answer: &Answer,
    reading: &Reading,
    took: Duration,
) -> Value {
    let mut remarks = request.remarks.clone();
    let notification = match &reading.notification {
        Some(Notification::Decoded(decoded)) => {
            remarks.extend(decoded.remarks.iter().cloned());
            let fields =
                decoded.fields.iter().map(|(name, value)| ((*name).to_owned(), value.json()));
            json!({ "name": decoded.variant.name, "fields": fields.collect::<Map<_, _>>() })
        }
        _ => Value::Null,
    };
    json!({
        "plugin": plugin,
        "command": request.name,
        "status": {
            "code": answer.status.0,
            "name": answer.status.name(),
            "description": answer.status.description(),
        },
        "notification": notification,
        "bytes": answer.bytes.as_ref().map(|bytes| Shown::Bytes(bytes.clone()).json()),
        "nanoseconds": nanoseconds(took),
        "problems": reading.problems,
        "remarks": remarks,
    })
}

/// How a run was set up.
#[derive(Debug)]
pub(super) struct Shape {
    pub(super) asked: usize,
    pub(super) in_flight: usize,
    pub(super) warm_up: usize,
}

/// A run, for people.
pub(super) fn tally(tally: &Tally, shape: &Shape) -> String {
    let Shape { asked, in_flight, warm_up } = shape;
    let mut text = format!(
        "commands    {} of {asked}, {in_flight} in flight, after {warm_up} for warming up\n",
        tally.samples()
    );
    _ = writeln!(text, "errors      {}", tally.failed());
    _ = writeln!(
        text,
        "rate        {:.0} per second, in {:.3} s",
        tally.rate(),
        tally.elapsed.as_secs_f64()
    );
    for (name, percent) in [("min", 0), ("p50", 50), ("p90", 90), ("p99", 99)] {
        _ = writeln!(
            text,
            "{name:<11} {}",
            tally.percentile(percent).map_or_else(|| "-".to_owned(), time)
        );
    }
    _ = writeln!(text, "max         {}", tally.max().map_or_else(|| "-".to_owned(), time));
    text
}

/// The same for scripts.
pub(super) fn tally_json(plugin: &str, request: &Request, tally: &Tally, shape: &Shape) -> Value {
    json!({
        "plugin": plugin,
        "command": request.name,
        "asked": shape.asked,
        "count": tally.samples(),
        "in_flight": shape.in_flight,
        "warm_up": shape.warm_up,
        "errors": tally.failed(),
        "errors_by_kind": tally.errors,
        "ended_early": tally.broken.as_ref().map(ToString::to_string),
        "seconds": tally.elapsed.as_secs_f64(),
        "rate": tally.rate(),
        "latency_ns": {
            "min": tally.percentile(0),
            "p50": tally.percentile(50),
            "p90": tally.percentile(90),
            "p99": tally.percentile(99),
            "max": tally.max(),
        },
    })
}

fn nanoseconds(time: Duration) -> u64 {
    time.as_nanos().try_into().unwrap_or(u64::MAX)
}

/// A time in the unit that suits it.
fn time(nanoseconds: u64) -> String {
    let value = nanoseconds as f64;
    match nanoseconds {
        0..1_000_000 => format!("{:.1} us", value / 1e3),
        1_000_000..1_000_000_000 => format!("{:.2} ms", value / 1e6),
        _ => format!("{:.3} s", value / 1e9),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_the_unit_that_suits_them() {
        let times = [500, 85_200, 2_345_678, 1_500_000_000].map(time);
        assert_eq!(times, ["0.5 us", "85.2 us", "2.35 ms", "1.500 s"]);
    }
}
