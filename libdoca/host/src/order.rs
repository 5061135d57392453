//! The orders of a domain to the task that carries a worker's stream.

use std::collections::HashMap;
use std::sync::{Arc, mpsc as std_mpsc};

use tokio::sync::{mpsc, oneshot};
use urom_wire::control::{DomainWord, Failure, HostToWorker, WorkerToHost};
use urom_wire::domain::PIECE;

use crate::stream::WorkerStream;

pub(super) enum Order {
    Start {
        domain: u64,
        table: Arc<Vec<u8>>,
        /// For the worker's answer. Dropped when there will be none.
        answer: oneshot::Sender<Result<(), Failure>>,
    },
    /// End a domain at the worker.
    End {
        domain: u64,
        /// Dropped when the worker is done, or lost.
        done: std_mpsc::Sender<()>,
    },
}

/// The domains of one worker context, as the task of its stream knows them.
#[derive(Default)]
pub(super) struct Orders {
    starting: HashMap<u64, oneshot::Sender<Result<(), Failure>>>,
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
            Order::Start { domain, table, answer } => {
                let say = |word| stream.send_in_turn(HostToWorker::Domain { domain, word });
                say(DomainWord::Start { len: table.len() as u64 }).await;
                for piece in table.chunks(PIECE) {
                    // The next order may be another domain's table: the worker must not wait for
                    // the rest of one that was stopped.
                    if answer.is_closed() || orders.is_closed() {
                        return say(DomainWord::End).await;
                    }
                    say(DomainWord::Piece(piece.to_vec())).await;
                }
                self.starting.insert(domain, answer);
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
                // A domain that was stopped does not wait for it.
                self.starting.remove(&domain).map(|answer| answer.send(result));
            }
            WorkerToHost::DomainEnded { domain } => drop(self.ending.remove(&domain)),
            WorkerToHost::Ping
            | WorkerToHost::Attached { .. }
            | WorkerToHost::Refused(_)
            | WorkerToHost::Health(_) => {}
        }
    }

    pub(super) fn lose(&mut self, reason: &Failure) {
        for (_, answer) in self.starting.drain() {
            let _ = answer.send(Err(reason.clone()));
        }
    }
}
