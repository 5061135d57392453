//! The library's log lines for hosts that only see codes: refused calls and pending waits.

use std::ptr::null_mut;

use urom_abi::cpu::CpuSet;
use urom_abi::host::CtxState;
use urom_abi::{DocaError, DocaStatus};

use crate::logged::logged;
use crate::processes::{Plugins, embedded};
use crate::support::{
    At, Engine, OK, TestService, TestWorker, as_task, command, failure, new_service, note_and_keep,
    state, until,
};

const INVALID: DocaStatus = DocaStatus::INVALID_VALUE;

/// Runs `call`, which must log one line of this level containing `parts`.
fn logs_at<T>(level: tracing::Level, parts: &[&str], call: impl FnOnce() -> T) -> T {
    let (result, lines) = logged(call);
    let of_level: Vec<_> = lines.iter().filter(|(of, _)| *of == level).collect();
    let [(_, line)] = of_level[..] else { panic!("one line of {level}: {lines:?}") };
    assert!(parts.iter().all(|part| line.contains(part)), "{parts:?}: {line}");
    result
}

fn warns<T>(parts: &[&str], call: impl FnOnce() -> T) -> T {
    logs_at(tracing::Level::WARN, parts, call)
}

#[test]
fn a_setting_that_is_refused_is_explained_in_the_log_and_by_the_failure() {
    let engine = Engine::new();
    let plugins = Plugins::obedient();
    let service = new_service(&At::Embedded(plugins.path()));
    let code = warns(&["7 workers", "power of two"], || {
        c!(doca_urom_service_set_max_workers(service.raw, 7))
    });
    assert_eq!(code, INVALID);
    assert!(failure(service.ctx).contains("7 workers"));
    warns(&["messages of at most 3 bytes"], || {
        c!(doca_urom_service_set_max_comm_msg_size(service.raw, 3))
    });
    warns(&["device is NULL"], || c!(doca_urom_service_set_dev(service.raw, null_mut())));
    service.destroy();

    let service = TestService::start(&At::Embedded(plugins.path()), &engine);
    let worker = TestWorker::new(service.raw, &engine, 1, 4);
    let none = CpuSet::empty();
    warns(&["at least one CPU"], || c!(doca_urom_worker_set_cpuset(worker.raw, none)));
    let cpus: CpuSet = "1023".parse().unwrap();
    warns(&["1023", "not all among the service's"], || {
        c!(doca_urom_worker_set_cpuset(worker.raw, cpus))
    });
    assert!(failure(worker.ctx).contains("1023"));
    warns(&["0x0 are not plugins"], || c!(doca_urom_worker_set_plugins(worker.raw, 0)));
    warns(&["0 tasks in flight"], || c!(doca_urom_worker_set_max_inflight_tasks(worker.raw, 0)));
    let strings = [c"NAME=value".as_ptr().cast_mut(), c"NAMELESS".as_ptr().cast_mut()];
    let refused = warns(&["`NAMELESS`", "NAME=VALUE"], || {
        c!(doca_urom_worker_set_env(worker.raw, strings.as_ptr(), 2))
    });
    assert_eq!(refused, INVALID);
}

#[test]
fn a_count_of_tasks_that_is_no_power_of_two_is_taken_with_a_warning() {
    let (_plugins, engine, service) = embedded();
    let worker = TestWorker::new(service.raw, &engine, 1, 4);
    let code = warns(&["5 tasks", "power of two", "8"], || {
        c!(doca_urom_worker_set_max_inflight_tasks(worker.raw, 5))
    });
    assert_eq!(code, OK);
    worker.run(&engine);
    let tasks: Vec<_> = (0..5).map(|_| worker.allocate().unwrap()).collect();
    let full = logs_at(
        tracing::Level::DEBUG,
        &["of 5 tasks the host has 5", "set_max_inflight_tasks"],
        || worker.allocate(),
    );
    assert_eq!(full, Err(DocaError::NO_MEMORY));
    for task in tasks {
        assert_eq!(c!(doca_urom_worker_cmd_task_release(task)), OK);
    }
}

