//! The table of results.

use std::time::Duration;

use crate::worker::{MEASURED, Report, WARM_UP};

const HEAD: [&str; 6] =
    ["worker id", "group", "value sent", "value returned", "round trip [us]", "the first [us]"];

pub(crate) fn render(reports: &[Report]) -> String {
    let micros = |time: Duration| format!("{:.2}", time.as_secs_f64() * 1e6);
    let rows: Vec<[String; 6]> = reports
        .iter()
        .map(|report| {
            let Report { id, group, returned, first, median } = report;
            let [sent, group, returned] =
                [*id, u64::from(*group), *returned].map(|n| n.to_string());
            [sent.clone(), group, sent, returned, micros(*median), micros(*first)]
        })
        .collect();
    format!(
        "{}(round trip: median of {MEASURED} loopbacks after {WARM_UP} to warm up, one worker at a time; \
         tens of us mean that host and worker shared a core)\n",
        example_common::render(HEAD, &rows)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_is_in_its_column() {
        let report = |id, median| Report {
            id,
            group: 1,
            returned: id,
            first: Duration::from_micros(321),
            median: Duration::from_nanos(median),
        };
        let text = render(&[report(1, 1_234), report(12_345_678_901, 56_789)]);
        let expected = [
            "  worker id  group   value sent  value returned  round trip [us]  the first [us]",
            "          1      1            1               1             1.23          321.00",
            "12345678901      1  12345678901     12345678901            56.79          321.00",
        ];
        assert_eq!(text.lines().take(3).collect::<Vec<_>>(), expected);
    }
}
