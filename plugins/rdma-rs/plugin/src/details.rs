//! The details of an instance, by which the other end connects (`doca_rdma_export`).

use bytemuck::{Pod, Zeroable};
use urom_pdk::prelude::*;

const MARK: [u8; 8] = *b"UROMrdma";
const VERSION: u32 = 1;
/// The longest address of UCX that is read.
const LONGEST_ADDRESS: usize = 8192;

/// What an instance says of itself. The bytes may be forged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Details {
    pub(crate) instance: u64,
    pub(crate) secret: u64,
    /// The address of the plugin's UCX worker: bytes of a `ucx::PeerAddress`.
    pub(crate) address: Vec<u8>,
}

#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
struct Head {
    mark: [u8; 8],
    version: u32,
    /// Of the address.
    len: u32,
    instance: u64,
    secret: u64,
}

impl Details {
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let &Details { instance, secret, ref address } = self;
        let len = address.len() as u32;
        let head = Head { mark: MARK, version: VERSION, len, instance, secret };
        [bytemuck::bytes_of(&head), address].concat()
    }

    pub(crate) fn read(bytes: &[u8]) -> Result<Details> {
        let wrong = |text: &'static str| Error::new(DocaError::INVALID_VALUE, text);
        let (head, address) = bytes
            .split_at_checked(size_of::<Head>())
            .ok_or_else(|| wrong("the details of the other end are too short"))?;
        let head: Head = bytemuck::pod_read_unaligned(head);
        if head.mark != MARK {
            return Err(wrong("these bytes are no details of an RDMA instance of this kit"));
        }
        if head.version != VERSION {
            let text = format!(
                "the other end's details have format {}, this worker reads {VERSION}: use one \
                 release of the kit on both ends",
                head.version
            );
            return Err(Error::new(DocaError::UNSUPPORTED_VERSION, text));
        }
        if address.len() != head.len as usize || address.len() > LONGEST_ADDRESS {
            return Err(wrong("the details of the other end were cut, or lengthened"));
        }
        let address = address.to_vec();
        Ok(Details { instance: head.instance, secret: head.secret, address })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn details() -> Details {
        Details { instance: 7, secret: 0xdead_beef, address: vec![1, 2, 3] }
    }

    #[test]
    fn details_are_read_as_they_were_written() {
        assert_eq!(Details::read(&details().to_bytes()).unwrap(), details());
    }

    #[test]
    fn details_that_are_cut_lengthened_or_damaged_are_refused() {
        let whole = details().to_bytes();
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
