//! Tests of [`super`].

use super::*;

fn participant(ids: std::ops::Range<u64>) -> Participant<'static> {
    let addresses = vec![
        Address { plugin: "one", address: b"here" },
        Address { plugin: "two", address: b"" },
        Address { plugin: "three", address: &[7; 300] },
    ];
    let members = ids.map(|id| Member { id, addresses: addresses.clone() });
    let segments = vec![
        Segment { va: 0x1000, len: 1, memh: b"h", mkey: &[9; 200] },
        Segment { va: u64::MAX, len: 1, memh: b"", mkey: b"" },
        Segment { va: 1, len: u64::MAX, memh: b"", mkey: b"" },
    ];
    Participant { members: members.collect(), segments }
}

fn refusal(bytes: &[u8]) -> (DocaError, String) {
    let failure = Table::read(bytes).unwrap_err();
    (failure.code, failure.text)
}

#[test]
fn a_table_is_read_as_it_was_written() {
    let all = [participant(0..2), participant(7..8), participant(u64::MAX - 3..u64::MAX)];
    let bytes = all.iter().flat_map(Participant::encode).collect::<Vec<u8>>();
    let table = Table::read(&bytes).unwrap();
    assert_eq!(table.participants, all);
    assert_eq!((table.members(), table.segments()), (6, 9));
}

#[test]
fn every_truncation_and_every_changed_bit_is_an_error_or_a_table() {
    let bytes = [participant(0..2).encode(), participant(2..3).encode()].concat();
    let mut read = 0;
    for len in 0..bytes.len() {
        read += usize::from(Table::read(&bytes[..len]).is_ok());
    }
    assert_eq!(read, 1, "only a whole first participant is a table too");
    let mut refused = 0;
    for at in 0..bytes.len() * 8 {
        let mut changed = bytes.clone();
        changed[at / 8] ^= 1 << (at % 8);
        refused += usize::from(Table::read(&changed).is_err());
    }
    assert!(refused > 100, "{refused}");
}

#[test]
fn an_invalid_table_is_refused_and_the_participant_is_named() {
    let io = DocaError::IO_FAILED;
    let invalid = DocaError::INVALID_VALUE;
    assert_eq!(refusal(&[]).0, io);
    let with = |change: fn(&mut Participant<'_>)| {
        let mut second = participant(5..6);
        change(&mut second);
        let (code, text) = refusal(&[participant(0..1).encode(), second.encode()].concat());
        assert!(text.contains("participant 1"), "{text}");
        code
    };
    assert_eq!(with(|second| second.members.clear()), invalid);
    assert_eq!(with(|second| second.members[0].id = 0), invalid);
    assert_eq!(with(|second| second.members.push(second.members[0].clone())), invalid);
    assert_eq!(with(|second| second.members[0].addresses[1].plugin = "one"), invalid);
    assert_eq!(with(|second| second.members[0].addresses[1].plugin = ""), invalid);
    assert_eq!(with(|second| second.members[0].addresses[0].address = b"\xffUROMad\x01"), invalid);
    assert_eq!(with(|second| second.segments[0].len = 0), invalid);
    assert_eq!(with(|second| second.segments[0].va = 0), invalid);
    assert_eq!(with(|second| second.segments[1].len = 2), invalid);
    assert_eq!(with(|second| second.segments[2].va = 2), invalid);
    let many = |second: &mut Participant<'_>| {
        second.members[0].addresses =
            vec![Address { plugin: "x", address: b"" }; urom_abi::MAX_PLUGINS + 1];
    };
    assert_eq!(with(many), io);
}

#[test]
fn a_domain_has_limits_and_a_claimed_length_allocates_nothing() {
    let member = Member { id: 0, addresses: Vec::new() };
    let full = Participant {
        members: (0..MAX_MEMBERS as u64).map(|id| Member { id, ..member.clone() }).collect(),
        segments: Vec::new(),
    };
    let bytes = full.encode();
    assert_eq!(Table::read(&bytes).unwrap().members(), MAX_MEMBERS);
    let one =
        Participant { members: vec![Member { id: u64::MAX, ..member }], segments: Vec::new() };
    let (code, text) = refusal(&[bytes, one.encode()].concat());
    assert_eq!(code, DocaError::TOO_BIG, "{text}");
    assert_eq!(
        refusal(&[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01]).0,
        DocaError::IO_FAILED
    );
    // A participant with very many members of two bytes.
    let mut crowd = vec![0xff, 0xff, 0xff, 0x07];
    crowd.resize(4 + (2 << 20), 0);
    assert_eq!(refusal(&crowd).0, DocaError::IO_FAILED);
}

#[test]
fn a_verdict_keeps_code_and_reason_and_is_distinguished_from_other_bytes() {
    let decoded = |verdict: Verdict| Verdict::read(verdict.as_bytes()).unwrap().result();
    assert_eq!(decoded(Verdict::new(Ok(usize::MAX))), Some(Ok(u64::MAX)));
    let full = Failure::new(DocaError::FULL, "no space");
    assert_eq!(decoded(Verdict::new(Err(&full))), Some(Err(full.clone())));
    let long = Failure::new(DocaError::FULL, "ä".repeat(1000));
    let cut = decoded(Verdict::new(Err(&long))).unwrap().unwrap_err();
    assert!(long.text.starts_with(cut.text.trim_end_matches('\u{fffd}')) && cut.text.len() >= 240);
    let bytes = Verdict::new(Err(&full)).as_bytes().to_vec();
    for (at, bit) in [(0, 1), (7, 0x80), (13, 1), (15, 0x80)] {
        let mut changed = bytes.clone();
        changed[at] ^= bit;
        assert_eq!(Verdict::read(&changed).unwrap().result(), None, "byte {at}");
    }
}

#[test]
fn a_piece_on_a_link_of_256_kilobits_is_no_silence() {
    let takes = std::time::Duration::from_millis((PIECE * 8 / 256) as u64);
    assert!(2 * takes < crate::control::PEER_TIMEOUT, "{takes:?}");
}
