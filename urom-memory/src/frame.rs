//! The common format of exported bytes: a magic number, a version, and a checksum at the end.

use bytemuck::Pod;
use urom_abi::DocaError;

use crate::error::{Error, Result};

/// Checks and reads exported bytes of any origin. `what` names their kind: `memory map`.
pub(crate) fn read<T: Pod>(bytes: &[u8], what: &str, mark: [u8; 8], version: u32) -> Result<T> {
    let len = size_of::<T>();
    if bytes.len() != len {
        let text = format!("an exported {what} has {len} bytes, not {}", bytes.len());
        return Err(Error::invalid(text));
    }
    if bytes[..8] != mark {
        return Err(Error::invalid(format!("the bytes are not an exported {what} of this kit")));
    }
    let theirs: u32 = bytemuck::pod_read_unaligned(&bytes[8..12]);
    if theirs != version {
        let text = format!(
            "the {what} was exported in format {theirs}, this side reads {version}: \
             use one release of the kit on both"
        );
        return Err(Error::new(DocaError::UNSUPPORTED_VERSION, text));
    }
    if bytemuck::pod_read_unaligned::<u32>(&bytes[len - 4..]) != checksum(bytes) {
        return Err(Error::invalid(format!("the exported {what} was damaged on its way")));
    }
    Ok(bytemuck::pod_read_unaligned(bytes))
}

/// Returns the CRC of all bytes but the last four. It detects damage, not forgery.
pub(crate) fn checksum(bytes: &[u8]) -> u32 {
    crc32fast::hash(&bytes[..bytes.len() - size_of::<u32>()])
}
