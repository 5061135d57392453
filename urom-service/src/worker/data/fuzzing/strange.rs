//! Messages over UCX that no host of the library sends: greetings and probes of the receive queue
//! with any header, and whatever else announced instead of sent, or with a pass of any bytes.

use ucx::AmFlags;
use ucx::queue_probe::Nonce;
use urom_wire::frame::{AM_PROBE, command_header};
use urom_wire::fuzzing::program::Program;
use urom_wire::fuzzing::sent;
use urom_wire::pass::Pass;

use super::super::{AM_COMMANDS, AM_GREET};
use super::FuzzedWorker;

/// What a test of the receive queue would wait for.
const NONCE: Nonce = *b"expected";

/// Those of one program.
#[derive(Default)]
pub(super) struct Strange {
    count: usize,
    /// Somebody guessed the nonce.
    guessed: bool,
    /// The same, in a message that was announced. UCX drops one whose sender the worker has no
    /// endpoint to any more.
    guess_announced: bool,
}

impl FuzzedWorker {
    /// A message: the lowest two bits of `how` say of which kind, the next whether it is announced.
    /// Then its header and data.
    pub(super) fn send_strange(&mut self, how: u8, program: &mut Program<'_>) {
        let (header, data) = (program.bytes(), program.bytes().to_vec());
        let is_announced = how & 4 != 0;
        let id = match how & 3 {
            // Commands have steps of their own; here are passes of any bytes, also the right ones.
            0 => AM_COMMANDS,
            1 => AM_GREET,
            // Of an id that nobody listens to UCX itself says, in a line for each, that it drops
            // it.
            _ => AM_PROBE,
        };
        if self.strange.count == 0 {
            self.data.queue.awaited.set(NONCE);
        }
        self.strange.count += 1;
        let is_guess = id == AM_PROBE && header == NONCE;
        self.strange.guessed |= is_guess && !is_announced;
        self.strange.guess_announced |= is_guess && is_announced;
        if id == AM_COMMANDS
            && !is_announced
            && let Some((pass, frames)) = Pass::split(&data)
        {
            self.expect(pass, frames);
        }
        // UCX sends what has no data at once, also where it was told to announce it.
        let flags = if is_announced { AmFlags::RENDEZVOUS } else { AmFlags::EAGER };
        // One that was announced ends when the worker says so, which it cannot where its own
        // endpoint to the sender is closed.
        sent::count();
        self.endpoint.am_send_with(id, header, data, flags).detach();
        if self.strange.count.is_multiple_of(16) {
            self.settle();
        }
    }

    /// None of them did anything, and whoever is in is answered.
    pub(super) fn see_strange(&mut self) {
        let strange = std::mem::take(&mut self.strange);
        if strange.count == 0 {
            return;
        }
        let came = self.data.queue.awaited.came();
        assert!(came || !strange.guessed, "a nonce that was sent at once arrives");
        assert!(
            !came || strange.guessed || strange.guess_announced,
            "only the nonce shows that a queue moves"
        );
        assert!(!self.data.blocked && !self.data.probe.is_running(), "nobody was lost");
        let hosts: Vec<_> =
            self.hosts.values().filter_map(|host| Some((host.channel?, host.pass))).collect();
        for (channel, pass) in hosts {
            self.send(pass, command_header(channel, 0, 0, 0).to_vec());
            self.settle();
            let host = self.hosts.values().find(|host| host.channel == Some(channel));
            let is_answered = host.is_some_and(|host| host.waiting[0] == 0 || host.misbehaved);
            assert!(is_answered || host.is_none(), "channel {channel} is answered");
        }
    }
}
