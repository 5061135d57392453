//! UCX active messages as in a C program: requests and replies of fixed sizes between two
//! processes. The kit's figures are ratios to this.
//!
//! One thread uses a [`Peer`] from beginning to end.

mod asleep;
mod callbacks;
mod put;
mod tag;

use std::ptr;

use anyhow::{Result, ensure};
use ucx_sys::{self as sys, Zeroed};

use self::callbacks::{Counters, receive, send};
pub use self::put::{PUT, SLOTS};
pub use bench_protocol::{Kind, Style};

/// Ends [`Peer::serve`] at the other end.
pub const STOP: &[u8] = &[0; 1];

/// Limit of a server's hosts.
pub const MOST: usize = 8;

/// One end: a context, a worker, and one endpoint, or in a server one for each host.
#[derive(Debug)]
pub struct Peer {
    context: sys::ucp_context_h,
    worker: sys::ucp_worker_h,
    kind: Kind,
    endpoints: Vec<sys::ucp_ep_h>,
    number: u32,
    counters: Box<[Counters; MOST]>,
    target: Option<put::Target>,
    aim: Option<put::Aim>,
}

fn check(what: &str, status: sys::ucs_status_t) -> Result<()> {
    ensure!(status == sys::UCS_OK, "{what} failed with UCX status {}", status.0);
    Ok(())
}

impl Peer {
    /// Starts UCX with the settings of the environment. A server numbers its peers in the order of
    /// its connections, from 0; its own number is 0.
    pub fn new(number: usize, kind: Kind) -> Result<Peer> {
        ensure!(number < MOST, "peer {number} is one too many: there may be {MOST}");
        let mut params = sys::ucp_params_t::zeroed();
        params.field_mask = u64::from(sys::UCP_PARAM_FIELD_FEATURES);
        let wakeup = if kind == Kind::Asleep { sys::UCP_FEATURE_WAKEUP } else { 0 };
        let puts = if kind == Kind::Putting { sys::UCP_FEATURE_RMA } else { 0 };
        params.features = u64::from(sys::UCP_FEATURE_AM | sys::UCP_FEATURE_TAG | wakeup | puts);
        let mut context = ptr::null_mut();
        // SAFETY: the mask names the set fields; a null configuration is the environment's.
        check("ucp_init", unsafe { sys::ucp_init(&params, ptr::null(), &mut context) })?;
        let mut peer = Peer {
            context,
            worker: ptr::null_mut(),
            kind,
            endpoints: Vec::new(),
            number: number as u32,
            counters: Box::default(),
            target: None,
            aim: None,
        };
        let mut params = sys::ucp_worker_params_t::zeroed();
        params.field_mask = u64::from(sys::UCP_WORKER_PARAM_FIELD_THREAD_MODE);
        params.thread_mode = sys::UCS_THREAD_MODE_SINGLE;
        // SAFETY: the context is live and the mask names the set fields.
        check("ucp_worker_create", unsafe {
            sys::ucp_worker_create(peer.context, &params, &mut peer.worker)
        })?;
        for (number, counters) in peer.counters.iter().enumerate() {
            receive(peer.worker, number as u32, counters)?;
        }
        Ok(peer)
    }

    /// Returns the address for the other end's [`connect`](Self::connect).
    pub fn address(&self) -> Result<Vec<u8>> {
        let (mut address, mut length) = (ptr::null_mut(), 0);
        // SAFETY: the worker is live and both results can be written to.
        let status = unsafe { sys::ucp_worker_get_address(self.worker, &mut address, &mut length) };
        check("ucp_worker_get_address", status)?;
        // SAFETY: UCX guarantees `length` bytes until they are released below.
        let bytes = unsafe { std::slice::from_raw_parts(address.cast::<u8>(), length) }.to_vec();
        // SAFETY: the address came from this worker and is not used any more.
        unsafe { sys::ucp_worker_release_address(self.worker, address) };
        Ok(bytes)
    }

    /// Returns the kind of this peer.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// Connects to another end's address.
    pub fn connect(&mut self, address: &[u8]) -> Result<()> {
        let mut params = sys::ucp_ep_params_t::zeroed();
        // Without the handling of lost peers, which the kit enables, as in a plain program.
        params.field_mask = u64::from(sys::UCP_EP_PARAM_FIELD_REMOTE_ADDRESS);
        params.address = address.as_ptr().cast();
        let mut endpoint = ptr::null_mut();
        // SAFETY: the worker is live; the other end's UCX wrote the address.
        check("ucp_ep_create", unsafe { sys::ucp_ep_create(self.worker, &params, &mut endpoint) })?;
        self.endpoints.push(endpoint);
        Ok(())
    }

    /// Sends a message on the first endpoint.
    ///
    /// # Panics
    /// If UCX fails or the endpoint is missing: a lost message would spoil the measurement.
    #[inline]
    pub fn send(&self, message: &'static [u8]) {
        self.send_to(0, message);
    }

    /// Sends a message on endpoint `to`, in the order of connections from 0.
    ///
    /// # Panics
    /// As [`send`](Self::send).
    #[inline]
    pub fn send_to(&self, to: usize, message: &'static [u8]) {
        // SAFETY: the peer's endpoints live as long as `self`, and the message is static.
        unsafe { send(self.endpoints[to], self.number, message) };
    }

