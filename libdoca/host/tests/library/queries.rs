//! Queries for the workers of a group.

use std::cell::RefCell;

use urom_abi::host::{CtxState, Data, GidTask};
use urom_abi::{DocaError, DocaStatus};

use crate::processes::with_service;
use crate::support::{Engine, OK, TestService, state};

thread_local! {
    static IDS: RefCell<Vec<(DocaStatus, Vec<u64>)>> = const { RefCell::new(Vec::new()) };
}

unsafe extern "C" fn note_ids(task: *mut GidTask, _: Data, _: Data) {
    let count = c!(doca_urom_service_get_workers_by_gid_task_get_workers_count(task));
    let ids = c!(doca_urom_service_get_workers_by_gid_task_get_worker_ids(task));
    assert_eq!(ids.is_null(), count == 0);
    let ids = match count {
        0 => Vec::new(),
        // SAFETY: the task's own list.
        _ => unsafe { std::slice::from_raw_parts(ids, count) }.to_vec(),
    };
    let as_task = c!(doca_urom_service_get_workers_by_gid_task_as_task(task));
    let status = c!(doca_task_get_status(as_task));
    assert_eq!(c!(doca_urom_service_get_workers_by_gid_task_release(task)), OK);
    IDS.with_borrow_mut(|all| all.push((status, ids)));
}

pub fn ids_of(engine: &Engine, service: &TestService, gid: u32) -> (DocaStatus, Vec<u64>) {
    let task = service.query(gid, note_ids);
    let as_task = c!(doca_urom_service_get_workers_by_gid_task_as_task(task));
    assert_eq!(c!(doca_urom_service_get_workers_by_gid_task_get_workers_count(task)), 0);
    assert!(c!(doca_urom_service_get_workers_by_gid_task_get_worker_ids(task)).is_null());
    assert_eq!(c!(doca_task_submit(as_task)), OK);
    assert_eq!(c!(doca_task_submit(as_task)), DocaError::NOT_PERMITTED);
    assert_eq!(
        c!(doca_urom_service_get_workers_by_gid_task_release(task)),
        DocaError::NOT_PERMITTED
    );
    assert_eq!(engine.in_flight(), 1);
    assert_eq!(engine.next(), 1);
    assert_eq!(engine.in_flight(), 0);
    IDS.take().remove(0)
}

#[test]
fn a_service_with_queries_out_stops_when_they_are_released() {
    with_service(|engine, service| {
        let task = service.query(0, note_ids);
        assert_eq!(c!(doca_ctx_stop(service.ctx)), DocaError::IN_PROGRESS);
        assert_eq!(state(service.ctx), CtxState::STOPPING);
        assert_eq!(c!(doca_ctx_stop(service.ctx)), DocaError::IN_PROGRESS);
        let as_task = c!(doca_urom_service_get_workers_by_gid_task_as_task(task));
        assert_eq!(c!(doca_task_submit(as_task)), DocaError::BAD_STATE);
        engine.is_quiet(1000);
        assert_eq!(c!(doca_urom_service_get_workers_by_gid_task_release(task)), OK);
        assert_eq!(engine.next(), 1);
        assert_eq!(state(service.ctx), CtxState::IDLE);
        // Again, with a pending query: its callback comes first.
        assert_eq!(c!(doca_ctx_start(service.ctx)), OK);
        let task = service.query(0, note_ids);
        let as_task = c!(doca_urom_service_get_workers_by_gid_task_as_task(task));
        assert_eq!(c!(doca_task_submit(as_task)), OK);
        assert_eq!(c!(doca_ctx_stop(service.ctx)), DocaError::IN_PROGRESS);
        assert_eq!(engine.next(), 1);
        assert_eq!(
            (IDS.take().remove(0).0, state(service.ctx)),
            (DocaStatus::SHUTDOWN, CtxState::STOPPING)
        );
        assert_eq!(engine.next(), 1);
        assert_eq!(state(service.ctx), CtxState::IDLE);
    });
}
