//! The way to a host: the ring that it shares with this worker, or UCX.
//!
//! A frame waits here until there is room. A host that reads nothing is given up when it leaves too
//! many bytes unread: [`Outbox::unread`].

use std::collections::VecDeque;

use ucx::{AmFlags, CloseMode, Endpoint, Request, Status};
use urom_os::EventFd;
use urom_wire::envelope::{AM_NOTIFICATIONS, Envelope, MESSAGE_LEN};
use urom_wire::frame::{HEADER_LEN, Header};
use urom_wire::ring::{RingWriter, cells_of};

#[derive(Debug)]
pub(crate) enum Outbox {
    /// The host has not made a ring and has given no address of UCX yet: frames are dropped.
    Unknown,
    Ring(RingOutbox),
    Ucx(UcxOutbox),
}

impl Outbox {
    /// Sends a frame. Returns whether frames wait for the host now. An error means that the host
    /// cannot be reached.
    #[inline(always)]
    pub(crate) fn send(&mut self, header: Header, body: &[u8]) -> Result<bool, Status> {
        match self {
            Outbox::Ring(ring) => Ok(ring.send(header, body)),
            Outbox::Ucx(ucx) => ucx.send(header, body).map(|()| true),
            Outbox::Unknown => Ok(false),
        }
    }

    /// Sends the frames that wait, as far as there is room. Returns whether some still wait.
    pub(crate) fn flush(&mut self) -> Result<bool, Status> {
        match self {
            Outbox::Ring(ring) => Ok(ring.flush()),
            Outbox::Ucx(ucx) => ucx.flush(),
            Outbox::Unknown => Ok(false),
        }
    }

    /// The bytes of frames that wait for the host.
    pub(crate) fn unread(&self) -> usize {
        match self {
            Outbox::Ring(ring) => ring.unread,
            Outbox::Ucx(ucx) => ucx.unread,
            Outbox::Unknown => 0,
        }
    }

    /// Wakes the host if it went to sleep while the last frames were written.
    #[inline]
    pub(crate) fn announce(&mut self) {
        if let Outbox::Ring(ring) = self {
            ring.writer.announce();
        }
    }

    /// Prepares for a sleep that ends when the host makes room. Returns `false` when there is
    /// room already.
    pub(crate) fn wait_for_room(&mut self) -> bool {
        match self {
            Outbox::Ring(ring) => ring.waiting.is_empty() || ring.writer.wait_for_room(),
            _ => true,
        }
    }

    /// Begins to wait until UCX has sent everything to another machine.
    pub(crate) fn flush_endpoint(&mut self) -> Option<Request<()>> {
        match self {
            Outbox::Ucx(ucx) => {
                // One that cannot send has nothing to wait for.
                let _ = ucx.send_open();
                Some(ucx.endpoint.flush())
            }
            _ => None,
        }
    }

    /// Ends the connection at once. UCX finishes its sends by itself, and is done with all of them
    /// when it is done with the last one, which is returned.
    pub(crate) fn close(self) -> Option<Request<Vec<u8>>> {
        match self {
            Outbox::Ucx(ucx) => ucx.close(),
            _ => None,
        }
    }
}

/// The bytes that a waiting frame takes besides its body: its place in the queue, and its
/// allocation.
const PLACE: usize = 64;

/// A ring, and the frames that found no room in it.
#[derive(Debug)]
pub(crate) struct RingOutbox {
    writer: RingWriter,
    waiting: VecDeque<(Header, Box<[u8]>)>,
    /// The cells of the first of them that were written.
    written: usize,
    unread: usize,
    /// The bell with which the host ends the worker's sleep.
    pub(super) bell: EventFd,
}

impl RingOutbox {
    pub(crate) fn new(writer: RingWriter, bell: EventFd) -> RingOutbox {
        RingOutbox { bell, writer, waiting: VecDeque::new(), written: 0, unread: 0 }
    }

    #[inline]
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
        self.unread += PLACE + body.len();
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
            self.unread -= PLACE + body.len();
            self.waiting.pop_front();
        }
        !self.waiting.is_empty()
    }
}

/// The number of messages that UCX may have unsent while the next one leaves before it is full.
/// Each has a buffer of its own, however few frames it holds.
const MOST_UNFILLED: usize = 8;

/// An endpoint, the message that frames join, and the messages that UCX is sending.
#[derive(Debug)]
pub(crate) struct UcxOutbox {
    endpoint: Endpoint,
    envelope: Envelope,
    /// Empty, or an envelope with frames behind it.
    open: Vec<u8>,
    sending: VecDeque<Request<Vec<u8>>>,
    unread: usize,
}

impl UcxOutbox {
    pub(crate) fn new(endpoint: Endpoint, envelope: Envelope) -> UcxOutbox {
        let (open, sending) = (Vec::new(), VecDeque::new());
        UcxOutbox { endpoint, envelope, open, sending, unread: 0 }
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
                    // The next message takes its memory.
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
