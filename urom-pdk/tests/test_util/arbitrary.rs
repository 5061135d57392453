//! Arbitrary messages of every form: conditions, lengths, words and codecs hold for any bytes.

use bytemuck::{Pod, Zeroable};
use proptest::prelude::*;
use urom_abi::test_util::arbitrary::{Arbitrary, Error, Unstructured};
use urom_abi::{Elements, Payload, urom_command, urom_notification};
use urom_pdk::test_util::{Seed, messages, seeds};
use zerocopy::{Immutable, IntoBytes, TryFromBytes};

#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable, urom_abi::Described)]
pub(crate) struct Table {
    at: u64,
    rows: u32,
    columns: u32,
}

mod even {
    pub(crate) type Wire = u64;

    pub(crate) fn encode(value: &u64) -> u64 {
        *value
    }

    pub(crate) fn decode(value: u64) -> Result<u64, &'static str> {
        if value.is_multiple_of(2) { Ok(value) } else { Err("odd") }
    }
}

mod nothing {
    pub(crate) type Wire = u64;

    pub(crate) fn encode(value: &u64) -> u64 {
        *value
    }

    pub(crate) fn decode(_: u64) -> Result<u64, &'static str> {
        Err("never")
    }
}

#[urom_command(plugin = "worker_forms", version = 1, tag = u16)]
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Command<'m> {
    #[urom(reply = Answered)]
    Checked {
        rare: Rare,
        step: Step,
        on: bool,
        #[urom(inline)]
        text: &'m str,
        #[urom(inline, addr = none, len = text.len())]
        exact: &'m str,
    },
    #[urom(reply = Answered)]
    Optional {
        #[urom(inline)]
        first: Option<&'m [u8]>,
        #[urom(inline)]
        second: Option<Elements<'m, u32>>,
        #[urom(inline)]
        third: &'m [u8; 3],
    },
    #[urom(reply = Answered)]
    Members {
        table: Table,
        #[urom(inline, addr = table.at, len = table.rows)]
        rows: Elements<'m, u16>,
        #[urom(inline, addr = none, len = table.columns.checked_mul(table.rows), when = table.rows > 1)]
        cells: Option<&'m [u8]>,
    },
    #[urom(reply = Answered)]
    Narrow {
        #[urom(with = even)]
        even: u64,
        #[urom(inline, addr = none, len = count)]
        bytes: &'m [u8],
        #[urom(word)]
        count: u8,
    },
    #[urom(reply = Answered)]
    Unheard {
        #[urom(with = nothing)]
        nothing: u64,
    },
}

/// An enum that is rarely valid for random bytes, and never for zeros.
#[derive(
    Clone, Copy, Debug, PartialEq, TryFromBytes, IntoBytes, Immutable, urom_abi::Described,
)]
#[repr(u64)]
pub(crate) enum Rare {
    One = 1,
    Large = 1 << 40,
}

#[derive(
    Clone, Copy, Debug, PartialEq, TryFromBytes, IntoBytes, Immutable, urom_abi::Described,
)]
#[repr(C)]
pub(crate) struct Step {
    rare: Rare,
    flags: [bool; 4],
    letter: char,
}

#[urom_notification]
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Notification {
    Answered {
        #[urom(inline)]
        first: Option<Payload<u32>>,
        factor: u64,
        #[urom(inline, addr = none, len = factor.checked_mul(2), when = first.is_some())]
        second: Option<Payload>,
    },
}

fn round_trip(command: Command<'_>) {
    let mut bytes = vec![0; command.encoded_len().expect("it can be counted")];
    command.encode(&mut bytes).expect("it can be written");
    assert_eq!(Command::decode(&bytes).expect("it can be read"), command);
}

