//! Domains on the wire: a worker's answers to hosts that break the protocol's order.

use urom_abi::DocaError;
use urom_wire::control::{DomainWord, Failure, HostToWorker, WorkerToHost};
use urom_wire::domain::{MAX_TABLE, Member, Participant};

use crate::support::client::{Client, Connection, any, attached};

fn with_host(body: impl FnOnce(&mut Client, Connection, Vec<u8>)) {
    let (_uromd, mut client, host) = attached(4);
    let members = vec![Member { id: 1, addresses: Vec::new() }];
    body(&mut client, host, Participant { members, segments: Vec::new() }.encode());
}

fn say(host: &Connection, domain: u64, word: DomainWord) {
    host.link.send(HostToWorker::Domain { domain, word });
}

fn start(host: &Connection, domain: u64, len: usize) {
    say(host, domain, DomainWord::Start { len: len as u64 });
}

fn piece(host: &Connection, domain: u64, bytes: &[u8]) {
    say(host, domain, DomainWord::Piece(bytes.to_vec()));
}

fn hear(host: &Connection) -> (u64, Option<Result<(), Failure>>) {
    loop {
        match host.link.receive().unwrap() {
            WorkerToHost::Ping => {}
            WorkerToHost::DomainStarted { domain, result } => return (domain, Some(result)),
            WorkerToHost::DomainEnded { domain } => return (domain, None),
            other => panic!("a word on a domain, not {other:?}"),
        }
    }
}

#[test]
fn tables_come_in_pieces_of_any_size_and_end_at_any_point() {
    with_host(|_, host, table| {
        start(&host, 1, table.len());
        table.iter().for_each(|byte| piece(&host, 1, &[*byte]));
        assert_eq!(hear(&host), (1, Some(Ok(()))));
        // An incomplete domain, and an unknown one.
        start(&host, 2, table.len());
        piece(&host, 2, &table[1..]);
        for domain in [2, 99] {
            say(&host, domain, DomainWord::End);
            assert_eq!(hear(&host), (domain, None));
        }
        start(&host, 3, table.len());
        piece(&host, 3, &table);
        assert_eq!(hear(&host), (3, Some(Ok(()))));
        // A malformed table is harmless.
        start(&host, 4, 5);
        piece(&host, 4, &[0xff; 5]);
        let (domain, result) = hear(&host);
        assert_eq!((domain, result.unwrap().unwrap_err().code), (4, DocaError::IO_FAILED));
        for domain in [1, 3, 4] {
            say(&host, domain, DomainWord::End);
            assert_eq!(hear(&host), (domain, None));
        }
    });
}

#[test]
fn a_host_that_breaks_the_order_is_disconnected_and_the_worker_goes_on() {
    with_host(|client, host, table| {
        type Bad<'a> = (DocaError, &'a dyn Fn(&Connection));
        let bad: [Bad<'_>; 7] = [
            (DocaError::BAD_STATE, &|host| piece(host, 1, b"x")),
            (DocaError::TOO_BIG, &|host| start(host, 1, 0)),
            (DocaError::TOO_BIG, &|host| start(host, 1, MAX_TABLE + 1)),
            (DocaError::TOO_BIG, &|host| start(host, 1, usize::MAX)),
            (DocaError::BAD_STATE, &|host| {
                start(host, 1, 10);
                start(host, 2, 10);
            }),
            (DocaError::BAD_STATE, &|host| {
                start(host, 1, 10);
                piece(host, 2, b"x");
            }),
            (DocaError::BAD_STATE, &|host| {
                start(host, 1, 10);
                piece(host, 1, &[0; 11]);
            }),
        ];
        for (code, break_it) in bad {
            let mut worker = any();
            worker.id = host.started.id;
            let rude = client.attach(worker, 4);
            break_it(&rude);
            assert_eq!(rude.refusal().code, code);
        }
        start(&host, 1, table.len());
        piece(&host, 1, &table);
        assert_eq!(hear(&host), (1, Some(Ok(()))));
    });
}

#[test]
fn a_domain_before_the_host_is_in_is_refused() {
    use urom_wire::hello::{Hello, Role};

    with_host(|_, host, table| {
        let address = host.started.address;
        let link: crate::support::link::Link<WorkerToHost, HostToWorker> =
            crate::support::link::Link::open(
                address,
                Hello::new(Role::Host),
                Role::Worker,
                None,
                || HostToWorker::Ping,
            )
            .unwrap();
        link.send(HostToWorker::Domain {
            domain: 1,
            word: DomainWord::Start { len: table.len() as u64 },
        });
        let (before, _) = link.until_closed();
        let refused = before.iter().find_map(|message| match message {
            WorkerToHost::Refused(failure) => Some(failure.code),
            _ => None,
        });
        assert_eq!(refused, Some(DocaError::BAD_STATE));
    });
}
