//! The whole path, host program to plugin and back: each test body runs against `uromd` as processes of its own and
//! against the embedded service.

mod commands;
mod domains;
mod losses;
mod provider;
mod refusals;
mod workers;

use provider::Provider;

/// Makes two tests of each function: one for each provider.
macro_rules! on_every_provider {
    ($($module:ident::{$($test:ident),* $(,)?})*) => {
        mod with_uromd {
            $($(
                #[test]
                fn $test() -> anyhow::Result<()> {
                    crate::$module::$test(&crate::Provider::uromd()?)
                }
            )*)*
        }

        mod embedded {
            $($(
                #[test]
                fn $test() -> anyhow::Result<()> {
                    crate::$module::$test(&crate::Provider::embedded()?)
                }
            )*)*
        }
    };
}

on_every_provider! {
    commands::{
        a_loopback_returns_what_was_sent,
        a_callback_gets_the_answer_inside_progress,
        sixty_four_in_flight_complete_in_order,
        a_hundred_thousand_values_come_back_right,
        commands_of_many_tasks_can_be_submitted_from_callbacks,
        a_panic_in_a_handler_is_one_error_and_the_plugin_lives,
        a_handler_keeps_its_own_code,
        a_handler_that_waits_is_woken,
        bytes_that_are_no_command_are_invalid,
        two_plugins_in_one_worker_answer_side_by_side,
    }
    workers::{
        four_workers_in_two_groups_from_four_threads,
        two_hosts_share_one_worker,
        a_worker_gets_an_id_when_it_asks_for_any,
        a_stopped_worker_s_id_can_be_used_again,
        environment_reaches_the_worker,
        cpus_reach_the_worker,
        a_group_without_workers_is_empty,
        the_service_keeps_going_when_a_host_leaves,
    }
    refusals::{
        a_payload_over_the_limit_is_too_big_and_the_task_stays_with_the_caller,
        more_tasks_than_agreed_are_refused,
        an_environment_for_a_worker_that_exists_is_refused,
        cpus_the_service_does_not_have_are_refused,
        a_plugin_the_service_does_not_have_is_not_found,
        more_workers_than_agreed_are_refused,
    }
    domains::{
        eight_workers_in_four_processes_read_each_other_s_buffers,
        members_know_each_other_s_buffers_however_many,
        several_domains_share_a_worker_and_end_one_by_one,
        a_participant_that_dies_fails_the_start_of_the_others,
        an_id_that_two_processes_use_fails_the_start_of_both,
        a_domain_is_on_the_engine_of_its_workers,
        waiting_for_a_domain_neither_hangs_nor_spins,
    }
    losses::{
        a_task_that_never_ends_is_answered_when_its_worker_stops,
        a_dropped_future_frees_its_task,
    }
}
