//! Descriptions as bytes: round trips and damaged input.

mod real;

use proptest::prelude::*;
use urom_abi::describe::c_header;
use urom_abi::describe::section::{self, Description, FORMAT, MAGIC, MAX_LEN, ReadError};

fn written(description: &Description) -> Vec<u8> {
    section::bytes(description.protocol, &description.build, true)
}

fn survives(bytes: &[u8]) -> Option<Description> {
    let description = section::read(bytes).ok()?;
    assert_eq!(written(&description), bytes);
    Some(description)
}

/// Checks that a header can be generated. This is safe code, and slow under Miri.
fn can_be_used(description: &Description) {
    if !cfg!(miri) {
        assert!(!c_header(description.protocol).is_empty());
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    #[cfg_attr(miri, ignore = "takes minutes, of safe code")]
    fn changed_bytes_are_refused_or_read(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 2..6),
    ) {
        let mut bytes = real::BYTES;
        for (at, byte) in changes {
            bytes[at.index(bytes.len())] = byte;
        }
        survives(&bytes).iter().for_each(can_be_used);
    }
}

#[test]
fn the_compiler_and_the_program_write_the_same_section() {
    assert_eq!(real::BYTES[..], written(&real::TILES));
    let read = section::read(&real::BYTES).unwrap();
    assert_eq!(read, real::TILES);
    assert_eq!(c_header(read.protocol), c_header(real::TILES.protocol));
}

#[test]
fn a_real_description_survives_every_cut_and_every_changed_byte() {
    let bytes = real::BYTES;
    let step = if cfg!(miri) { 197 } else { 1 };
    for at in (0..bytes.len()).step_by(step) {
        assert!(section::read(&bytes[..at]).is_err());
        let mut cut = bytes[..at].to_vec();
        if let Some(body) = at.checked_sub(16) {
            cut[12..16].copy_from_slice(&(body as u32).to_le_bytes());
            assert!(matches!(section::read(&cut), Err(ReadError::Malformed { .. })));
        }
        let values = [0, 1, 0x7f, 0xff, bytes[at] ^ 1, bytes[at].wrapping_add(1)];
        for (number, byte) in values.into_iter().enumerate() {
            let mut changed = bytes;
            changed[at] = byte;
            // A header is a hundred times slower, so only one value is tested for each position.
            survives(&changed).iter().filter(|_| at % values.len() == number).for_each(can_be_used);
        }
    }
}

#[test]
fn bytes_of_something_else_are_named_as_such() {
    for bytes in [&b""[..], b"uromdesc", b"\x7fELF................", &[0; 64]] {
        assert_eq!(section::read(bytes), Err(ReadError::Magic));
    }
}

#[test]
fn a_layout_of_another_kit_is_named_with_its_number() {
    let mut bytes = real::BYTES;
    bytes[8] = 9;
    let error = section::read(&bytes).unwrap_err();
    assert_eq!(error, ReadError::Format { found: 9 });
    assert!(error.to_string().contains("layout 9"), "{error}");
}

#[test]
#[cfg_attr(miri, ignore = "takes 16 MiB")]
fn a_description_that_is_too_long_is_refused_before_it_is_read() {
    let mut bytes = real::BYTES.to_vec();
    for (len, expected) in
        [(MAX_LEN, None), (MAX_LEN + 1, Some(ReadError::TooLong { found: MAX_LEN as u64 + 1 }))]
    {
        bytes.resize(len, 1);
        let error = section::read(&bytes).unwrap_err();
        assert_eq!(
            error,
            expected
                .unwrap_or(ReadError::Length { stated: real::BYTES.len() - 16, found: len - 16 })
        );
    }
}

#[test]
fn zeros_behind_a_description_do_not_count() {
    let padded = [real::BYTES.as_slice(), &[0; 121]].concat();
    assert_eq!(section::check(&padded), Ok(()));
    assert_eq!(section::read(&padded), section::read(real::BYTES.as_slice()));
    let more = [&padded[..], &[1]].concat();
    assert_eq!(
        section::read(&more),
        Err(ReadError::Length { stated: real::BYTES.len() - 16, found: more.len() - 16 })
    );
}

#[test]
fn two_descriptions_in_one_section_are_refused() {
    let one = real::BYTES;
    let two = [one, one].concat();
    let error = section::read(&two).unwrap_err();
    assert_eq!(error, ReadError::Length { stated: one.len() - 16, found: two.len() - 16 });
    let mut longer = [one.as_slice(), &[0]].concat();
    let body = longer.len() - 16;
    longer[12..16].copy_from_slice(&(body as u32).to_le_bytes());
    assert!(matches!(section::read(&longer), Err(ReadError::Malformed { .. })));
}

#[test]
fn a_list_that_claims_more_than_there_is_takes_no_memory_for_it() {
    // Kit, panic, name, version; name, docs, tag, len, union_at; and a header of 2^32 - 1 fields.
    let empty = [0; 4];
    let start = [&empty[..], &[0], &empty, &[0; 8]].concat();
    let messages = [&empty[..], &empty, &[0], &8u32.to_le_bytes(), &[0], &[0; 8]].concat();
    let body = [start, messages, vec![0xff; 4]].concat();
    let header = [&MAGIC[..], &FORMAT.to_le_bytes(), &(body.len() as u32).to_le_bytes()].concat();
    let bytes = [header, body].concat();
    assert_eq!(
        section::read(&bytes),
        Err(ReadError::Malformed { at: bytes.len(), problem: "it ends too early" })
    );
}

#[test]
fn the_same_bytes_give_the_same_description() {
    let bytes = real::BYTES;
    let [first, again] = [section::read(&bytes).unwrap(), section::read(&bytes).unwrap()];
    assert!(std::ptr::eq(first.protocol, again.protocol));
}
