//! A plot as inline SVG: axes with ticks, and lines or filled steps.

use std::fmt::Write;

use crate::report::text::escape;

/// The drawing's size, in units of which the page shows one as about a pixel.
const WIDTH: f64 = 460.0;
const HEIGHT: f64 = 270.0;
/// What is left around the axes: for ticks and labels.
const LEFT: f64 = 68.0;
const RIGHT: f64 = 26.0;
const TOP: f64 = 30.0;
const BOTTOM: f64 = 44.0;

/// One direction of a plot. All are logarithmic.
pub(super) struct Axis {
    pub(super) label: &'static str,
    pub(super) from: f64,
    pub(super) to: f64,
    pub(super) ticks: Vec<(f64, String)>,
}

/// What is drawn of some points.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    /// A line with a mark at each point.
    Line,
    /// A filled outline whose height changes at each point; the plot's floor is its own.
    Steps,
}

/// Some points under one name.
pub(super) struct Series {
    pub(super) name: String,
    /// The class that gives it its colour: `kit` or `peer`.
    pub(super) class: &'static str,
    pub(super) shape: Shape,
    /// Each with what a reader is told who points at it.
    pub(super) points: Vec<(f64, f64, String)>,
}

/// A plot.
pub(super) struct Plot {
    pub(super) title: String,
    pub(super) x: Axis,
    pub(super) y: Axis,
    pub(super) series: Vec<Series>,
}

impl Axis {
    /// From the power of ten below to that above the values, a tick at each; at 2 and 5 times, too, when these are few.
    pub(super) fn decades(
        label: &'static str,
        values: impl Iterator<Item = f64>,
        name: fn(f64) -> String,
    ) -> Axis {
        let (mut least, mut most) = (f64::INFINITY, 0.0_f64);
        for value in values.filter(|value| *value > 0.0) {
            (least, most) = (least.min(value), most.max(value));
        }
        if !least.is_finite() {
            (least, most) = (1.0, 10.0);
        }
        // Not a whole decade where a fifth of one will do.
        let steps = [1.0, 2.0, 5.0];
        let all = |from: f64, to: f64| {
            let decades = from.log10().floor() as i32..=to.log10().ceil() as i32;
            decades.flat_map(move |decade| steps.map(|step| step * 10_f64.powi(decade)))
        };
        let from = all(least, least).filter(|tick| *tick <= least).fold(0.0, f64::max);
        let to = all(most, most).filter(|tick| *tick >= most).fold(f64::INFINITY, f64::min);
        let to = if to <= from { from * 10.0 } else { to };
        let few = (to / from).log10() < 2.5;
        let is_decade = |tick: f64| (tick.log10() - tick.log10().round()).abs() < 1e-6;
        let ticks = all(from, to)
            .filter(|tick| (from..=to * 1.000_001).contains(tick) && (few || is_decade(*tick)));
        Axis { label, from, to, ticks: ticks.map(|tick| (tick, name(tick))).collect() }
    }

    /// Exactly these ticks, from the first to the last.
    pub(super) fn of(label: &'static str, ticks: Vec<(f64, String)>) -> Axis {
        let from = ticks.first().map_or(1.0, |tick| tick.0);
        let to = ticks.last().map_or(10.0, |tick| tick.0).max(from * 2.0);
        Axis { label, from, to, ticks }
    }

    /// Where a value lies, from 0 to 1.
    fn at(&self, value: f64) -> f64 {
        (value.max(self.from) / self.from).ln() / (self.to / self.from).ln()
    }
}

impl Plot {
    fn x(&self, value: f64) -> f64 {
        LEFT + self.x.at(value).min(1.0) * (WIDTH - LEFT - RIGHT)
    }

    fn y(&self, value: f64) -> f64 {
        HEIGHT - BOTTOM - self.y.at(value).min(1.0) * (HEIGHT - TOP - BOTTOM)
    }

    /// The drawing.
    pub(super) fn svg(&self) -> String {
        let mut svg = String::new();
        self.write(&mut svg).expect("a string takes all that is written to it");
        svg
    }

