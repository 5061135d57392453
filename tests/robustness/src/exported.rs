//! Exported memory maps, as a plugin reads them.

use urom_pdk::DocaError;
use urom_pdk::memory::Exported;

/// Reads an exported map, with the right sum behind it or whatever is there. What is read has a
/// range that can be, may be read by others, and is the same when it is written and read again.
pub fn read(with_sum: bool, bytes: &[u8]) {
    let mut bytes = crate::exact(bytes);
    if with_sum && let Some((rest, sum)) = bytes.split_last_chunk_mut() {
        *sum = crc32fast::hash(rest).to_ne_bytes();
    }
    match Exported::read(&bytes) {
        Ok(map) => {
            assert!(map.len() > 0 && map.address().checked_add(map.len()).is_some());
            assert!(map.id() != 0 && map.access().others_read());
            let written = map.to_bytes();
            let again = Exported::read(&written).expect("it was read before");
            assert_eq!((again.range(), again.access()), (map.range(), map.access()));
            assert_eq!((again.address(), again.to_bytes()), (map.address(), written));
        }
        Err(error) => assert!(error.code() != DocaError::SUCCESS && !error.to_string().is_empty()),
    }
}
