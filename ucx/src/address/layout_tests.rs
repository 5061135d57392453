//! Addresses that are made by hand: what real ones have and what they do not.

use super::*;

const LAYOUTS: [Layout; 2] = [Layout::First, Layout::Second];

/// A worker's address with everything in it that there can be. Its last byte but two is the length
/// of the last transport's address.
fn everything(layout: Layout) -> Vec<u8> {
    let all = HAS_ID | HAS_CLIENT | HAS_NAME;
    let (header, extended) = match layout {
        Layout::First => (vec![all << 4], false),
        Layout::Second => (vec![0x61, all], true),
    };
    let number = |mask: u8, long: u8| if extended { vec![mask, long] } else { vec![mask & 31] };
    let long = |length: u8| vec![8; length.into()];
    let (device, own) = if extended { (40, 70) } else { (31, 63) };
    [
        header,
        vec![7; 16],
        b"\x04name".to_vec(),
        number(0x7f, MEMORY_DOMAINS - 1),
        if extended {
            vec![0x1f | HAS_PATHS | HAS_PLACE, device]
        } else {
            vec![device | HAS_PATHS | HAS_PLACE]
        },
        vec![2, 5],
        long(device),
        transport(layout, [1, 2], TAKES_MESSAGES, LEAST_ROOM),
        if extended { vec![0x3f, own] } else { vec![own] },
        long(own),
        transport(layout, [3, 4], 0, 0),
        vec![LAST],
        vec![NO_TRANSPORT | 6, LAST],
    ]
    .concat()
}

fn transport(layout: Layout, name: [u8; 2], can: u8, room: u16) -> Vec<u8> {
    match layout {
        Layout::First => [&name[..], &[1; 16]].concat(),
        Layout::Second => [&name[..], &[1; 4], &room.to_le_bytes(), &[can, 0]].concat(),
    }
}

/// A transport with all that it needs, and whether it has addresses.
fn known(name: [u8; 2], has_device_address: bool, has_own_address: bool) -> Transport {
    Transport { name, has_device_address, has_own_address, has_room: true }
}

#[test]
fn transports_are_read_from_an_address_with_everything_in_it() {
    let all = [known([1, 2], true, true), known([3, 4], true, false)];
    for layout in LAYOUTS {
        assert_eq!(read(&everything(layout)).as_deref(), Some(&all[..]), "{layout:?}");
        assert!(is_legible(&everything(layout), Some(&all)));
    }
}

#[test]
fn what_is_cut_or_goes_on_is_none() {
    for layout in LAYOUTS {
        let whole = everything(layout);
        for length in 0..whole.len() {
            assert_eq!(read(&whole[..length]), None, "{layout:?} {length}");
        }
        assert_eq!(read(&[&whole[..], &[0]].concat()), None, "{layout:?}");
    }
}

#[test]
fn an_address_of_no_device_has_no_transports() {
    for header in [&[HAS_ID << 4][..], &[1, HAS_ID]] {
        let none = [header, &[0; 8], &[NO_DEVICE]].concat();
        assert_eq!(read(&none), Some(Vec::new()));
        assert_eq!(read(&[&none[..], &[LAST]].concat()), None);
    }
}

#[test]
fn a_memory_domain_that_ucx_has_no_room_for_is_none() {
    let address = |domain: &[u8]| {
        let device = [domain, &[LAST], &transport(Layout::Second, [1, 2], 0, 0), &[LAST]].concat();
        read(&[&[1, 0], &device[..]].concat())
    };
    assert!(address(&[0]).is_some());
    assert!(address(&[MEMORY_DOMAINS - 1]).is_some());
    assert_eq!(address(&[MEMORY_DOMAINS]), None);
    assert_eq!(address(&[0x7f, MEMORY_DOMAINS]), None);
    let first = |domain: u8| {
        let transport = transport(Layout::First, [1, 2], 0, 0);
        read(&[&[0; 9][..], &[domain, LAST], &transport, &[LAST]].concat())
    };
    assert!(first(0).is_some());
    assert_eq!(first(MEMORY_DOMAINS).is_some(), has_flags_there(Layout::First));
}

#[test]
fn addresses_of_endpoints_are_none() {
    for layout in LAYOUTS {
        let mut raw = everything(layout);
        let last = raw.len() - 3;
        assert_eq!(raw[last], LAST);
        raw[last] |= HAS_ENDPOINTS;
        assert_eq!(read(&raw), None, "{layout:?}");
    }
}

#[test]
fn a_transport_that_takes_messages_has_room_for_one() {
    let address = |can, room| {
        let transport = transport(Layout::Second, [1, 2], can, room);
        [&[1, 0, 0, LAST], &transport[..], &[LAST]].concat()
    };
    for (can, room, fits) in
        [(0, 0, true), (TAKES_MESSAGES, LEAST_ROOM, true), (TAKES_MESSAGES, LEAST_ROOM - 1, false)]
    {
        assert_eq!(is_legible(&address(can, room), Some(&[])), fits, "{room}");
        // What one's own are like is no reason not to look at others.
        assert!(read(&address(can, room)).is_some());
    }
}

#[test]
fn a_transport_must_have_the_addresses_that_its_like_has() {
    let usable =
        |one: Transport| one.is_usable(&[known([9, 9], true, true), known([1, 2], true, false)]);
    assert!(usable(known([1, 2], true, false)));
    assert!(usable(known([1, 2], true, true)));
    assert!(!usable(known([1, 2], false, true)));
    assert!(usable(known([1, 3], false, false)));
}

#[test]
fn where_the_own_layout_is_another_only_the_beginning_counts() {
    assert!(is_legible(&[0; 9], None));
    assert!(!is_legible(&[0; 8], None) && !is_legible(&[2; 9], None));
}
