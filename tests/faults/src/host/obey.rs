//! The host's loop: orders in, words out.

use std::collections::HashMap;
use std::io::BufRead;
use std::rc::Rc;

use anyhow::{Context, Result};
use faulty_protocol::{Client, Protocol};
use rustix::process::{Signal, set_parent_process_death_signal};
use tokio::sync::mpsc;
use urom_host::{Host, Service, Worker, block_on};

use super::counted;
use super::load::Load;
use super::loopbacks::Loopbacks;
use super::words::{Order, Said, Trouble, Word};
use crate::measure::now;

const MAX_IN_FLIGHT: u32 = 64;

/// Obeys the orders on standard input until it ends.
pub fn serve() -> Result<()> {
    // A stopped host would not notice the end of its input.
    set_parent_process_death_signal(Some(Signal::KILL)).context("asking to end with the parent")?;
    let (orders, mut given) = mpsc::unbounded_channel();
    std::thread::spawn(move || {
        for line in std::io::stdin().lock().lines().map_while(Result::ok) {
            if orders.send(serde_json::from_str::<Order>(&line).with_context(|| line)).is_err() {
                break;
            }
        }
    });
    let mut party = Party::default();
    block_on(async {
        while let Some(order) = given.recv().await {
            party.obey(order?).await?;
        }
        Ok(())
    })
}

#[derive(Default)]
struct Party {
    // Drop order: a load keeps its worker, a worker its service.
    loads: HashMap<u64, Rc<Load>>,
    workers: HashMap<u64, Rc<Worker>>,
    service: Option<(Service, Client<Host>)>,
}

impl Party {
    async fn obey(&mut self, order: Order) -> Result<()> {
        match order {
            Order::Connect { address } => {
                Word::Connected(self.connect(&address).map_err(Trouble::from)).say();
            }
            Order::Start { worker, plugins, env } => {
                let process = self.start(worker, &plugins, env).await.map_err(Trouble::from);
                Word::Of(worker, Said::Started(process)).say();
            }
            Order::Call { worker, call, limit } => {
                let (service, plugin) =
                    self.service.as_ref().context("a call without a service")?;
                let party = self.workers.get(&worker).context("a call without a worker")?;
                let begin = now();
                let end = super::call::call(service, plugin, party, call, limit).await;
                Word::Of(worker, Said::Called { end, took: now() - begin }).say();
            }
            Order::Loopbacks { worker, commands, in_flight, seed } => {
                let (service, _) = self.service.as_ref().context("loopbacks without a service")?;
                let graph = service.plugin::<graph_protocol::Protocol>()?;
                let party =
                    Rc::clone(self.workers.get(&worker).context("loopbacks without a worker")?);
                Loopbacks::begin(party, graph, commands, in_flight, seed);
            }
            Order::Load { worker, kind, in_flight, seed } => {
                let (_, plugin) = self.service.as_ref().context("a load without a service")?;
                let party =
                    Rc::clone(self.workers.get(&worker).context("a load without a worker")?);
                let load = Load::begin(party, plugin.clone(), kind, in_flight, seed);
                self.loads.insert(worker, load);
            }
            Order::Mark { worker, commands } => self.load(worker)?.mark(commands),
            Order::Pace { worker } => self.load(worker)?.pace(),
            Order::Halt { worker } => self.load(worker)?.halt(),
            Order::Leave { worker } => {
                self.loads.remove(&worker);
                let result = match self.workers.remove(&worker).map(Rc::try_unwrap) {
                    Some(Ok(worker)) => worker.stop().await.map_err(Trouble::from),
                    Some(Err(_)) => anyhow::bail!("worker {worker} still has tasks"),
                    None => Ok(()),
                };
                Word::Of(worker, Said::Left(result)).say();
            }
            Order::CompleteTwice => counted::complete_twice(),
            Order::Disconnect => {
                drop(self.service.take());
                Word::Disconnected.say();
            }
        }
        Ok(())
    }

    fn load(&self, worker: u64) -> Result<&Load> {
        self.loads.get(&worker).map(|load| &**load).context("no such load")
    }

    fn connect(&mut self, address: &str) -> urom_host::Result<()> {
        let service =
            Service::builder().library(counted::library()).address(address).connect_blocking()?;
        let plugin = service.plugin::<Protocol>()?;
        self.service = Some((service, plugin));
        Ok(())
    }

    async fn start(
        &mut self,
        id: u64,
        plugins: &[String],
        env: Vec<(String, String)>,
    ) -> urom_host::Result<i32> {
        let Some((service, plugin)) = &self.service else { return Ok(0) };
        let mut builder = service.worker().id(id).plugin(plugin).max_inflight(MAX_IN_FLIGHT);
        for name in plugins {
            builder = builder.plugin(service.plugin_named(name)?);
        }
        for (name, value) in env {
            builder = builder.env(name, value);
        }
        let worker = builder.start().await?;
        let process = plugin.task_pid(&worker).submit()?.await?.pid;
        self.workers.insert(id, Rc::new(worker));
        Ok(i32::try_from(process).unwrap_or_default())
    }
}
