//! Two notifications with payloads, written as the macros would write them.

use urom_abi::descriptor::NotificationDesc;
use urom_abi::protocol::Incoming;
use urom_abi::wire::{self, DecodeError, EncodeError, Field, field};
use urom_abi::{Payload, Received};

pub(crate) const LEN: usize = 40;

pub(crate) const TAG: Field<u64, 0, LEN> = field();
pub(crate) const LIST_LEN: Field<u32, 8, LEN> = field();
pub(crate) const NOTE_LEN: Field<u32, 12, LEN> = field();
pub(crate) const DATA_ADDR: Field<u64, 16, LEN> = field();
pub(crate) const DATA_LEN: Field<u64, 24, LEN> = field();
pub(crate) const NOTE_ADDR: Field<u64, 32, LEN> = field();

/// Three payloads.
#[derive(Debug, Default, Clone, PartialEq)]
pub(crate) struct Brought {
    pub(crate) data: Received,
    pub(crate) list: Payload<u32>,
    pub(crate) note: Option<Payload<u16>>,
}

impl Brought {
    pub(crate) fn into_descriptor(self) -> Result<NotificationDesc, EncodeError> {
        const M: &str = "Brought";
        let data_addr = wire::address_word(M, "data", &self.data)?;
        let data_len = wire::length_word(M, "data", &self.data)?;
        let list_len = wire::length_word(M, "list", &self.list)?;
        let note_addr = wire::address_word(M, "note", &self.note)?;
        let note_len = wire::length_word(M, "note", &self.note)?;
        let payloads = [wire::give(self.data), wire::give(self.list), wire::give(self.note)];
        wire::reply::<LEN, 3>(M, payloads, |fixed| {
            TAG.write(fixed, &1);
            DATA_ADDR.write(fixed, &data_addr);
            DATA_LEN.write(fixed, &data_len);
            LIST_LEN.write(fixed, &list_len);
            NOTE_ADDR.write(fixed, &note_addr);
            NOTE_LEN.write(fixed, &note_len);
        })
    }

    pub(crate) fn decode(incoming: impl Incoming) -> Result<Self, DecodeError> {
        const M: &str = "Brought";
        let (fixed, mut behind) = wire::start::<LEN>(M, incoming.bytes())?;
        wire::own_tag(M, TAG.read(fixed), 1, None)?;
        let there = wire::by_address::<Received>(DATA_ADDR.read(fixed));
        let (_, data) = behind.part::<Received>("data", there, DATA_LEN.read(fixed))?;
        let (_, list) = behind.part::<Payload<u32>>("list", true, LIST_LEN.read(fixed))?;
        let there = wire::by_address::<Option<Payload<u16>>>(NOTE_ADDR.read(fixed));
        let (_, note) = behind.part::<Option<Payload<u16>>>("note", there, NOTE_LEN.read(fixed))?;
        behind.end()?;
        let mut tail = wire::Tail::of(incoming, LEN);
        Ok(Brought { data: tail.take(data), list: tail.take(list), note: tail.take(note) })
    }
}

/// One payload, whose length word is all that describes it.
#[derive(Debug, Default, Clone, PartialEq)]
pub(crate) struct Got {
    pub(crate) list: Payload<u32>,
}

impl Got {
    pub(crate) fn payload(count: usize) -> Result<Payload<u32>, EncodeError> {
        wire::payload::<LEN, u32>("Got", count)
    }

    pub(crate) fn into_descriptor(self) -> Result<NotificationDesc, EncodeError> {
        let list_len = wire::length_word("Got", "list", &self.list)?;
        wire::reply::<LEN, 1>("Got", [wire::give(self.list)], |fixed| {
            TAG.write(fixed, &2);
            LIST_LEN.write(fixed, &list_len);
        })
    }

    pub(crate) fn decode(incoming: impl Incoming) -> Result<Self, DecodeError> {
        let (fixed, mut behind) = wire::start::<LEN>("Got", incoming.bytes())?;
        let (_, list) = behind.part::<Payload<u32>>("list", true, LIST_LEN.read(fixed))?;
        behind.end()?;
        let mut tail = wire::Tail::of(incoming, LEN);
        Ok(Got { list: tail.take(list) })
    }
}
