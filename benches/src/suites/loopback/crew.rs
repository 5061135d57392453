//! A host process: its first host is on the main thread, further ones are on threads of their own.
//!
//! Further ones there are of an embedded service only, which their connections share because they ask for the same.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{Builder, JoinHandle};

use anyhow::{Context, Result, anyhow};

use super::host::{Answer, Arguments, Order, Party};
use super::round::{Done, Side, Work};
use crate::child;

/// A host process from beginning to end. It is started with a list: what each of its hosts is.
pub(super) fn run(arguments: &str) -> Result<()> {
    let hosts: Vec<Arguments> =
        serde_json::from_str(arguments).context("what a host process is started with")?;
    let mut crew = Crew::start(hosts)?;
    child::serve(|order| crew.obey(order))?;
    crew.finish()
}

struct Crew {
    first: Party,
    others: Vec<Other>,
}

/// A host on a thread of its own. It does rounds; what is only asked of one, the first does.
struct Other {
    rounds: Sender<(Side, Work)>,
    done: Receiver<Result<Done>>,
    thread: JoinHandle<()>,
}

impl Crew {
    fn start(hosts: Vec<Arguments>) -> Result<Crew> {
        let mut hosts = hosts.into_iter();
        let first = Party::new(&hosts.next().context("a process has a host")?)?;
        let worker = Some(first.worker.id());
        // One after another: raw UCX at the worker takes them in the order of their numbers.
        let others =
            hosts.map(|host| Other::start(Arguments { worker, ..host })).collect::<Result<_>>()?;
        Ok(Crew { first, others })
    }

    fn obey(&mut self, order: Order) -> Result<Answer> {
        if let Order::Round(side, work) = order {
            for other in &self.others {
                other.rounds.send((side, work)).ok().context("a host's thread has ended")?;
            }
        }
        let mut answer = self.first.obey(order)?;
        if let Answer::Round(done) = &mut answer {
            for other in &self.others {
                done.push(other.done.recv().context("a host's thread has ended")??);
            }
        }
        Ok(answer)
    }

    /// Ends the others before the first, whose worker it is. They are not waited for when something failed: they may spin
    /// for an answer that never comes, and end with the process.
    fn finish(self) -> Result<()> {
        self.others.into_iter().try_for_each(Other::finish)
    }
}

impl Other {
    /// Returns when the host is connected.
    fn start(arguments: Arguments) -> Result<Other> {
        let (rounds, to_do) = channel();
        let (tell, done) = channel();
        let (connected, is_connected) = channel();
        let work = move || {
            let party = match Party::new(&arguments) {
                Ok(party) => party,
                Err(error) => return drop(connected.send(Err(error))),
            };
            // Whoever gave up waiting for this gives no rounds either.
            drop(connected.send(Ok(())));
            for (side, work) in to_do {
                drop(tell.send(party.round(side, work)));
            }
        };
        let thread = Builder::new().name("host".to_owned()).spawn(work)?;
        is_connected.recv().context("a host's thread has ended")??;
        Ok(Other { rounds, done, thread })
    }

    fn finish(self) -> Result<()> {
        drop(self.rounds);
        self.thread.join().map_err(|_| anyhow!("a host's thread panicked"))
    }
}
