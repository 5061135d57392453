//! Plugins that block, leak, panic in every method and corrupt their lists: only their worker is
//! affected.

mod acts;
mod stage;

use anyhow::{Context, Result};

use crate::measure::Times;
use crate::suite::{Extent, Outcome};
use stage::Stage;

pub(crate) fn run(extent: &Extent) -> Result<Outcome> {
    let mut times = Times::default();
    let mut stage = Stage::new()?;
    let acts = acts::all(extent.length);
    for act in &acts {
        let name = &act.name;
        let took = stage.play(act).with_context(|| format!("{name}\n{}\n{name}", stage.logs()))?;
        println!("  {name}: {:.3} s", took.as_secs_f64());
        times.add(format!("plugins/{}", act.class), None, took);
    }
    let mut figures = times.figures();
    figures.push(stage.repeats.figure("plugins"));
    let done = format!("{} acts, {}", acts.len(), stage.repeats);
    stage.end()?;
    Ok(Outcome::Passed { done, figures })
}
