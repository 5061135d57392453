//! Arithmetic on numbers that a peer sent.

use urom_abi::{urom_command, urom_notification};

#[urom_command(plugin = "p", version = 1)]
enum Command<'a> {
    #[urom(reply = Done)]
    Work {
        rows: u64,
        columns: u64,
        table: [u64; 4],
        #[urom(inline, len = rows * 2 + columns)]
        many: &'a [u8],
        #[urom(inline, len = 1 << rows)]
        power: &'a [u8],
        #[urom(inline, len = rows - 1)]
        fewer: &'a [u8],
        #[urom(inline, len = rows / columns % rows >> columns)]
        shares: &'a [u8],
        #[urom(inline, len = -(rows as i64))]
        negative: &'a [u8],
        #[urom(inline, len = table[rows as usize])]
        indexed: &'a [u8],
        #[urom(inline, len = rows.checked_mul(2).unwrap())]
        unwrapped: &'a [u8],
        #[urom(inline, len = rows.pow(2))]
        squared: &'a [u8],
        #[urom(inline, len = (rows as i64) / -1)]
        overflowing: &'a [u8],
        #[urom(inline, when = rows + columns > 8)]
        maybe: Option<&'a [u8]>,
        #[urom(inline, when = matches!(rows * 3, 1 | 2))]
        chosen: Option<&'a [u8]>,
        #[urom(inline, len = rows / 2 + (1 << 4))]
        constants: &'a [u8],
    },
}

#[urom_notification]
enum Notification {
    Done,
}

fn main() {}
