//! Domains by the table's functions, and the seeker plugin's view of them.

use std::ffi::c_void;
use std::ptr::null_mut;

use urom_abi::host::{Ctx, CtxState, Domain, Service};
use urom_abi::{DocaError, DocaStatus};

use crate::processes::{Plugins, Uromd};
use crate::rally::{Party, Rally};
use crate::support::{At, Engine, OK, TestService, TestWorker, destroy, failure, state, until};

pub mod op {
    pub const OWN: u64 = 0;
    pub const ADDR: u64 = 1;
    pub const SEG: u64 = 2;
    pub const MEMH: u64 = 3;
    pub const MKEY: u64 = 4;
    pub const KEEP: u64 = 5;
    pub const KEPT: u64 = 6;
    pub const NULLS: u64 = 7;
    pub const HUNT: u64 = 8;
    pub const RETURN: u64 = 9;
}

pub fn with_seekers(body: impl Fn(&At<'_>)) {
    let plugins = Plugins::seekers();
    let uromd = Uromd::start(&plugins);
    body(&At::Address(uromd.address));
    body(&At::Embedded(plugins.path()));
}

pub fn with_workers<const N: usize>(body: impl Fn(&Engine, [TestWorker; N])) {
    with_seekers(|at| {
        let engine = Engine::new();
        let service = TestService::start(at, &engine);
        let workers = std::array::from_fn(|number| seeker(service.raw, &engine, number as u64));
        body(&engine, workers);
    });
}

pub fn with_one(body: impl FnOnce(&Engine, &TestService, TestWorker)) {
    let plugins = Plugins::seekers();
    let engine = Engine::new();
    let service = TestService::start(&At::Embedded(plugins.path()), &engine);
    let worker = seeker(service.raw, &engine, 1);
    body(&engine, &service, worker);
}

/// Two participants in this thread, with an engine and a worker each.
pub struct Two<'a> {
    pub engines: [&'a Engine; 2],
    pub workers: [TestWorker; 2],
    pub parties: [Box<Party>; 2],
}

pub fn with_two(body: impl FnOnce(&TestService, &mut Two<'_>)) {
    with_one(|engine, service, worker| {
        let other = Engine::new();
        let there = seeker(service.raw, &other, 2);
        let rally = Rally::new(2);
        let parties = [rally.party(0), rally.party(1)];
        body(service, &mut Two { engines: [engine, &other], workers: [worker, there], parties });
    });
}

impl Two<'_> {
    pub fn domains(&self, ids: [u64; 2]) -> [TestDomain; 2] {
        [0, 1].map(|at| {
            TestDomain::new(self.engines[at], &self.parties[at], &[(ids[at], self.workers[at])])
        })
    }

    /// Runs both starts to their ends. Returns the counts of nonzero progress calls.
    pub fn together(&self, domains: &[TestDomain; 2]) -> Vec<u32> {
        domains.iter().for_each(TestDomain::start);
        together(&[(self.engines[0], &domains[0]), (self.engines[1], &domains[1])])
    }

    pub fn meet(&self, domains: &[TestDomain; 2]) {
        domains.iter().for_each(TestDomain::start);
        meet(&[(self.engines[0], &domains[0]), (self.engines[1], &domains[1])]);
    }

    pub fn is_quiet(&self) {
        self.engines.iter().for_each(|engine| engine.is_quiet(1000));
    }
}

#[derive(Clone, Copy)]
pub struct TestDomain {
    pub raw: *mut Domain,
    pub ctx: *mut Ctx,
}

impl TestDomain {
    /// A connected domain without configuration.
    pub fn bare(engine: &Engine) -> TestDomain {
        let mut raw = null_mut();
        assert_eq!(c!(doca_urom_domain_create(&mut raw)), OK);
        let ctx = c!(doca_urom_domain_as_ctx(raw));
        engine.connect(ctx, |ctx| c!(doca_urom_domain_destroy(ctx.cast())));
        TestDomain { raw, ctx }
    }

    /// A configured domain. All arguments are freed or overwritten afterwards.
    pub fn new(engine: &Engine, party: &Party, workers: &[(u64, TestWorker)]) -> TestDomain {
        let domain = TestDomain::bare(engine);
        let mut oob = party.oob();
        assert_eq!(c!(doca_urom_domain_set_oob(domain.raw, &mut oob)), OK);
        (oob.allgather, oob.req_test, oob.req_free) = (None, None, None);
        std::hint::black_box(&oob);
        assert_eq!(domain.set_workers(workers), OK);
        domain
    }

    pub fn set_workers(&self, workers: &[(u64, TestWorker)]) -> DocaStatus {
        let mut ids: Vec<u64> = workers.iter().map(|(id, _)| *id).collect();
        let mut raw: Vec<_> = workers.iter().map(|(_, worker)| worker.raw).collect();
        let code = c!(doca_urom_domain_set_workers(
            self.raw,
            ids.as_mut_ptr(),
            raw.as_mut_ptr(),
            ids.len()
        ));
        ids.fill(u64::MAX);
        raw.fill(null_mut());
        code
    }

    pub fn set_count(&self, count: usize) -> DocaStatus {
        c!(doca_urom_domain_set_buffers_count(self.raw, count))
    }

    pub fn add(&self, va: usize, len: usize, memh: &[u8], mkey: &[u8]) -> DocaStatus {
        let (mut memh, mut mkey) = (memh.to_vec(), mkey.to_vec());
        let (h, k): (*mut c_void, *mut c_void) =
            (memh.as_mut_ptr().cast(), mkey.as_mut_ptr().cast());
        let va = std::ptr::without_provenance_mut(va);
        let code = c!(doca_urom_domain_add_buffer(self.raw, va, len, h, memh.len(), k, mkey.len()));
        memh.fill(0xee);
        mkey.fill(0xee);
        code
    }

    pub fn start(&self) {
        assert_eq!(c!(doca_ctx_start(self.ctx)), DocaError::IN_PROGRESS, "{}", failure(self.ctx));
        assert_eq!(state(self.ctx), CtxState::STARTING);
    }

    pub fn run(&self, engine: &Engine) {
        self.start();
        assert_eq!(engine.next(), 1);
        assert_eq!(state(self.ctx), CtxState::RUNNING, "{}", failure(self.ctx));
    }

    /// Starts and returns the failure.
    pub fn fail(&self, engine: &Engine) -> (DocaStatus, String) {
        self.start();
        assert_eq!(engine.next(), 1);
        self.reason()
    }

    pub fn reason(&self) -> (DocaStatus, String) {
        assert_eq!(state(self.ctx), CtxState::IDLE);
        (x!(urom_ctx_get_failure_code(self.ctx)), failure(self.ctx))
    }

    pub fn stop(&self) {
        assert_eq!(c!(doca_ctx_stop(self.ctx)), OK);
        assert_eq!(state(self.ctx), CtxState::IDLE);
    }

    pub fn destroy(self) {
        destroy(self.ctx, |ctx| c!(doca_urom_domain_destroy(ctx.cast())));
    }

    pub fn end(self) {
        self.stop();
        self.destroy();
    }
}

/// Progresses engines of this thread in turn until all domains run, with one nonzero progress each.
pub fn meet(all: &[(&Engine, &TestDomain)]) {
    let seen = together(all);
    for ((_, domain), seen) in all.iter().zip(seen) {
        assert_eq!((state(domain.ctx), seen), (CtxState::RUNNING, 1), "{}", failure(domain.ctx));
    }
}

/// Progresses engines of this thread in turn until the starts are over. Returns the counts of
/// nonzero progress calls.
pub fn together(all: &[(&Engine, &TestDomain)]) -> Vec<u32> {
    let mut seen = vec![0; all.len()];
    until("the exchange does not end", || {
        for (at, (engine, _)) in all.iter().enumerate() {
            seen[at] += u32::from(engine.progress());
        }
        all.iter().all(|(_, domain)| state(domain.ctx) != CtxState::STARTING)
    });
    seen
}

pub fn seeker(service: *mut Service, engine: &Engine, id: u64) -> TestWorker {
    let worker = TestWorker::new(service, engine, id, 8);
    assert_eq!(c!(doca_urom_worker_set_plugins(worker.raw, 7)), OK);
    worker.run(engine);
    worker
}

pub fn ask_plugin(
    engine: &Engine,
    worker: &TestWorker,
    plugin: u64,
    words: [u64; 3],
) -> (DocaStatus, Vec<u8>) {
    let task = worker.task(&words.map(u64::to_le_bytes).concat());
    c!(doca_urom_worker_cmd_task_set_plugin(task, plugin));
    assert_eq!(c!(doca_task_submit(crate::support::as_task(task))), OK);
    let done = engine.done();
    (done.status, done.response.unwrap())
}

pub fn ask(engine: &Engine, worker: &TestWorker, op: u64, a: u64, b: u64) -> (DocaStatus, Vec<u8>) {
    ask_plugin(engine, worker, 1, [op, a, b])
}

pub fn segment(engine: &Engine, worker: &TestWorker, id: u64, va: u64) -> Result<i32, DocaError> {
    let (code, bytes) = ask(engine, worker, op::SEG, id, va);
    code.check()?;
    Ok(i32::from_le_bytes(bytes.try_into().unwrap()))
}

/// The expected answer for a handle: length, sum, first bytes.
pub fn handle(bytes: &[u8]) -> (DocaStatus, Vec<u8>) {
    let step = |total: u64, byte: &u8| total.wrapping_mul(31).wrapping_add(u64::from(*byte));
    let sum = bytes.iter().fold(0, step);
    let head = [(bytes.len() as u64).to_le_bytes(), sum.to_le_bytes()].concat();
    (OK, [&head[..], &bytes[..bytes.len().min(64)]].concat())
}
