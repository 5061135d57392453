//! Arbitrary bytes as a plugin's description.

use std::sync::atomic::{AtomicUsize, Ordering};

use urom_abi::describe::c_header;
use urom_abi::describe::section::{self, Build, FORMAT, MAGIC, Panic};

use crate::exact;
use crate::subject::Subject;

const BUILD: Build = Build { kit: "0.1.0", panic: Panic::Unwind };

/// Limit of description bytes that one process reads: read descriptions are never freed and are
/// twenty times as large, and a fuzzer finds many. Further descriptions are only checked.
const MAX_BYTES: usize = 1 << 22;

/// Reads the body of a description's section, with a generated header: a fuzzer need not find the
/// length. A readable description can be rewritten byte by byte and has a C header; the others are
/// refused with a reason.
pub fn read(body: &[u8]) {
    static TAKEN: AtomicUsize = AtomicUsize::new(0);
    let len = u32::try_from(body.len()).expect("a fuzzer's input is short").to_le_bytes();
    let bytes = exact(&[&MAGIC[..], &FORMAT.to_le_bytes(), &len, body].concat());
    if let Err(error) = section::check(&bytes) {
        assert!(!error.to_string().is_empty());
        assert_eq!(section::read(&bytes), Err(error));
    } else if TAKEN.fetch_add(bytes.len(), Ordering::Relaxed) < MAX_BYTES {
        let description = section::read(&bytes).expect("it was checked");
        let again = section::bytes(description.protocol, &description.build, true);
        assert_eq!(*again, *bytes);
        assert!(!c_header(description.protocol).is_empty());
    }
}

pub fn of(subject: &Subject) -> Vec<u8> {
    section::bytes(subject.description, &BUILD, true).split_off(MAGIC.len() + 8)
}
