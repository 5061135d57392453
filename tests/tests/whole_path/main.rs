//! The whole path, host program to plugin and back: each test body runs against `uromd` as
//! processes of its own and against the embedded service, with the built-in library and with a
//! `libdoca_urom.so` that is loaded. What plugins in C do as well runs with those, too.

mod commands;
mod deadlines;
mod domains;
mod given_up;
mod health;
mod losses;
mod provider;
mod refusals;
mod restarts;
mod sandbox;
mod workers;

use sandbox::{hostile, messages, registered};

/// Makes a test of each function for one provider.
macro_rules! on_provider {
    ($name:ident: $provider:expr; $($module:ident::{$($test:ident),* $(,)?})*) => {
        mod $name {
            use crate::provider::*;

            $($(
                #[test]
                fn $test() -> anyhow::Result<()> {
                    let provider = $provider?;
                    crate::$module::$test(Given::given(&provider)?)
                }
            )*)*
        }
    };
}

macro_rules! on_every_provider {
    ($($tests:tt)*) => {
        on_provider! { with_uromd: Provider::uromd(in_rust()?); $($tests)* }
        on_provider! { embedded: Provider::embedded(in_rust()?); $($tests)* }
        on_provider! {
            with_uromd_and_loaded_library: Provider::uromd(in_rust()?)?.loaded(); $($tests)*
        }
        on_provider! {
            embedded_in_loaded_library: Provider::embedded(in_rust()?)?.loaded(); $($tests)*
        }
    };
}

on_every_provider! {
    commands::{
        a_loopback_returns_what_was_sent,
        a_callback_gets_the_answer_inside_progress,
        sixty_four_in_flight_complete_in_order,
        commands_of_many_tasks_can_be_submitted_from_callbacks,
        a_panic_in_a_handler_is_one_error_and_the_plugin_lives,
        a_handler_keeps_its_own_code,
        a_handler_that_waits_is_woken,
        a_handler_that_sleeps_wakes_in_time_and_holds_up_nobody,
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
        a_plugin_of_another_layout_is_refused_with_the_first_difference,
        more_workers_than_agreed_are_refused,
    }
    domains::{
        eight_workers_in_four_processes_read_each_other_s_buffers,
        members_know_each_other_s_buffers_however_many,
        several_domains_share_a_worker_and_end_one_by_one,
        a_participant_that_dies_fails_the_start_of_the_others,
        an_id_that_two_processes_use_fails_the_start_of_both,
        a_domain_is_on_the_engine_of_its_workers,
        a_setting_that_is_refused_is_explained,
        waiting_for_a_domain_neither_hangs_nor_spins,
    }
    deadlines::{
        a_deadline_ends_a_future_and_its_answer_goes_to_nobody,
        a_deadline_ends_an_awaited_future_and_wakes_a_sleeper,
        a_deadline_makes_the_event_handle_readable,
        a_callback_is_told_once_that_its_deadline_passed,
        a_raw_task_has_a_deadline_too,
        a_worker_s_deadline_is_that_of_tasks_which_say_nothing,
        answers_around_their_deadline_are_right_or_late_but_never_another_s,
        a_deadline_of_zero_gives_a_task_up_at_the_first_look,
        a_cancelled_future_is_skipped_and_one_that_is_complete_is_not,
        a_callback_may_cancel_a_future_and_another_callback,
        late_tasks_that_use_a_worker_up_are_named,
        a_worker_with_late_tasks_stops_and_can_be_dropped,
    }
    given_up::{
        answers_to_dropped_futures_are_counted_apart,
        a_question_that_is_given_up_disturbs_no_other,
    }
    restarts::{
        a_worker_that_runs_is_not_restarted,
    }
    losses::{
        a_task_that_never_ends_is_answered_when_its_worker_stops,
        a_dropped_future_frees_its_task,
    }
    messages::{
        a_message_waits_for_its_receive,
        a_receive_waits_for_its_message,
        a_receive_past_its_deadline_takes_its_message_along,
        masks_choose_among_messages_and_senders_tags_are_told,
        a_message_that_is_too_long_ends_its_receive_alone,
        a_worker_sends_to_itself,
        many_messages_both_ways_at_once,
        a_destination_nobody_is_is_not_found,
        a_receive_that_is_pending_ends_with_its_worker,
        a_new_worker_is_found_under_the_id_of_one_that_is_gone,
        what_was_sent_arrives_though_its_worker_stops,
        the_answer_to_a_receive_may_have_more_room_than_a_message,
        room_that_no_answer_has_is_too_big_and_takes_no_message,
    }
    registered::{
        a_message_is_received_into_the_plugin_s_memory_and_sent_from_there,
        a_mebibyte_goes_from_host_to_plugin_to_host,
        parts_of_the_host_s_memory_are_sent_and_received_alone,
        a_message_too_long_for_registered_memory_is_truncated,
        sends_share_bytes_and_receives_do_not,
        bytes_are_a_receive_s_past_its_deadline_until_it_is_answered,
        a_handle_is_good_for_its_host_and_its_bytes_alone,
        what_cannot_be_registered_is_refused,
        a_host_cannot_register_without_end,
    }
    hostile::{
        bad_commands_among_good_ones_harm_nobody,
        answers_have_the_bytes_of_c_and_zeros_for_the_rest,
        a_message_that_no_answer_can_carry_is_too_big,
        an_answer_that_is_late_and_too_long_is_counted,
    }
}

