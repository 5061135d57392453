//! Arbitrary commands, as the macros make them up.

use graph_protocol::Loopback;
use proptest::prelude::*;
use sandbox_protocol::{MemMap, TagSend};
use test_protocols::ucc::{self, Coll, ContextCreate};
use urom_abi::Data;
use urom_pdk::test_util::seeds;

use super::{command, config, seen};

proptest! {
    #![proptest_config(config())]

    #[test]
    fn every_command_comes_back_as_it_was(seed in seeds()) {
        macro_rules! come_back {
            ($name:ident = $module:path { $($command:ident $(<$life:lifetime>)?),*; $($replies:tt)* }) => {{
                use $module as this;
                $(command(seed.make::<this::$command $(<$life>)?>());)*
            }};
        }
        robustness::every_message!(come_back);
    }
}

#[test]
#[cfg_attr(miri, ignore = "takes hundreds of values")]
fn what_is_made_up_is_of_every_kind() {
    let sends = seen(|seed| match seed.make::<TagSend<'_>>().data {
        Data::Inline([]) => "inline, empty",
        Data::Inline(bytes) if bytes.len() > 64 => "inline, long",
        Data::Inline(_) => "inline",
        Data::Registered(_) => "registered",
    });
    assert_eq!(sends, ["inline", "inline, empty", "inline, long", "registered"]);

    let numbers = seen(|seed| match seed.make::<Loopback>().data {
        0 => "zero",
        1..=255 => "small",
        0xffff_ffff_ffff_ff00.. => "near the end",
        _ => "any",
    });
    assert_eq!(numbers, ["any", "near the end", "small", "zero"]);

    let handles = seen(|seed| {
        let map = seed.make::<MemMap<'_>>();
        assert_eq!(map.map_params.exported_memh_buffer, u64::from(!map.exported_memh.is_empty()));
        if map.exported_memh.is_empty() { "without" } else { "with" }
    });
    assert_eq!(handles, ["with", "without"]);
}

#[test]
#[cfg_attr(miri, ignore = "takes hundreds of values")]
fn conditions_and_lengths_hold_by_construction() {
    let ranks = seen(|seed| {
        let create = seed.make::<ContextCreate<'_>>();
        assert_eq!(create.ranks.is_some(), create.stride <= 0);
        match create.ranks {
            None => "not listed",
            Some(ranks) => {
                assert_eq!(ranks.len() as u64, create.size);
                if ranks.is_empty() { "none listed" } else { "listed" }
            }
        }
    });
    assert_eq!(ranks, ["listed", "none listed", "not listed"]);

    let counts = seen(|seed| {
        let coll = seed.make::<Coll<'_>>();
        assert_eq!(coll.coll_args.len(), 1);
        let args = coll.coll_args.get(0).expect("there is one");
        let arrays = [
            (coll.source_counts, ucc::COUNT_64BIT),
            (coll.destination_counts, ucc::COUNT_64BIT),
            (coll.source_displacements, ucc::DISPLACEMENTS_64BIT),
            (coll.destination_displacements, ucc::DISPLACEMENTS_64BIT),
        ];
        for (array, wide) in arrays {
            assert_eq!(array.is_some(), args.coll_type & ucc::WITH_COUNTS != 0);
            let is_wide = args.mask & ucc::FIELD_FLAGS != 0 && args.flags & wide != 0;
            let unit = if is_wide { 8 } else { 4 };
            assert!(array.is_none_or(|array| array.len() as u64 == coll.team_size * unit));
        }
        match coll.source_counts {
            None | Some([]) => "nothing",
            Some(_) => "something",
        }
    });
    assert_eq!(counts, ["nothing", "something"]);
}