    fn write(&self, svg: &mut String) -> std::fmt::Result {
        let (right, floor) = (WIDTH - RIGHT, HEIGHT - BOTTOM);
        let title = escape(&self.title);
        writeln!(svg, r#"<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{title}">"#)?;
        writeln!(svg, r#"<text class="title" x="{LEFT}" y="14">{title}</text>"#)?;
        for (value, name) in &self.y.ticks {
            let y = self.y(*value);
            writeln!(
                svg,
                r#"<line class="grid" x1="{LEFT}" x2="{right}" y1="{y:.1}" y2="{y:.1}"/>"#
            )?;
            writeln!(
                svg,
                r#"<text class="tick" x="{:.1}" y="{:.1}" text-anchor="end">{name}</text>"#,
                LEFT - 6.0,
                y + 3.5
            )?;
        }
        for (value, name) in &self.x.ticks {
            let x = self.x(*value);
            writeln!(
                svg,
                r#"<line class="grid" x1="{x:.1}" x2="{x:.1}" y1="{TOP}" y2="{floor}"/>"#
            )?;
            writeln!(
                svg,
                r#"<text class="tick" x="{x:.1}" y="{:.1}" text-anchor="middle">{name}</text>"#,
                floor + 15.0
            )?;
        }
        let middle = (LEFT + right) / 2.0;
        writeln!(
            svg,
            r#"<line class="axis" x1="{LEFT}" x2="{right}" y1="{floor}" y2="{floor}"/>"#
        )?;
        writeln!(
            svg,
            r#"<text class="label" x="{middle}" y="{}" text-anchor="middle">{}</text>"#,
            HEIGHT - 8.0,
            self.x.label
        )?;
        writeln!(
            svg,
            r#"<text class="label" transform="rotate(-90)" x="{:.1}" y="12" text-anchor="middle">{}</text>"#,
            -f64::midpoint(TOP, floor),
            self.y.label
        )?;
        for series in &self.series {
            match series.shape {
                Shape::Line => self.line(svg, series)?,
                Shape::Steps => self.steps(svg, series)?,
            }
        }
        self.legend(svg)?;
        writeln!(svg, "</svg>")
    }

    fn line(&self, svg: &mut String, series: &Series) -> std::fmt::Result {
        let points: Vec<String> = series
            .points
            .iter()
            .map(|(x, y, _)| format!("{:.1},{:.1}", self.x(*x), self.y(*y)))
            .collect();
        writeln!(
            svg,
            r#"<polyline class="line {}" points="{}"/>"#,
            series.class,
            points.join(" ")
        )?;
        for (x, y, told) in &series.points {
            writeln!(
                svg,
                r#"<circle class="mark {}" cx="{:.1}" cy="{:.1}" r="3.5"><title>{}</title></circle>"#,
                series.class,
                self.x(*x),
                self.y(*y),
                escape(told)
            )?;
        }
        Ok(())
    }

    fn steps(&self, svg: &mut String, series: &Series) -> std::fmt::Result {
        let floor = HEIGHT - BOTTOM;
        let Some((first, ..)) = series.points.first() else { return Ok(()) };
        let mut path = format!("M{:.1},{floor}", self.x(*first));
        for (at, (x, y, _)) in series.points.iter().enumerate() {
            let end = series.points.get(at + 1).map_or(*x, |next| next.0);
            write!(path, "V{:.1}H{:.1}", self.y(*y), self.x(end))?;
        }
        path.push_str(&format!("V{floor}Z"));
        let told = series.points.first().map_or("", |point| point.2.as_str());
        writeln!(
            svg,
            r#"<path class="area {}" d="{path}"><title>{}</title></path>"#,
            series.class,
            escape(told)
        )
    }

    /// In the upper right corner, outside the axes.
    fn legend(&self, svg: &mut String) -> std::fmt::Result {
        let mut x = WIDTH - RIGHT;
        for series in self.series.iter().rev() {
            x -= 6.2 * series.name.chars().count() as f64;
            writeln!(
                svg,
                r#"<text class="label" x="{x:.1}" y="26">{}</text>"#,
                escape(&series.name)
            )?;
            x -= 14.0;
            writeln!(
                svg,
                r#"<rect class="key {}" x="{x:.1}" y="18" width="9" height="9" rx="2"/>"#,
                series.class
            )?;
            x -= 16.0;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ends(values: &[f64]) -> (f64, f64, usize) {
        let axis = Axis::decades("", values.iter().copied(), |tick| tick.to_string());
        (axis.from, axis.to, axis.ticks.len())
    }

    #[test]
    fn an_axis_ends_where_its_values_do() {
        assert_eq!(ends(&[164.0, 489.0]), (100.0, 500.0, 3));
        assert_eq!(ends(&[3.0, 4_000_000.0]), (2.0, 5_000_000.0, 6));
        assert_eq!(ends(&[]), (1.0, 10.0, 4));
        assert_eq!(ends(&[0.0, -1.0]), (1.0, 10.0, 4));
        assert_eq!(ends(&[10.0]), (10.0, 100.0, 4));
    }

    #[test]
    fn what_is_beyond_an_axis_is_drawn_at_its_end() {
        let axis = || Axis::of("", vec![(1.0, String::new()), (10.0, String::new())]);
        let plot = Plot { title: "<&>".to_owned(), x: axis(), y: axis(), series: Vec::new() };
        assert_eq!((plot.x(0.0), plot.x(100.0)), (LEFT, WIDTH - RIGHT));
        assert_eq!((plot.y(0.0), plot.y(100.0)), (HEIGHT - BOTTOM, TOP));
        assert!(plot.svg().contains("&lt;&amp;&gt;"));
    }
}
