//! Descriptions of the protocols, cut and changed.

use robustness::subject::SUBJECTS;
use robustness::targets::description_read;

#[test]
#[cfg_attr(miri, ignore = "the tests of urom-abi do the same with one description")]
fn every_cut_and_every_changed_byte_is_refused_or_read() {
    for subject in SUBJECTS {
        let whole = robustness::description::of(subject);
        for at in 0..whole.len() {
            description_read(&whole[..at]);
            for byte in [0, 0xff, whole[at] ^ 1, whole[at].wrapping_add(1)] {
                let mut changed = whole.clone();
                changed[at] = byte;
                description_read(&changed);
            }
        }
    }
}
