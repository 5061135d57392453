//! A host for traces. Arguments: the number of commands, and words of `spans` (the program has spans
//! of its own), `log` (it logs), `fail` (a command fails) and `killed` (it kills itself at its end).
//!
//! Its service is at the address of the variable `SERVICE`, or embedded.

use std::env;

use anyhow::{Context, Result, ensure};
use rustix::process::{Signal, getpid, kill_process};
use talkative_protocol::Protocol;
use tracing::info_span;
use tracing_subscriber::prelude::*;
use urom_host::Service;

fn main() -> Result<()> {
    let words: Vec<String> = env::args().skip(1).collect();
    let count: u32 = words.first().context("how many?")?.parse()?;
    let has = |word: &str| words.iter().any(|it| it == word);
    if has("spans") {
        tracing_subscriber::registry().with(urom_host::trace::layer()?).init();
    }
    if has("log") {
        tracing_subscriber::fmt().with_writer(std::io::stderr).init();
    }
    let builder = Service::builder();
    let builder = match env::var("SERVICE") {
        Ok(address) => builder.address(address),
        Err(_) => builder.embedded(),
    };
    let service = builder.connect_blocking()?;
    let talkative = service.plugin::<Protocol>()?;
    let worker = service.worker().plugin(&talkative).start().wait()?;
    let _steps = info_span!("steps").entered();
    for _ in 0..count {
        let _step = info_span!("step").entered();
        talkative.task_say_in_spans(&worker).submit()?.wait()?;
    }
    if has("fail") {
        ensure!(talkative.task_fail(&worker).submit()?.wait().is_err());
    }
    if has("killed") {
        kill_process(getpid(), Signal::KILL)?;
    }
    println!("done");
    Ok(())
}
