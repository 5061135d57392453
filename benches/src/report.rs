//! The table at the end: medians over the launches, ratios, and the budgets they are held against.

use std::collections::BTreeMap;

use crate::Transport;
use crate::launch::Figures;

/// What a ratio must be.
struct Budget {
    transport: Transport,
    name: &'static str,
    /// Kit over raw.
    ratio: fn(&Figures) -> f64,
    raw: fn(&Figures) -> f64,
    kit: fn(&Figures) -> f64,
    unit: &'static str,
    bound: Bound,
    goal: f64,
}

enum Bound {
    AtMost(f64),
    AtLeast(f64),
}

const fn round_trip(transport: Transport, most: f64, goal: f64) -> Budget {
    Budget {
        transport,
        name: "loopback round trip",
        ratio: |f| f.kit_round_trip_ns / f.raw_round_trip_ns,
        raw: |f| f.raw_round_trip_ns,
        kit: |f| f.kit_round_trip_ns,
        unit: "ns",
        bound: Bound::AtMost(most),
        goal,
    }
}

const fn rate(transport: Transport, least: f64, goal: f64) -> Budget {
    Budget {
        transport,
        name: "commands per second, 64 in flight",
        ratio: |f| f.kit_per_second / f.raw_per_second,
        raw: |f| f.raw_per_second,
        kit: |f| f.kit_per_second,
        unit: "/s",
        bound: Bound::AtLeast(least),
        goal,
    }
}

const BUDGETS: [Budget; 4] = [
    round_trip(Transport::SharedMemory, 1.5, 1.2),
    round_trip(Transport::Tcp, 1.05, 1.02),
    rate(Transport::SharedMemory, 0.8, 1.3),
    rate(Transport::Tcp, 3.0, 15.0),
];

fn median(figures: &[&Figures], of: fn(&Figures) -> f64) -> f64 {
    let mut values: Vec<f64> = figures.iter().map(|figures| of(figures)).collect();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Prints the table. Whether every budget is met.
pub(crate) fn print(figures: &[Figures]) -> bool {
    let mut by_transport: BTreeMap<&str, Vec<&Figures>> = BTreeMap::new();
    for launch in figures {
        by_transport.entry(launch.transport.name()).or_default().push(launch);
    }
    let lines: Vec<String> = figures.iter().map(|f| format!("{:.0}", f.cache_line_ns)).collect();
    println!("cache-line round trip between the two cores, each launch, ns: {}", lines.join(" "));
    println!();
    println!(
        "{:<14} {:<34} {:>14} {:>14} {:>8}  {:<10} {:<7}",
        "transport", "figure (median of the launches)", "raw UCX", "kit", "ratio", "budget", "goal"
    );
    let mut all_met = true;
    for budget in &BUDGETS {
        let Some(launches) = by_transport.get(budget.transport.name()) else { continue };
        let ratio = median(launches, budget.ratio);
        let (met, bound) = match budget.bound {
            Bound::AtMost(most) => (ratio <= most, format!("<= {most}")),
            Bound::AtLeast(least) => (ratio >= least, format!(">= {least}")),
        };
        println!(
            "{:<14} {:<34} {:>11.0} {:<2} {:>11.0} {:<2} {:>8.3}  {:<10} {:<7} {}",
            budget.transport.name(),
            budget.name,
            median(launches, budget.raw),
            budget.unit,
            median(launches, budget.kit),
            budget.unit,
            ratio,
            bound,
            budget.goal,
            if met { "met" } else { "MISSED" }
        );
        all_met &= met;
    }
    all_met
}
