//! How long requests and replies are, and when a reply leaves: what the kit does otherwise than a program that uses DOCA's structures.

/// How requests are answered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Style {
    /// With the lengths that DOCA's structures have, when `ucp_worker_progress` has returned: as a C program has it.
    #[default]
    Doca,
    /// The same with the lengths of the kit's frames.
    Short,
    /// Those, and the reply leaves inside of the callback that got the request.
    ShortAtOnce,
}

/// A command of 16 plugin bytes with DOCA's header of 24, and a notification of 16 with its header of 32.
const DOCA: (&[u8], &[u8]) = (&[0x5a; 40], &[0xa5; 48]);
/// A command and a notification of 16 plugin bytes with the header of a frame, behind the connection's pass.
const SHORT: (&[u8], &[u8]) = (&[0x5a; 28], &[0xa5; 28]);

impl Style {
    /// All there are, by number.
    pub const ALL: [Style; 3] = [Style::Doca, Style::Short, Style::ShortAtOnce];

    /// As a command to a worker has it.
    #[must_use]
    pub fn number(self) -> u64 {
        self as u64
    }

    /// The style of a number; nothing when there is none.
    #[must_use]
    pub fn of(number: u64) -> Option<Style> {
        Style::ALL.into_iter().find(|style| style.number() == number)
    }

    /// A request.
    #[must_use]
    pub const fn request(self) -> &'static [u8] {
        self.messages().0
    }

    /// A reply.
    #[must_use]
    pub const fn reply(self) -> &'static [u8] {
        self.messages().1
    }

    const fn messages(self) -> (&'static [u8], &'static [u8]) {
        match self {
            Style::Doca => DOCA,
            Style::Short | Style::ShortAtOnce => SHORT,
        }
    }
}
