//! Copying the bytes of commands and notifications.

/// Copies `len` bytes: few, as nearly all commands and notifications have, without a call.
///
/// # Safety
/// `from` is valid for reads and `to` for writes of `len` bytes, and the two are apart.
#[inline(always)]
pub unsafe fn copy(from: *const u8, to: *mut u8, len: usize) {
    // Pieces that meet or overlap in the middle.
    match len {
        8..=15 => {
            // SAFETY: at most `len` bytes, from both ends.
            unsafe { ends::<8>(from, to, len) }
        }
        16..=32 => {
            // SAFETY: this arm has `len >= 16`, and the caller vouches for `len` bytes on both
            // sides.
            unsafe { ends::<16>(from, to, len) }
        }
        33..=64 => {
            // SAFETY: this arm has `len >= 32`, and the caller vouches for `len` bytes on both
            // sides.
            unsafe { ends::<32>(from, to, len) }
        }
        _ => {
            // SAFETY: the caller vouches for `len` bytes on both sides that do not overlap.
            unsafe { from.copy_to_nonoverlapping(to, len) }
        }
    }
}

/// Copies the first `N` of `len` bytes, and the last.
///
/// # Safety
/// As [`copy`], and `len` is not less than `N`.
#[inline(always)]
unsafe fn ends<const N: usize>(from: *const u8, to: *mut u8, len: usize) {
    let last = len - N;
    // SAFETY: there are as many bytes.
    let first = unsafe { from.cast::<[u8; N]>().read() };
    // SAFETY: within the bytes.
    let from = unsafe { from.add(last) };
    // SAFETY: as many bytes are left.
    let end = unsafe { from.cast::<[u8; N]>().read() };
    // SAFETY: there is room for as many bytes.
    unsafe { to.cast::<[u8; N]>().write(first) };
    // SAFETY: within the room.
    let to = unsafe { to.add(last) };
    // SAFETY: as much room is left.
    unsafe { to.cast::<[u8; N]>().write(end) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_of_any_length_is_whole_and_no_more() {
        let bytes: Vec<u8> = (1..=100).collect();
        for len in 0..=bytes.len() {
            let mut place = [0; 101];
            // SAFETY: both are at least that long.
            unsafe { copy(bytes.as_ptr(), place.as_mut_ptr(), len) };
            assert_eq!((&place[..len], place[len]), (&bytes[..len], 0), "{len}");
        }
    }
}
