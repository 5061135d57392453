//! A host's task slots in the data loop, and how an answer finds its own again.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Slot {
    /// Counts the slot's commands, so that an old answer is not taken for a new one.
    pub(super) generation: u32,
    /// The place of the plugin that is at work for it, or [`NOBODY`].
    pub(super) plugin: u32,
}

pub(super) const NOBODY: u32 = u32::MAX;

impl Slot {
    pub(super) const NEW: Slot = Slot { generation: 0, plugin: NOBODY };

    #[inline]
    pub(crate) fn next(&self) -> u32 {
        self.generation.wrapping_add(1)
    }

    #[inline]
    pub(crate) fn occupy(&mut self, plugin: u8) {
        *self = Slot { generation: self.next(), plugin: plugin.into() };
    }

    pub(super) fn owner(self) -> Option<u8> {
        u8::try_from(self.plugin).ok()
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Token {
    pub(crate) channel: u16,
    pub(crate) slot: u16,
    pub(crate) generation: u32,
}

impl Token {
    #[inline]
    pub(crate) fn pack(self) -> u64 {
        u64::from(self.generation) << 32 | u64::from(self.slot) << 16 | u64::from(self.channel)
    }

    #[inline]
    pub(crate) fn unpack(token: u64) -> Token {
        Token {
            channel: token as u16,
            slot: (token >> 16) as u16,
            generation: (token >> 32) as u32,
        }
    }
}
