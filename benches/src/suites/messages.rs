//! The UCX messages of commands: commands in flight together share one, and a command that is alone
//! neither takes a second one nor waits for company.

use anyhow::{Result, ensure};

use super::Suite;
use super::counted::{self, Counted};
use crate::figure::Figure;
use crate::launch::{DEPTH, Launch};

pub(crate) const SUITE: Suite = Suite {
    name: NAME,
    about: "UCX messages of a command, alone and with others",
    parts: &[counted::part(measure)],
    process: None,
};

const NAME: &str = "messages";
/// The commands that show whether each leaves at once.
const SINGLES: u64 = 1_000;

fn measure(launch: &Launch) -> Result<Vec<Figure>> {
    let counted = Counted::start(launch)?;
    let transport = launch.transport.name();
    // First: after many answers a host waits for more commands.
    let at_once = sent_at_once(&counted)?;
    let mut figures = Vec::new();
    for depth in [1, 8, DEPTH] {
        let company = if depth == 1 { "alone".to_owned() } else { format!("together/{depth}") };
        for (side, each) in ["host", "worker"].iter().zip(counted.each(launch, depth)?) {
            let name = format!("{NAME}/{company}/{transport}/{side}");
            figures
                .push(Figure::new(name, "messages", each.messages).note("a command, at this side"));
        }
    }
    let name = format!("{NAME}/sent-at-once/{transport}");
    let note = "commands that are alone whose one message UCX has when submit returns";
    figures.push(Figure::new(name, "", at_once).note(note));
    Ok(figures)
}

/// The share of commands whose message UCX has when the call that submits them returns.
fn sent_at_once(counted: &Counted) -> Result<f64> {
    let sent = || -> Result<f64> { Ok(counted.counters[0].read()?.messages) };
    let mut at_once = 0;
    for data in 0..SINGLES {
        let before = sent()?;
        let task = counted.graph.task_loopback(&counted.worker, data).submit()?;
        at_once += u64::from(sent()? == before + 1.0);
        let done = task.wait()?;
        ensure!(done.data == data, "sent {data}, got {}", done.data);
    }
    Ok(at_once as f64 / SINGLES as f64)
}
