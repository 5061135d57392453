//! Every byte of the data path's messages, in C's layout, and malformed messages.

use proptest::prelude::*;
use rdmo_protocol::data::{Flushed, LONGEST_HEADER, Malformed, Operation, Part, Request};

const FLUSH: Operation = Operation::Flush { flush_id: 0x1817_1615_1413_1211 };
const APPEND: Operation = Operation::Append {
    pointer: 0x1817_1615_1413_1211,
    pointer_rkey: 0x2827_2625_2423_2221,
    data_rkey: 0x3837_3635_3433_3231,
};
const SCATTER: Operation = Operation::Scatter { count: 0x1817_1615_1413_1211 };

/// Returns a header: client, operation, flags, and the operation's words.
fn table(operation: u8, flags: u8, words: &[u8]) -> Vec<u8> {
    let client = [1, 2, 3, 4, 5, 6, 7, 8];
    [&client[..], &[operation, 0, 0, 0, flags, 0, 0, 0], words].concat()
}

fn words(count: u8) -> Vec<u8> {
    (0..count).flat_map(|word| (1..=8).map(move |byte| (word + 1) * 16 + byte)).collect()
}

fn header(operation: Operation, fence: bool) -> Vec<u8> {
    let request = Request { client: 0x0807_0605_0403_0201, fence, operation };
    request.header(&mut Request::BUFFER.clone()).to_vec()
}

#[test]
fn headers_are_byte_for_byte_those_of_c() {
    for (operation, number, count) in [(FLUSH, 0, 1), (APPEND, 1, 3), (SCATTER, 2, 1)] {
        for fence in [false, true] {
            let table = table(number, fence.into(), &words(count));
            assert_eq!(header(operation, fence), table);
            let read = Request::read(&table).unwrap();
            assert_eq!((read.client, read.fence), (0x0807_0605_0403_0201, fence));
            assert_eq!(read.operation, operation);
        }
    }
}

#[test]
fn bytes_after_a_header_and_unknown_flags_are_ignored() {
    let mut long = table(0, 0xfe, &words(1));
    let read = Request::read(&long).unwrap();
    assert_eq!((read.fence, read.operation), (false, FLUSH));
    long.resize(LONGEST_HEADER, 0xee);
    assert_eq!(Request::read(&long), Ok(read));
    long.push(0);
    assert_eq!(Request::read(&long), Err(Malformed::Long(65)));
}

#[test]
fn headers_that_are_cut_anywhere_are_too_short() {
    for operation in [FLUSH, APPEND, SCATTER] {
        let header = header(operation, false);
        for len in 0..header.len() {
            assert_eq!(Request::read(&header[..len]), Err(Malformed::Short(len)));
        }
    }
}

#[test]
fn operations_that_do_not_exist_are_named_by_number() {
    for number in [3, 255] {
        let read = Request::read(&table(number, 0, &words(3)));
        assert_eq!(read, Err(Malformed::Operation(number.into())));
    }
    let text = Malformed::Operation(3).to_string();
    assert_eq!(text, "operation 3 does not exist: 0 flushes, 1 appends, 2 scatters");
}

#[test]
fn the_parts_of_a_scatter_follow_each_other_without_alignment() {
    let parts = [
        Part { address: 0x1817_1615_1413_1211, rkey: 0x2827_2625_2423_2221, data: b"odd" },
        Part { address: 1, rkey: 2, data: &[] },
        Part { address: 3, rkey: 4, data: &[9; 0x0102] },
    ];
    let mut made = Vec::new();
    parts.iter().for_each(|part| part.write(&mut made).unwrap());
    let head = |address: u64, rkey: u64, len: [u8; 2]| {
        let mut head = [address.to_le_bytes(), rkey.to_le_bytes(), [0; 8]].concat();
        head[16..18].copy_from_slice(&len);
        head
    };
    let mut table = [&words(2)[..], &[3, 0, 0, 0, 0, 0, 0, 0], b"odd"].concat();
    table.extend(head(1, 2, [0, 0]));
    table.extend(head(3, 4, [2, 1]));
    table.extend([9; 0x0102]);
    assert_eq!(made, table);
    assert_eq!(Part::read_all(3, &table).as_deref(), Ok(&parts[..]));
    assert_eq!(Part::read_all(2, &table).as_deref(), Ok(&parts[..2]));
    // C does not initialise its padding.
    table[18..24].fill(0xee);
    assert_eq!(Part::read_all(3, &table).as_deref(), Ok(&parts[..]));
}

#[test]
fn parts_that_are_cut_anywhere_and_counts_that_lie_are_refused() {
    let mut data = Vec::new();
    Part { address: 1, rkey: 2, data: b"one" }.write(&mut data).unwrap();
    let second = data.len();
    Part { address: 3, rkey: 4, data: b"second" }.write(&mut data).unwrap();
    for len in second..data.len() {
        let part = if len < 48 { len as u64 / 24 } else { 1 };
        assert_eq!(Part::read_all(2, &data[..len]), Err(Malformed::Part { part, count: 2 }));
    }
    for count in [3, 1 << 32, u64::MAX / 24 + 1, u64::MAX] {
        assert_eq!(Part::read_all(count, &data), Err(Malformed::Part { part: 2, count }));
    }
    assert_eq!(Part::read_all(0, &[]), Ok(Vec::new()));
}

#[test]
fn a_part_has_at_most_65535_bytes() {
    let long = vec![7; 65536];
    let mut data = Vec::new();
    let part = |data| Part { address: 0, rkey: 0, data };
    assert_eq!(part(&long).write(&mut data), Err(Malformed::LongPart(65536)));
    assert!(data.is_empty());
    part(&long[1..]).write(&mut data).unwrap();
    assert_eq!(Part::read_all(1, &data).unwrap()[0].data.len(), 65535);
}

#[test]
fn the_answer_to_a_flush_has_its_id_unaligned() {
    let table = [0, 0, 0, 0, 0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18];
    let flushed = Flushed { flush_id: 0x1817_1615_1413_1211 };
    assert_eq!((flushed.header(), Flushed::read(&table)), (table, Some(flushed)));
    assert_eq!(Flushed::read(&table[..11]), None);
    assert_eq!(Flushed::read(&[&table[..], &[0]].concat()), None);
    assert_eq!(Flushed::read(&[1, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8]), None);
}

proptest! {
    #[test]
    fn any_bytes_are_read_as_they_are_written_or_refused(
        header in prop::collection::vec(any::<u8>(), 0..70),
        operation in 0..4_u8,
        count in 0..5_u64,
        mut data in prop::collection::vec(any::<u8>(), 0..200),
        lens in prop::collection::vec((0..200_usize, 0..40_u8), 0..4),
    ) {
        let mut header = header;
        if let Some(bytes) = header.get_mut(8..12) {
            bytes.copy_from_slice(&[operation, 0, 0, 0]);
        }
        if let Ok(request) = Request::read(&header) {
            let mut buffer = Request::BUFFER;
            let written = request.header(&mut buffer);
            header[12] &= 1;
            header[13..16].fill(0);
            prop_assert_eq!(written, &header[..written.len()]);
        }
        for (at, len) in lens {
            if let Some(bytes) = data.get_mut(at..at + 2) {
                bytes.copy_from_slice(&[len, 0]);
            }
        }
        if let Ok(parts) = Part::read_all(count, &data) {
            prop_assert_eq!(parts.len() as u64, count);
            let mut written = Vec::new();
            for part in &parts {
                part.write(&mut written).unwrap();
            }
            prop_assert_eq!(Part::read_all(count, &written), Ok(parts));
        }
    }
}
