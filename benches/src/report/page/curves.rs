//! Curves over a number that stands at the end of figures' names: how many are in flight, how many bytes.

use super::plot::{Axis, Plot, Series, Shape};
use crate::figure::Figure;
use crate::report::text::{escape, quantity, rate, size, time};

/// Commands per second over how many are in flight: a plot for each place.
pub(super) fn throughput(figures: &[Figure]) -> String {
    let ticks = |at: f64| at.to_string();
    families(figures, "loopback/rate/")
        .iter()
        .map(|family| plot(family, "in flight", ticks, "commands a second", rate))
        .collect()
}

/// Time over size: a plot for each way and transport.
pub(super) fn sizes(figures: &[Figure]) -> String {
    let families = families(figures, "sandbox/inline/")
        .into_iter()
        .chain(families(figures, "sandbox/registered/"));
    families.map(|family| plot(&family, "bytes", size, "one message", time)).collect()
}

/// Figures whose names differ in their last part, a number, only.
struct Family<'a> {
    name: &'a str,
    members: Vec<(f64, &'a Figure)>,
}

fn families<'a>(figures: &'a [Figure], start: &str) -> Vec<Family<'a>> {
    let mut families: Vec<Family<'a>> = Vec::new();
    for figure in figures.iter().filter(|figure| figure.name.starts_with(start)) {
        let Some((name, last)) = figure.name.rsplit_once('/') else { continue };
        let Ok(at) = last.parse() else { continue };
        match families.iter_mut().find(|family| family.name == name) {
            Some(family) => family.members.push((at, figure)),
            None => families.push(Family { name, members: vec![(at, figure)] }),
        }
    }
    for family in &mut families {
        family.members.sort_by(|a, b| a.0.total_cmp(&b.0));
    }
    families
}

/// Where the members are, without those whose ticks would run into others': all ends are kept.
fn apart(family: &Family<'_>) -> Vec<f64> {
    let places: Vec<f64> = family.members.iter().map(|(at, _)| *at).collect();
    let (Some(first), Some(last)) = (places.first(), places.last()) else { return Vec::new() };
    let least = (last / first).powf(0.12);
    let mut kept = vec![*first];
    for at in &places[1..places.len().max(2) - 1] {
        if kept.last().is_some_and(|before| at / before >= least) && last / at >= least {
            kept.push(*at);
        }
    }
    kept.extend((last > first).then_some(*last));
    kept
}

fn plot(
    family: &Family<'_>,
    label: &'static str,
    tick: fn(f64) -> String,
    value_label: &'static str,
    value_tick: fn(f64) -> String,
) -> String {
    let told = |at: f64, who: &str, value: f64, unit: &str| {
        format!("{who}, {}: {}", tick(at), quantity(value, unit))
    };
    let kit = family
        .members
        .iter()
        .map(|(at, figure)| (*at, figure.value, told(*at, "kit", figure.value, &figure.unit)));
    let mut series = Vec::new();
    let peers = family.members.iter().filter_map(|(at, figure)| {
        let peer = figure.peer.as_ref()?;
        Some((*at, peer.value, told(*at, &peer.name, peer.value, &figure.unit)))
    });
    let peers: Vec<_> = peers.collect();
    let peer_name =
        family.members.iter().find_map(|(_, figure)| Some(figure.peer.as_ref()?.name.clone()));
    series.extend(peer_name.map(|name| Series {
        name,
        class: "peer",
        shape: Shape::Line,
        points: peers,
    }));
    series.push(Series {
        name: "kit".to_owned(),
        class: "kit",
        shape: Shape::Line,
        points: kit.collect(),
    });
    let values = series.iter().flat_map(|series| series.points.iter().map(|point| point.1));
    let y = Axis::decades(value_label, values, value_tick);
    let x = Axis::of(label, apart(family).into_iter().map(|at| (at, tick(at))).collect());
    let ratios: Vec<String> = family
        .members
        .iter()
        .filter_map(|(at, figure)| Some(format!("{}: {:.2} ×", tick(*at), figure.ratio?)))
        .collect();
    let plot = Plot { title: family.name.to_owned(), x, y, series };
    let note = family.members.iter().find_map(|(_, figure)| figure.note.clone());
    let note = note.map_or_else(String::new, |note| format!("<br>{}", escape(&note)));
    format!(
        "<figure>{}<figcaption>kit over peer: {}{note}</figcaption></figure>\n",
        plot.svg(),
        ratios.join(", ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_family_is_what_differs_in_its_last_number() {
        let figures = [
            "loopback/rate/a/64",
            "loopback/rate/a/8",
            "loopback/rate/b/1",
            "loopback/rate/c",
            "other/a/1",
        ]
        .map(|name| Figure::new(name, "/s", 1.0));
        let found = families(&figures, "loopback/rate/");
        let names: Vec<_> =
            found.iter().map(|family| (family.name, family.members.len())).collect();
        assert_eq!(names, [("loopback/rate/a", 2), ("loopback/rate/b", 1)]);
        assert_eq!(found[0].members[0].0, 8.0);
    }

    #[test]
    fn ticks_keep_apart_and_both_ends_have_one() {
        let of = |sizes: &[u32]| {
            let figures: Vec<_> =
                sizes.iter().map(|size| Figure::new(format!("a/{size}"), "ns", 1.0)).collect();
            apart(&families(&figures, "a/")[0])
        };
        assert_eq!(of(&[8, 64, 512, 1024, 2048, 4000]), [8.0, 64.0, 512.0, 4000.0]);
        assert_eq!(of(&[1, 8, 64, 512]), [1.0, 8.0, 64.0, 512.0]);
        assert_eq!(of(&[1]), [1.0]);
    }
}
