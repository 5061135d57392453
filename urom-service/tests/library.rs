//! The host library against a real daemon, a real worker process and a C plugin; and against the embedded service.

mod library_support;
mod support;

use library_support::{At, Engine, OK, TestService, TestWorker, command, take_done};
use support::client::op;
use support::plugins::Plugins;
use support::uromd::Uromd;

/// The same body for a daemon of its own and for the embedded service.
fn with_both(body: impl Fn(&At<'_>)) {
    let plugins = Plugins::obedient();
    let uromd = Uromd::start(&plugins);
    body(&At::Address(uromd.address));
    body(&At::Embedded(plugins.path()));
}

#[test]
fn a_command_comes_back() {
    with_both(|at| {
        let engine = Engine::new();
        let service = TestService::start(at, &engine);
        assert_eq!(service.plugins()[0].name(), Some("obedient"));
        let worker = TestWorker::start(service.raw, &engine, 7, 4);
        assert_eq!(worker.id(), Ok(7));
        engine.is_quiet(1000);
        worker.submit(&command(op::ECHO, 42));
        assert_eq!(engine.in_flight(), 1);
        assert_eq!(engine.next(), 1);
        let done = take_done();
        assert_eq!(done.len(), 1);
        assert_eq!((done[0].status, done[0].response.as_deref()), (OK, Some(&command(op::ECHO, 42)[..])));
        engine.is_quiet(1000);
        worker.end(&engine);
        service.end();
    });
}
