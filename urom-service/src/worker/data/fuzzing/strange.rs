//! UCX messages that the library never sends: handshakes with any header, rendezvous messages, and
//! envelopes of any bytes.

use ucx::AmFlags;
use urom_wire::envelope::Envelope;
use urom_wire::fuzzing::program::Program;
use urom_wire::fuzzing::{frames, sent};

use super::super::{AM_COMMANDS, AM_HANDSHAKE};
use super::FuzzedWorker;

#[derive(Default)]
pub(super) struct Strange {
    count: usize,
}

impl FuzzedWorker {
    /// Sends a message. The lowest two bits of `how` select its kind, the next a rendezvous.
    pub(super) fn send_strange(&mut self, how: u8, program: &mut Program<'_>) {
        let (header, data) = (program.bytes(), program.bytes().to_vec());
        let is_announced = how & 4 != 0;
        let id = match how & 3 {
            // Commands have separate steps; these are envelopes of any bytes, including valid ones.
            0 => AM_COMMANDS,
            // UCX itself logs and drops messages with other ids.
            _ => AM_HANDSHAKE,
        };
        self.strange.count += 1;
        if id == AM_COMMANDS
            && !is_announced
            && let Some((envelope, frames)) = Envelope::split(&data)
        {
            self.expect(envelope, frames);
        }
        // UCX sends a message without data at once, even as a rendezvous.
        let flags = if is_announced { AmFlags::RENDEZVOUS } else { AmFlags::EAGER };
        // A rendezvous ends when the worker confirms it, which it cannot after closing its endpoint
        // to the sender.
        sent::count();
        self.endpoint.am_send_with(id, header, data, flags).detach();
        if self.strange.count.is_multiple_of(16) {
            self.settle();
        }
    }

    /// Checks that these messages had no effect, and that admitted hosts are answered.
    pub(super) fn see_strange(&mut self) {
        let strange = std::mem::take(&mut self.strange);
        if strange.count == 0 {
            return;
        }
        let hosts: Vec<_> =
            self.hosts.values().filter_map(|host| Some((host.channel?, host.tag))).collect();
        for (channel, tag) in hosts {
            self.send(Envelope { tag, channel }, frames::command(0, 0, &[]));
            self.settle();
            let host = self.hosts.values().find(|host| host.channel == Some(channel));
            let is_answered = host.is_some_and(|host| host.waiting[0] == 0 || host.misbehaved);
            assert!(is_answered || host.is_none(), "channel {channel} is answered");
        }
    }
}
