//! The details of an instance, used by the other end to connect (`doca_rdma_export`).

use urom_pdk::{peers, prelude::*, urom_message};

const MARK: &[u8; 8] = b"UROMrdma";
/// The longest accepted UCX address.
const LONGEST_ADDRESS: usize = 8192;

#[urom_message(version = 1)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ExportMessage<'a> {
    /// The bytes may be forged.
    Details {
        instance: u64,
        secret: u64,
        /// The address of the plugin's UCX worker: bytes of a `ucx::PeerAddress`.
        #[urom(inline)]
        address: &'a [u8],
    },
}

impl<'a> Details<'a> {
    pub(crate) fn to_bytes(self) -> Result<Vec<u8>> {
        Ok([&MARK[..], &*peers::encode(&self, 2 * LONGEST_ADDRESS)?].concat())
    }

    pub(crate) fn read(bytes: &'a [u8]) -> Result<Details<'a>> {
        let Some(message) = bytes.strip_prefix(MARK) else {
            bail!(DocaError::INVALID_VALUE, "these bytes are not the details of an RDMA instance");
        };
        let ExportMessage::Details { instance, secret, address } = peers::decode(message)?;
        let details = Details { instance, secret, address };
        let is_whole = details.to_bytes()? == bytes;
        ensure!(is_whole, DocaError::INVALID_VALUE, "the details of the other end are damaged");
        Ok(details)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn details() -> Details<'static> {
        Details { instance: 7, secret: 0xdead_beef, address: &[1, 2, 3] }
    }

    #[test]
    fn details_are_read_as_they_were_written() {
        assert_eq!(Details::read(&details().to_bytes().unwrap()).unwrap(), details());
    }

    #[test]
    fn details_that_are_cut_lengthened_or_damaged_are_refused() {
        let whole = details().to_bytes().unwrap();
        for len in 0..whole.len() {
            let error = Details::read(&whole[..len]).unwrap_err();
            assert_eq!(error.code(), DocaError::INVALID_VALUE, "{len} bytes");
        }
        let longer = [&whole[..], &[0]].concat();
        assert_eq!(Details::read(&longer).unwrap_err().code(), DocaError::INVALID_VALUE);
        let mut other = whole.clone();
        other[0] ^= 1;
        assert_eq!(Details::read(&other).unwrap_err().code(), DocaError::INVALID_VALUE);
        let mut newer = whole;
        newer[8] = 2;
        assert_eq!(Details::read(&newer).unwrap_err().code(), DocaError::UNSUPPORTED_VERSION);
    }
}
