//! Exported maps: any bytes are read without a panic, and damage is found.

use proptest::prelude::*;
use urom_abi::DocaError;
use urom_memory::{Access, Exported, Mmap};

fn good() -> [u8; Exported::LEN] {
    let map = Mmap::from_vec(vec![0; 100], Access::PCI_READ_ONLY).unwrap();
    map.export().unwrap().try_into().unwrap()
}

/// With a valid checksum, as in forged bytes.
fn sealed(mut bytes: [u8; Exported::LEN]) -> [u8; Exported::LEN] {
    let checksum = crc32fast::hash(&bytes[..60]);
    bytes[60..].copy_from_slice(&checksum.to_le_bytes());
    bytes
}

#[track_caller]
fn refused(bytes: &[u8], code: DocaError, text: &str) {
    let error = Exported::read(bytes).unwrap_err();
    assert_eq!(error.code(), code, "{error}");
    assert!(error.to_string().contains(text), "{error}");
}

#[test]
fn invalid_exports_of_maps_are_refused() {
    let invalid = DocaError::INVALID_VALUE;
    refused(&[], invalid, "64 bytes, not 0");
    refused(&[0; 63], invalid, "not 63");
    refused(&[0; 65], invalid, "not 65");
    refused(&[0; 64], invalid, "not an exported memory map");
    let forged = |at: usize, field: &[u8]| {
        let mut bytes = good();
        bytes[at..at + field.len()].copy_from_slice(field);
        sealed(bytes)
    };
    refused(&forged(8, &[2]), DocaError::UNSUPPORTED_VERSION, "format 2");
    refused(&forged(12, &[0xff; 4]), invalid, "permissions: 0xffffffff");
    refused(&forged(12, &[1, 0, 0, 0]), DocaError::NOT_PERMITTED, "lacks a permission");
    refused(&forged(16, &[0; 8]), invalid, "there cannot be");
    refused(&forged(24, &[0xff; 8]), invalid, "at 0xffffffffffffffff");
    refused(&forged(32, &[0; 8]), invalid, "of 0 bytes");
}

proptest! {
    // Without a file for failures: Miri and read-only source trees do not support it.
    #![proptest_config(ProptestConfig {
        cases: if cfg!(miri) { 16 } else { 1024 },
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..100)) {
        prop_assert!(Exported::read(&bytes).is_err());
    }

    #[test]
    fn a_damaged_byte_is_found(at in 0..Exported::LEN, change in 1_u8..) {
        let mut bytes = good();
        bytes[at] ^= change;
        prop_assert!(Exported::read(&bytes).is_err());
    }

    #[test]
    fn an_export_that_is_read_is_written_unchanged(fields in any::<[u8; 48]>()) {
        let mut bytes = good();
        bytes[12..60].copy_from_slice(&fields);
        bytes[13..16].fill(0);
        bytes[40..60].fill(0);
        let bytes = sealed(bytes);
        if let Ok(exported) = Exported::read(&bytes) {
            prop_assert_eq!(exported.to_bytes(), bytes);
            prop_assert!(exported.access().others_read());
            prop_assert!(exported.address().checked_add(exported.len()).is_some());
        }
    }
}
