//! Plots of the page: latencies over the share of slower round trips, and curves over the number at
//! the end of names.

use anyhow::{Result, anyhow};
use plotters::prelude::*;

use super::quantity::{plain, quantity};
use super::to_html;
use crate::figure::{Figure, Measured};

const KIT: RGBColor = RGBColor(0x24, 0x63, 0xc7);
const PEER: RGBColor = RGBColor(0xc8, 0x65, 0x1b);
/// Inverse shares of slower round trips: half at the first point, one of 100,000 at the last.
const SLOWER: [f64; 12] = [2.0, 4.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1e3, 3e3, 1e4, 1e5];

/// A logarithmic axis: its quantity, and the unit of its ticks.
type Axis = (&'static str, &'static str);
type Points = Vec<(f64, f64)>;

struct Plot<'a> {
    title: &'a str,
    axes: [Axis; 2],
    sides: Vec<(&'a str, RGBColor, Points)>,
    caption: String,
}

pub(super) fn all(figures: &[Figure]) -> Result<String> {
    let latencies = figures.iter().filter(|figure| figure.cores.is_none());
    let latencies = latencies.filter_map(latency).collect();
    let rates = curves(figures, &["loopback/rate/"], [("in flight", ""), ("commands", "/s")]);
    let starts = ["sandbox/inline/", "sandbox/registered/"];
    let sizes = curves(figures, &starts, [("bytes", "bytes"), ("one message", "ns")]);
    let mut html = String::new();
    for (title, plots) in [
        ("Latency of single round trips, the reading of the clock included", latencies),
        ("Throughput over commands in flight", rates),
        ("Messages through the sandbox plugin over their size", sizes),
    ] {
        if plots.is_empty() {
            continue;
        }
        html += &format!("<h2>{title}</h2>\n<div class=\"plots\">\n");
        for plot in plots {
            let svg = plot.svg().map_err(|error| anyhow!("cannot draw {}: {error}", plot.title))?;
            let caption = to_html(&plot.caption);
            html += &format!("<figure>{svg}<figcaption>{caption}</figcaption></figure>\n");
        }
        html += "</div>\n";
    }
    Ok(html)
}

impl Plot<'_> {
    fn svg(&self) -> Result<String, Box<dyn std::error::Error>> {
        let mut svg = String::new();
        let ends = |of: fn(&(f64, f64)) -> f64| {
            let values = self.sides.iter().flat_map(|(_, _, points)| points).map(of);
            let (least, most) = values.fold((f64::INFINITY, 0.0_f64), |(least, most), value| {
                (least.min(value), most.max(value))
            });
            if least < most { least / 1.1..most * 1.1 } else { least / 2.0..least * 2.0 }
        };
        let [x, y] = self.axes;
        {
            let area = SVGBackend::with_string(&mut svg, (480, 290)).into_drawing_area();
            let mut chart = ChartBuilder::on(&area)
                .caption(self.title, ("sans-serif", 14))
                .margin(8)
                .x_label_area_size(36)
                .y_label_area_size(64)
                .build_cartesian_2d(ends(|at| at.0).log_scale(), ends(|at| at.1).log_scale())?;
            chart
                .configure_mesh()
                .light_line_style(TRANSPARENT)
                .x_labels(6)
                .x_desc(x.0)
                .y_desc(y.0)
                .x_label_formatter(&|at| quantity(*at, x.1))
                .y_label_formatter(&|at| quantity(*at, y.1))
                .draw()?;
            for &(name, color, ref points) in &self.sides {
                let line = LineSeries::new(points.iter().copied(), color.stroke_width(2));
                chart.draw_series(line.point_size(3))?.label(name).legend(move |(x, y)| {
                    Rectangle::new([(x, y - 4), (x + 9, y + 4)], color.filled())
                });
            }
            chart.configure_series_labels().background_style(WHITE.mix(0.8)).draw()?;
            area.present()?;
        }
        Ok(svg)
    }
}

fn latency(figure: &Figure) -> Option<Plot<'_>> {
    figure.kit.histogram.as_ref()?;
    let peer = figure.peer.as_ref().map(|peer| (&*peer.name, PEER, &peer.of));
    let (mut sides, mut captions) = (Vec::new(), Vec::new());
    for (name, color, Measured { histogram, .. }) in
        peer.into_iter().chain([("kit", KIT, &figure.kit)])
    {
        let Some(of) = histogram else { continue };
        let count = of.count();
        let [p50, p90, p99, p999, max] =
            [0.5, 0.9, 0.99, 0.999, 1.0].map(|share| quantity(of.at(share) as f64, "ns"));
        captions.push(format!(
            "{}: median {p50}, 90 % {p90}, 99 % {p99}, 99.9 % {p999}, longest {max}; {count} samples",
            name.replace('<', "&lt;"),
        ));
        let known = SLOWER.iter().filter(|of| **of <= count as f64);
        let points = known.map(|one_of| (*one_of, of.at(1.0 - 1.0 / one_of) as f64));
        sides.push((name, color, points.collect()));
    }
    let axes = [("one of so many is slower", ""), ("round trip", "ns")];
    Some(Plot { title: &figure.name, axes, sides, caption: captions.join("\n\n") })
}

/// Plots each family of figures whose names differ only in a number at their end.
fn curves<'a>(figures: &'a [Figure], starts: &[&str], axes: [Axis; 2]) -> Vec<Plot<'a>> {
    let member = |figure: &'a Figure| {
        let (family, last) = figure.name.rsplit_once('/')?;
        let is_wanted =
            figure.cores.is_none() && starts.iter().any(|start| figure.name.starts_with(start));
        last.parse().ok().filter(|_| is_wanted).map(|at: f64| (family, at, figure))
    };
    let mut members: Vec<_> = figures.iter().filter_map(member).collect();
    members.sort_by(|a, b| a.0.cmp(b.0).then(a.1.total_cmp(&b.1)));
    let plots = members.chunk_by(|a, b| a.0 == b.0).map(|members| {
        let peer = members.iter().find_map(|(_, _, figure)| Some(&*figure.peer.as_ref()?.name));
        let of_peers =
            members.iter().filter_map(|(_, at, f)| Some((*at, f.peer.as_ref()?.of.value)));
        let kit = members.iter().map(|(_, at, figure)| (*at, figure.kit.value)).collect();
        let ratios = members.iter().filter_map(|(_, at, figure)| {
            Some(format!("{}: {} x", quantity(*at, axes[0].1), plain(figure.ratio?)))
        });
        let caption = format!("kit over peer: {}", ratios.collect::<Vec<_>>().join(", "));
        let sides = vec![(peer.unwrap_or("peer"), PEER, of_peers.collect()), ("kit", KIT, kit)];
        Plot { title: members[0].0, axes, sides, caption }
    });
    plots.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_curve_is_of_figures_that_differ_in_their_last_number() {
        let figures = ["rate/a/64", "rate/a/8", "rate/b/1", "rate/c", "other/a/1"]
            .map(|name| Figure::new(name, "/s", 1.0));
        let found = curves(&figures, &["rate/"], [("in flight", ""), ("commands", "/s")]);
        let positions = |plot: &Plot<'_>| plot.sides[1].2.iter().map(|at| at.0).collect::<Vec<_>>();
        let found: Vec<_> = found.iter().map(|plot| (plot.title, positions(plot))).collect();
        assert_eq!(found, [("rate/a", vec![8.0, 64.0]), ("rate/b", vec![1.0])]);
    }
}
