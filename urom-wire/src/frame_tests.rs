//! Frames that travel, alone and together, and bytes that are none.

use super::*;

fn command_bytes(slot: u16, payload: &[u8]) -> Vec<u8> {
    let mut bytes = command_header(7, slot, 61, payload.len()).to_vec();
    bytes.extend_from_slice(payload);
    bytes
}

fn notification_bytes(status: DocaError, payload: Option<&[u8]>) -> Vec<u8> {
    let (header, len, sent) = notification_header(9, 65535, status, payload);
    [&header[..len], &payload.unwrap_or_default()[..sent]].concat()
}

#[test]
fn commands_that_travel_together_come_out_in_order() {
    let message =
        [command_bytes(1, b"first"), command_bytes(2, b""), command_bytes(3, &[5; 300])].concat();
    let found: Vec<_> = commands(&message).map(Result::unwrap).collect();
    assert_eq!(found.len(), 3);
    assert_eq!(found[0], Command { channel: 7, slot: 1, plugin_bit: 61, payload: b"first" });
    assert_eq!(found[1].payload, b"");
    assert_eq!(found[2].payload, [5; 300]);
}

#[test]
fn a_loopback_command_takes_24_bytes() {
    assert_eq!(command_bytes(0, &[0; 16]).len(), 24);
    assert_eq!(notification_bytes(DocaError::SUCCESS, Some(&[0; 16])).len(), 24);
}

#[test]
fn a_message_of_several_frames_fits_the_memory_behind_a_place() {
    let find = |(name, size): (&str, &str)| {
        (name == "POSIX_SEG_SIZE").then(|| size.parse::<usize>().unwrap())
    };
    let segment = ucx::ContextBuilder::WATCHED_QUEUE.into_iter().find_map(find).unwrap();
    // UCX's own headers take some tens of bytes.
    assert!((segment - 300..=segment - 100).contains(&MESSAGE_LEN), "{segment}");
}

#[test]
fn a_status_of_any_size_and_a_missing_payload_survive() {
    for status in [0, 1, 253, 254, 255, 256, MAX_STATUS] {
        for payload in [Some(&b"xyz"[..]), Some(&[]), None] {
            let bytes = notification_bytes(DocaError(status), payload);
            let found = notifications(&bytes).next().unwrap().unwrap();
            assert_eq!(
                found,
                Notification {
                    channel: 9,
                    slot: 65535,
                    status: DocaError(status),
                    payload: payload.map(Payload::whole),
                    why: &[]
                }
            );
        }
    }
}

#[test]
fn a_status_with_the_top_bit_is_not_taken_for_another() {
    for status in [1 << 30, 1 << 31, 1 << 31 | 1, 3 << 30 | 300, u32::MAX] {
        for payload in [Some(&b"xyz"[..]), Some(&[]), None] {
            let bytes = notification_bytes(DocaError(status), payload);
            let header_len = notification_header_len(DocaError(status));
            assert_eq!(
                bytes.len(),
                header_len + payload.map_or(0, <[u8]>::len),
                "there is room for it"
            );
            let found = notifications(&bytes).next().unwrap().unwrap();
            assert_eq!(
                (found.status, found.payload),
                (DocaError::UNEXPECTED, payload.map(Payload::whole)),
                "{status:#x}"
            );
        }
    }
}

#[test]
fn a_payload_of_any_length_comes_out_with_the_zeros_at_its_end() {
    for len in 0..100 {
        for zeros in 0..=len {
            let payload = [vec![7; len - zeros], vec![0; zeros]].concat();
            for status in [DocaError::SUCCESS, DocaError::NOT_FOUND] {
                let bytes = notification_bytes(status, Some(&payload));
                let found = notifications(&bytes).next().unwrap().unwrap();
                assert_eq!((found.channel, found.slot, found.status), (9, 65535, status));
                let came = found.payload.unwrap();
                assert_eq!((came.to_vec(), came.len()), (payload.clone(), len));
                let cut = status == DocaError::SUCCESS && (MIN_CUT..=MAX_CUT).contains(&len);
                assert_eq!(bytes.len(), HEADER_LEN + len - if cut { zeros / 8 * 8 } else { 0 });
            }
        }
    }
}

