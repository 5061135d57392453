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
    #[urom(reply = Done)]
    Call {
        rows: u64,
        columns: u64,
        #[urom(inline, len = rows.div_ceil(columns))]
        ceiled: &'a [u8],
        #[urom(inline, len = rows.div_ceil(0))]
        by_zero: &'a [u8],
        #[urom(inline, len = rows.wrapping_rem(columns).next_multiple_of(8))]
        rest: &'a [u8],
        #[urom(inline, len = rows.ilog10().isqrt())]
        roots: &'a [u8],
        #[urom(inline, len = rows.clamp(columns, 8))]
        clamped: &'a [u8],
        #[urom(inline, len = (1..rows).step_by(columns as usize).sum::<u64>())]
        summed: &'a [u8],
        #[urom(inline, len = rows.strict_add(1))]
        strict: &'a [u8],
        #[urom(inline, len = Option::expect(rows.checked_add(1), "few"))]
        expected: &'a [u8],
        #[urom(inline, len = u64::pow(rows, 2))]
        by_path: &'a [u8],
        #[urom(inline, len = core::ops::Mul::mul(rows, columns))]
        by_trait: &'a [u8],
        #[urom(inline, len = <u64 as std::ops::Div>::div(rows, columns))]
        by_path_of_type: &'a [u8],
        #[urom(inline, len = rows.checked_add(1).map_or(0, u64::isqrt))]
        by_value: &'a [u8],
        #[urom(inline, len = rows.sub(columns))]
        by_operator: &'a [u8],
        #[urom(inline, when = matches!(rows, many if many * 2 > 8))]
        guarded: Option<&'a [u8]>,
        #[urom(inline, len = unreachable!("{}", rows))]
        unreachable: &'a [u8],
        #[urom(inline, when = { assert!(rows > 0); true })]
        asserted: Option<&'a [u8]>,
        #[urom(inline, len = loop { break rows; })]
        looped: &'a [u8],
        #[urom(inline, len = if rows > 1 { let more = rows; more } else { 0 })]
        stated: &'a [u8],
    },
}

#[urom_notification]
enum Notification {
    Done,
}

fn main() {}
