//! A library with DOCA's functions only: errors have codes and this crate's own reasons.

use urom_host::{DocaError, Health, ProgressEngine, Service, ServiceBuilder, block_on_for};

use crate::fake;
use crate::{LIMIT, fails, send, start};

fn builder() -> ServiceBuilder {
    Service::builder().library(fake::plain_library())
}

#[test]
fn it_connects_where_the_environment_says_and_nowhere_else() {
    let _clean = fake::clean();
    let service = builder().connect_blocking().unwrap();
    let (graph, worker) = start(&service, 0);
    assert_eq!(send(&graph, &worker, 7).wait().unwrap().data, 7);
    assert_eq!(service.failure(), None);
    assert_eq!(worker.health(), Health::Unknown, "no service can be asked");
    for builder in
        [builder().address("fake:1"), builder().embedded(), builder().plugin_paths(["/nowhere"])]
    {
        fails(builder.connect_blocking(), DocaError::NOT_SUPPORTED, &["set that variable instead"]);
    }
}

#[test]
fn a_worker_that_does_not_start_is_an_error_with_its_id() {
    let _clean = fake::clean();
    let service = builder().connect_blocking().unwrap();
    let graph = service.plugin::<crate::Graph>().unwrap();
    let error = service.worker().id(fake::id::FAILS).plugin(&graph).start().wait().unwrap_err();
    assert_eq!(error.code(), DocaError::INITIALIZATION);
    assert!(error.to_string().contains(&format!("worker {}", fake::id::FAILS)), "{error}");
    assert!(!error.to_string().contains(fake::FAILURE), "this is unknown: {error}");
}

#[test]
fn a_start_that_ends_while_it_is_polled_ends_whether_or_not_the_library_counts_that() {
    let _clean = fake::clean();
    let service = builder().connect_blocking().unwrap();
    let graph = service.plugin::<crate::Graph>().unwrap();
    let start = service.worker().id(fake::id::FAILS_UNCOUNTED).plugin(&graph).start();
    assert_eq!(block_on_for(LIMIT, start).unwrap().unwrap_err().code(), DocaError::INITIALIZATION);
}

#[test]
fn a_service_is_of_its_engine_s_library_whatever_it_is_asked_for() {
    let _clean = fake::clean();
    let engine = ProgressEngine::with_library(fake::plain_library()).unwrap();
    assert_eq!(
        Service::builder().engine(&engine).connect_blocking().unwrap().library(),
        fake::plain_library()
    );
    fails(
        Service::builder().engine(&engine).embedded().connect_blocking(),
        DocaError::NOT_SUPPORTED,
        &[],
    );
    fails(
        Service::builder().library(fake::library()).engine(&engine).connect_blocking(),
        DocaError::INVALID_VALUE,
        &[],
    );
}

#[cfg(not(feature = "builtin"))]
#[test]
fn a_program_that_has_no_library_and_names_none_is_told_how_to() {
    let connect = |builder: ServiceBuilder| builder.connect_blocking().map(drop).unwrap_err();
    for error in
        [connect(Service::builder().address("fake:1")), connect(Service::builder().embedded())]
    {
        assert_eq!(error.code(), DocaError::NOT_FOUND, "{error}");
        assert!(error.to_string().contains("set UROM_DOCA_LIBRARY to the path"), "{error}");
    }
}