#[test]
fn a_payload_that_is_too_long_is_explained_when_it_is_set_and_when_it_is_submitted() {
    let (_plugins, engine, service) = embedded();
    let worker = TestWorker::start(service.raw, &engine, 1, 4);
    let task = worker.allocate().unwrap();
    let buf = c!(doca_urom_worker_cmd_task_get_payload(task));
    let mut data = null_mut();
    assert_eq!(c!(doca_buf_get_data(buf, &mut data)), OK);
    let code = warns(&["100000 bytes", "set_max_comm_msg_size"], || {
        c!(doca_buf_set_data(buf, data, 100_000))
    });
    assert_eq!(code, INVALID);
    let code = warns(&["not sent", "DOCA_ERROR_TOO_BIG"], || c!(doca_task_submit(as_task(task))));
    assert_eq!(code, DocaError::TOO_BIG);
    let outside = data.wrapping_byte_sub(64);
    warns(&["outside", "doca_buf_get_data"], || c!(doca_buf_set_data(buf, outside, 8)));
    assert_eq!(c!(doca_urom_worker_cmd_task_release(task)), OK);
}

#[test]
fn a_worker_that_waits_for_tasks_to_be_released_logs_it_once() {
    let (_plugins, engine, service) = embedded();
    let worker = TestWorker::start(service.raw, &engine, 7, 4);
    let idle = worker.allocate().unwrap();
    // In flight when the worker stops, and kept by its callback.
    let kept = worker.task(&command(2, 0));
    c!(doca_urom_worker_cmd_task_set_cb(kept, Some(note_and_keep)));
    assert_eq!(c!(doca_task_submit(as_task(kept))), OK);
    let ((), lines) = logged(|| {
        assert_eq!(c!(doca_ctx_stop(worker.ctx)), DocaError::IN_PROGRESS);
    });
    assert!(
        lines.iter().all(|(level, _)| *level != tracing::Level::WARN),
        "it may release them yet: {lines:?}"
    );
    let waiting = "worker 7 is stopping and waits for 2 tasks to be released (doca_urom_worker_cmd_task_release)";
    let mut warnings = Vec::new();
    until("nothing is logged", || {
        let (_, lines) = logged(|| engine.progress());
        warnings.extend(lines.into_iter().filter(|(_, line)| line.contains("stopping")));
        !warnings.is_empty()
    });
    assert_eq!(warnings, [(tracing::Level::WARN, waiting.to_owned())]);
    let ((), lines) = logged(|| {
        assert_eq!(c!(doca_urom_worker_cmd_task_release(idle)), OK);
        engine.is_quiet(100);
        assert_eq!(c!(doca_urom_worker_cmd_task_release(kept)), OK);
    });
    assert!(lines.iter().all(|(_, line)| !line.contains("stopping")), "{lines:?}");
    assert_eq!(engine.next(), 1);
    assert_eq!(state(worker.ctx), CtxState::IDLE);
    crate::support::take_done();
}

#[test]
fn a_service_without_plugins_and_the_available_devices_are_logged() {
    let engine = Engine::new();
    let plugins = Plugins::empty();
    let service = warns(&["serves no plugins", "the plugin path that this program gives"], || {
        TestService::start(&At::Embedded(plugins.path()), &engine)
    });
    let (mut list, mut count) = (std::ptr::null(), 7);
    let code = c!(doca_urom_service_get_plugins_list(service.raw, &mut list, &mut count));
    assert_eq!((code, count), (DocaStatus::NOT_FOUND, 7));
    let (mut list, mut count) = (null_mut(), 0);
    let code = logs_at(tracing::Level::DEBUG, &["the devices are", "UROM_DEVICE"], || {
        c!(doca_devinfo_create_list(&mut list, &mut count))
    });
    assert_eq!(code, OK);
    assert_eq!(c!(doca_devinfo_destroy_list(list)), OK);
}
