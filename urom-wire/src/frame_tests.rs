//! Writing and reading frames, and malformed bodies.

use super::*;

fn long(status: DocaStatus, payload: Option<&[u8]>, why: &[u8]) -> (Header, Vec<u8>) {
    let (len, why_len) = (payload.map(<[u8]>::len), why.len() as u16);
    let (header, before) =
        LongStatus { slot: 65535, status, payload: len, why: why_len, trace: None }.to_bytes();
    (header, [&before, payload.unwrap_or_default(), why].concat())
}

#[test]
fn a_command_comes_out_as_it_went_in() {
    for (slot, bit, len) in [(0, 0, 0), (65535, 63, MAX_BODY), (1, 61, 300)] {
        let header = Header::from_word(CommandStart::new(slot, bit).header(len).word());
        assert_eq!((header.slot(), header.len()), (slot, len));
        let payload = &[5; 300][..];
        assert_eq!(Command::read(header, payload), Command { slot, plugin_bit: bit, payload });
    }
}

#[test]
fn the_highest_bits_of_a_word_do_not_count() {
    let header = CommandStart::new(7, 3).header(16);
    assert_eq!(header.word() >> 48, 0);
    assert_eq!(Header::from_word(header.word() | 0xffff << 48), header);
}

#[test]
fn a_status_that_fits_takes_no_byte_of_the_body() {
    for status in [0, 1, 253, 254] {
        let header = short_notification(65535, DocaStatus(status), 3).unwrap();
        let found = Notification::read(header, b"xyz").unwrap();
        let (status, payload) = (DocaStatus(status), Some(&b"xyz"[..]));
        assert_eq!(found, Notification { slot: 65535, status, payload, why: &[], trace: None });
    }
    assert!(
        [255, 256, u32::MAX].iter().all(|&s| short_notification(1, DocaStatus(s), 0).is_none())
    );
}

#[test]
fn a_status_of_any_size_a_missing_payload_and_a_reason_survive() {
    for status in [0, 1, 254, 255, 256, MAX_STATUS] {
        for payload in [Some(&b"xyz"[..]), Some(&[]), None] {
            for why in [&b"because"[..], &[]] {
                let status = DocaStatus(status);
                let (header, body) = long(status, payload, why);
                assert_eq!(header.len(), body.len());
                let found = Notification::read(header, &body).unwrap();
                assert_eq!(found, Notification { slot: 65535, status, payload, why, trace: None });
            }
        }
    }
}

#[test]
fn a_status_with_the_top_bit_is_not_taken_for_another() {
    for status in [1 << 31, 1 << 31 | 1, 3 << 30 | 300, u32::MAX] {
        for payload in [Some(&b"xyz"[..]), Some(&[]), None] {
            let (header, body) = long(DocaStatus(status), payload, &[]);
            let found = Notification::read(header, &body).unwrap();
            assert_eq!((found.status, found.payload), (DocaStatus::UNEXPECTED, payload));
        }
    }
}

#[test]
fn a_body_that_is_too_short_is_no_notification() {
    let (header, body) = long(DocaStatus::NOT_FOUND, Some(b"ab"), b"abc");
    for end in 0..LONG_STATUS_LEN + 3 {
        assert_eq!(Notification::read(header, &body[..end]), None, "{end}");
    }
}

#[test]
fn an_answer_with_a_trace_survives_and_without_its_end_it_is_no_notification() {
    let (status, payload) = (DocaStatus::SUCCESS, Some(&b"ab"[..]));
    for trace in [&b"trace"[..], &[]] {
        let (why, len) = (&b"why"[..], trace.len() as u16);
        let long = LongStatus { slot: 7, status, payload: Some(2), why: 3, trace: Some(len) };
        let (header, before) = long.to_bytes();
        let body = [&before, &b"ab"[..], why, trace, &len.to_le_bytes()].concat();
        assert_eq!(header.len(), body.len());
        let found = Notification::read(header, &body);
        assert_eq!(found, Some(Notification { slot: 7, status, payload, why, trace: Some(trace) }));
        for end in 0..LONG_STATUS_LEN + 2 {
            assert_eq!(Notification::read(header, &body[..end]), None, "{end}");
        }
        let longer = [&before, &b"ab"[..], why, trace, &u16::MAX.to_le_bytes()].concat();
        assert_eq!(Notification::read(header, &longer), None);
    }
}

#[test]
fn a_command_with_a_trace_context_is_no_cancel_and_needs_its_bytes() {
    let start = CommandStart::new(65535, 61);
    let context = TraceContext { trace_id: 1 << 127, span_id: 9, flags: 1 };
    let ahead = [&77_u64.to_le_bytes()[..], &context.to_bytes()].concat();
    let body = [&ahead[..], b"xyz"].concat();
    let header = start.header_with_trace(3);
    assert_eq!((header.len(), ahead.len()), (body.len(), TRACED_LEN));
    let plain = Command { slot: 65535, plugin_bit: 61, payload: b"xyz" };
    let traced = Command::read(header, &body);
    assert!(traced.plugin_bit >= 64);
    assert_eq!(traced.unusual(), Some(Unusual::Traced(plain, 77, Some(context))));
    let zeros = [0; TRACED_LEN];
    let empty = Command { payload: &[], ..plain };
    assert_eq!(Command::read(header, &zeros).unusual(), Some(Unusual::Traced(empty, 0, None)));
    for end in 0..TRACED_LEN {
        assert_eq!(Command::read(header, &body[..end]).unusual(), None, "{end}");
    }
    for reason in [0, 2, 63, 64, 255] {
        let cancel = Command::read(start.cancel(reason), &body);
        assert_eq!(cancel.unusual(), Some(Unusual::Cancel(reason & 63)));
    }
}

#[test]
fn a_command_with_a_deadline_and_a_cancel_are_distinguished_from_commands() {
    let start = CommandStart::new(65535, 61);
    let body = [&77_u64.to_le_bytes()[..], b"xyz"].concat();
    let header = start.header_with_deadline(3);
    assert_eq!(header.len(), body.len());
    let plain = Command { slot: 65535, plugin_bit: 61, payload: b"xyz" };
    let limited = Command::read(header, &body);
    assert_eq!(limited.unusual(), Some(Unusual::Limited(plain, 77)));
    let cancel = Command::read(start.cancel(2), &[]);
    assert_eq!(cancel.unusual(), Some(Unusual::Cancel(2)));
    assert!([limited, cancel].iter().all(|command| command.plugin_bit >= 64));
    // No plugin's bit, and too short for a deadline.
    let short = Command { plugin_bit: 64, payload: b"1234567", ..plain };
    assert_eq!((plain.unusual(), short.unusual()), (None, None));
}
