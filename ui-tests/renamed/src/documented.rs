//! Documentation with links and examples, which is copied to the generated items. `tests/cargo.rs`
//! of `ui-tests` checks it with rustdoc.

use renamed_abi::{Elements, urom_command, urom_notification};

/// Commands: [`Self::Work`], up to [`Self::MOST`] times.
#[urom_command(plugin = "documented", version = 1, crate = renamed_abi)]
#[derive(Debug)]
pub enum Command<'a> {
    /// Works, see [`Command`], [`Self::Undo`] and [its limit](Self::MOST); answered with
    /// [`Notification::Done`].
    ///
    /// ```
    /// assert_eq!(1 + 1, 2); // in Work
    /// ```
    #[urom(reply = Done)]
    Work {
        /// How often, as in
        ///
        /// ```rust
        /// assert_eq!(2 + 2, 4); // in n
        /// ```
        n: u64,
        /// As many values as [`Self::Work::n`]:
        ///
        ///     assert_eq!(3 + 3, 6); // indented
        #[urom(inline)]
        v: Elements<'a, u32>,
        /// In units of [`Self::Work::n`], see also [`Work::n`] and [`WorkTask::unit`].
        #[urom(optional)]
        unit: u32,
    },
    /// Undoes [`Self::Work`] of a [`Self`].
    #[doc = include_str!("undo.md")]
    #[urom(reply = Other)]
    Undo {
        /// The answer repeats it as [`Notification::Other::n`].
        #[urom(echo)]
        n: u64,
    },
}

impl Command<'_> {
    /// The most repetitions.
    pub const MOST: u64 = 7;
}

/// Answers a [`Command`].
#[urom_notification(crate = renamed_abi)]
#[derive(Debug)]
pub enum Notification {
    /// Answers [`Command::Work`], unlike [`Self::Other`].
    Done,
    /// Other than [`Self::Done`].
    Other {
        /// See [`Self::Done`].
        #[urom(echo)]
        n: u64,
        /// Beside [`Self::Other::n`].
        m: u64,
    },
}
