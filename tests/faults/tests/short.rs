//! Runs the short form of every suite.

use anyhow::Result;
use urom_faults::{Extent, Length, SUITES, seed_from};

macro_rules! short {
    ($($test:ident: $suite:literal;)*) => {$(
        #[test]
        fn $test() -> Result<()> {
            let suite = SUITES.iter().find(|suite| suite.name == $suite).expect("a suite");
            let seed = seed_from(None)?;
            let extent = Extent { length: Length::Short, rounds: None, commands: None, seed };
            let outcome = suite.run(&extent)?;
            println!("{}: {outcome:?}", suite.name);
            outcome.check(suite.name)
        }
    )*};
}

short! {
    after_a_death_or_a_stop_the_others_receive_the_reason_and_continue: "chaos";
    a_link_that_is_cut_is_noticed_and_one_that_is_slow_is_not_taken_for_it: "network";
    a_throng_is_admitted_without_effect_on_connected_hosts: "throng";
    nothing_stalls_the_daemon: "stalls";
    however_many_hosts_died_the_next_needs_no_more_memory: "turnover";
    many_workers_plugins_and_hosts_are_served_at_a_time: "scale";
    however_many_commands_there_were_the_next_needs_no_more_memory: "endurance";
    a_plugin_that_misbehaves_is_the_trouble_of_its_worker_alone: "plugins";
    a_host_that_floods_or_reads_nothing_does_not_delay_other_hosts: "hosts";
}
