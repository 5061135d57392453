//! The allreduce plugin: an allreduce on the workers of a domain, without the hosts.
//!
//! Short inputs are reduced by recursive doubling: in each of log2(n) steps two members exchange
//! all bytes. Members beyond a power of two first send their input to a partner, and receive the
//! result at the end. Long inputs go around a ring: in n - 1 steps each member reduces one more
//! part, and in n - 1 further steps each finished part goes to all.
//!
//! The operand of the lower rank is always the left one, and each part of the result is computed
//! once or by the same tree. So all members get the same bits, also for NaN and zeros.
//!
//! # Failures
//! A member whose call fails notifies all others, and the calls of all members fail with one error.
//! A lost member has the same effect. The group then ends, as its members may differ in calls.

mod reduce;

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::fmt::Display;
use std::mem::{replace, take};
use std::rc::Rc;

use allreduce_protocol::{Handler, Join, Joined, Reduce, Reduced};
use futures_util::future::join;
use ucx::Features;
use urom_pdk::peers::{Peer, PeerContext, PeerData, PeerWorker, Receive};
use urom_pdk::{HostLimits, PerHost, Region, Tasks, Window, prelude::*, urom_message};

use reduce::Terms;

/// Longer inputs use the ring; measured with 4 members over shared memory.
const LONG: u64 = if cfg!(test) { 100 } else { 64 << 10 };
/// Block size of the ring's reduction; a block fits into the caches.
const BLOCK: usize = 32 << 10;
/// Maximum number of parts that wait for their calls.
const MOST_PARTS: usize = if cfg!(test) { 64 } else { 1 << 14 };
const MOST_MEMBERS: u32 = 1024;
/// Maximum number of ended groups whose late messages are dropped.
const MOST_OVER: usize = 1024;

#[urom_message(version = 1)]
#[derive(Debug, Clone, Copy)]
enum GroupMessage<'a> {
    /// Elements of a call's step, as data.
    Part { group: u64, call: u64, step: u64, terms: Terms },
    Failed {
        group: u64,
        #[urom(inline)]
        why: &'a str,
    },
}

/// The groups of this worker's members.
struct Inbox {
    /// Received parts, or the failure of their call, by group, call and step.
    parts: Window<(u64, u64, u64), Result<(Terms, PeerData)>>,
    /// Ended groups, and whether the other members have the failure.
    over: RefCell<VecDeque<(u64, Error, bool)>>,
    tasks: Tasks,
}

impl Inbox {
    fn check(&self, group: u64) -> Result<()> {
        let over = self.over.borrow();
        let ended = over.iter().find(|(number, ..)| *number == group);
        ended.map_or(Ok(()), |(_, error, _)| Err(error.clone()))
    }

    /// Ends a group and its waiting calls. Returns whether the other members had the failure.
    fn end(&self, group: u64, why: &str, is_shared: bool) -> bool {
        let mut over = self.over.borrow_mut();
        if let Some((.., was_shared)) = over.iter_mut().find(|(number, ..)| *number == group) {
            return replace(was_shared, true);
        }
        let text = format!("the group is over: {why}");
        let error = Error::new(DocaError::CONNECTION_ABORTED, text);
        over.truncate(MOST_OVER - 1);
        over.push_front((group, error.clone(), is_shared));
        self.parts.discard(|key| key.0 == group);
        for key in self.parts.waiting().into_iter().filter(|key| key.0 == group) {
            let _ = self.parts.put(key, Err(error.clone()));
        }
        false
    }
}

impl Receive for Inbox {
    type Message<'a> = GroupMessage<'a>;

    async fn receive(
        &self,
        _: &PeerContext,
        message: Self::Message<'_>,
        data: PeerData,
    ) -> Result<()> {
        match message {
            GroupMessage::Part { group, call, step, terms } if self.check(group).is_ok() => {
                let put = self.parts.put((group, call, step), Ok((terms, data)));
                // The next call of this member sends the failure to the others.
                put.inspect_err(|error| _ = self.end(group, &error.to_string(), false))
            }
            GroupMessage::Part { .. } => Ok(()),
            GroupMessage::Failed { group, why } => {
                self.end(group, why, true);
                Ok(())
            }
        }
    }
}

