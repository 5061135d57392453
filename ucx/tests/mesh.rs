//! Meshes: workers that all connect to each other by their `PeerAddress`.

mod common;

use std::rc::Rc;
use std::time::Instant;

use common::{DEADLINE, announcements, finish, log, mesh, pattern, until, watched as worker};
use ucx::{AmFlags, Context, Endpoint, Memory, Mesh, PeerAddress, Status, Worker};

const LEFT: Status = Status::CONNECTION_RESET;

const SHARED: &str = "tcp,shm,self";
const TRANSPORTS: [&str; 2] = ["tcp", SHARED];

struct Reached {
    endpoint: Rc<Endpoint>,
    sender: Worker,
    mesh: Mesh,
    receiver: Worker,
}

impl Reached {
    fn new(transports: &str) -> Reached {
        Reached::between(worker(transports), mesh(transports))
    }

    fn between(sender: Worker, mesh: Mesh) -> Reached {
        let receiver = mesh.worker().unwrap();
        let endpoint = sender.endpoint().connect_peer(&mesh.address().unwrap()).unwrap();
        Reached { endpoint: endpoint.into(), sender, mesh, receiver }
    }

    fn send(&self, tag: u64, bytes: Vec<u8>) {
        let both = [&self.sender, &self.receiver];
        let receive = self.receiver.tag_recv(tag, u64::MAX, vec![0; bytes.len()]);
        assert_eq!(finish(&both, self.endpoint.tag_send(tag, bytes.clone())).0, Ok(()));
        let (came, got) = finish(&both, receive);
        assert_eq!(came.unwrap().length, bytes.len());
        assert!(got == bytes);
    }
}

#[test]
fn messages_of_the_same_machine_go_through_shared_memory() {
    let reached = Reached::new(SHARED);
    for length in [0, 8, 4000, 1 << 20] {
        reached.send(7, pattern(length));
    }
    // A TCP transport would cost a system call in each round of progress.
    assert_eq!(reached.endpoint.transports().unwrap(), ["posix"]);
    assert!(reached.endpoint.is_in_shared_memory().unwrap());
    assert!(!Reached::new("tcp").endpoint.is_in_shared_memory().unwrap());
}

#[test]
fn sent_messages_arrive_after_their_sender_is_gone() {
    for transports in TRANSPORTS {
        let reached = Reached::new(transports);
        reached.send(1, pattern(10));
        (0..50).for_each(|_| reached.endpoint.tag_send(2, pattern(4000)).detach());
        assert_eq!(finish(&[&reached.sender], reached.sender.flush()).0, Ok(()));
        let Reached { endpoint, sender, mesh: _mesh, receiver } = reached;
        drop((endpoint, sender));
        for _ in 0..50 {
            let receive = receiver.tag_recv(2, u64::MAX, vec![0; 4000]);
            assert!(finish(&[&receiver], receive).1 == pattern(4000));
        }
    }
}

#[test]
fn connections_are_kept_until_their_peers_go() {
    let mesh = mesh(SHARED);
    let (receiver, address) = (mesh.worker().unwrap(), mesh.address().unwrap());
    let sender = worker(SHARED);
    let endpoints: Vec<Endpoint> =
        (0..3).map(|_| sender.endpoint().connect_peer(&address).unwrap()).collect();
    let both = [&sender, &receiver];
    until(&both, "three connections", || mesh.connections() == 3);
    drop(endpoints);
    until(&both, "their end", || mesh.connections() == 0);
}

#[test]
fn a_peer_that_left_the_mesh_fails_the_endpoint() {
    for transports in [SHARED, "shm,self"] {
        let reached = Reached::new(transports);
        reached.send(1, pattern(10));
        drop(reached.mesh);
        until(&[&reached.sender, &reached.receiver], "the error", || reached.endpoint.is_failed());
    }
}

