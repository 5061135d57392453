//! The plots of the page: histograms of latencies, and curves over a number at the end of names.

use anyhow::{Result, anyhow};
use plotters::prelude::*;

use super::quantity::{plain, quantity};
use super::to_html;
use crate::distribution::Distribution;
use crate::figure::Figure;

/// The bars of a histogram for each factor of two, made of the recorder's finer ones.
const BARS: f64 = 8.0;
/// The least share that is drawn, in percent.
const FLOOR: f64 = 0.001;
const KIT: RGBColor = RGBColor(0x24, 0x63, 0xc7);
const PEER: RGBColor = RGBColor(0xc8, 0x65, 0x1b);

type Sides<'a> = Vec<(&'a str, RGBColor, Vec<(f64, f64)>)>;

/// A plot whose axes are logarithmic, each with the unit of its ticks.
struct Plot<'a> {
    title: &'a str,
    x: (&'a str, &'a str),
    y: (&'a str, &'a str),
    filled: bool,
    sides: Sides<'a>,
    caption: String,
}

/// All plots, under their headings.
pub(super) fn all(figures: &[Figure]) -> Result<String> {
    let mut html = String::new();
    let histograms = figures.iter().filter_map(histogram).collect::<Vec<_>>();
    section(
        &mut html,
        "Latency of single round trips, the reading of the clock included",
        histograms,
    )?;
    let rates = curves(figures, &["loopback/rate/"], ("in flight", ""), ("commands", "/s"));
    section(&mut html, "Throughput over commands in flight", rates)?;
    let starts = ["sandbox/inline/", "sandbox/registered/"];
    let sizes = curves(figures, &starts, ("bytes", "bytes"), ("one message", "ns"));
    section(&mut html, "Messages through the sandbox plugin over their size", sizes)?;
    Ok(html)
}

fn section(html: &mut String, title: &str, plots: Vec<Plot<'_>>) -> Result<()> {
    if plots.is_empty() {
        return Ok(());
    }
    *html += &format!("<h2>{title}</h2>\n<div class=\"plots\">\n");
    for plot in plots {
        let svg = plot.svg().map_err(|error| anyhow!("cannot draw {}: {error}", plot.title))?;
        let caption = to_html(&plot.caption);
        *html += &format!("<figure>{svg}<figcaption>{caption}</figcaption></figure>\n");
    }
    *html += "</div>\n";
    Ok(())
}

impl Plot<'_> {
    fn svg(&self) -> Result<String, Box<dyn std::error::Error>> {
        let mut svg = String::new();
        let points =
            || self.sides.iter().flat_map(|(_, _, points)| points).filter(|at| at.1 > FLOOR);
        let ends = |of: fn(&(f64, f64)) -> f64| {
            let least = points().map(of).fold(f64::INFINITY, f64::min);
            let most = points().map(of).fold(0.0, f64::max);
            if least < most { least / 1.1..most * 1.1 } else { least / 2.0..least * 2.0 }
        };
        let y = if self.filled { FLOOR..100.0 } else { ends(|at| at.1) };
        let floor = y.start;
        {
            let area = SVGBackend::with_string(&mut svg, (480, 290)).into_drawing_area();
            let mut chart = ChartBuilder::on(&area)
                .caption(self.title, ("sans-serif", 14))
                .margin(8)
                .x_label_area_size(36)
                .y_label_area_size(64)
                .build_cartesian_2d(ends(|at| at.0).log_scale(), y.log_scale())?;
            chart
                .configure_mesh()
                .light_line_style(TRANSPARENT)
                .x_labels(6)
                .x_desc(self.x.0)
                .y_desc(self.y.0)
                .x_label_formatter(&|x| quantity(*x, self.x.1))
                .y_label_formatter(&|y| quantity(*y, self.y.1))
                .draw()?;
            for &(name, color, ref points) in &self.sides {
                let points = points.iter().map(|(x, y)| (*x, y.max(floor)));
                let series = if self.filled {
                    let area = AreaSeries::new(points, floor, color.mix(0.28)).border_style(color);
                    chart.draw_series(area)?
                } else {
                    chart
                        .draw_series(LineSeries::new(points, color.stroke_width(2)).point_size(3))?
                };
                series.label(name).legend(move |(x, y)| {
                    Rectangle::new([(x, y - 4), (x + 9, y + 4)], color.filled())
                });
            }
            chart.configure_series_labels().background_style(WHITE.mix(0.8)).draw()?;
            area.present()?;
        }
        Ok(svg)
    }
}

