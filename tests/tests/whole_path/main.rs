//! The whole path from host to plugin and back: each test body runs against `uromd` and against the
//! embedded service. One of them uses the built-in library, the other a loaded `libdoca_urom.so`;
//! commands run in all four pairs. Bodies also run with only DOCA's interface between worker and
//! plugins, and with C plugins where these exist.

mod beyond_doca;
mod cancelled;
mod commands;
mod deadlines;
mod domains;
mod health;
mod host_process;
mod memory;
mod memory_lost;
mod memory_model;
mod memory_sharing;
mod paths;
mod provider;
mod rdma;
mod rdma_lost;
mod rdmo;
mod restarts;
mod sandbox;
mod sync_events;
mod workers;

use sandbox::{host_memory, hostile, messages, registered};

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
        on_provider! { with_plain_uromd: Provider::plain_uromd(in_rust()?); $($tests)* }
        on_provider! {
            embedded_in_loaded_library: Provider::embedded(in_rust()?)?.loaded(); $($tests)*
        }
    };
}

// With only DOCA's interface, plugins cannot use hosts' memory. Slow tests cover each worker type
// and each library once.
macro_rules! on_two_providers {
    ($plugins:ident: $first:ident, $second:ident; $($tests:tt)*) => {
        on_provider! { $first: Provider::uromd($plugins()?)?.loaded(); $($tests)* }
        on_provider! { $second: Provider::embedded($plugins()?); $($tests)* }
    };
}

on_every_provider! {
    beyond_doca::{
        a_cancelled_command_is_informed_of_the_reason,
        commands_of_a_host_that_leaves_end_before_the_plugin_is_informed,
        a_context_returns_the_data_of_its_worker,
        a_failure_s_reason_reaches_the_host,
        answers_of_pending_and_of_ready_commands_are_right_whatever_their_order,
    }
    commands::{
        a_loopback_returns_what_was_sent,
        sixty_four_in_flight_complete_in_order,
        a_handler_keeps_its_own_code_and_a_panic_is_one_error,
        a_handler_that_sleeps_wakes_in_time_and_delays_no_other_command,
    }
    workers::{
        a_stopped_worker_s_id_can_be_used_again,
        environment_reaches_the_worker,
        cpus_reach_the_worker,
    }
    domains::{
        eight_workers_in_four_processes_read_each_other_s_buffers,
        a_wait_for_other_participants_does_not_spin,
    }
    deadlines::{
        a_deadline_ends_a_future_and_its_answer_is_discarded,
        a_callback_is_called_once_when_its_deadline_passes,
        a_raw_task_has_a_deadline_too,
        a_worker_s_deadline_applies_to_tasks_without_their_own,
        answers_around_their_deadline_are_right_or_late_but_never_another_s,
        a_deadline_of_zero_cancels_a_task_at_the_first_check,
        a_cancelled_future_is_skipped_and_one_that_is_complete_is_not,
        a_callback_may_cancel_a_future_and_another_callback,
        late_tasks_that_use_a_worker_up_are_named,
    }
    messages::{
        a_message_waits_for_its_receive,
        a_receive_waits_for_its_message,
        a_receive_past_its_deadline_takes_no_message_if_its_plugin_is_informed,
        masks_choose_among_messages_and_senders_tags_are_reported,
        many_messages_both_ways_at_once,
        a_receive_that_is_pending_ends_with_its_worker,
        a_new_worker_is_found_under_the_id_of_one_that_is_gone,
        a_sent_message_arrives_though_its_worker_stops,
        the_answer_to_a_receive_may_have_more_capacity_than_a_message,
        a_capacity_that_no_answer_has_is_too_big_and_takes_no_message,
    }
    registered::{
        a_message_is_received_into_the_plugin_s_memory_and_sent_from_there,
        a_message_too_long_for_registered_memory_is_truncated,
        bytes_are_a_receive_s_until_it_is_answered_also_past_its_deadline,
        registrations_end_with_their_host,
        a_handle_is_good_for_its_host_and_its_bytes_alone,
        an_invalid_registration_is_refused,
        a_host_cannot_register_without_end,
    }
    hostile::{
        bad_commands_among_good_ones_are_harmless,
        answers_have_the_bytes_of_c_and_zeros_for_the_rest,
    }
    rdmo::{
        an_initiator_appends_scatters_and_flushes,
        a_host_that_leaves_takes_nothing_from_another,
    }
}

