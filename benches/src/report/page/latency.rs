//! How single round trips are spread: a histogram for each figure that has one, over its peer's.

use super::plot::{Axis, Plot, Series, Shape};
use crate::distribution::Distribution;
use crate::figure::Figure;
use crate::report::text::{escape, time};

/// How many bars there are to a factor of two, after the recorder's fine ones were put together.
const BARS: f64 = 8.0;
/// The least share that is drawn, per cent.
const FLOOR: f64 = 0.001;

/// A plot for each figure with a histogram.
pub(super) fn section(figures: &[Figure]) -> String {
    figures.iter().filter_map(one).collect()
}

fn one(figure: &Figure) -> Option<String> {
    let own = figure.histogram.as_ref()?;
    let peer =
        figure.peer.as_ref().and_then(|peer| Some((peer.name.as_str(), peer.histogram.as_ref()?)));
    let mut sides = Vec::new();
    sides.extend(peer.map(|(name, distribution)| (name, "peer", distribution)));
    sides.push(("kit", "kit", own));
    let series: Vec<Series> =
        sides.iter().map(|(name, class, of)| series(name, class, of)).collect();
    // What happens less often than once in a hundred thousand is told by the caption.
    let xs = series.iter().flat_map(|series| &series.points).filter(|point| point.1 >= FLOOR * 2.0);
    let plot = Plot {
        title: figure.name.clone(),
        x: Axis::decades(
            "one round trip, the reading of the clock included",
            xs.map(|point| point.0),
            time,
        ),
        y: Axis::of(
            "share of all",
            [
                (FLOOR, "0.001 %"),
                (0.01, "0.01 %"),
                (0.1, "0.1 %"),
                (1.0, "1 %"),
                (10.0, "10 %"),
                (100.0, "100 %"),
            ]
            .map(|(value, name)| (value, name.to_owned()))
            .to_vec(),
        ),
        series,
    };
    let captions: Vec<String> = sides.iter().map(|(name, _, of)| caption(name, of)).collect();
    Some(format!(
        "<figure>{}<figcaption>{}</figcaption></figure>\n",
        plot.svg(),
        captions.join("<br>")
    ))
}

fn caption(name: &str, of: &Distribution) -> String {
    let at = |value: u64| time(value as f64);
    format!(
        "{}: median {}, 90 % {}, 99 % {}, 99.9 % {}, longest {}; {} round trips",
        escape(name),
        at(of.p50),
        at(of.p90),
        at(of.p99),
        at(of.p999),
        at(of.max),
        of.count
    )
}

/// Bars of equal width on a logarithmic axis, in per cent of all samples.
fn series(name: &str, class: &'static str, of: &Distribution) -> Series {
    let mut bars: Vec<(i64, u64)> = Vec::new();
    for (nanoseconds, count) in &of.bars {
        let bar = ((*nanoseconds as f64).log2() * BARS).floor() as i64;
        match bars.last_mut().filter(|last| last.0 == bar) {
            Some(last) => last.1 += count,
            None => bars.push((bar, *count)),
        }
    }
    let edge = |bar: i64| (bar as f64 / BARS).exp2();
    let mut points = Vec::new();
    for (at, (bar, count)) in bars.iter().enumerate() {
        let share = *count as f64 * 100.0 / of.count.max(1) as f64;
        points.push((edge(*bar), share, name.to_owned()));
        if bars.get(at + 1).is_none_or(|next| next.0 > bar + 1) {
            points.push((edge(bar + 1), 0.0, name.to_owned()));
        }
    }
    Series { name: name.to_owned(), class, shape: Shape::Steps, points }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_between_bars_are_drawn_as_gaps() {
        let of = Distribution {
            count: 4,
            bars: vec![(100, 1), (101, 1), (1000, 2)],
            ..Distribution::default()
        };
        let shares: Vec<f64> =
            series("kit", "kit", &of).points.iter().map(|point| point.1).collect();
        assert_eq!(shares, [50.0, 0.0, 50.0, 0.0]);
    }
}
