//! Ends of shares after the memory thread has ended.

use std::ffi::{c_char, c_void};
use std::sync::mpsc::{Sender, channel};

use urom_abi::DocaStatus;
use urom_wire::control::HandoverAddress;

use super::*;

unsafe extern "C" fn on_completion(
    data: *mut c_void,
    status: DocaStatus,
    _: MemoryPath,
    _: *const c_char,
    _: usize,
) {
    // SAFETY: from the test below, and called once.
    let sender = unsafe { Box::from_raw(data.cast::<Sender<DocaStatus>>()) };
    sender.send(status).unwrap();
}

#[test]
fn a_share_that_its_worker_has_ended_is_over_without_the_memory_thread() {
    let thread = Arc::new(MemoryThread::start().unwrap());
    thread.forget(1, 1, Some(Box::new(|| panic!("as a test wants"))));
    let socket = WorkerSocket::new(HandoverAddress::default());
    let mut sharing = Sharing { thread: Some(thread), ..Sharing::new("a worker", 1, socket) };
    for share in [2, 3] {
        let (sender, over) = channel();
        let callback = ShareCallback::new(on_completion, Box::into_raw(Box::new(sender)).cast());
        let ending = Some((0, callback));
        sharing
            .shares
            .insert(share, ShareState { memory: 1, is_offered: true, asked: None, ending });
        sharing.on_answer(MemoryAnswer::Ended { share });
        assert_eq!(over.recv(), Ok(DocaStatus::SUCCESS));
    }
}