fn histogram(figure: &Figure) -> Option<Plot<'_>> {
    let mut sides = Vec::new();
    if let Some(peer) = &figure.peer {
        sides.extend(peer.histogram.as_ref().map(|samples| (&*peer.name, PEER, samples)));
    }
    sides.push(("kit", KIT, figure.histogram.as_ref()?));
    let captions = sides.iter().map(|(name, _, of)| {
        let [p50, p90, p99, p999, max] =
            [of.p50, of.p90, of.p99, of.p999, of.max].map(|value| quantity(value as f64, "ns"));
        format!(
            "{}: median {p50}, 90 % {p90}, 99 % {p99}, 99.9 % {p999}, longest {max}; {} samples",
            name.replace('<', "&lt;"),
            of.count
        )
    });
    Some(Plot {
        title: &figure.name,
        x: ("one round trip", "ns"),
        y: ("share of all", "%"),
        filled: true,
        caption: captions.collect::<Vec<_>>().join("\n\n"),
        sides: sides.into_iter().map(|(name, color, of)| (name, color, steps(of))).collect(),
    })
}

/// Bars of equal width on a logarithmic axis, as the outline of steps, in percent of all samples.
fn steps(of: &Distribution) -> Vec<(f64, f64)> {
    let edge = |bar: i64| (bar as f64 / BARS).exp2();
    let mut bars: Vec<(i64, u64)> = Vec::new();
    for (nanoseconds, count) in &of.bars {
        let bar = ((*nanoseconds as f64).log2() * BARS).floor() as i64;
        match bars.last_mut().filter(|last| last.0 == bar) {
            Some(last) => last.1 += count,
            None => bars.push((bar, *count)),
        }
    }
    let mut points = Vec::new();
    for (bar, count) in bars {
        let share = count as f64 * 100.0 / of.count.max(1) as f64;
        let (begin, end) = (edge(bar), edge(bar + 1));
        points.extend([(begin, 0.0), (begin, share), (end, share), (end, 0.0)]);
    }
    points
}

/// A plot for each family of figures whose names differ in a number at their end only.
fn curves<'a>(
    figures: &'a [Figure],
    starts: &[&str],
    x: (&'a str, &'a str),
    y: (&'a str, &'a str),
) -> Vec<Plot<'a>> {
    let member = |figure: &'a Figure| {
        let (family, last) = figure.name.rsplit_once('/')?;
        let is_wanted = starts.iter().any(|start| figure.name.starts_with(start));
        last.parse().ok().filter(|_| is_wanted).map(|at: f64| (family, at, figure))
    };
    let mut members: Vec<_> = figures.iter().filter_map(member).collect();
    members.sort_by(|a, b| a.0.cmp(b.0).then(a.1.total_cmp(&b.1)));
    let plots = members.chunk_by(|a, b| a.0 == b.0).map(|members| {
        let of_peers = members.iter().filter_map(|(_, at, f)| Some((*at, f.peer.as_ref()?.value)));
        let peer = members.iter().find_map(|(_, _, figure)| Some(&*figure.peer.as_ref()?.name));
        let kit = members.iter().map(|(_, at, figure)| (*at, figure.value)).collect();
        let ratios = members.iter().filter_map(|(_, at, figure)| {
            Some(format!("{}: {} x", quantity(*at, x.1), plain(figure.ratio?)))
        });
        let caption = format!("kit over peer: {}", ratios.collect::<Vec<_>>().join(", "));
        let sides = vec![(peer.unwrap_or("peer"), PEER, of_peers.collect()), ("kit", KIT, kit)];
        Plot { title: members[0].0, x, y, filled: false, sides, caption }
    });
    plots.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_between_bars_are_drawn_as_gaps() {
        let bars = vec![(100, 1), (101, 1), (1000, 2)];
        let of = Distribution { count: 4, bars, ..Distribution::default() };
        let shares: Vec<f64> = steps(&of).iter().map(|point| point.1).collect();
        assert_eq!(shares, [0.0, 50.0, 50.0, 0.0, 0.0, 50.0, 50.0, 0.0]);
    }

    #[test]
    fn a_curve_is_of_figures_that_differ_in_their_last_number() {
        let figures = ["rate/a/64", "rate/a/8", "rate/b/1", "rate/c", "other/a/1"]
            .map(|name| Figure::new(name, "/s", 1.0));
        let found = curves(&figures, &["rate/"], ("in flight", ""), ("commands", "/s"));
        let places = |plot: &Plot<'_>| plot.sides[1].2.iter().map(|at| at.0).collect::<Vec<_>>();
        let found: Vec<_> = found.iter().map(|plot| (plot.title, places(plot))).collect();
        assert_eq!(found, [("rate/a", vec![8.0, 64.0]), ("rate/b", vec![1.0])]);
    }
}
