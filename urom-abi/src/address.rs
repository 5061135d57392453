//! The frame around a plugin's address, because C's address look-up does not return a length.
//! Workers check frames of other processes before plugins read them.

use std::ptr::NonNull;

/// The magic of a frame; the last byte is the format version. UCX addresses never begin with it.
const MAGIC: [u8; 8] = *b"\xffUROMad\x01";

/// The magic, the length as a little-endian `u32`, and its bitwise complement.
const HEADER: usize = MAGIC.len() + 8;

/// Maximum length of an address in bytes. Typical addresses have about a hundred bytes.
const LONGEST: u32 = 1 << 20;

pub fn around(address: &[u8]) -> Option<Vec<u8>> {
    let len = u32::try_from(address.len()).ok().filter(|len| *len <= LONGEST)?;
    let mut framed = Vec::with_capacity(HEADER + address.len());
    framed.extend_from_slice(&MAGIC);
    framed.extend_from_slice(&len.to_le_bytes());
    framed.extend_from_slice(&(!len).to_le_bytes());
    framed.extend_from_slice(address);
    Some(framed)
}

/// Returns whether [`open`] is safe: the bytes are exactly one frame, or differ from the magic.
pub fn is_sound(bytes: &[u8]) -> bool {
    let known = bytes.len().min(MAGIC.len());
    if bytes[..known] != MAGIC[..known] {
        return true;
    }
    let Some((header, body)) = bytes.split_first_chunk::<HEADER>() else { return false };
    let len = (body.len() as u32).to_le_bytes();
    body.len() <= LONGEST as usize && header[8..12] == len && header[12..] == len.map(|byte| !byte)
}

/// Returns the address in the frame at `start`; `None` without a frame.
///
/// # Safety
/// At least one byte is readable at `start`. If the bytes begin with the magic, [`around`] made
/// them, or [`is_sound`] is true for them, and all are readable. They are unchanged during `'a`.
pub unsafe fn open<'a>(start: NonNull<u8>) -> Option<&'a [u8]> {
    for (index, wanted) in MAGIC.iter().enumerate() {
        // SAFETY: all previous bytes match the magic, which does not end here.
        let byte = unsafe { start.add(index) };
        // SAFETY: as above. Bytes without a frame may end after the first mismatch.
        if unsafe { byte.read() } != *wanted {
            return None;
        }
    }
    // SAFETY: the header is complete.
    let words = unsafe { start.add(MAGIC.len()) }.cast::<[[u8; 4]; 2]>();
    // SAFETY: as above; arrays of bytes need no alignment.
    let [len, inverse] = unsafe { words.read() }.map(u32::from_le_bytes);
    if inverse != !len || len > LONGEST {
        return None;
    }
    // SAFETY: the header ends within the frame.
    let body = unsafe { start.add(HEADER) };
    // SAFETY: the frame has `len` more bytes, unchanged during `'a` as the caller promises.
    Some(unsafe { std::slice::from_raw_parts(body.as_ptr(), len as usize) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn opened(bytes: &[u8]) -> Option<Vec<u8>> {
        let start = NonNull::from(bytes).cast();
        // SAFETY: every test passes at least one byte, and a whole frame after the magic.
        unsafe { open(start) }.map(<[u8]>::to_vec)
    }

    #[test]
    fn an_address_of_any_length_comes_back() {
        for len in [0, 1, 7, 300, 70_000] {
            let address: Vec<u8> = (0..len).map(|i| i as u8).collect();
            assert_eq!(opened(&around(&address).unwrap()), Some(address));
        }
        assert!(around(&vec![0; LONGEST as usize + 1]).is_none());
    }

    #[test]
    fn other_bytes_are_read_no_further_than_they_agree_with_the_magic() {
        // Boxes of exactly these bytes let Miri detect a read past the end.
        for len in 0..MAGIC.len() {
            let mut bytes = MAGIC[..len].to_vec();
            bytes.push(!MAGIC[len]);
            assert_eq!(opened(&bytes.into_boxed_slice()), None);
        }
    }

    #[test]
    fn bytes_are_sound_when_nothing_behind_them_would_be_read() {
        let framed = around(b"twelve bytes").unwrap();
        assert!(is_sound(&framed) && is_sound(&around(b"").unwrap()));
        assert!(is_sound(b"an address of another kind") && is_sound(b"x"));
        for len in 0..framed.len() {
            assert!(!is_sound(&framed[..len]), "{len}");
        }
        assert!(!is_sound(&[&framed[..], b"!"].concat()));
        for index in 0..HEADER {
            let mut damaged = framed.clone();
            damaged[index] ^= 1;
            assert_eq!(is_sound(&damaged), index < MAGIC.len(), "{index}");
            assert_eq!(opened(&damaged), None, "{index}");
        }
    }
}