fn config() -> ProptestConfig {
    let cases = if cfg!(miri) { 1 } else { 512 };
    // One seed in five is for the impossible variant.
    let max_global_rejects = cases / 2 + 16;
    ProptestConfig {
        cases,
        max_global_rejects,
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn whatever_is_made_up_can_be_written_and_read(seed in seeds()) {
        match made::<Command<'_>>(&seed) {
            Ok(command) => round_trip(command),
            Err(_) => prop_assume!(false),
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "reads and frees nothing that other tests do not")]
    fn lengths_and_conditions_hold(seed in seeds()) {
        let Members { table, rows, cells } = seed.make();
        prop_assert_eq!(rows.len() as u32, table.rows);
        prop_assert_eq!(table.at, u64::from(!rows.is_empty()));
        prop_assert_eq!(cells.map(<[u8]>::len), (table.rows > 1).then(|| (table.rows * table.columns) as usize));
        let Narrow { even, bytes, .. } = seed.make();
        prop_assert!(even.is_multiple_of(2) && bytes.len() < 256);
    }

    #[test]
    #[cfg_attr(miri, ignore = "reads and frees nothing that other tests do not")]
    fn values_that_are_checked_are_made_whatever_the_bytes(seed in seeds()) {
        let Checked { rare, step, on, text, exact } = seed.make();
        prop_assert!(matches!(rare, Rare::One | Rare::Large));
        prop_assert_eq!(exact.len(), text.len());
        round_trip(Command::Checked { rare, step, on, text, exact });
    }

    #[test]
    fn a_notification_is_an_owner_of_what_it_brings(reply in messages::<Answered>()) {
        let len = reply.second.as_ref().map(|payload| payload.len() as u64);
        prop_assert_eq!(len, reply.first.as_ref().map(|_| reply.factor * 2));
    }
}

fn made<'a, T: Arbitrary<'a>>(seed: &'a Seed) -> Result<T, Error> {
    T::arbitrary(&mut Unstructured::new(seed.bytes()))
}

#[test]
#[cfg_attr(miri, ignore = "reads and frees nothing that other tests do not")]
fn payloads_by_address_are_there_and_are_not() {
    let kinds: Vec<bool> = (0..=255u8)
        .map(|byte| {
            let seed: Vec<u8> =
                (0..100).map(|i: u8| byte.wrapping_mul(i).wrapping_add(byte)).collect();
            Seed::new(&seed).make::<Optional<'_>>().first.is_some()
        })
        .collect();
    assert!(kinds.contains(&true) && kinds.contains(&false));
}

#[test]
#[cfg_attr(miri, ignore = "reads and frees nothing that other tests do not")]
fn lengths_are_not_always_0() {
    let tables: Vec<Seed> = (1..=255u8)
        .map(|byte| {
            let seed: Vec<u8> = (0..300).map(|i: u16| byte.wrapping_mul(i as u8 | 1)).collect();
            Seed::new(&seed)
        })
        .collect();
    assert!(tables.iter().any(|seed| !seed.make::<Members<'_>>().rows.is_empty()));
    assert!(tables.iter().any(|seed| seed.make::<Members<'_>>().cells.is_some()));
}

#[test]
fn no_bytes_make_zeros() {
    assert_eq!(format!("{:?}", Seed::new(&[1, 2])), "Seed::new(&[1, 2])");
    let seed = Seed::new(&[]);
    let Members { table, rows, cells } = seed.make();
    assert_eq!((table, rows.len(), cells), (Table::zeroed(), 0, None));
    assert_eq!(seed.make::<Narrow<'_>>(), Narrow { even: 0, bytes: &[] });
}

#[test]
#[cfg_attr(miri, ignore = "a panic prints where it comes from, which takes Miri seconds")]
fn an_impossible_value_is_an_error_and_no_endless_search() {
    let seed = Seed::new(&[0x77; 300]);
    assert!(matches!(made::<Unheard>(&seed), Err(Error::IncorrectFormat)));
    let text = crate::driving::panic_of(|| _ = seed.make::<Unheard>());
    assert!(text.starts_with("no ") && text.contains("Unheard could be made up"), "{text}");
}
