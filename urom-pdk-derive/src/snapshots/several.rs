use urom_abi::{urom_command, urom_notification};

/// Commands of several kinds.
#[urom_command(plugin = "worker_several", version = 2, notification = answers::Answer, tag = u16, crate = kit::abi)]
#[derive(Debug)]
pub(crate) enum Command<'m> {
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
    /// With expressions and a codec.
    #[urom(reply = answers::Table)]
    Sum {
        #[urom(with = codecs::color)]
        color: Color,
        rows: u32,
        place: Point,
        #[urom(inline, addr = place.x, len = cells(rows, color))]
        table: Elements<'m, u16>,
        #[urom(inline, len = count, addr = none, when = table.len() > 3)]
        rest: Option<&'m [u8]>,
        #[urom(word)]
        count: u8,
    },
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
    #[deprecated]
    #[expect(dead_code)]
    Moved { from: Point },
    /// With two payloads.
    Table {
        #[urom(inline)]
        first: Payload<u16>,
        #[urom(inline, len = first.len())]
        second: Option<Payload>,
    },
}