#[test]
fn a_worker_sends_to_itself() {
    for transports in TRANSPORTS {
        let mesh = mesh(transports);
        let worker = mesh.worker().unwrap();
        let endpoint = worker.endpoint().connect_peer(&mesh.address().unwrap()).unwrap();
        let receive = worker.tag_recv(1, u64::MAX, vec![0; 10]);
        assert_eq!(finish(&[&worker], endpoint.tag_send(1, pattern(10))).0, Ok(()));
        assert_eq!(finish(&[&worker], receive).1, pattern(10));
    }
}

#[test]
fn a_mesh_listens_on_loopback_alone() {
    let mesh = mesh("tcp");
    let port = mesh.address().unwrap().loopback().unwrap().port();
    // Each line has a number, the socket's and the peer's address in hexadecimal, and a state.
    let sockets = ["/proc/net/tcp", "/proc/net/tcp6"]
        .map(|file| std::fs::read_to_string(file).unwrap_or_default());
    let own: Vec<&str> = sockets
        .iter()
        .flat_map(|text| text.lines())
        .filter_map(|line| line.split_whitespace().nth(1))
        .collect();
    let on_port: Vec<&str> =
        own.into_iter().filter(|own| own.ends_with(&format!(":{port:04X}"))).collect();
    assert!(
        !on_port.is_empty() && on_port.iter().all(|own| own.starts_with("0100007F:")),
        "{on_port:?}"
    );
}

#[test]
fn addresses_that_were_changed_or_cut_are_refused() {
    let whole = mesh("tcp").address().unwrap();
    let bytes = whole.as_bytes();
    // SAFETY: the test makes no endpoint from these.
    let read = |bytes: &[u8]| unsafe { PeerAddress::from_bytes(bytes) };
    assert_eq!(read(bytes).unwrap(), whole);
    for foreign in [&bytes[1..], &bytes[..bytes.len() - 1], whole.worker().as_bytes()] {
        assert_eq!(read(foreign).unwrap_err().status(), Status::INVALID_ADDR);
    }
}

#[test]
fn an_endpoint_is_made_once_and_again_when_it_has_failed() {
    let (at_sender, at_receiver) = (mesh(SHARED), mesh(SHARED));
    let [sender, receiver] = [&at_sender, &at_receiver].map(|mesh| mesh.worker().unwrap());
    let address = at_receiver.address().unwrap();
    // SAFETY: the receiver's address, complete or truncated.
    let endpoint = |bytes: &[u8]| unsafe { at_sender.endpoint(bytes) };
    let first = endpoint(address.as_bytes()).unwrap();
    assert!(Rc::ptr_eq(&endpoint(address.as_bytes()).unwrap(), &first));
    drop(at_receiver);
    until(&[&sender, &receiver], "the error", || first.is_failed());
    let second = endpoint(address.as_bytes()).unwrap();
    assert!(!Rc::ptr_eq(&first, &second));
    until(&[&sender, &receiver], "the error", || second.is_failed());
    assert!(endpoint(&address.as_bytes()[1..]).is_err());
}

#[test]
fn operations_to_a_peer_that_left_end_and_nothing_more_is_sent() {
    let (sender, mesh) = (worker(SHARED), mesh(SHARED));
    let receiver = mesh.worker().unwrap();
    let (seen, errors) = log();
    let builder = sender.endpoint().on_error(move |status| errors.borrow_mut().push(status));
    let endpoint = Rc::new(builder.connect_peer(&mesh.address().unwrap()).unwrap());
    let both = [&sender, &receiver];
    let receive = receiver.tag_recv(1, u64::MAX, vec![0; 10]);
    assert_eq!(finish(&both, endpoint.tag_send(1, pattern(10))).0, Ok(()));
    assert!(finish(&both, receive).1 == pattern(10));

    let announced = announcements(&receiver, 2);
    let waiting = endpoint.am_send_with(2, b"", pattern(1 << 20), AmFlags::RENDEZVOUS);
    until(&both, "the announcement", || !announced.borrow().is_empty());
    drop(mesh);
    until(&both, "the error", || !seen.borrow().is_empty());
    let (result, buffer) = finish(&[&sender], waiting);
    assert!(result.is_err());
    assert!(buffer == pattern(1 << 20));

    assert_eq!((seen.take().as_slice(), endpoint.error()), (&[LEFT][..], Some(LEFT)));
    assert_eq!(finish(&[&sender], endpoint.tag_send(1, pattern(10))).0, Err(LEFT));
    assert_eq!(finish(&[&sender], endpoint.am_send(1, b"header", pattern(10))).0, Err(LEFT));
    assert_eq!(
        endpoint.am_send_now(1, &[], pattern(10), AmFlags::EAGER).ok().unwrap().0,
        Err(LEFT)
    );
    assert_eq!(finish(&[&sender], endpoint.flush()).0, Err(LEFT));
    assert_eq!(endpoint.transports().unwrap_err().status(), LEFT);
    assert_eq!(endpoint.is_in_shared_memory().unwrap_err().status(), LEFT);
    let memory = Memory::allocate(receiver.context(), 4096).unwrap();
    let key = memory.remote_key().unwrap();
    // SAFETY: key and address of `memory`, which stays registered.
    let remote = unsafe { endpoint.remote_memory(&key, memory.address(), 4096) };
    assert_eq!(remote.unwrap_err().status(), LEFT);
    drop(endpoint);
    sender.progress();
}

