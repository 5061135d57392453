//! The rounds: the client sends a ping, the server answers with a pong, and both check every byte.
//! Messages are written before and checked after the measured time.

use std::future::Future;
use std::time::{Duration, Instant};

use anyhow::{Error, Result, anyhow, ensure};
use sandbox_protocol::{Client, TagReceived, TagSent};
use tracing::info;
use urom_host::{Completion, DocaError, Host, Worker, block_on_for};

use crate::buffers::Buffers;
use crate::message::Message;
use crate::partner::{GLANCE, Partner};
use crate::report::Report;

/// As in DOCA's sample.
const PING: u64 = 0x1234;
const PONG: u64 = 0x5678;
const MASK: u64 = 0xffff;
const SERVER: u64 = 0xdead;
const CLIENT: u64 = 0xbeef;
/// Timeout of a message.
const LIMIT: Duration = Duration::from_secs(30);

pub(crate) struct Player<'a> {
    pub(crate) rank: u32,
    pub(crate) sandbox: &'a Client<Host>,
    pub(crate) worker: &'a Worker,
    pub(crate) message: &'a Message,
    pub(crate) buffers: Buffers,
    pub(crate) partner: Partner,
}

impl Player<'_> {
    /// Rank 0: answers every ping.
    pub(crate) fn serve(&mut self, rounds: u32) -> Result<()> {
        let mut next = Some(self.receive(0, PING, SERVER)?);
        info!("Server posted PONG recv");
        for round in 0..rounds {
            self.prepare(round)?;
            let Some(ping) = next.take() else { break };
            let ping = self.wait(ping)?;
            // The next ping may arrive as soon as the pong is sent.
            if round + 1 < rounds {
                next = Some(self.receive(round + 1, PING, SERVER)?);
            }
            if round == 0 {
                info!("Server completed PING recv: {}", self.message);
            }
            let pong = self.send(PONG)?;
            if round == 0 {
                info!("Server posted PONG send");
            }
            self.sent(pong)?;
            self.check(round, &ping, PING)?;
        }
        Ok(())
    }

    /// Rank 1: sends pings, and measures the time until each pong.
    pub(crate) fn play(&mut self, rounds: u32) -> Result<Report> {
        let mut report = Report::new(rounds);
        for round in 0..rounds {
            self.prepare(round)?;
            let pong = self.receive(round, PONG, CLIENT)?;
            if round == 0 {
                info!("Client posted PING recv");
            }
            let begin = Instant::now();
            let ping = self.send(PING)?;
            if round == 0 {
                info!("Client posted PING send");
            }
            self.sent(ping)?;
            let pong = self.wait(pong)?;
            report.round(begin.elapsed());
            self.check(round, &pong, PONG)?;
            if round == 0 {
                info!("Client received PONG recv: {}", self.message);
            }
        }
        Ok(report)
    }

    fn other(&self) -> u32 {
        1 - self.rank
    }

    fn prepare(&mut self, round: u32) -> Result<()> {
        self.buffers.prepare(|bytes| self.message.write(self.rank, round, bytes))
    }

    fn receive(&self, round: u32, tag: u64, context: u64) -> Result<Completion<TagReceived>> {
        let len = self.message.len() as u64;
        let mut task = self.sandbox.task_tag_recv(self.worker, len, tag, MASK).context(context);
        if let Some(target) = self.buffers.incoming(round) {
            task = task.memh_id(target.memory.get()).buffer(target.address);
        }
        task.submit().map_err(|error| self.advise(error))
    }

    fn send(&self, tag: u64) -> Result<Completion<TagSent>> {
        let task = self.sandbox.task_tag_send(self.worker, self.other().into(), tag);
        task.data(self.buffers.outgoing()).submit().map_err(|error| self.advise(error))
    }

    fn sent(&mut self, completion: Completion<TagSent>) -> Result<()> {
        let sent = self.wait(completion)?;
        self.ended_well("send", sent.status)
    }

    /// Checks status, tag and content of an incoming message.
    fn check(&mut self, round: u32, received: &TagReceived, tag: u64) -> Result<()> {
        let (status, sender_tag) = (received.status, received.sender_tag);
        self.ended_well("receive", status)?;
        ensure!(
            sender_tag == tag,
            "a message with tag {sender_tag:#x} came, {tag:#x} was expected"
        );
        let (message, other) = (self.message, self.other());
        self.buffers.read(round, &received.data, |bytes| message.check(other, round, bytes))
    }

    fn ended_well(&mut self, what: &str, status: i8) -> Result<()> {
        match ucx::Status::from_code(status) {
            ucx::Status::OK => Ok(()),
            status => Err(self.partner.explain(anyhow!("a {what} ended with {status}"))),
        }
    }

    /// Waits for an answer of this process's worker, and checks the other process meanwhile.
    fn wait<T>(
        &mut self,
        mut answer: impl Future<Output = urom_host::Result<T>> + Unpin,
    ) -> Result<T> {
        let begin = Instant::now();
        loop {
            self.partner.glance()?;
            if let Ok(answer) = block_on_for(GLANCE, &mut answer) {
                return answer.map_err(|error| match error.code() {
                    // The plugin's UCX failed.
                    DocaError::DRIVER => self.partner.explain(error.into()),
                    _ => self.advise(error),
                });
            }
            ensure!(
                begin.elapsed() < LIMIT,
                "nothing came from the other process for {} s, yet it is there",
                LIMIT.as_secs()
            );
        }
    }

    fn advise(&self, error: urom_host::Error) -> Error {
        match error.code() {
            DocaError::TOO_BIG => Error::new(error).context(format!(
                "{} bytes are too many to travel in a command: give --registered",
                self.message.len()
            )),
            _ => error.into(),
        }
    }
}
