//! Frames to a host, which wait for capacity in its shared ring or UCX. A host with too many
//! [unread](HostOutbox::unread) bytes is closed.

use std::collections::VecDeque;

use ucx::{AmFlags, CloseMode, Endpoint, Request, Status};
use urom_os::EventFd;
use urom_wire::envelope::{AM_NOTIFICATIONS, Envelope, MESSAGE_LEN};
use urom_wire::frame::{HEADER_LEN, Header};
use urom_wire::ring::{RingWriter, cells_of};

#[derive(Debug)]
pub(crate) enum HostOutbox {
    /// The host has neither handed over a ring nor sent a UCX address: frames are dropped.
    Unknown,
    Ring(RingOutbox),
    Ucx(UcxOutbox),
}

impl HostOutbox {
    /// Sends a frame. Returns whether frames are waiting; fails if the host is unreachable.
    #[inline(always)]
    pub(crate) fn send(&mut self, header: Header, body: &[u8]) -> Result<bool, Status> {
        match self {
            HostOutbox::Ring(ring) => Ok(ring.send(header, body)),
            HostOutbox::Ucx(ucx) => ucx.send(header, body).map(|()| true),
            HostOutbox::Unknown => Ok(false),
        }
    }

    pub(crate) fn flush(&mut self) -> Result<bool, Status> {
        match self {
            HostOutbox::Ring(ring) => Ok(ring.flush()),
            HostOutbox::Ucx(ucx) => ucx.flush(),
            HostOutbox::Unknown => Ok(false),
        }
    }

    pub(crate) fn unread(&self) -> usize {
        match self {
            HostOutbox::Ring(ring) => ring.unread,
            HostOutbox::Ucx(ucx) => ucx.unread,
            HostOutbox::Unknown => 0,
        }
    }

    /// Returns the bytes that were sent, with headers.
    pub(crate) fn sent(&self) -> u64 {
        match self {
            HostOutbox::Ring(ring) => ring.writer.bytes(),
            HostOutbox::Ucx(ucx) => ucx.sent,
            HostOutbox::Unknown => 0,
        }
    }

    #[inline]
    pub(crate) fn announce(&mut self) {
        if let HostOutbox::Ring(ring) = self {
            ring.writer.announce();
        }
    }

    /// Prepares for a sleep until the host frees capacity. Returns `false` if it already has.
    pub(crate) fn wait_for_capacity(&mut self) -> bool {
        match self {
            HostOutbox::Ring(ring) => ring.waiting.is_empty() || ring.writer.wait_for_capacity(),
            _ => true,
        }
    }

    /// Starts waiting until UCX has sent everything to another machine.
    pub(crate) fn flush_endpoint(&mut self) -> Option<Request<()>> {
        match self {
            HostOutbox::Ucx(ucx) => {
                // A failed endpoint does not have to wait.
                let _ = ucx.send_open();
                Some(ucx.endpoint.flush())
            }
            _ => None,
        }
    }

    /// Ends the connection at once. UCX finishes its sends by itself; the last one is returned.
    pub(crate) fn close(self) -> Option<Request<Vec<u8>>> {
        match self {
            HostOutbox::Ucx(ucx) => ucx.close(),
            _ => None,
        }
    }
}

/// Overhead in bytes of a waiting frame: its queue entry and its allocation.
const FRAME_OVERHEAD: usize = 64;

/// A ring, and frames that did not fit.
#[derive(Debug)]
pub(crate) struct RingOutbox {
    writer: RingWriter,
    waiting: VecDeque<(Header, Box<[u8]>)>,
    /// Cells already written of the first waiting frame.
    written: usize,
    unread: usize,
    /// The host's doorbell to end the worker's sleep.
    pub(super) bell: EventFd,
}

impl RingOutbox {
    pub(crate) fn new(writer: RingWriter, bell: EventFd) -> RingOutbox {
        RingOutbox { bell, writer, waiting: VecDeque::new(), written: 0, unread: 0 }
    }

    #[inline(always)]
    fn send(&mut self, header: Header, body: &[u8]) -> bool {
        if !self.waiting.is_empty() {
            return self.wait(header, body);
        }
        let written = self.writer.write(header, body, 0);
        if written == cells_of(body.len()) {
            return false;
        }
        self.written = written;
        self.wait(header, body)
    }

    #[cold]
    fn wait(&mut self, header: Header, body: &[u8]) -> bool {
        self.unread += FRAME_OVERHEAD + body.len();
        self.waiting.push_back((header, body.into()));
        true
    }

    fn flush(&mut self) -> bool {
        while let Some((header, body)) = self.waiting.front() {
            self.written = self.writer.write(*header, body, self.written);
            if self.written < cells_of(body.len()) {
                break;
            }
            self.written = 0;
            self.unread -= FRAME_OVERHEAD + body.len();
            self.waiting.pop_front();
        }
        !self.waiting.is_empty()
    }
}

/// With this many unsent UCX messages, the next waits until it is full: each has its own buffer.
const MOST_UNFILLED: usize = 8;

#[derive(Debug)]
pub(crate) struct UcxOutbox {
    endpoint: Endpoint,
    envelope: Envelope,
    /// Empty, or an envelope and frames.
    open: Vec<u8>,
    sending: VecDeque<Request<Vec<u8>>>,
    unread: usize,
    /// Bytes of all messages.
    sent: u64,
}

impl UcxOutbox {
    pub(crate) fn new(endpoint: Endpoint, envelope: Envelope) -> UcxOutbox {
        let (open, sending) = (Vec::new(), VecDeque::new());
        UcxOutbox { endpoint, envelope, open, sending, unread: 0, sent: 0 }
    }

    fn send(&mut self, header: Header, body: &[u8]) -> Result<(), Status> {
        if self.open.len() + HEADER_LEN + body.len() > MESSAGE_LEN {
            self.send_open()?;
        }
        if self.open.is_empty() {
            self.open.extend_from_slice(&self.envelope.to_bytes());
        }
        self.open.extend_from_slice(&header.word().to_le_bytes());
        self.open.extend_from_slice(body);
        Ok(())
    }

    fn flush(&mut self) -> Result<bool, Status> {
        while let Some(request) = self.sending.pop_front() {
            match request.into_done() {
                Ok((result, mut message)) => {
                    self.unread -= message.capacity();
                    result?;
                    // The next message reuses its memory.
                    if self.open.is_empty() {
                        message.clear();
                        self.open = message;
                    }
                }
                Err(request) => {
                    self.sending.push_front(request);
                    break;
                }
            }
        }
        if self.sending.len() < MOST_UNFILLED {
            self.send_open()?;
        }
        Ok(!self.sending.is_empty())
    }

    fn send_open(&mut self) -> Result<(), Status> {
        if self.open.is_empty() {
            return Ok(());
        }
        let message = std::mem::take(&mut self.open);
        let bytes = message.capacity();
        self.sent += message.len() as u64;
        match self.endpoint.am_send_now(AM_NOTIFICATIONS, &[], message, AmFlags::EAGER) {
            Ok((result, mut message)) => {
                message.clear();
                self.open = message;
                result
            }
            Err(request) => {
                self.unread += bytes;
                self.sending.push_back(request);
                Ok(())
            }
        }
    }

    fn close(mut self) -> Option<Request<Vec<u8>>> {
        let last = self.sending.pop_back();
        self.sending.into_iter().for_each(Request::detach);
        self.endpoint.close(CloseMode::Force);
        last
    }
}