#[test]
fn remote_memory_of_a_peer_that_left_is_out_of_reach() {
    let reached = Reached::new(SHARED);
    let memory = Memory::allocate(reached.receiver.context(), 4096).unwrap();
    let key = memory.remote_key().unwrap();
    // SAFETY: key and address of `memory`, which stays registered.
    let remote = unsafe { reached.endpoint.remote_memory(&key, memory.address(), 4096) }.unwrap();
    let both = [&reached.sender, &reached.receiver];
    assert_eq!(finish(&both, remote.put(0, pattern(8))).0, Ok(()));
    drop(reached.mesh);
    until(&both, "the error", || reached.endpoint.is_failed());
    assert_eq!(finish(&both, remote.put(0, pattern(8))).0, Err(LEFT));
    assert_eq!(finish(&both, remote.get(0, pattern(8))).0, Err(LEFT));
}

#[test]
fn whoever_has_work_in_every_round_learns_that_a_peer_left() {
    let own = mesh(SHARED);
    let reached = Reached::between(own.worker().unwrap(), mesh(SHARED));
    reached.send(1, pattern(10));
    let to_itself = reached.sender.endpoint().connect_peer(&own.address().unwrap()).unwrap();
    drop(reached.mesh);
    let start = Instant::now();
    while !reached.endpoint.is_failed() {
        let receive = reached.sender.tag_recv(2, u64::MAX, vec![0; 10]);
        to_itself.tag_send(2, pattern(10)).detach();
        assert_eq!(finish(&[&reached.sender], receive).1, pattern(10));
        assert!(start.elapsed() < DEADLINE);
    }
}

#[test]
fn whoever_is_about_to_sleep_learns_that_a_peer_left() {
    let reached = Reached::new(SHARED);
    reached.send(1, pattern(10));
    drop(reached.mesh);
    let start = Instant::now();
    while !reached.endpoint.is_failed() {
        reached.sender.arm().unwrap();
        assert!(start.elapsed() < DEADLINE);
    }
}

fn other_device() -> Option<String> {
    let devices = std::fs::read_dir("/sys/class/net").ok()?;
    let names = devices.filter_map(|device| device.ok()?.file_name().into_string().ok());
    let is_up = |name: &String| {
        std::fs::read_to_string(format!("/sys/class/net/{name}/operstate"))
            .is_ok_and(|state| state.trim() == "up")
    };
    names.filter(|name| name != "lo").find(is_up)
}

#[test]
fn the_devices_that_ucx_may_use_are_enough() {
    for devices in [Some("lo".to_owned()), other_device()].into_iter().flatten() {
        let settings = || {
            let builder = Context::builder(common::all_features()).config("NET_DEVICES", &devices);
            builder.watched_shared_memory()
        };
        let mesh = Mesh::open(settings(), |_| Ok(()), |_| ()).unwrap();
        let sender = settings().build().unwrap().worker().unwrap();
        Reached::between(sender, mesh).send(7, pattern(4000));
    }
}