struct Group {
    number: u64,
    rank: usize,
    members: Vec<Peer>,
    send: Region,
    recv: Region,
    calls: Cell<u64>,
    inbox: Rc<Inbox>,
}

impl Group {
    fn end(&self, why: &dyn Display) {
        let why: String = format!("member {}: {why}", self.rank).chars().take(200).collect();
        if self.inbox.end(self.number, &why, true) {
            return;
        }
        let (group, members) = (self.number, self.members.clone());
        self.inbox.tasks.spawn(async move {
            for member in members {
                let _ = member.send(&GroupMessage::Failed { group, why: &why }).await;
            }
        });
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.end(&"its host has left");
    }
}

struct Allreduce {
    groups: PerHost<Group>,
    inbox: Rc<Inbox>,
    peers: PeerWorker,
}

#[urom_plugin(peers = peers)]
impl Handler for Allreduce {
    fn open(cx: &OpenContext) -> Result<Self> {
        let (parts, over, tasks) = (Window::unordered(MOST_PARTS), RefCell::default(), cx.tasks());
        let inbox = Rc::new(Inbox { parts, over, tasks });
        let peers = PeerWorker::builder(cx, Features::AM).receive(&inbox).open()?;
        let groups = PerHost::new(cx, "group", HostLimits { values: 64, bytes: u64::MAX });
        Ok(Allreduce { groups, inbox, peers })
    }

    async fn join(&self, cx: &Context, cmd: Join) -> Result<Joined> {
        let Join { group: number, rank, size, .. } = cmd;
        ensure!(
            rank < size && size <= MOST_MEMBERS && self.inbox.check(number).is_ok(),
            DocaError::INVALID_VALUE,
            "member {rank} of {size}, group {number:#x}: a group has 1 to {MOST_MEMBERS} members \
             and a number of its own"
        );
        let members = (0..size).map(|member| self.peers.member(cx, member.into()));
        let members = members.collect::<Result<_>>()?;
        let [send, recv] = [cx.memory(cmd.send)?, cx.memory(cmd.recv)?].map(Region::from);
        recv.check_write()?;
        let (rank, calls, inbox) = (rank as usize, Cell::new(0), Rc::clone(&self.inbox));
        let group = Group { number, rank, members, send, recv, calls, inbox };
        Ok(Joined { handle: self.groups.insert(cx.connection(), 0, group)? })
    }

    async fn reduce(&self, cx: &Context, cmd: Reduce) -> Result<Reduced> {
        let Reduce { element, operation, offset, .. } = cmd;
        let group = self.groups.get(cx.connection(), cmd.handle)?;
        // No memory has a part whose end is saturated.
        let bytes = cmd.count.saturating_mul(element.size());
        let range = offset..offset.saturating_add(bytes);
        let input = if cmd.in_place { &group.recv } else { &group.send };
        let (input, output) = (input.part(range.clone())?, group.recv.part(range)?);
        // From here on, all members count the call.
        let number = group.calls.replace(group.calls.get() + 1);
        let call =
            AllreduceCall { cx, group: &group, number, terms: Terms { element, operation, bytes } };
        let _awake = self.peers.keep_awake().transfer();
        let run = match bytes <= LONG || group.members.len() < 3 {
            true => call.double(&input, &output).await,
            false => call.ring(&input, &output).await,
        };
        run.inspect_err(|error| group.end(error)).map(|()| Reduced)
    }
}

struct AllreduceCall<'a> {
    cx: &'a Context,
    group: &'a Group,
    number: u64,
    terms: Terms,
}

