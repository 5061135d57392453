//! The sum by which what a peer made is found damaged: addresses and windows carry it.

/// FNV-1a with 64 bits over both.
pub(crate) fn sum(a: &[u8], b: &[u8]) -> u64 {
    a.iter().chain(b).fold(0xcbf2_9ce4_8422_2325, |sum, &byte| {
        (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}
