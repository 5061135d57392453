//! Tests of [`super`] that the function table cannot reach.

use urom_wire::domain::{Member as Worker, Segment as Buffer};

use super::*;

/// A domain of one process: workers with these ids, one plugin, one buffer with this key.
fn table(ids: &[u64], key: &[u8]) -> Vec<u8> {
    let addresses = vec![Address { plugin: "plugin", address: b"address" }];
    let members = ids.iter().map(|id| Worker { id: *id, addresses: addresses.clone() });
    let segments = vec![Buffer { va: 1, len: 10, memh: b"handle", mkey: key }];
    Participant { members: members.collect(), segments }.encode()
}

fn bytes(found: Option<*const [u8]>) -> Option<Vec<u8>> {
    // SAFETY: the tests keep the domains.
    found.map(|found| unsafe { &*found }.to_vec())
}

fn code(result: Result<(), Failure>) -> DocaError {
    result.unwrap_err().code
}

#[test]
fn a_domain_that_does_not_start_changes_nothing() {
    let domains = WorkerDomains::new();
    domains.start((1, 1), &table(&[1, 2], b"key")).unwrap();
    assert_eq!(code(domains.start((1, 1), &table(&[3], b"key"))), DocaError::BAD_STATE);
    assert_eq!(code(domains.start((1, 3), b"")), DocaError::IO_FAILED);
    assert_eq!(domains.segment(3, 1), None);
    domains.end((1, 2));
    domains.end((1, 3));
    domains.end((2, 1));
    assert_eq!(bytes(domains.mkey(2, 0)).as_deref(), Some(&b"key"[..]));
    domains.end((1, 1));
    assert_eq!(domains.mkey(2, 0), None);
}

#[test]
fn look_ups_find_the_member_of_the_newest_domain_and_old_answers_stay() {
    let domains = WorkerDomains::new();
    let key = |id| bytes(domains.mkey(id, 0));
    let kept = [b"one", b"two", b"six"].map(|name| {
        let number = u64::from(name[0]);
        domains.start((1, number), &table(&[1, number], name)).unwrap();
        assert_eq!(key(1).as_deref(), Some(&name[..]));
        (domains.mkey(1, 0), name)
    });
    // An older domain, the newest, the last.
    for (ends, left) in [(b't', Some(&b"six"[..])), (b's', Some(b"one")), (b'o', None)] {
        domains.end((1, ends.into()));
        assert_eq!(key(1).as_deref(), left);
        assert_eq!(key(ends.into()), None);
    }
    for (found, name) in kept {
        assert_eq!(bytes(found).as_deref(), Some(&name[..]));
    }
    assert!(domains.names.read().unwrap().is_empty());
}

#[test]
fn a_newer_domain_hides_all_that_an_older_one_has_of_a_member() {
    let domains = WorkerDomains::new();
    let address = Address { plugin: "plugin", address: b"address" };
    domains.start((1, 1), &process(1..2, &[address], 3)).unwrap();
    domains.start((2, 1), &process(1..2, &[], 2)).unwrap();
    let found = || (domains.address(1, "plugin").is_some(), domains.segment(1, 3));
    assert_eq!(found(), (false, None));
    domains.end_all(2);
    assert_eq!(found(), (true, Some(2)));
}

#[test]
fn a_host_that_is_gone_takes_its_domains_and_no_others() {
    let domains = WorkerDomains::new();
    for (link, number, id) in [(1, 1, 10), (1, 2, 11), (2, 1, 10), (2, 2, 12)] {
        domains.start((link, number), &table(&[id], b"key")).unwrap();
    }
    domains.end_all(1);
    let found = [10, 11, 12].map(|id| domains.address(id, "plugin").is_some());
    assert_eq!(found, [true, false, true]);
    domains.end_all(2);
    assert_eq!(domains.address(10, "plugin"), None);
    assert_eq!(domains.registry.lock().unwrap().entries, 0);
}