// A thread cannot be killed or stopped.
macro_rules! on_processes {
    ($($tests:tt)*) => {
        on_provider! { processes: Provider::uromd(in_rust()?); $($tests)* }
        on_provider! {
            processes_and_loaded_library: Provider::uromd(in_rust()?)?.loaded(); $($tests)*
        }
    };
}

on_processes! {
    workers::{
        a_worker_is_shown_as_what_it_is,
    }
    domains::{
        a_worker_that_dies_fails_the_start_of_its_domain_and_of_the_next,
    }
    deadlines::{
        deadlines_fire_while_the_worker_is_stopped,
    }
    given_up::{
        a_question_is_given_up_while_the_daemon_is_stopped,
    }
    restarts::{
        a_worker_that_is_killed_is_restarted_with_nothing_in_flight,
        a_worker_that_another_host_has_started_again_is_joined,
        a_worker_that_is_stopped_is_restarted_with_its_environment,
        a_restart_without_a_service_says_so,
    }
    losses::{
        a_daemon_that_is_told_to_stop_ends_the_tasks_in_flight,
    }
}

// What takes seconds is tried with each place of the workers and each library, not in all pairs.
macro_rules! on_two_providers {
    ($plugins:ident: $first:ident, $second:ident; $($tests:tt)*) => {
        on_provider! { $first: Provider::uromd($plugins()?)?.loaded(); $($tests)* }
        on_provider! { $second: Provider::embedded($plugins()?); $($tests)* }
    };
}

on_two_providers! {
    in_rust: slow_with_uromd_and_loaded_library, slow_embedded;
    health::{
        a_plugin_that_does_not_return_is_named_until_it_does,
    }
}

on_two_providers! {
    in_c: c_with_uromd_and_loaded_library, c_embedded;
    commands::{
        a_loopback_returns_what_was_sent,
        a_callback_gets_the_answer_inside_progress,
        sixty_four_in_flight_complete_in_order,
        commands_of_many_tasks_can_be_submitted_from_callbacks,
    }
    workers::{
        four_workers_in_two_groups_from_four_threads,
    }
    refusals::{
        a_payload_over_the_limit_is_too_big_and_the_task_stays_with_the_caller,
    }
    messages::{
        a_message_waits_for_its_receive,
        a_receive_waits_for_its_message,
        masks_choose_among_messages_and_senders_tags_are_told,
        a_message_that_is_too_long_ends_its_receive_alone,
        many_messages_both_ways_at_once,
        a_destination_nobody_is_is_not_found,
        a_receive_that_is_pending_ends_with_its_worker,
        room_that_no_answer_has_is_too_big_and_takes_no_message,
    }
    registered::{
        a_message_is_received_into_the_plugin_s_memory_and_sent_from_there,
    }
    hostile::{
        bad_commands_among_good_ones_harm_nobody,
        answers_have_the_bytes_of_c_and_zeros_for_the_rest,
    }
}
