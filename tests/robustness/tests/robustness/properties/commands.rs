//! Arbitrary commands, as the macros make them up.

use graph_protocol::Loopback;
use proptest::prelude::*;
use sandbox_protocol::{MemMap, TagSend};
use test_protocols::ucc::{Coll, ContextCreate};
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

    // That conditions and lengths hold is checked as each command is written.
    let ranks = seen(|seed| match seed.make::<ContextCreate<'_>>().ranks {
        None => "not listed",
        Some(ranks) if ranks.is_empty() => "none listed",
        Some(_) => "listed",
    });
    assert_eq!(ranks, ["listed", "none listed", "not listed"]);

    let counts = seen(|seed| match seed.make::<Coll<'_>>().source_counts {
        None | Some([]) => "nothing",
        Some(_) => "something",
    });
    assert_eq!(counts, ["nothing", "something"]);
}
