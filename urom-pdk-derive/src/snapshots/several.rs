use urom_abi::{urom_command, urom_notification};

/// Commands of several kinds.
#[urom_command(plugin = "worker_several", version = 2, notification = answers::Answer, crate = kit::abi)]
#[derive(Debug)]
pub(crate) enum Command {
    /// Numbers and an echo.
    #[urom(reply = answers::Done, tag = 4)]
    TagSend {
        /// Repeated by the answer.
        #[urom(echo)]
        context: u64,
        dest: u64,
        key: [u8; 16],
    },
    /// A structure, which only the compiler knows to be plain data.
    #[urom(reply = answers::Moved)]
    Move { to: Point },
}

#[urom_notification(crate = kit::abi)]
pub enum Answer {
    /// With an echo and a value.
    Done {
        #[urom(echo)]
        context: u64,
        status: i8,
    } = 9,
    /// With a structure.
    Moved { from: Point },
}
