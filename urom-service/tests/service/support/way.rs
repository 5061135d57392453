//! The paths of frames between a worker and a raw client.

use std::cell::Cell;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;
use std::rc::Rc;
use std::time::Instant;

use ucx::{AmFlags, Endpoint, Message, Worker, WorkerAddress};
use urom_os::EventFd;
use urom_wire::control::{HandoverAddress, HostToWorker, Reach, WorkerToHost};
use urom_wire::envelope::{AM_HANDSHAKE, AM_NOTIFICATIONS};
use urom_wire::memory::{RING, Slip, hand_over};
use urom_wire::ring::{self, Ring, RingDescriptors};
use urom_wire::ucx_context::context;

use super::TIMEOUT;
use super::link::Link;

pub(crate) const CHANNEL: u16 = 0x4711;

/// Hands over a new ring at the worker's socket.
pub(crate) fn hand_ring(token: u128, socket: HandoverAddress) -> (Ring, RingDescriptors) {
    let (ring, descriptors) = ring::create(&EventFd::new().unwrap(), 1 << 24).unwrap();
    let socket = PathBuf::from(OsString::from_vec(socket.address));
    let slip = Slip { token, share: RING };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(hand_over(&socket, slip, &descriptors.as_fds())).unwrap();
    (ring, descriptors)
}

/// Connects over UCX to a worker's address and channel. `take` receives messages with answers.
pub(crate) fn over_ucx(
    link: &Link<WorkerToHost, HostToWorker>,
    (address, channel): (&[u8], u16),
    take: impl FnMut(Message<'_>) + 'static,
) -> (Endpoint, Worker) {
    let worker = context().build().unwrap().worker().unwrap();
    worker.set_am_handler(AM_NOTIFICATIONS, take).unwrap();
    let handshake_done = Rc::new(Cell::new(false));
    let seen = Rc::clone(&handshake_done);
    let handshake = move |message: Message<'_>| {
        assert_eq!(message.header, CHANNEL.to_le_bytes());
        seen.set(true);
    };
    worker.set_am_handler(AM_HANDSHAKE, handshake).unwrap();
    let ucx_address = worker.address().unwrap().as_bytes().to_vec();
    link.send(HostToWorker::Reach(Reach { ucx_address, channel: CHANNEL }));
    // SAFETY: from a worker that this test started.
    let address = unsafe { WorkerAddress::from_bytes(address) }.unwrap();
    let endpoint = worker.endpoint().connect(&address).unwrap();
    endpoint.am_send_with(AM_HANDSHAKE, &channel.to_le_bytes(), (), AmFlags::EAGER).detach();
    let deadline = Instant::now() + TIMEOUT;
    while !handshake_done.get() {
        assert!(Instant::now() < deadline, "no handshake comes");
        worker.progress();
    }
    (endpoint, worker)
}
