//! UCX active messages as a C program would use them: a request and a reply of fixed sizes between two processes,
//! with nothing on top. The kit's figures are ratios to this.
//!
//! One thread uses a [`Peer`] from beginning to end.

mod asleep;
mod callbacks;
mod kind;
mod style;
mod tag;

use std::cell::RefCell;
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use ucx_sys as sys;

use self::callbacks::{Counters, on_message, on_message_to_answer, receive, send};
pub use kind::{Kind, SETTINGS};
pub use style::Style;
pub use tag::FORWARDED;

/// Ends [`Peer::serve`] at the other end.
pub const STOP: &[u8] = &[0; 1];

/// How many may be connected to one that serves.
pub const MOST: usize = 8;

/// One end: a context, a worker, and endpoints as it is connected. One that asks has one endpoint, one that serves has one
/// for each of those.
#[derive(Debug)]
pub struct Peer {
    context: sys::ucp_context_h,
    worker: sys::ucp_worker_h,
    sleeps: bool,
    /// How often it has slept.
    slept: Arc<AtomicU64>,
    endpoints: Vec<sys::ucp_ep_h>,
    /// The active-message id of what it sends.
    number: u32,
    /// What it [sends from](Self::send_copied).
    task: RefCell<Vec<u8>>,
    /// By sender.
    counters: Box<[Counters; MOST]>,
}

fn check(what: &str, status: sys::ucs_status_t) -> Result<(), String> {
    if status == sys::UCS_OK {
        Ok(())
    } else {
        Err(format!("{what} failed with UCX status {}", status.0))
    }
}

impl Peer {
    /// Starts UCX, configured by the environment but for what its kind says. Those that ask one that serves are numbered in
    /// the order in which it connects to them, from 0; it is 0 itself.
    ///
    /// # Errors
    /// Which call failed, and UCX's status; a number that is too high.
    pub fn new(number: usize, kind: Kind) -> Result<Peer, String> {
        if number >= MOST {
            return Err(format!("peer {number} is one too many: there may be {MOST}"));
        }
        let context = kind.context()?;
        let mut peer = Peer {
            context,
            worker: ptr::null_mut(),
            sleeps: kind.sleeps,
            slept: Arc::default(),
            endpoints: Vec::new(),
            number: number as u32,
            task: RefCell::default(),
            counters: Box::default(),
        };
        // SAFETY: a C structure of integers and pointers, for which zero is a value.
        let mut params: sys::ucp_worker_params_t = unsafe { std::mem::zeroed() };
        params.field_mask = u64::from(sys::UCP_WORKER_PARAM_FIELD_THREAD_MODE);
        params.thread_mode = sys::UCS_THREAD_MODE_SINGLE;
        // SAFETY: the context is live and the parameters say which field is set.
        check("ucp_worker_create", unsafe {
            sys::ucp_worker_create(context, &params, &mut peer.worker)
        })?;

        for (number, counters) in peer.counters.iter().enumerate() {
            receive(peer.worker, number as u32, counters, on_message)?;
        }
        Ok(peer)
    }

    /// The address the other end connects to.
    ///
    /// # Errors
    /// UCX's status.
    pub fn address(&self) -> Result<Vec<u8>, String> {
        let (mut address, mut length) = (ptr::null_mut(), 0);
        // SAFETY: the worker is live and both results can be written to.
        let status = unsafe { sys::ucp_worker_get_address(self.worker, &mut address, &mut length) };
        check("ucp_worker_get_address", status)?;
        // SAFETY: UCX says that `length` bytes are there, until they are released below.
        let bytes = unsafe { std::slice::from_raw_parts(address.cast::<u8>(), length) }.to_vec();
        // SAFETY: the address came from this worker and is not used any more.
        unsafe { sys::ucp_worker_release_address(self.worker, address) };
        Ok(bytes)
    }

    /// Connects to another end's address.
    ///
    /// # Errors
    /// UCX's status.
    pub fn connect(&mut self, address: &[u8]) -> Result<(), String> {
        // SAFETY: a C structure of integers and pointers, for which zero is a value.
        let mut params: sys::ucp_ep_params_t = unsafe { std::mem::zeroed() };
        // As a program has it that asks UCX for nothing: without handling of lost peers, which the kit has.
        params.field_mask = u64::from(sys::UCP_EP_PARAM_FIELD_REMOTE_ADDRESS);
        params.address = address.as_ptr().cast();
        let mut endpoint = ptr::null_mut();
        // SAFETY: the worker is live; the address is one that the other end's UCX wrote.
        check("ucp_ep_create", unsafe { sys::ucp_ep_create(self.worker, &params, &mut endpoint) })?;
        self.endpoints.push(endpoint);
        Ok(())
    }

