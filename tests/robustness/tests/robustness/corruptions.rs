//! Every truncation and every changed byte of every sample gives an error or a message.
//!
//! `check` copies its input into an allocation of exactly that length.

use robustness::check;

use crate::samples::{self, Sample};

fn check(sample: &Sample, bytes: &[u8]) {
    if sample.is_command {
        check::command(sample.subject(), bytes);
    } else {
        check::notification(sample.subject(), bytes);
    }
}

fn fixed(sample: &Sample) -> usize {
    let description = sample.subject().description;
    match sample.is_command {
        true => description.commands.len,
        false => description.notifications.len,
    }
}

/// Offsets to test: the fixed part, a short message, and a long payload's first, last and some
/// middle bytes.
fn offsets(sample: &Sample) -> Vec<usize> {
    let (fixed, len) = (fixed(sample), sample.bytes.len());
    let all = (0..len.min(fixed + 256)).step_by(if cfg!(miri) { 27 } else { 1 });
    let mut offsets: Vec<_> = all.chain((fixed + 256..len).step_by(131)).collect();
    offsets.push(len - 1);
    offsets
}

/// Samples to corrupt: all, or under Miri, which is slow, one for each shape of payloads.
fn tried() -> impl Iterator<Item = Sample> {
    let shapes = [
        "MemMap",
        "TagSend",
        "TagReceived",
        "MrReg",
        "ClientInitialized",
        "ContextCreate-other",
        "Coll-other",
    ];
    let chosen =
        move |sample: &Sample| shapes.iter().any(|name| sample.name.ends_with(&format!("-{name}")));
    samples::all().into_iter().filter(move |sample| !cfg!(miri) || chosen(sample))
}

#[test]
fn samples_are_read_as_they_are() {
    for sample in samples::all() {
        let read = if sample.is_command {
            sample.subject().command
        } else {
            sample.subject().notification
        };
        assert!(read(&sample.bytes).is_ok(), "{}", sample.name);
        check(&sample, &sample.bytes);
    }
}

#[test]
fn every_truncation_and_every_extension_is_an_error_or_a_message() {
    for sample in tried() {
        let mut lens = offsets(&sample);
        lens.push(0);
        for len in lens {
            check(&sample, &sample.bytes[..len]);
        }
        for more in if cfg!(miri) { 8..=8 } else { 1..=16 } {
            let longer = [&sample.bytes[..], &vec![0; more]].concat();
            check(&sample, &longer);
        }
    }
}

#[test]
fn every_changed_byte_is_an_error_or_a_message() {
    for sample in tried() {
        let mut bytes = sample.bytes.clone();
        for at in offsets(&sample) {
            let was = bytes[at];
            // In a payload, some values are enough.
            let step = match at >= fixed(&sample) {
                _ if cfg!(miri) => 128,
                true => 17,
                false => 1,
            };
            for other in (1..=255).step_by(step) {
                bytes[at] = was.wrapping_add(other);
                check(&sample, &bytes);
            }
            bytes[at] = was;
        }
    }
}

#[test]
fn every_word_at_its_limits_is_an_error_or_a_message() {
    const LIMITS: &[u64] =
        &[u64::MAX, 0, 1, 2, 1 << 31, 1 << 32, 1 << 61, 1 << 62, 1 << 63, u64::MAX - 1];
    let limits = if cfg!(miri) { &LIMITS[..1] } else { LIMITS };
    for sample in tried() {
        let mut bytes = sample.bytes.clone();
        let end = bytes.len().min(if cfg!(miri) { 64 } else { 256 });
        for at in (0..end - 7).step_by(if cfg!(miri) { 24 } else { 4 }) {
            let was: [u8; 8] = bytes[at..at + 8].try_into().expect("eight bytes");
            let near = [1, u64::MAX].map(|by| u64::from_le_bytes(was).wrapping_add(by));
            for value in limits.iter().copied().chain(near) {
                bytes[at..at + 8].copy_from_slice(&value.to_le_bytes());
                check(&sample, &bytes);
            }
            bytes[at..at + 8].copy_from_slice(&was);
        }
    }
}
