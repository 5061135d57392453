//! Addresses of workers that were cut or made up: refused when they are connected to, or harmless:
//! never the end of the process.

mod common;

use std::ffi::c_char;

use common::{all_features, finish, is_from, log, until};
use ucx::{Context, Endpoint, Error, Status, Worker, WorkerAddress};

/// How UCX can be told to write addresses: its first layout, its second, and with a name in them.
const LAYOUTS: [&[(&str, &str)]; 4] = [
    &[],
    &[("ADDRESS_DEBUG_INFO", "y")],
    &[("ADDRESS_VERSION", "v2")],
    &[("ADDRESS_VERSION", "v2"), ("ADDRESS_DEBUG_INFO", "y")],
];

const TRANSPORTS: [&str; 3] = ["tcp", "posix,self", "posix,sysv,cma,tcp,self"];

fn worker(transports: &str, config: &[(&str, &str)]) -> Worker {
    // UCX's own sizes of queues, as raw addresses must have, and yet a look at lost peers.
    let mut builder = Context::builder(all_features()).config("TLS", transports);
    let watched = [("POSIX_ERROR_HANDLING", "y"), ("SYSV_ERROR_HANDLING", "y")];
    for (name, value) in config.iter().chain(&watched) {
        builder = builder.config(*name, *value);
    }
    builder.build().unwrap().worker().unwrap()
}

/// Connects to what these bytes say.
fn connect(from: &Worker, raw: &[u8]) -> Result<Endpoint, Error> {
    // SAFETY: a real address, or what a test made of it. Those are refused before UCX sees them,
    // but for one byte or the other, which the test that changes it chooses so that UCX opens
    // nothing of others.
    let address = unsafe { WorkerAddress::from_raw_bytes(raw) }?;
    from.connect(&address)
}

fn refuses(from: &Worker, raw: &[u8], what: &str) {
    let Err(error) = connect(from, raw) else { panic!("{what} was not refused") };
    assert_eq!(error.status(), Status::INVALID_ADDR, "{what}: {error}");
    assert!(error.to_string().contains(&format!("{} bytes", raw.len())), "{what}: {error}");
}

/// The worker is as good as before.
fn reaches(from: &Worker, to: &Worker) {
    let (seen, log) = log();
    to.set_am_handler(1, move |message| log.borrow_mut().push(message.header.to_vec())).unwrap();
    let endpoint = connect(from, to.address().unwrap().as_raw_bytes()).unwrap();
    assert_eq!(finish(&[from, to], endpoint.am_send(1, b"hello", ())).0, Ok(()));
    until(&[from, to], "the message", || !seen.borrow().is_empty());
    assert_eq!(finish(&[from, to], endpoint.flush()).0, Ok(()));
}

/// Runs a test with every layout and transport.
fn everywhere(test: impl Fn(&Worker, &[u8])) {
    for config in LAYOUTS {
        for transports in TRANSPORTS {
            let (from, to) = (worker(transports, config), worker(transports, config));
            test(&from, to.address().unwrap().as_raw_bytes());
            reaches(&from, &to);
        }
    }
}

#[test]
fn an_address_that_was_cut_or_went_on_is_refused() {
    everywhere(|from, whole| {
        for length in 0..whole.len() {
            refuses(from, &whole[..length], &format!("an address cut to {length} bytes"));
        }
        refuses(from, &[whole, &[0]].concat(), "an address with a byte behind it");
    });
}

#[test]
fn an_address_of_a_layout_that_is_not_known_is_refused() {
    everywhere(|from, whole| {
        for layout in 2..16 {
            let mut raw = whole.to_vec();
            raw[0] = raw[0] & 0xf0 | layout;
            refuses(from, &raw, &format!("layout {layout}"));
        }
    });
}

#[test]
fn an_address_whose_transports_have_none_is_refused() {
    let (from, to) = (worker("posix", &[]), worker("posix", &[]));
    let whole = to.address().unwrap().as_raw_bytes().to_vec();
    // Header, id, memory domain; then the length of the device's address.
    let at = 1 + 8 + 1;
    let length = usize::from(whole[at]);
    assert_eq!(length, 8, "{whole:x?}");
    let without_device = [&whole[..at], &[0], &whole[at + 1 + length..]].concat();
    refuses(&from, &without_device, "a device without an address");
    let at = at + 1 + length + 2 + 16;
    assert_eq!(whole[at], 0x80 | 8, "{whole:x?}");
    let without_own = [&whole[..at], &[0x80], &whole[at + 1 + 8..]].concat();
    refuses(&from, &without_own, "a transport without an address");
    reaches(&from, &to);
}

// SAFETY: UCX's function to change one of its settings for the whole process.
unsafe extern "C" {
    fn ucs_global_opts_set_value(name: *const c_char, value: *const c_char) -> i8;
}

/// Has UCX say nothing of the hundreds of addresses that it refuses.
fn hush() {
    // SAFETY: two texts that end with a zero.
    let status = unsafe { ucs_global_opts_set_value(c"LOG_LEVEL".as_ptr(), c"fatal".as_ptr()) };
    assert_eq!(status, 0);
}

#[test]
fn an_address_with_a_byte_changed_is_refused_or_harms_nobody() {
    if !is_from("1.17.0") {
        // A program cannot set POSIX_USE_PROC_LINK there: a byte of an address is the number of a
        // file of this process, and with another one UCX writes into memory of another test.
        eprintln!("left out on UCX {}: it would write into memory of other tests", ucx::version());
        return;
    }
    hush();
    for layout in LAYOUTS {
        let config = [layout, &[("POSIX_USE_PROC_LINK", "n")]].concat();
        let (from, to) = (worker("posix,self", &config), worker("posix,self", &config));
        let (_, hears) = log();
        to.set_am_handler(1, move |message| hears.borrow_mut().push(message.header.to_vec()))
            .unwrap();
        let whole = to.address().unwrap().as_raw_bytes().to_vec();
        // The name of the worker's memory is last, and behind it the first layout has UCX's
        // release. The bits on top of it would have UCX take it for something else: a file that
        // some process has open.
        let kind = whole.len() - if whole[0] & 0xf == 0 { 3 } else { 1 };
        let (mut refused, mut taken) = (0, 0);
        for at in (0..whole.len()).filter(|at| *at != kind) {
            for change in [0x01, 0x08, 0x10, 0x20, 0x40, 0x80, 0xff, whole[at]] {
                let mut raw = whole.clone();
                raw[at] ^= change;
                match connect(&from, &raw) {
                    Ok(endpoint) => {
                        endpoint.am_send(1, b"hello", ()).detach();
                        (0..8).for_each(|_| {
                            from.progress();
                            to.progress();
                        });
                        taken += 1;
                    }
                    Err(_) => refused += 1,
                }
            }
        }
        assert!(
            refused > whole.len() && taken > whole.len(),
            "{refused} were refused, {taken} taken"
        );
        reaches(&from, &to);
    }
}

#[test]
fn workers_connect_whose_addresses_have_different_layouts() {
    for transports in TRANSPORTS {
        for one in LAYOUTS {
            for other in LAYOUTS {
                reaches(&worker(transports, one), &worker(transports, other));
            }
        }
    }
}

#[test]
fn who_writes_addresses_in_a_layout_of_its_own_connects() {
    let config = [("UNIFIED_MODE", "y")];
    let (from, to) = (worker("posix,self", &config), worker("posix,self", &config));
    reaches(&from, &to);
}
