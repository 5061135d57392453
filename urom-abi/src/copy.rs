//! Copying the bytes of commands and notifications.

/// Copies `len` bytes. Short copies, as in most messages, need no function call.
///
/// # Safety
/// `from` is valid for reads and `to` for writes of `len` bytes, without overlap.
#[inline(always)]
pub unsafe fn copy(from: *const u8, to: *mut u8, len: usize) {
    match len {
        8..=15 => {
            // SAFETY: this arm has `len >= 8`, and the caller promises `len` bytes on both sides.
            unsafe { ends::<8>(from, to, len) }
        }
        16..=32 => {
            // SAFETY: this arm has `len >= 16`, and the caller promises `len` bytes on both sides.
            unsafe { ends::<16>(from, to, len) }
        }
        33..=64 => {
            // SAFETY: this arm has `len >= 32`, and the caller promises `len` bytes on both sides.
            unsafe { ends::<32>(from, to, len) }
        }
        _ => {
            // SAFETY: the caller promises `len` bytes on both sides without overlap.
            unsafe { from.copy_to_nonoverlapping(to, len) }
        }
    }
}

/// Copies the first `N` and the last `N` of `len` bytes.
///
/// # Safety
/// As [`copy`], and `len` is at least `N`.
#[inline(always)]
unsafe fn ends<const N: usize>(from: *const u8, to: *mut u8, len: usize) {
    let last = len - N;
    // SAFETY: `from` has at least `N` bytes.
    let first = unsafe { from.cast::<[u8; N]>().read() };
    // SAFETY: `last + N` is `len`.
    let from = unsafe { from.add(last) };
    // SAFETY: `N` bytes are left.
    let end = unsafe { from.cast::<[u8; N]>().read() };
    // SAFETY: `to` has at least `N` bytes.
    unsafe { to.cast::<[u8; N]>().write(first) };
    // SAFETY: `last + N` is `len`.
    let to = unsafe { to.add(last) };
    // SAFETY: `N` bytes are left.
    unsafe { to.cast::<[u8; N]>().write(end) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_of_any_length_is_whole_and_no_more() {
        let bytes: Vec<u8> = (1..=100).collect();
        for len in 0..=bytes.len() {
            let mut target = [0; 101];
            // SAFETY: both have at least `len` bytes.
            unsafe { copy(bytes.as_ptr(), target.as_mut_ptr(), len) };
            assert_eq!((&target[..len], target[len]), (&bytes[..len], 0), "{len}");
        }
    }
}