    /// Progresses UCX; returns whether there was anything to do.
    #[inline]
    pub fn progress(&self) -> bool {
        // SAFETY: the worker is live and used by this thread only.
        unsafe { sys::ucp_worker_progress(self.worker) != 0 }
    }

    /// Returns the number of messages from peer `from`.
    ///
    /// # Panics
    /// If `from` is [`MOST`] or more.
    #[inline]
    pub fn received(&self, from: usize) -> u64 {
        self.counters[from].received.get()
    }

    /// Serves until [`STOP`] comes from peer 0. [`Kind::Asleep`] sleeps between messages; the
    /// others spin. Tag messages have `bytes` bytes.
    pub fn serve(&self, style: Style, bytes: usize) -> Result<()> {
        let mut data = vec![0x5a; bytes];
        match style {
            Style::AtOnce => return self.serve_at_once(style.reply()),
            Style::Receive => {
                while self.tag_receive(&mut data)? {
                    self.send(style.reply());
                }
                return Ok(());
            }
            Style::Put => return self.serve_puts(),
            Style::Doca | Style::Forward => {}
        }
        let mut answered = self.counters.each_ref().map(|counters| counters.received.get());
        let mut idle = None;
        while !self.counters[0].stopped.take() {
            if self.kind == Kind::Asleep {
                self.look(&mut idle)?;
            } else {
                self.progress();
            }
            for (to, answered) in answered.iter_mut().enumerate().take(self.endpoints.len()) {
                while *answered < self.received(to) {
                    if style == Style::Forward {
                        self.tag_send(&data)?;
                    }
                    self.send_to(to, style.reply());
                    *answered += 1;
                    if style == Style::Forward {
                        // Fresh bytes for the next message, as in a program.
                        data.fill(*answered as u8);
                    }
                }
            }
        }
        Ok(())
    }

    fn serve_at_once(&self, reply: &'static [u8]) -> Result<()> {
        for (endpoint, counters) in self.endpoints.iter().zip(&*self.counters) {
            counters.reply.set(Some((*endpoint, self.number, reply)));
        }
        let stopped = || self.counters[0].stopped.take();
        let result = if self.kind == Kind::Asleep {
            self.sleep_until(stopped)
        } else {
            while !stopped() {
                self.progress();
            }
            Ok(())
        };
        self.counters.iter().for_each(|counters| counters.reply.set(None));
        result
    }

    /// Makes `count` round trips with up to `depth` requests in flight, with an end that
    /// [serves](Self::serve) in this style.
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
        self.forget_memory();
        if !self.worker.is_null() {
            // SAFETY: the worker is live and has no other user.
            unsafe { sys::ucp_worker_destroy(self.worker) };
        }
        // SAFETY: the context is live and its only worker is destroyed.
        unsafe { sys::ucp_cleanup(self.context) };
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;
    use std::time::Duration;

    use super::*;

    const SPINNING: [Style; 2] = [Style::Doca, Style::AtOnce];

    #[test]
    fn requests_of_several_are_answered_until_the_first_stops() {
        let (tell, addresses) = channel::<Vec<u8>>();
        let (back, server_address) = channel();
        let server = std::thread::spawn(move || {
            let mut server = Peer::new(0, Kind::Awake).unwrap();
            let address = server.address().unwrap();
            for _ in 0..2 {
                back.send(address.clone()).unwrap();
                server.connect(&addresses.recv().unwrap()).unwrap();
            }
            SPINNING.into_iter().for_each(|style| server.serve(style, 0).unwrap());
        });
        let hosts = [0, 1].map(|number| {
            let mut host = Peer::new(number, Kind::Awake).unwrap();
            host.connect(&server_address.recv().unwrap()).unwrap();
            tell.send(host.address().unwrap()).unwrap();
            host
        });
        for style in SPINNING {
            for depth in [1, 64] {
                for host in &hosts {
                    host.round_trips(style, 500, depth);
                }
            }
            hosts[0].send(STOP);
        }
        assert_eq!(hosts.each_ref().map(|host| host.counters[0].received.get()), [2000, 2000]);
        while !server.is_finished() {
            hosts[0].progress();
        }
        server.join().unwrap();
    }

    #[test]
    fn one_that_sleeps_is_woken_by_each_request_and_by_the_stop() {
        let (tell, addresses) = channel::<Vec<u8>>();
        let (back, server_address) = channel();
        let server = std::thread::spawn(move || {
            let mut server = Peer::new(0, Kind::Asleep).unwrap();
            back.send(server.address().unwrap()).unwrap();
            server.connect(&addresses.recv().unwrap()).unwrap();
            server.serve(Style::AtOnce, 0).unwrap();
        });
        let mut host = Peer::new(0, Kind::Asleep).unwrap();
        host.connect(&server_address.recv().unwrap()).unwrap();
        tell.send(host.address().unwrap()).unwrap();
        for _ in 0..10 {
            std::thread::sleep(Duration::from_millis(5));
            host.round_trip_asleep().unwrap();
        }
        assert_eq!(host.received(0), 10);
        std::thread::sleep(Duration::from_millis(5));
        host.send(STOP);
        while !server.is_finished() {
            host.progress();
        }
        server.join().unwrap();
    }

    #[test]
    fn a_number_that_is_too_high_is_refused() {
        assert!(Peer::new(MOST, Kind::Awake).unwrap_err().to_string().contains("one too many"));
    }
}
