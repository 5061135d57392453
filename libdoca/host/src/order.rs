//! The orders of a domain to the task that carries a worker's stream.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc as std_mpsc};

use tokio::sync::mpsc;
use urom_wire::control::{DomainWord, Failure, HostToWorker, WorkerToHost};
use urom_wire::domain::PIECE;

use crate::event::{Event, Mailbox};
use crate::stream::WorkerStream;

pub(super) enum Order {
    Start {
        table: Arc<Vec<u8>>,
        cancelled: Arc<AtomicBool>,
        reply: Reply,
    },
    /// End a domain at the worker.
    End {
        domain: u64,
        /// Dropped when the worker is done, or lost.
        done: std_mpsc::Sender<()>,
    },
}

/// Tells a domain the result of its start at a worker, also when the worker never answers.
pub(super) struct Reply {
    pub(super) mailbox: Arc<Mailbox>,
    pub(super) domain: u64,
    pub(super) worker: usize,
    pub(super) sent: bool,
}

impl Reply {
    fn send(&mut self, result: Option<Result<(), Failure>>) {
        if !std::mem::replace(&mut self.sent, true) {
            self.mailbox.post((self.domain, Event::DomainStarted { worker: self.worker, result }));
        }
    }
}

impl Drop for Reply {
    fn drop(&mut self) {
        self.send(None);
    }
}

/// The domains of one worker context, as the task of its stream knows them.
#[derive(Default)]
pub(super) struct Orders {
    starting: HashMap<u64, Reply>,
    ending: HashMap<u64, std_mpsc::Sender<()>>,
}

impl Orders {
    /// Carries out an order. A long table goes out in pieces, and only as fast as the worker reads.
    pub(super) async fn execute(
        &mut self,
        order: Order,
        stream: &WorkerStream,
        orders: &mpsc::UnboundedReceiver<Order>,
    ) {
        match order {
            Order::Start { table, cancelled, reply } => {
                let domain = reply.domain;
                self.starting.insert(domain, reply);
                let say = |word| stream.send_in_turn(HostToWorker::Domain { domain, word });
                say(DomainWord::Start { len: table.len() as u64 }).await;
                for piece in table.chunks(PIECE) {
                    // The next order may be another domain's table: the worker must not wait for
                    // the rest of this one.
                    if cancelled.load(Ordering::Acquire) || orders.is_closed() {
                        return say(DomainWord::End).await;
                    }
                    say(DomainWord::Piece(piece.to_vec())).await;
                }
            }
            Order::End { domain, done } => {
                self.starting.remove(&domain);
                self.ending.insert(domain, done);
                stream.send_in_turn(HostToWorker::Domain { domain, word: DomainWord::End }).await;
            }
        }
    }

    pub(super) fn hear(&mut self, message: WorkerToHost) {
        match message {
            WorkerToHost::DomainStarted { domain, result } => {
                if let Some(mut reply) = self.starting.remove(&domain) {
                    reply.send(Some(result));
                }
            }
            WorkerToHost::DomainEnded { domain } => drop(self.ending.remove(&domain)),
            WorkerToHost::Ping
            | WorkerToHost::Attached { .. }
            | WorkerToHost::Refused(_)
            | WorkerToHost::Health(_) => {}
        }
    }

    pub(super) fn lose(&mut self, reason: &Failure) {
        for (_, mut reply) in self.starting.drain() {
            reply.send(Some(Err(reason.clone())));
        }
    }
}
