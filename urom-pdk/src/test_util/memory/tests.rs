//! Faults of a plugin that calls the memory functions itself.

use std::ffi::c_void;

use super::*;

const BOTH: Access = Access::LOCAL_READ_WRITE.union(Access::PCI_READ_WRITE);

struct Given {
    memories: PlayedMemories,
    memory: Rc<PlayedMemory>,
    handle: *mut c_void,
}

fn given(path: MemoryPath) -> Given {
    let memories = PlayedMemories::default();
    let memory = memories.share(1, b"12345678", BOTH, path);
    let handle = memories.shares.open(1, memory.range()).unwrap().handle;
    Given { memories, memory, handle }
}

impl Given {
    fn run(&self, operation: *mut MemoryOperation) -> DocaStatus {
        let operation = NonNull::new(operation).unwrap();
        // SAFETY: the tests' operations, which end before they are dropped, with as many bytes.
        let ran = unsafe { self.memories.shares.run(self.handle, operation) };
        ran.into()
    }

    fn close(&self) {
        self.memories.shares.close(self.handle).unwrap();
    }

    fn wrong(&self) -> Vec<Fault> {
        self.memories.faults()
    }
}

unsafe extern "C" fn done(operation: *mut MemoryOperation) {
    // SAFETY: the test's operation, which is valid.
    unsafe { (*operation).operand += 1 };
}

fn read(local: &mut [u8]) -> MemoryOperation {
    let operation = MemoryOperation::new(MemoryAction::READ, 0, local.len() as u64);
    MemoryOperation { local: local.as_mut_ptr(), done: Some(done), ..operation }
}

fn turn(given: &Given) {
    given.memories.turn(|done| done());
}

/// The other tests are in `urom-memory`.
#[test]
fn memory_that_is_not_open_is_a_fault() {
    let given = given(MemoryPath::PROCESS);
    given.close();
    assert_eq!(given.run(&mut read(&mut [0; 8])), DocaError::NOT_FOUND);
    let what = "ran an operation on memory that it has not open";
    assert_eq!(given.wrong(), [Fault::Memory(what)]);
}

#[test]
fn an_operation_stays_as_it_is_until_it_has_ended() {
    let (given, mut bytes) = (given(MemoryPath::NETWORK), [0; 8]);
    let mut operation = read(&mut bytes);
    let of_plugin = &raw mut operation;
    assert_eq!(given.run(of_plugin), DocaError::IN_PROGRESS);
    // SAFETY: the operation is valid.
    unsafe { (*of_plugin).len = u64::MAX };
    turn(&given);
    assert_eq!((operation.status, operation.operand), (DocaStatus::SUCCESS, 1));
    assert_eq!(&bytes, b"12345678", "it was carried out as it began");
    given.close();
    assert_eq!(given.wrong(), [Fault::Memory("changed an operation that had not ended")]);
}

#[test]
fn an_operation_goes_on_after_its_memory_is_closed() {
    let (given, mut bytes) = (given(MemoryPath::NETWORK), [0; 8]);
    let mut operation = read(&mut bytes);
    assert_eq!(given.run(&mut operation), DocaError::IN_PROGRESS);
    given.close();
    given.memories.unshare(&given.memory);
    turn(&given);
    turn(&given);
    assert_eq!((operation.operand, &bytes), (1, b"12345678"), "it ends once");
    assert_eq!(given.wrong(), []);
}
