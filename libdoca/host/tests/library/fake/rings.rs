//! A fake worker with a ring and scripted answers.

use std::cell::Cell;
use std::os::unix::ffi::OsStrExt;
use std::ptr::null_mut;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};

use tokio::net::{TcpStream, UnixListener};
use urom_abi::DocaError;
use urom_abi::host::{CmdTask, CtxState, Data};
use urom_wire::control::HandoverAddress;
use urom_wire::frame::short_notification;
use urom_wire::memory::{RING, Slip, confirm_taken, machine, receive_handed};
use urom_wire::ring::{self, Ring};

use super::{Fake, TOKEN};
use crate::processes::daemon;
use crate::support::{
    At, Engine, OK, TestService, TestWorker, as_task, failure, fill, has, state, until,
};

impl Fake {
    /// Accepts the host like a local worker. The streams end with the connection.
    fn attach_by_ring(&self, max_message: u64) -> (Ring, TcpStream) {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("socket");
        let listener = {
            let _runtime = self.runtime.enter();
            UnixListener::bind(&path).unwrap()
        };
        let address = path.as_os_str().as_bytes().to_vec();
        let stream =
            self.let_in(HandoverAddress { address, machine: machine() }, vec![], max_message);
        let handed = self.runtime.block_on(async {
            let (visitor, _) = listener.accept().await.unwrap();
            let handed = receive_handed(&visitor).await.unwrap();
            confirm_taken(&visitor).unwrap();
            handed
        });
        assert_eq!(handed.slip, Slip { token: TOKEN, share: RING });
        let (ring, _) = ring::open(handed.fds.try_into().unwrap(), 1 << 24).unwrap();
        (ring, stream)
    }
}

#[test]
fn an_answer_that_comes_before_all_of_its_command_ends_the_connection() {
    const LONG: usize = 1 << 20;
    let (fake, address) = Fake::new();
    let worker = std::thread::spawn(move || {
        let mut daemon = fake.welcome(2 * LONG as u64);
        fake.start_at(&mut daemon, address);
        let ((mut reader, mut writer), stream) = fake.attach_by_ring(2 * LONG as u64);
        // The host sleeps until its ring has the first part of the command.
        while reader.sleep() {
            reader.wake();
            std::thread::yield_now();
        }
        let slot = 0;
        writer.write(short_notification(slot, OK, 0).unwrap(), &[], 0);
        writer.announce();
        (daemon, stream)
    });
    let engine = Engine::new();
    let service = TestService::start_with(&At::Address(address), &engine, 2 * LONG);
    let context = TestWorker::start(service.raw, &engine, 9, 4);
    context.submit(&vec![7; LONG]);
    context.submit(b"short");
    for _ in 0..2 {
        assert_eq!(engine.done().status, DocaError::IO_FAILED);
    }
    has(&failure(context.ctx), &["was lost", "an answer to a command that was not all written"]);
    engine.until_idle(context.ctx);
    drop(worker.join().unwrap());
}

thread_local! {
    static COMPLETED: Cell<u64> = const { Cell::new(0) };
}

unsafe extern "C" fn submit_again(task: *mut CmdTask, _: Data, _: Data) {
    COMPLETED.set(COMPLETED.get() + 1);
    if c!(doca_task_submit(as_task(task))) != OK {
        assert_eq!(c!(doca_urom_worker_cmd_task_release(task)), OK);
    }
}

#[test]
fn a_ring_that_is_never_empty_keeps_no_other_worker_from_its_end() {
    for many in [false, true] {
        let (fake, address) = Fake::new();
        let (answered, over) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicBool::new(false)));
        let (count, end) = (Arc::clone(&answered), Arc::clone(&over));
        let worker = std::thread::spawn(move || {
            let mut daemon = fake.welcome(4096);
            fake.start_at(&mut daemon, address);
            let ((mut reader, mut writer), stream) = fake.attach_by_ring(4096);
            while !end.load(SeqCst) {
                let Some((command, _)) = reader.receive().unwrap() else {
                    std::thread::yield_now();
                    continue;
                };
                let header = short_notification(command.slot(), OK, 0).unwrap();
                assert_eq!(writer.write(header, &[], 0), 1);
                count.fetch_add(1, SeqCst);
            }
            (daemon, stream)
        });
        let (_plugins, _uromd, engine, other_service) = daemon();
        let other = TestWorker::start(other_service.raw, &engine, 5, 4);
        let service = TestService::start(&At::Address(address), &engine);
        let context = TestWorker::start(service.raw, &engine, 9, 64);
        for _ in 0..64 {
            let mut task = null_mut();
            let code = c!(doca_urom_worker_cmd_task_allocate_init(context.raw, 1, &mut task));
            assert_eq!(code, OK);
            c!(doca_urom_worker_cmd_task_set_cb(task, Some(submit_again)));
            fill(task, b"again");
            assert_eq!(c!(doca_task_submit(as_task(task))), OK);
        }
        assert_eq!(c!(doca_ctx_stop(other.ctx)), DocaError::IN_PROGRESS);
        let submitted = COMPLETED.get();
        until("the other worker does not stop", || {
            // All commands in flight are answered before each poll of the engine.
            while answered.load(SeqCst) < 64 + COMPLETED.get() - submitted {
                std::thread::yield_now();
            }
            match many {
                true => x!(urom_pe_progress_many(engine.0)),
                false => engine.progress().into(),
            };
            state(other.ctx) == CtxState::IDLE
        });
        over.store(true, SeqCst);
        drop(worker.join().unwrap());
    }
}
