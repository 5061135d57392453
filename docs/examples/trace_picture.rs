//! Draws the shortest command of a trace of `cargo urom trace`, for the guide's page on traces:
//! `cargo run -p guide --example trace_picture -- FILE > docs/src/trace.svg`.

use std::error::Error;

use serde_json::Value;

const WIDTH: f64 = 700.0;
const LEFT: f64 = 260.0;
const ROW: f64 = 26.0;

struct Slice {
    name: String,
    depth: usize,
    begin: f64,
    end: f64,
}

fn main() -> Result<(), Box<dyn Error>> {
    let file = std::env::args().nth(1).ok_or("which file?")?;
    let text = std::fs::read_to_string(file)?;
    let array = format!("{}]", text.trim_end().trim_end_matches(','));
    let events: Vec<Value> = serde_json::from_str(&array)?;
    let mut spans: Vec<Vec<Slice>> = Vec::new();
    let mut open = Vec::new();
    for event in events {
        let time = event["ts"].as_f64().unwrap_or_default();
        match event["ph"].as_str() {
            Some("b") => {
                if open.is_empty() {
                    spans.push(Vec::new());
                }
                let Some(slices) = spans.last_mut() else { continue };
                let name = event["name"].as_str().unwrap_or_default().to_owned();
                open.push(slices.len());
                slices.push(Slice { name, depth: open.len() - 1, begin: time, end: time });
            }
            Some("e") => {
                let (Some(slices), Some(at)) = (spans.last_mut(), open.pop()) else { continue };
                slices[at].end = time;
            }
            _ => {}
        }
    }
    let took = |slices: &Vec<Slice>| slices[0].end - slices[0].begin;
    let shortest = spans.into_iter().min_by(|a, b| took(a).total_cmp(&took(b)));
    print!("{}", svg(&shortest.ok_or("the file has no command")?));
    Ok(())
}

fn svg(slices: &[Slice]) -> String {
    let (whole, height) = (&slices[0], ROW * (slices.len() as f64 + 1.0));
    let scale = WIDTH / (whole.end - whole.begin);
    let full = LEFT + WIDTH + 20.0;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {full} {height}\" \
         font-family=\"Helvetica, Arial, sans-serif\" font-size=\"13.5\">\n  \
         <rect width=\"{full}\" height=\"{height}\" fill=\"#ffffff\"/>\n"
    );
    for (row, Slice { name, depth, begin, end }) in slices.iter().enumerate() {
        let (y, took) = (ROW * (row as f64 + 0.4), end - begin);
        let (x, width) = (LEFT + (begin - whole.begin) * scale, (took * scale).max(1.5));
        let color = match (name.as_str(), depth) {
            ("wait", _) => "#d9e0e5",
            ("to the worker" | "to the host", _) => "#b3541e",
            (_, 0 | 1) => "#2f4858",
            _ => "#1d6fa5",
        };
        let (label, text) = (10.0 + 14.0 * *depth as f64, y + 15.0);
        svg += &format!(
            "  <text x=\"{label}\" y=\"{text:.1}\" fill=\"#1c2b36\">{name}, {took:.1} µs</text>\n  \
             <rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"20\" rx=\"2\" \
             fill=\"{color}\"/>\n"
        );
    }
    svg + "</svg>\n"
}
