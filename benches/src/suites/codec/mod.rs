//! Everything that is measured, in the shape of the benchmark's figures.

use anyhow::Result;
use bench_codec::in_c;
use serde_json::{Value, json};
use urom_tests::built;

use crate::{callgrind, message};

const COUNT: usize = 10_000;

/// All figures.
pub(crate) fn all() -> Result<Vec<Value>> {
    let mut figures = messages()?;
    figures.extend(plugins()?);
    Ok(figures)
}

fn figure(name: &str, [value, in_c]: [f64; 2], peer: &str, note: &str) -> Value {
    let peer = json!({"name": peer, "value": in_c});
    json!({"name": name, "unit": "instructions", "value": value, "peer": peer,
           "ratio": value / in_c, "note": note})
}

fn messages() -> Result<Vec<Value>> {
    const PEER: &str = "packed by hand in C, with memcpy";
    let of = |name: &str, direction: &str, side: &str| {
        callgrind::per_round(&["message", name, direction, side], COUNT)
    };
    let mut figures = Vec::new();
    // The loop is the same for all.
    let nothing = of("loopback", "encode", "nothing")?;
    for name in message::names() {
        let mut sums = [0.0, 0.0];
        for direction in ["encode", "decode"] {
            let each =
                [of(name, direction, "rust")? - nothing, of(name, direction, "c")? - nothing];
            sums = [sums[0] + each[0], sums[1] + each[1]];
            let name = format!("codec-{direction}/{name}");
            figures.push(figure(&name, each, PEER, "without the loop"));
        }
        let note = "encode and decode together, without the loop";
        figures.push(figure(&format!("codec/{name}"), sums, PEER, note));
    }
    Ok(figures)
}

/// A command's instructions in a plugin, the worker's part of the descriptors included.
fn plugins() -> Result<Vec<Value>> {
    let note = "a command, with worker_cmd, progress, notif_pack and both descriptors";
    let mut figures = Vec::new();
    // The turns of one command each: with an exchange, enough for UCX's polling to average out.
    for (name, work, numbers, turns) in
        [("graph", "loopback", [1, 32], 4096), ("sandbox", "exchange", [2, 32], 8192)]
    {
        let files = [built(&format!("libworker_{name}.so"))?, in_c::plugin(name)?];
        for commands in numbers {
            let mut each = [0.0, 0.0];
            for (file, each) in files.iter().zip(&mut each) {
                let (file, commands_word) = (file.display().to_string(), commands.to_string());
                let words = ["plugin", &file, work, &commands_word];
                *each = callgrind::per_round(&words, turns / commands)? / commands as f64;
            }
            let name = format!("plugin/{name}/{work}/{commands}-a-turn");
            figures.push(figure(&name, each, "the same plugin in C", note));
        }
    }
    Ok(figures)
}