#[test]
fn stored_strings_keep_their_address_and_are_stored_once() {
    let domains = WorkerDomains::new();
    let table = table(&[1], &[7; 1000]);
    let mut stored = Vec::new();
    for number in 0..100 {
        domains.start((1, number), &table).unwrap();
        stored.push((domains.address(1, "plugin"), domains.memh(1, 0), domains.mkey(1, 0)));
        domains.end((1, number));
    }
    let there = |found: Option<*const [u8]>| found.map(|bytes| bytes.cast::<u8>().addr());
    let first = (there(stored[0].0), there(stored[0].1), there(stored[0].2));
    assert!(first.0.is_some() && first.1.is_some() && first.2.is_some());
    assert!(stored.iter().all(|one| (there(one.0), there(one.1), there(one.2)) == first));
    assert_eq!(bytes(stored[0].2), Some(vec![7; 1000]));
}

#[test]
fn a_full_worker_says_what_to_do() {
    let domains = WorkerDomains::with_limits(2000, MOST_ENTRIES);
    domains.start((1, 1), &table(&[1], &[1; 1000])).unwrap();
    domains.end((1, 1));
    let full = domains.start((1, 2), &table(&[1], &[2; 1000])).unwrap_err();
    assert_eq!(full.code, DocaError::FULL);
    assert!(full.text.contains("start a new worker"), "{}", full.text);
    domains.start((1, 3), &table(&[1], &[1; 1000])).unwrap();
}

#[test]
fn a_host_has_so_many_domains_and_no_more() {
    let domains = WorkerDomains::new();
    let table = table(&[1], b"key");
    for number in 0..MOST_DOMAINS as u64 {
        domains.start((1, number), &table).unwrap();
    }
    assert_eq!(code(domains.start((1, u64::MAX), &table)), DocaError::FULL);
    domains.start((2, 0), &table).unwrap();
    domains.end((1, 0));
    domains.start((1, u64::MAX), &table).unwrap();
}

#[test]
fn only_a_plugin_of_the_same_name_finds_an_address() {
    let domains = WorkerDomains::new();
    domains.start((1, 1), &table(&[1], b"key")).unwrap();
    assert_eq!(bytes(domains.address(1, "plugin")).as_deref(), Some(&b"address"[..]));
    for other in ["", "plugi", "plugin2", "address"] {
        assert_eq!(domains.address(1, other), None, "{other}");
    }
}

fn process(ids: impl Iterator<Item = u64>, addresses: &[Address<'_>], buffers: u64) -> Vec<u8> {
    let members = ids.map(|id| Worker { id, addresses: addresses.to_vec() });
    let segments = (1..=buffers).map(|va| Buffer { va, len: 1, memh: b"", mkey: b"" });
    Participant { members: members.collect(), segments: segments.collect() }.encode()
}

/// Separate buffers for each member would not fit in memory.
#[test]
fn members_of_one_process_share_their_buffers() {
    let domains = WorkerDomains::new();
    domains.start((1, 1), &process(0..60_000, &[], 100_000)).unwrap();
    assert_eq!(domains.segment(0, 100_000), Some(99_999));
    let buffers = |id| Arc::as_ptr(&domains.names.read().unwrap()[&id][0].segments);
    assert!(std::ptr::eq(buffers(0), buffers(59_999)));
}

#[test]
fn addresses_count_though_their_bytes_are_stored_once() {
    let domains = WorkerDomains::with_limits(CAPACITY, 1000);
    let names: Vec<String> = (0..62).map(|at| char::from(b'A' + at).to_string()).collect();
    let addresses: Vec<_> = names.iter().map(|plugin| Address { plugin, address: b"" }).collect();
    domains.start((1, 1), &process(0..10, &addresses, 0)).unwrap();
    let failure = domains.start((1, 2), &process(10..20, &addresses, 0)).unwrap_err();
    assert_eq!(failure.code, DocaError::FULL);
    assert!(failure.text.contains("630 more"), "{failure}");
    domains.end((1, 1));
    domains.start((1, 2), &process(10..20, &addresses, 0)).unwrap();
}
