//! The build of a plugin that a host got listed, and the build that a worker runs.

use std::ptr::null_mut;

use urom_abi::DocaError;
use urom_abi::host::CtxState;

use crate::processes::{Plugins, Uromd, with_service};
use crate::support::{At, Engine, TestService, TestWorker, failure, has, state};

#[test]
fn a_plugin_in_c_has_no_fingerprint_and_no_description() {
    with_service(|_, service| {
        let fingerprint =
            |plugin, target| x!(urom_service_get_plugin_fingerprint(service.raw, plugin, target));
        let mut found = 7;
        assert_eq!(fingerprint(1, &raw mut found), DocaError::NOT_FOUND);
        assert_eq!(fingerprint(2, &raw mut found), DocaError::INVALID_VALUE);
        assert_eq!(fingerprint(1, null_mut()), DocaError::INVALID_VALUE);
        assert_eq!(found, 7);
        let description = |plugin, length| {
            x!(urom_service_get_plugin_description(service.raw, plugin, null_mut(), length))
        };
        let mut length = 0;
        assert_eq!(description(1, &raw mut length), DocaError::NOT_FOUND);
        has(&failure(service.ctx), &["`obedient` lacks a description"]);
        assert_eq!(description(2, &raw mut length), DocaError::INVALID_VALUE);
        assert_eq!(description(1, null_mut()), DocaError::INVALID_VALUE);
    });
}

/// Starts a worker that must not run. Returns its failure.
fn refusal(service: &TestService, engine: &Engine, id: u64) -> String {
    let worker = TestWorker::new(service.raw, engine, id, 4);
    assert_eq!(c!(doca_ctx_start(worker.ctx)), DocaError::IN_PROGRESS);
    assert_eq!(engine.next(), 1);
    assert_eq!(state(worker.ctx), CtxState::IDLE);
    let text = failure(worker.ctx);
    assert_eq!(x!(urom_ctx_get_failure_code(worker.ctx)), DocaError::UNSUPPORTED_VERSION, "{text}");
    text
}

#[test]
fn a_host_with_another_build_in_its_list_than_the_workers_is_refused() {
    let plugins = Plugins::obedient();
    let uromd = Uromd::start(&plugins);
    let engine = Engine::new();
    let before = TestService::start(&At::Address(uromd.address), &engine);
    let _old = TestWorker::start(before.raw, &engine, 1, 4);
    plugins.replace("obedient", &["-DVERSION=2"]);
    let text = refusal(&before, &engine, 2);
    has(&text, &["worker 2 runs another build of the plugin `obedient`"]);
    // New hosts get the new build listed, but worker 1 runs the old build.
    let after = TestService::start(&At::Address(uromd.address), &engine);
    let text = refusal(&after, &engine, 1);
    has(&text, &["worker 1 runs another build"]);
    TestWorker::start(after.raw, &engine, 3, 4);
}
