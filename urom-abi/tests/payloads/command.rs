//! A command with every kind of payload, written as the macros would write it.

use urom_abi::wire::{self, DecodeError, EncodeError, Field, field};
use urom_abi::{Data, Elements};

/// `len = checked(n)`: doubles what the wire says.
fn doubled(n: i32) -> Option<i32> {
    n.checked_mul(2)
}

pub(crate) const LEN: usize = 56;
const M: &str = "Everything";

pub(crate) const TAG: Field<u64, 0, LEN> = field();
pub(crate) const N: Field<i32, 8, LEN> = field();
pub(crate) const FLAGS: Field<u32, 12, LEN> = field();
pub(crate) const DATA_LEN: Field<u16, 16, LEN> = field();
pub(crate) const MAYBE_ADDR: Field<u8, 18, LEN> = field();
pub(crate) const MAYBE_LEN: Field<u8, 19, LEN> = field();
pub(crate) const BODY_ADDR: Field<u32, 20, LEN> = field();
pub(crate) const BODY_LEN: Field<u64, 24, LEN> = field();
pub(crate) const BODY_MEMORY: Field<u64, 32, LEN> = field();
pub(crate) const EXTRA_ADDR: Field<u64, 40, LEN> = field();
pub(crate) const EXTRA_LEN: Field<u32, 48, LEN> = field();

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Everything<'a> {
    pub(crate) n: i32,
    pub(crate) flags: u32,
    /// A length word, no address word.
    pub(crate) data: &'a [u8],
    /// Fixed length, no words.
    pub(crate) key: &'a [u8; 4],
    /// `len = doubled(n)`.
    pub(crate) counts: Elements<'a, u32>,
    /// `when = flags & 1 != 0`.
    pub(crate) extra: Option<Elements<'a, u16>>,
    /// There iff its address word is not 0.
    pub(crate) maybe: Option<&'a [u8]>,
    /// `unless = body_memory`.
    pub(crate) body: Data<'a>,
}

impl Default for Everything<'_> {
    fn default() -> Self {
        Everything {
            n: 0,
            flags: 0,
            data: wire::unset(),
            key: wire::unset(),
            counts: wire::unset(),
            extra: wire::unset(),
            maybe: wire::unset(),
            body: wire::unset(),
        }
    }
}

impl<'a> Everything<'a> {
    pub(crate) fn encoded_len(&self) -> Option<usize> {
        wire::total(LEN, &self.payloads().map(<[u8]>::len))
    }

    fn payloads(&self) -> [&[u8]; 6] {
        [
            wire::bytes(&self.data),
            wire::bytes(&self.key),
            wire::bytes(&self.counts),
            wire::bytes(&self.extra),
            wire::bytes(&self.maybe),
            wire::bytes(&self.body),
        ]
    }

    pub(crate) fn encode(&self, out: &mut [u8]) -> Result<usize, EncodeError> {
        let data_len = wire::length_word(M, "data", &self.data)?;
        wire::agrees(M, "counts", &self.counts, doubled(self.n))?;
        wire::agrees_when(M, "extra", &self.extra, self.flags & 1 != 0)?;
        let extra_addr = wire::address_word_when(M, "extra", &self.extra)?;
        let extra_len = wire::length_word(M, "extra", &self.extra)?;
        let maybe_addr = wire::address_word(M, "maybe", &self.maybe)?;
        let maybe_len = wire::length_word(M, "maybe", &self.maybe)?;
        let body_addr = wire::address_word(M, "body", &self.body)?;
        let body_len = wire::length_word(M, "body", &self.body)?;
        let body_memory = wire::selector_word(M, "body", &self.body)?;
        wire::message::<LEN, 6>(M, out, self.payloads(), |fixed| {
            TAG.write(fixed, &3);
            N.write(fixed, &self.n);
            FLAGS.write(fixed, &self.flags);
            DATA_LEN.write(fixed, &data_len);
            MAYBE_ADDR.write(fixed, &maybe_addr);
            MAYBE_LEN.write(fixed, &maybe_len);
            BODY_ADDR.write(fixed, &body_addr);
            BODY_LEN.write(fixed, &body_len);
            BODY_MEMORY.write(fixed, &body_memory);
            EXTRA_ADDR.write(fixed, &extra_addr);
            EXTRA_LEN.write(fixed, &extra_len);
        })
    }

    pub(crate) fn decode(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        let (fixed, mut behind) = wire::start::<LEN>(M, bytes)?;
        wire::own_tag(M, TAG.read(fixed), 3, None)?;
        let (n, flags) = (N.read(fixed), FLAGS.read(fixed));
        let data = behind.take("data", true, DATA_LEN.read(fixed))?;
        let key = behind.fixed("key", true)?;
        let counts = behind.take("counts", true, doubled(n))?;
        let extra = behind.take("extra", flags & 1 != 0, EXTRA_LEN.read(fixed))?;
        let there = wire::by_address::<Option<&[u8]>>(MAYBE_ADDR.read(fixed));
        let maybe = behind.take("maybe", there, MAYBE_LEN.read(fixed))?;
        let (memory, address) = (BODY_MEMORY.read(fixed), BODY_ADDR.read(fixed));
        let body = behind.data("body", memory, address, BODY_LEN.read(fixed))?;
        behind.end()?;
        Ok(Everything { n, flags, data, key, counts, extra, maybe, body })
    }

    pub(crate) fn to_bytes(self) -> Vec<u8> {
        let mut out = vec![0xee; self.encoded_len().unwrap()];
        assert_eq!(self.encode(&mut out), Ok(out.len()));
        out
    }
}