on_two_providers! {
    in_rust: with_uromd_and_loaded_library, embedded;
    commands::{
        a_loopback_returns_what_was_sent,
        sixty_four_in_flight_complete_in_order,
    }
    health::{
        a_plugin_that_does_not_return_is_named_until_it_does,
    }
    memory::{
        bytes_go_both_ways_on_each_path,
        atomic_operations_see_each_other_on_each_path,
        memory_that_is_mapped_is_used_in_place,
        megabytes_are_copied_from_one_memory_to_another,
        a_forbidden_access_is_refused_on_each_path,
        memory_ends_with_its_share_and_the_last_command_that_uses_it,
        commands_that_were_submitted_before_the_end_of_a_share_find_it,
        a_cancelled_share_leaves_nothing,
        memory_of_one_connection_is_not_another_s,
        memory_outlives_its_owner_s_handles,
        memory_that_is_not_mapped_ends_with_its_connection,
        memory_shared_again_is_not_freed_while_an_earlier_share_is_used,
        a_worker_that_was_left_writes_to_no_memory_of_this_process,
        shared_memory_of_a_host_that_left_is_gone_unless_it_is_mapped,
    }
    memory_lost::{
        a_thousand_shares_leave_no_descriptors_and_mappings,
    }
    memory_model::{
        random_operations_do_what_they_do_to_vectors,
    }
    host_memory::{
        a_mebibyte_goes_from_host_to_plugin_to_host,
        messages_of_all_lengths_go_from_one_host_s_memory_to_another_s,
        parts_of_the_host_s_memory_are_sent_and_received_alone,
        bytes_of_the_host_are_one_receive_s_or_any_number_of_sends,
        memory_that_may_not_be_written_is_sent_but_not_received_into,
        memory_that_is_too_large_to_copy_is_harmless,
        a_cancelled_receive_gives_the_host_s_memory_back,
        memory_of_a_host_that_leaves_during_a_receive_is_its_own_again,
        a_send_from_memory_of_a_host_that_leaves_is_harmless,
    }
    rdma::{
        every_operation_moves_its_bytes,
        many_operations_are_in_flight_and_complete_in_order,
        buffers_are_gathered_scattered_and_given_back,
        a_failure_brings_both_ends_to_error_and_a_restart_helps,
        memory_is_its_owners_again_after_its_release,
        operations_keep_their_order_while_new_memory_is_shared,
        callbacks_receive_results_and_may_begin_more,
        an_instance_waits_for_new_memory_of_its_own_alone,
        a_host_that_leaves_is_a_failure_of_the_other_end,
    }
    rdmo::{
        shared_memory_is_appended_to_and_scattered_into_on_each_path,
        shared_memory_ends_with_its_region_or_its_host,
    }
    sync_events::{
        a_counter_is_the_same_on_both_sides,
        a_plugin_waits_for_its_host,
        a_host_waits_for_its_plugin,
        a_handler_reports_its_progress_while_its_command_runs,
        a_counter_in_memory_of_the_host_s_own_is_between_other_words,
        workers_wait_for_each_other,
        many_commands_wait_for_one_counter,
        a_counter_that_plugins_may_only_read_is_loaded_and_waited_for,
        a_range_that_is_not_a_counter_is_refused,
        an_abandoned_wait_holds_its_memory_for_a_second_at_most,
        a_wait_ends_with_its_host,
    }
}

on_provider! {
    plain_uromd: Provider::plain_uromd(in_rust()?);
    memory::{ memory_is_not_supported_by_docas_interface_alone }
    sync_events::{ counters_are_not_supported_by_docas_interface_alone }
}

// Needs workers that can be killed or stopped.
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
        a_second_context_has_the_same_worker_and_a_domain_of_its_own,
        a_worker_is_shown_as_what_it_is,
    }
    domains::{
        a_worker_that_dies_fails_the_start_of_its_domain_and_of_the_next,
    }
    deadlines::{
        deadlines_fire_while_the_worker_is_stopped,
    }
    host_memory::{
        a_host_that_is_killed_in_the_middle_of_messages_is_harmless,
    }
    cancelled::{
        a_query_is_cancelled_while_the_daemon_is_stopped,
    }
    memory_lost::{
        a_host_that_is_killed_takes_nothing_from_another,
        a_host_that_is_stopped_for_a_moment_loses_nothing,
        a_host_that_is_killed_while_it_is_stopped_is_lost,
        memory_that_its_host_unmaps_costs_its_commands_alone,
        memory_that_is_mapped_cannot_be_truncated,
        memory_is_kept_while_a_worker_that_was_dropped_is_stopped,
    }
    rdma_lost::{
        a_worker_that_is_killed_is_a_failure_of_the_other_end_at_each_point,
        a_host_that_is_killed_is_a_failure_of_the_other_end_at_each_point,
    }
    restarts::{
        a_worker_that_is_killed_is_restarted_with_nothing_in_flight,
        a_worker_that_another_host_has_started_again_is_joined,
        a_worker_that_is_stopped_is_restarted_with_its_environment,
        a_restart_without_a_service_names_the_cause,
    }
}

on_two_providers! {
    in_c: c_with_uromd_and_loaded_library, c_embedded;
    commands::{
        a_loopback_returns_what_was_sent,
        sixty_four_in_flight_complete_in_order,
    }
    messages::{
        a_message_waits_for_its_receive,
        a_receive_waits_for_its_message,
        masks_choose_among_messages_and_senders_tags_are_reported,
        many_messages_both_ways_at_once,
        a_receive_that_is_pending_ends_with_its_worker,
        a_capacity_that_no_answer_has_is_too_big_and_takes_no_message,
    }
    registered::{
        a_message_is_received_into_the_plugin_s_memory_and_sent_from_there,
    }
    hostile::{
        bad_commands_among_good_ones_are_harmless,
        answers_have_the_bytes_of_c_and_zeros_for_the_rest,
    }
}
