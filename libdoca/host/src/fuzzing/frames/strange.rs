//! Messages over UCX that no worker sends to a host: greetings and probes of the receive queue with
//! any header, and whatever else announced instead of sent, or with a pass of any bytes.

use ucx::queue_probe::Nonce;
use ucx::{AmFlags, Request};
use urom_wire::frame::{AM_GREET, AM_NOTIFICATIONS, AM_PROBE};
use urom_wire::fuzzing::program::Program;
use urom_wire::fuzzing::sent;
use urom_wire::pass::Pass;

use super::FrameRig;
use crate::fuzzing::until;
use crate::handle;
use crate::pe::ucx::Transport;

/// What a test of the receive queue would wait for.
const NONCE: Nonce = *b"expected";

/// Those of one program.
#[derive(Default)]
pub(super) struct Strange {
    /// Messages that the host may still have to fetch or to drop.
    announced: Vec<Request<Vec<u8>>>,
    count: usize,
    /// Somebody guessed the nonce.
    guessed: bool,
}

impl FrameRig {
    /// A message: the lowest two bits of `how` say of which kind, the next whether it is announced.
    /// Then its header and data.
    pub(super) fn send_strange(&mut self, how: u8, program: &mut Program<'_>) {
        let (header, data) = (program.bytes(), program.bytes().to_vec());
        let is_announced = how & 4 != 0;
        let id = match how & 3 {
            // Notifications have steps of their own; here are passes of any bytes, also the right
            // one.
            0 => AM_NOTIFICATIONS,
            1 => AM_GREET,
            // Of an id that nobody listens to UCX itself says, in a line for each, that it drops
            // it.
            _ => AM_PROBE,
        };
        if self.strange.count == 0 {
            self.transport().queue.awaited.set(NONCE);
        }
        self.strange.count += 1;
        self.unheard += 1;
        self.strange.guessed |= id == AM_PROBE && header == NONCE;
        if id == AM_NOTIFICATIONS
            && !is_announced
            && let Some((pass, frames)) = Pass::split(&data)
        {
            self.expect(pass, frames);
        }
        // UCX sends what has no data at once, also where it was told to announce it.
        let flags = if is_announced { AmFlags::RENDEZVOUS } else { AmFlags::EAGER };
        sent::count();
        self.strange.announced.push(self.endpoint.am_send_with(id, header, data, flags));
        if self.strange.announced.len() > 16 {
            self.settle_strange();
        }
    }

    /// All of them are fetched or dropped.
    fn settle_strange(&mut self) {
        let flush = self.endpoint.flush();
        let mut announced = std::mem::take(&mut self.strange.announced);
        until("strange messages do not end", || {
            self.progress();
            announced.retain(|message| !message.is_done());
            announced.is_empty() && flush.is_done()
        });
        self.settle();
    }

    /// None of them did anything. Whether there were any.
    pub(super) fn see_strange(&mut self) -> bool {
        if self.strange.count == 0 {
            return false;
        }
        self.settle_strange();
        let strange = std::mem::take(&mut self.strange);
        let transport = self.transport();
        assert_eq!(
            transport.queue.awaited.came(),
            strange.guessed,
            "only the nonce shows that a queue moves"
        );
        assert!(!transport.blocked.get(), "nobody was lost");
        true
    }

    fn transport(&self) -> &Transport {
        // SAFETY: the engine is this rig's, lives as long, and is used by this thread alone.
        let pe = unsafe { handle::borrow::<crate::pe::Pe, _>(self.pe) }.expect("a live engine");
        pe.transport().unwrap_or_else(|failure| panic!("UCX is there: {failure}"))
    }
}