    /// Sends a message that lives for ever to whom it was connected first.
    ///
    /// # Panics
    /// When UCX fails, or it is not connected: a measurement with a lost message is none.
    #[inline]
    pub fn send(&self, message: &'static [u8]) {
        // SAFETY: it lives for ever.
        unsafe { self.send_on(self.endpoints[0], message) };
    }

    /// Sends a message to whom it was connected first from a copy, as a host's command is sent from its task's memory.
    ///
    /// # Safety
    /// What was sent so before is answered.
    ///
    /// # Panics
    /// As [`send`](Self::send).
    pub unsafe fn send_copied(&self, message: &[u8]) {
        let mut task = self.task.borrow_mut();
        task.clear();
        task.extend_from_slice(message);
        // SAFETY: the copy changes with the next one, when this was answered, as the caller promises, or goes after the worker.
        unsafe { self.send_on(self.endpoints[0], &task) };
    }

    /// # Safety
    /// The message stays as it is until UCX has sent it.
    #[inline]
    unsafe fn send_on(&self, endpoint: sys::ucp_ep_h, message: &[u8]) {
        // SAFETY: the peer's endpoints live as long as it does, and the caller promises the message.
        unsafe { send(endpoint, self.number, message) };
    }

    /// Sends a message that lives for ever on the endpoint that was connected as number `to`, from 0.
    ///
    /// # Panics
    /// As [`send`](Self::send).
    pub fn send_to(&self, to: usize, message: &'static [u8]) {
        // SAFETY: it lives for ever.
        unsafe { self.send_on(self.endpoints[to], message) };
    }

    /// Lets UCX work. Whether there was anything to do.
    #[inline]
    pub fn progress(&self) -> bool {
        // SAFETY: the worker is live and used by this thread only.
        unsafe { sys::ucp_worker_progress(self.worker) != 0 }
    }

    /// How many messages came from number `from`.
    ///
    /// # Panics
    /// When there can be none of that number.
    #[inline]
    pub fn received(&self, from: usize) -> u64 {
        self.counters[from].received.get()
    }

    /// Answers every request until [`STOP`] comes from number 0. Spins, unless it is of a kind that sleeps.
    ///
    /// # Errors
    /// UCX's status; a style in which who sleeps does not answer.
    pub fn serve(&self, style: Style) -> Result<(), String> {
        if style == Style::ShortAtOnce {
            return self.serve_at_once(style.reply());
        }
        if self.sleeps {
            return Err(format!("who sleeps answers in no style but {:?}", Style::ShortAtOnce));
        }
        let mut answered = [0; MOST];
        for (answered, counters) in answered.iter_mut().zip(&*self.counters) {
            *answered = counters.received.get();
        }
        while !self.counters[0].stopped.take() {
            self.progress();
            for ((endpoint, counters), answered) in
                self.endpoints.iter().zip(&*self.counters).zip(&mut answered)
            {
                while *answered < counters.received.get() {
                    // SAFETY: it lives for ever.
                    unsafe { self.send_on(*endpoint, style.reply()) };
                    *answered += 1;
                }
            }
        }
        Ok(())
    }

    fn serve_at_once(&self, reply: &'static [u8]) -> Result<(), String> {
        for (number, (endpoint, counters)) in self.endpoints.iter().zip(&*self.counters).enumerate()
        {
            counters.answer.set(Some((*endpoint, self.number, reply)));
            receive(self.worker, number as u32, counters, on_message_to_answer)?;
        }
        let stopped = || self.counters[0].stopped.take();
        if self.sleeps {
            self.sleep_until(stopped)?;
        } else {
            while !stopped() {
                self.progress();
            }
        }
        for (number, counters) in self.counters.iter().enumerate() {
            receive(self.worker, number as u32, counters, on_message)?;
        }
        Ok(())
    }

