//! What a plugin that calls the functions itself may do wrong.

use super::*;

const BOTH: Access = Access::LOCAL_READ_WRITE.union(Access::PCI_READ_WRITE);

struct Given {
    memories: Memories,
    region: Rc<Region>,
    handle: *mut c_void,
}

/// Eight bytes, open once.
fn given(path: MemoryPath) -> Given {
    let memories = Memories::default();
    let region = memories.share(1, b"12345678", BOTH, path);
    let handle = memories.open(1, region.range()).unwrap().handle;
    Given { memories, region, handle }
}

impl Given {
    fn run(&self, handle: *mut c_void, operation: &mut MemoryOperation) -> DocaError {
        // SAFETY: the tests' operations, which end before they go, with as many bytes.
        let ran = unsafe { self.memories.run(handle, NonNull::from(operation)) };
        ran.err().unwrap_or(DocaError::SUCCESS)
    }

    fn wrong(&self) -> Vec<Fault> {
        self.memories.faults()
    }
}

unsafe extern "C" fn done(operation: *mut MemoryOperation) {
    // SAFETY: the test's operation, which is there.
    unsafe { (*operation).operand += 1 };
}

fn read(local: &mut [u8]) -> MemoryOperation {
    let operation = MemoryOperation::new(MemoryAction::READ, 0, local.len() as u64);
    MemoryOperation { local: local.as_mut_ptr(), done: Some(done), ..operation }
}

fn turn(given: &Given) {
    given.memories.turn(|done| done());
}

#[test]
fn memory_that_is_closed_is_not_used() {
    let (given, mut bytes) = (given(MemoryPath::PROCESS), [0; 8]);
    given.memories.keep(given.handle);
    given.memories.close(given.handle);
    assert_eq!(given.run(given.handle, &mut read(&mut bytes)), DocaError::SUCCESS);
    assert_eq!((&bytes, given.memories.opened(&given.region)), (b"12345678", 1));
    given.memories.close(given.handle);
    assert_eq!(given.run(given.handle, &mut read(&mut bytes)), DocaError::NOT_FOUND);
    given.memories.keep(given.handle);
    given.memories.close(given.handle);
    assert_eq!(
        given.wrong(),
        [
            Fault::Memory("ran an operation on memory that it has not open"),
            Fault::Memory("kept memory that it has not open"),
            Fault::Memory("closed memory that it has not open"),
        ]
    );
}

#[test]
fn an_operation_stays_as_it_is_until_it_has_ended() {
    let (given, mut bytes) = (given(MemoryPath::NETWORK), [0; 8]);
    let mut operation = read(&mut bytes);
    assert_eq!(given.run(given.handle, &mut operation), DocaError::IN_PROGRESS);
    operation.len = u64::MAX;
    turn(&given);
    assert_eq!((operation.status, operation.operand), (DocaError::SUCCESS, 1));
    assert_eq!(&bytes, b"12345678", "it was carried out as it began");
    given.memories.close(given.handle);
    assert_eq!(given.wrong(), [Fault::Memory("changed an operation that had not ended")]);
}

#[test]
fn an_operation_goes_on_after_its_memory_is_closed() {
    let (given, mut bytes) = (given(MemoryPath::NETWORK), [0; 8]);
    let mut operation = read(&mut bytes);
    assert_eq!(given.run(given.handle, &mut operation), DocaError::IN_PROGRESS);
    given.memories.close(given.handle);
    given.memories.unshare(&given.region);
    turn(&given);
    turn(&given);
    assert_eq!((operation.operand, &bytes), (1, b"12345678"), "it ends once");
    assert_eq!(given.wrong(), []);
}

#[test]
fn operations_that_are_none_end_in_the_call() {
    for path in [MemoryPath::MAPPED, MemoryPath::PROCESS, MemoryPath::NETWORK] {
        let (given, mut bytes) = (given(path), [0; 8]);
        let whole = read(&mut bytes);
        let wrong = [
            (MemoryOperation { local: ptr::null_mut(), ..whole }, DocaError::INVALID_VALUE),
            (MemoryOperation { offset: 1, ..whole }, DocaError::INVALID_VALUE),
            (MemoryOperation { action: MemoryAction(10), ..whole }, DocaError::NOT_SUPPORTED),
            (MemoryOperation { action: MemoryAction::TAG_SEND, ..whole }, DocaError::NOT_SUPPORTED),
            (MemoryOperation { len: 0, local: ptr::null_mut(), ..whole }, DocaError::SUCCESS),
        ];
        for (mut operation, code) in wrong {
            assert_eq!(given.run(given.handle, &mut operation), code, "{path:?} {operation:?}");
        }
        turn(&given);
        given.memories.close(given.handle);
        assert_eq!((given.wrong(), bytes), (vec![], [0; 8]));
    }
}