#[test]
fn a_cut_that_says_nonsense_is_an_error() {
    let message = |sent: usize, total: usize| {
        [&Header::new(9, 1, CUT, sent | total << 8).bytes()[..], &[7; 200]].concat()
    };
    for (sent, total) in [(17, 16), (1, 0), (0, MAX_CUT + 1), (65, 65), (255, 0xffff)] {
        assert!(notifications(&message(sent, total)).next().unwrap().is_err(), "{sent} of {total}");
    }
    for (sent, total) in [(0, 0), (0, MAX_CUT), (MAX_CUT, MAX_CUT)] {
        let message = message(sent, total);
        let found = notifications(&message).next().unwrap().unwrap().payload.unwrap();
        assert_eq!((found.bytes(), found.len()), (&[7; 200][..sent], total));
    }
    assert!(notifications(&message(16, 48)[..HEADER_LEN + 15]).next().unwrap().is_err());
    assert_eq!(Payload::cut(&[7], usize::MAX), None);
}

#[test]
fn every_truncation_is_an_error_or_fewer_whole_frames() {
    let message = [command_bytes(1, b"first"), command_bytes(2, b"second")].concat();
    for end in 0..message.len() {
        let found: Vec<_> = commands(&message[..end]).collect();
        let whole = found.iter().filter(|frame| frame.is_ok()).count();
        assert_eq!(whole, usize::from(end >= 13));
        assert_eq!(found.len() - whole, usize::from(end != 0 && end != 13), "{end}");
    }
    let long = notification_bytes(DocaError(300), Some(b"abc"));
    for end in 1..long.len() {
        assert!(notifications(&long[..end]).next().unwrap().is_err(), "{end}");
    }
}

#[test]
fn nothing_follows_an_error() {
    let message = [command_bytes(1, b"first"), vec![0xff; 20], command_bytes(2, b"")].concat();
    let found: Vec<_> = commands(&message).collect();
    assert_eq!(found.len(), 2);
    assert!(found[1].is_err());
}

#[test]
fn a_reason_travels_behind_any_payload_and_what_is_cut_is_no_frame() {
    for payload in [Some(&b"xyz"[..]), Some(&[]), None] {
        for why in [&b"because"[..], &[]] {
            let (status, len) = (DocaError::NOT_FOUND, payload.map(<[u8]>::len));
            let header = explained_header(9, 65535, status, len, why.len() as u16);
            let mut bytes = [&header, payload.unwrap_or_default(), why].concat();
            let end = bytes.len();
            bytes.extend(command_header(9, 1, 0, 0));
            let found: Vec<_> = notifications(&bytes).collect();
            let payload = payload.map(Payload::whole);
            let expected = Notification { channel: 9, slot: 65535, status, payload, why };
            assert_eq!((found.len(), found[0]), (2, Ok(expected)));
            for cut in 0..end {
                assert!(notifications(&bytes[..cut]).all(|found| found.is_err()), "{cut}");
            }
        }
    }
    // A reason that is longer than the frame.
    let mut bytes = explained_header(9, 1, DocaError::NOT_FOUND, Some(2), 3).to_vec();
    bytes[HEADER_LEN + 4..].copy_from_slice(&6_u16.to_le_bytes());
    bytes.extend(b"abcde");
    assert!(notifications(&bytes).next().unwrap().is_err());
}

#[test]
fn a_command_with_a_deadline_and_a_cancel_are_told_from_commands() {
    let start = CommandStart::new(9, 65535, 61);
    let mut bytes = start.header_with_deadline(3).to_vec();
    bytes.extend(77_u64.to_le_bytes());
    bytes.extend(b"xyz");
    bytes.extend(start.cancel(2));
    bytes.extend(start.header(3));
    bytes.extend(b"xyz");
    let found: Vec<_> = commands(&bytes).map(Result::unwrap).collect();
    let plain = Command { channel: 9, slot: 65535, plugin_bit: 61, payload: b"xyz" };
    assert_eq!(found[2], plain);
    assert!(found[..2].iter().all(|command| command.plugin_bit >= 64));
    assert_eq!(found[0].unusual(), Some(Unusual::Limited(plain, 77)));
    assert_eq!(found[1].unusual(), Some(Unusual::Cancel(2)));
    // No bit of a plugin, and no room for a deadline.
    let short = Command { plugin_bit: 64, payload: b"1234567", ..plain };
    assert_eq!((plain.unusual(), short.unusual()), (None, None));
}