    /// Makes `count` round trips with up to `depth` requests in flight, against an end that [serves](Self::serve) in this style.
    pub fn round_trips(&self, style: Style, count: u64, depth: u64) {
        let received = &self.counters[0].received;
        let first = received.get();
        let mut sent = 0;
        loop {
            let answered = received.get() - first;
            if answered == count {
                return;
            }
            while sent < count && sent - answered < depth {
                self.send(style.request());
                sent += 1;
            }
            self.progress();
        }
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        if !self.worker.is_null() {
            // Destroying the worker closes its endpoint.
            // SAFETY: the worker is live and nobody else uses it.
            unsafe { sys::ucp_worker_destroy(self.worker) };
        }
        // SAFETY: the context is live and its only worker is gone.
        unsafe { sys::ucp_cleanup(self.context) };
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering;
    use std::sync::mpsc::channel;

    use super::*;

    #[test]
    fn requests_of_several_are_answered_until_the_first_says_stop() {
        (0..Kind::COUNT as u64).filter_map(Kind::of).filter(|kind| !kind.sleeps).for_each(several);
    }

    fn several(kind: Kind) {
        let (tell, addresses) = channel::<Vec<u8>>();
        let (back, server_address) = channel();
        let server = std::thread::spawn(move || {
            let mut server = Peer::new(0, kind).unwrap();
            let address = server.address().unwrap();
            for _ in 0..2 {
                back.send(address.clone()).unwrap();
                server.connect(&addresses.recv().unwrap()).unwrap();
            }
            Style::ALL.into_iter().for_each(|style| server.serve(style).unwrap());
        });
        let hosts = [0, 1].map(|number| {
            let mut host = Peer::new(number, kind).unwrap();
            host.connect(&server_address.recv().unwrap()).unwrap();
            tell.send(host.address().unwrap()).unwrap();
            host
        });
        for style in Style::ALL {
            for depth in [1, 64] {
                for host in &hosts {
                    host.round_trips(style, 500, depth);
                }
            }
            hosts[0].send(STOP);
        }
        assert_eq!(hosts.each_ref().map(|host| host.counters[0].received.get()), [3000, 3000]);
        while !server.is_finished() {
            hosts[0].progress();
        }
        server.join().unwrap();
    }

    #[test]
    fn one_that_sleeps_is_woken_by_each_request_and_by_the_stop() {
        (0..Kind::COUNT as u64).filter_map(Kind::of).filter(|kind| kind.sleeps).for_each(asleep);
    }

    fn asleep(kind: Kind) {
        let (tell, addresses) = channel::<Vec<u8>>();
        let (back, server_address) = channel();
        let server = std::thread::spawn(move || {
            let mut server = Peer::new(0, kind).unwrap();
            back.send((server.address().unwrap(), Arc::clone(&server.slept))).unwrap();
            server.connect(&addresses.recv().unwrap()).unwrap();
            assert!(server.serve(Style::Doca).unwrap_err().contains("ShortAtOnce"));
            server.serve(Style::ShortAtOnce).unwrap();
        });
        let mut host = Peer::new(0, kind).unwrap();
        let (address, slept) = server_address.recv().unwrap();
        host.connect(&address).unwrap();
        tell.send(host.address().unwrap()).unwrap();
        let until_it_sleeps = |before| {
            while slept.load(Ordering::Relaxed) == before {
                assert!(!server.is_finished(), "it failed");
                host.progress();
            }
            slept.load(Ordering::Relaxed)
        };
        let mut sleeps = 0;
        for _ in 0..10 {
            sleeps = until_it_sleeps(sleeps);
            host.round_trip_asleep().unwrap();
        }
        assert_eq!(host.received(0), 10);
        until_it_sleeps(sleeps);
        host.send(STOP);
        while !server.is_finished() {
            host.progress();
        }
        server.join().unwrap();
    }

    #[test]
    fn every_style_has_a_number_of_its_own() {
        for (number, style) in Style::ALL.into_iter().enumerate() {
            assert_eq!((Style::of(number as u64), style.number()), (Some(style), number as u64));
        }
        assert_eq!(Style::of(Style::ALL.len() as u64), None);
    }

    #[test]
    fn a_number_that_is_too_high_is_refused() {
        assert!(Peer::new(MOST, Kind::default()).unwrap_err().contains("one too many"));
    }
}
