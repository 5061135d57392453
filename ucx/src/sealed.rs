//! Addresses as bytes: mark, checksum (for damage, not authenticity) and fields before the body.

use crate::status::{Result, Status};

pub(crate) type Mark = [u8; 4];

/// The size of mark and checksum. The checksum covers everything else.
const SEAL: usize = size_of::<Mark>() + 8;

pub(crate) const fn head(fields: usize) -> usize {
    SEAL + fields
}

pub(crate) fn seal(mark: Mark, fields: &[&[u8]], body: &[&[u8]]) -> Vec<u8> {
    let mut bytes = [&mark[..], &[0; 8]].concat();
    fields.iter().chain(body).for_each(|part| bytes.extend_from_slice(part));
    let sum = sum(&mark, &bytes[SEAL..]);
    bytes[mark.len()..SEAL].copy_from_slice(&sum.to_le_bytes());
    bytes
}

/// Returns the fields and the body of bytes made by [`seal`], or `INVALID_ADDR` for foreign,
/// truncated or damaged bytes; `what` names them in errors.
pub(crate) fn open<'a, const FIELDS: usize>(
    mark: Mark,
    what: &str,
    bytes: &'a [u8],
) -> Result<(&'a [u8; FIELDS], &'a [u8])> {
    let why = match bytes.split_at_checked(SEAL) {
        None => "it is too short",
        Some((seal, _)) if !seal.starts_with(&mark) => "it has not the mark of this release",
        Some((seal, rest)) if seal[mark.len()..] != sum(&mark, rest).to_le_bytes() => {
            "it was cut or damaged"
        }
        Some((_, rest)) => match rest.split_first_chunk() {
            Some(opened) => return Ok(opened),
            None => "it is too short",
        },
    };
    Err(Status::INVALID_ADDR.during(format!("reading {what} of {} bytes: {why}", bytes.len())))
}

/// Returns the stored checksum without verifying it.
pub(crate) fn sum_of(bytes: &[u8]) -> u64 {
    let sum = bytes.get(size_of::<Mark>()..).and_then(<[u8]>::first_chunk);
    sum.map_or(0, |sum| u64::from_le_bytes(*sum))
}

/// FNV-1a with 64 bits over both.
pub(crate) fn sum(a: &[u8], b: &[u8]) -> u64 {
    a.iter().chain(b).fold(0xcbf2_9ce4_8422_2325, |sum, &byte| {
        (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const MARK: Mark = *b"ABC\x01";

    fn opened(bytes: &[u8]) -> Result<(&[u8; 3], &[u8])> {
        open(MARK, "a thing", bytes)
    }

    #[test]
    fn sealed_bytes_are_opened() {
        let bytes = seal(MARK, &[b"x", b"yz"], &[b"body"]);
        assert_eq!(opened(&bytes).unwrap(), (b"xyz", &b"body"[..]));
        assert_eq!(bytes.len(), head(3) + 4);
    }

    #[test]
    fn a_byte_that_was_changed_added_or_lost_is_noticed() {
        let bytes = seal(MARK, &[b"xyz"], &[&[7; 100]]);
        for index in 0..bytes.len() {
            for bit in 0..8 {
                let mut changed = bytes.clone();
                changed[index] ^= 1 << bit;
                assert_eq!(opened(&changed).unwrap_err().status(), Status::INVALID_ADDR);
            }
            let error = opened(&bytes[..index]).unwrap_err();
            assert_eq!(error.status(), Status::INVALID_ADDR, "{index}: {error}");
        }
        assert!(opened(&[&bytes[..], &[0]].concat()).is_err());
        assert!(opened(&seal(*b"ABC\x02", &[b"xyz"], &[])).is_err());
        assert!(opened(&seal(MARK, &[b"xy"], &[])).is_err(), "too few fields");
    }
}
