//! Ids of log sources, requested in constructors of C files. Only the used ids are stored.

use std::collections::BTreeSet;
use std::ffi::{c_char, c_int};
use std::sync::{Mutex, MutexGuard, PoisonError};

use urom_abi::{DocaError, DocaStatus};

use crate::guard::guard;

#[derive(Debug)]
struct Sources {
    taken: BTreeSet<c_int>,
    next: c_int,
}

/// Ids begin with 1: a C program's `static int` that was never set is 0, which is invalid.
static SOURCES: Mutex<Sources> = Mutex::new(Sources { taken: BTreeSet::new(), next: 1 });

fn sources() -> MutexGuard<'static, Sources> {
    SOURCES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// `doca_log_register_source`: writes a new id; `INVALID_VALUE` for null, `FULL` after 2^31 ids.
///
/// # Safety
/// `source` is null or points to a writable `int`.
pub unsafe fn register(name: *const c_char, source: *mut c_int) -> DocaStatus {
    guard(|| {
        if name.is_null() || source.is_null() {
            return Err(DocaError::INVALID_VALUE);
        }
        let mut sources = sources();
        let id = sources.next;
        sources.next = id.checked_add(1).ok_or(DocaError::FULL)?;
        sources.taken.insert(id);
        // SAFETY: not null, and the caller promises an int.
        unsafe { source.write(id) };
        Ok(())
    })
}

/// `doca_log_unregister_source`: releases an id, which is not reused; `INVALID_VALUE` if unknown.
pub fn unregister(source: c_int) -> DocaStatus {
    guard(|| if sources().taken.remove(&source) { Ok(()) } else { Err(DocaError::INVALID_VALUE) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ptr::null_mut;

    fn id() -> c_int {
        let mut id = 0;
        // SAFETY: a pointer to an int.
        assert_eq!(unsafe { register(c"A::SOURCE".as_ptr(), &mut id) }, DocaStatus::SUCCESS);
        id
    }

    #[test]
    fn threads_get_different_ids() {
        let threads: Vec<_> = (0..4).map(|_| std::thread::spawn(|| [id(), id(), id()])).collect();
        let all: BTreeSet<_> =
            threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect();
        assert_eq!(all.len(), 12);
        assert!(all.iter().all(|id| *id > 0));
    }

    #[test]
    fn an_id_is_taken_back_once() {
        let id = id();
        assert_eq!(unregister(id), DocaStatus::SUCCESS);
        for gone in [id, 0, -1, c_int::MAX] {
            assert_eq!(unregister(gone), DocaError::INVALID_VALUE, "{gone}");
        }
    }

    #[test]
    fn null_pointers_are_refused() {
        let mut id = 7;
        // SAFETY: null pointers are allowed.
        unsafe {
            assert_eq!(register(std::ptr::null(), &mut id), DocaError::INVALID_VALUE);
        }
        // SAFETY: as above.
        unsafe {
            assert_eq!(register(c"A::SOURCE".as_ptr(), null_mut()), DocaError::INVALID_VALUE);
        }
        assert_eq!(id, 7);
    }
}