impl AllreduceCall<'_> {
    /// Recursive doubling: each step exchanges all bytes with one member.
    async fn double(&self, input: &Region, output: &Region) -> Result<()> {
        let (rank, size) = (self.group.rank, self.group.members.len());
        let (mut all, power) = (input.to_bytes().await?, 1 << size.ilog2());
        let [before, after] = [u64::MAX - 1, u64::MAX];
        if rank >= power {
            self.send(rank - power, before, all).await?;
            all = self.receive_all(rank - power, after).await?;
            return output.write(0, &all).await;
        }
        if rank + power < size {
            let other = self.receive_all(rank + power, before).await?;
            self.terms.reduce(&mut all, &other, false);
        }
        for step in 0..power.ilog2() {
            let (peer, step) = (rank ^ (1 << step), step.into());
            let (sent, other) =
                join(self.send(peer, step, all), self.receive_all(peer, step)).await;
            all = sent?;
            self.terms.reduce(&mut all, &other?, peer < rank);
        }
        if rank + power < size {
            all = self.send(rank + power, after, all).await?;
        }
        output.write(0, &all).await
    }

    /// The ring: each step sends a part to the right and receives one, finished ones in the output.
    async fn ring(&self, input: &Region, output: &Region) -> Result<()> {
        let (rank, size) = (self.group.rank, self.group.members.len());
        let (left, right) = ((rank + size - 1) % size, &self.group.members[(rank + 1) % size]);
        let (one, parts) = (self.terms.element.size(), size as u64);
        let count = self.terms.bytes / one;
        let start = |part: u64| (count / parts * part + part.min(count % parts)) * one;
        let part = |of: &Region, part: usize| of.part(start(part as u64)..start(part as u64 + 1));
        let (mut bytes, mut block) = (Vec::new(), vec![0; BLOCK]);
        for step in 0..2 * (size - 1) {
            let mine = (rank + 2 * size - step) % size;
            let next = (mine + size - 1) % size;
            let from = part(if step == 0 { input } else { output }, mine)?;
            let (next_in, next_out) = (part(input, next)?, part(output, next)?);
            let message = self.message(step as u64);
            let (sent, came) = join(from.send(right, &message), async {
                let data = self.receive(left, step as u64).await?;
                if step >= size - 1 {
                    return next_out.receive(0, data).await.map(drop);
                }
                bytes = data.into_bytes_in(take(&mut bytes), next_in.len() as usize).await?;
                for (at, came) in (0..).step_by(BLOCK).zip(bytes.chunks(BLOCK)) {
                    let own = &mut block[..came.len()];
                    next_in.read(at, own).await?;
                    self.terms.reduce(own, came, true);
                    next_out.write(at, own).await?;
                }
                Ok(())
            })
            .await;
            sent.and(came)?;
        }
        Ok(())
    }

    fn message(&self, step: u64) -> GroupMessage<'static> {
        GroupMessage::Part { group: self.group.number, call: self.number, step, terms: self.terms }
    }

    async fn send(&self, rank: usize, step: u64, part: Vec<u8>) -> Result<Vec<u8>> {
        let (sent, part) = self.group.members[rank].send_with(&self.message(step), part).await;
        sent.map(|()| part)
    }

    async fn receive(&self, rank: usize, step: u64) -> Result<PeerData> {
        let Group { number, inbox, members, .. } = self.group;
        inbox.check(*number)?;
        let part = members[rank].unless_lost(inbox.parts.take((*number, self.number, step)));
        let (terms, data) = self.cx.unless_cancelled(part).await???;
        let (ours, code) = (self.terms, DocaError::INVALID_VALUE);
        ensure!(terms == ours, code, "member {rank} reduces {terms:?}, this one {ours:?}");
        Ok(data)
    }

    async fn receive_all(&self, rank: usize, step: u64) -> Result<Vec<u8>> {
        self.receive(rank, step).await?.into_bytes(self.terms.bytes as usize).await
    }
}

#[cfg(test)]
mod tests;
