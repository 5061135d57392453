//! Tag messages, as a plugin in C that forwards them would send and receive them.

use std::ptr;

use ucx_sys as sys;

use crate::callbacks::{OnMessage, on_message, on_message_to_copy, receive};
use crate::{Peer, Style, check};

/// Any tag does: nobody else sends any.
const TAG: u64 = 7;

/// The size of a reply to a command of the sandbox: 48 plugin bytes with DOCA's header of 32.
pub const FORWARDED: &[u8] = &[0xa5; 80];

/// A request that UCX has not finished.
struct Pending<'a> {
    peer: &'a Peer,
    request: sys::ucs_status_ptr_t,
}

impl Peer {
    /// Sends `bytes` on the endpoint that was connected as number `to`, and waits until they may be changed again.
    fn tag_send(&self, to: usize, bytes: &[u8]) {
        // SAFETY: a C structure of integers and pointers, for which zero is a value.
        let param: sys::ucp_request_param_t = unsafe { std::mem::zeroed() };
        // SAFETY: the endpoint is live, and this waits until UCX has done with the bytes.
        let request = unsafe {
            sys::ucp_tag_send_nbx(
                self.endpoints[to],
                bytes.as_ptr().cast(),
                bytes.len(),
                TAG,
                &param,
            )
        };
        self.wait(request);
    }

    fn wait(&self, request: sys::ucs_status_ptr_t) {
        let pending = Pending { peer: self, request };
        while !pending.is_done() {
            self.progress();
        }
    }

    /// Answers each request by sending `bytes` to the second endpoint and a reply to the first, until the stop comes. Spins.
    pub fn forward(&self, bytes: &[u8]) {
        self.forward_each(|| self.tag_send(1, bytes));
    }

    /// The same with what came: each request becomes a block of the heap, as a plugin gets its commands, what follows its first
    /// `head` bytes, `bytes` of them, is sent from there, and the block is freed.
    ///
    /// # Panics
    /// When UCX fails, or a request is shorter: a measurement with a lost message is none.
    pub fn relay(&self, head: usize, bytes: usize) {
        let counters = &self.counters[0];
        self.keep(0, true);
        self.forward_each(|| {
            let command = counters.copy.take();
            self.tag_send(1, &command[head..head + bytes]);
        });
        self.keep(0, false);
    }

    fn forward_each(&self, forward: impl Fn()) {
        let mut answered = self.counters[0].received.get();
        while !self.counters[0].stopped.take() {
            self.progress();
            while answered < self.counters[0].received.get() {
                forward();
                self.send(FORWARDED);
                answered += 1;
            }
        }
    }

    /// Says whether the last message of a sender is copied into a block of the heap that is kept until the next one comes, as a
    /// plugin gets its commands and a host its answers. None is unless this says so.
    ///
    /// # Panics
    /// When UCX fails.
    pub fn keep(&self, from: usize, keep: bool) {
        let on_message = if keep { on_message_to_copy } else { on_message as OnMessage };
        if let Err(what) = receive(self.worker, from as u32, &self.counters[from], on_message) {
            panic!("{what}");
        }
    }

    /// Receives into `room` and replies to the first endpoint, again and again, until the stop comes. Lets others run while
    /// nothing comes, because it may share its core with the host.
    pub fn take(&self, room: &mut [u8]) {
        while self.tag_receive(room) {
            self.send(Style::Doca.reply());
        }
    }

    /// The same, and each reply has what came behind it, a message of `bytes`: it is received into a block of the heap, as a plugin's
    /// answer is, packed into a message, and freed.
    pub fn hand_on(&self, bytes: usize) {
        let mut message = Vec::new();
        loop {
            let mut block = vec![0; bytes];
            if !self.tag_receive(&mut block) {
                break;
            }
            message.clear();
            message.extend_from_slice(FORWARDED);
            message.extend_from_slice(&block);
            self.send_and_wait(&message);
        }
    }

    /// Receives into `room`. False when the stop came in place of a message.
    fn tag_receive(&self, room: &mut [u8]) -> bool {
        // SAFETY: a C structure of integers and pointers, for which zero is a value.
        let param: sys::ucp_request_param_t = unsafe { std::mem::zeroed() };
        // SAFETY: the worker is live, and below this waits until UCX has done with the room, if need be by cancelling.
        let request = unsafe {
            sys::ucp_tag_recv_nbx(
                self.worker,
                room.as_mut_ptr().cast(),
                room.len(),
                TAG,
                u64::MAX,
                &param,
            )
        };
        let pending = Pending { peer: self, request };
        while !pending.is_done() {
            if self.counters[0].stopped.take() {
                pending.cancel();
                return false;
            }
            if !self.progress() {
                std::thread::yield_now();
            }
        }
        true
    }

    /// Sends a message to the first endpoint, and waits until it may be changed again.
    fn send_and_wait(&self, message: &[u8]) {
        // SAFETY: a C structure of integers and pointers, for which zero is a value.
        let param: sys::ucp_request_param_t = unsafe { std::mem::zeroed() };
        // SAFETY: the endpoint is live, and this waits until UCX has done with the message.
        let request = unsafe {
            sys::ucp_am_send_nbx(
                self.endpoints[0],
                self.number,
                ptr::null(),
                0,
                message.as_ptr().cast(),
                message.len(),
                &param,
            )
        };
        self.wait(request);
    }
}

impl Pending<'_> {
    /// # Panics
    /// When UCX fails: a measurement with a lost message is none.
    fn is_done(&self) -> bool {
        if self.request.is_null() {
            return true;
        }
        assert!(
            !sys::UCS_PTR_IS_ERR(self.request),
            "UCX status {}",
            sys::UCS_PTR_STATUS(self.request).0
        );
        // SAFETY: a request of UCX's that nobody freed.
        let status = unsafe { sys::ucp_request_check_status(self.request) };
        if status == sys::UCS_INPROGRESS {
            return false;
        }
        if let Err(what) = check("a tag message", status) {
            panic!("{what}");
        }
        true
    }

    fn cancel(self) {
        // SAFETY: a request of this worker's that is not done.
        unsafe { sys::ucp_request_cancel(self.peer.worker, self.request) };
        // SAFETY: as in `is_done`.
        while unsafe { sys::ucp_request_check_status(self.request) } == sys::UCS_INPROGRESS {
            self.peer.progress();
        }
    }
}

impl Drop for Pending<'_> {
    fn drop(&mut self) {
        if !self.request.is_null() && !sys::UCS_PTR_IS_ERR(self.request) {
            // SAFETY: a request of UCX's, freed once.
            unsafe { sys::ucp_request_free(self.request) };
        }
    }
}
