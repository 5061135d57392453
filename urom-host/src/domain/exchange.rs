//! The library's out-of-band callbacks, on an [`AllGather`].

use std::cell::{Cell, RefCell};
use std::ffi::c_void;
use std::ptr::NonNull;

use urom_abi::DocaError;
use urom_abi::host::OobColl;

use crate::callback;
use crate::gather::{self, AllGather, BoxError};

pub(super) struct Exchange {
    /// `None` while it runs, so that one that panicked is not asked again.
    gather: Cell<Option<Box<dyn AllGather>>>,
    pub(super) participants: u32,
    pub(super) index: u32,
    request: Cell<Option<Request>>,
    failure: RefCell<Option<BoxError>>,
}

/// An exchange between `allgather` and `req_free`.
#[derive(Clone, Copy)]
struct Request {
    /// Where the blocks of all go; the library keeps it until the exchange is over.
    blocks: NonNull<u8>,
    length: usize,
    over: bool,
}

impl Exchange {
    pub(super) fn new(gather: Box<dyn AllGather>) -> Exchange {
        Exchange {
            participants: gather.participants(),
            index: gather.index(),
            gather: Cell::new(Some(gather)),
            request: Cell::new(None),
            failure: RefCell::default(),
        }
    }

    /// The callbacks for the library. They point to this exchange, which must neither move nor be
    /// dropped while the library has them.
    pub(super) fn oob(&self) -> OobColl {
        OobColl {
            allgather: Some(allgather),
            req_test: Some(req_test),
            req_free: Some(req_free),
            coll_info: std::ptr::from_ref(self).cast_mut().cast(),
            n_oob_indexes: self.participants,
            oob_index: self.index,
        }
    }

    /// Why the exchange failed, once it did.
    pub(super) fn take_failure(&self) -> Option<BoxError> {
        self.failure.take()
    }

    /// # Safety
    /// `sbuf` and `rbuf` hold a block of `length` bytes and one of each participant; they stay
    /// until [`test`](Self::test) has said that the exchange is over, or until
    /// [`free`](Self::free).
    unsafe fn begin(&self, sbuf: *const u8, rbuf: *mut u8, length: usize) -> Result<(), DocaError> {
        if self.request.get().is_some() {
            return Err(DocaError::BAD_STATE);
        }
        let total = length
            .checked_mul(self.participants as usize)
            .filter(|total| isize::try_from(*total).is_ok());
        let total = total.ok_or(DocaError::TOO_BIG)?;
        // Buffers without bytes may be NULL.
        let bytes = |pointer| match total {
            0 => Ok(NonNull::dangling()),
            _ => NonNull::new(pointer).ok_or(DocaError::INVALID_VALUE),
        };
        let (block, blocks) = (bytes(sbuf.cast_mut())?, bytes(rbuf)?);
        // SAFETY: the caller vouches for `length` bytes, which nobody changes before the exchange
        // is over.
        let block = unsafe { std::slice::from_raw_parts(block.as_ptr(), length) };
        self.run(|gather| gather.begin(block))?;
        // SAFETY: the caller vouches for that many bytes, which are nobody else's now.
        unsafe { blocks.as_ptr().write_bytes(0, total) };
        self.request.set(Some(Request { blocks, length: total, over: false }));
        Ok(())
    }

    fn test(&self) -> Result<bool, DocaError> {
        let mut request = self.request.get().ok_or(DocaError::INVALID_VALUE)?;
        if !request.over {
            // SAFETY: `begin` was promised these bytes and has initialised them; they are its until
            // the exchange is over.
            let blocks =
                unsafe { std::slice::from_raw_parts_mut(request.blocks.as_ptr(), request.length) };
            request.over = self.run(|gather| gather.test(blocks))?;
            self.request.set(Some(request));
        }
        Ok(request.over)
    }

    fn free(&self) {
        self.request.set(None);
    }

    fn run<T>(
        &self,
        ask: impl FnOnce(&mut dyn AllGather) -> Result<T, BoxError>,
    ) -> Result<T, DocaError> {
        let mut gather = self.gather.take().ok_or(DocaError::BAD_STATE)?;
        let result = ask(&mut *gather);
        self.gather.set(Some(gather));
        result.map_err(|error| {
            let code = gather::code_of(&*error);
            self.failure.borrow_mut().get_or_insert(error);
            code
        })
    }
}

/// # Safety
/// `pointer` is what [`Exchange::oob`] gave out, and the exchange is still there.
unsafe fn exchange<'a>(pointer: *mut c_void) -> Result<&'a Exchange, DocaError> {
    let exchange = NonNull::new(pointer.cast::<Exchange>()).ok_or(DocaError::INVALID_VALUE)?;
    // SAFETY: the caller's promise; nobody ever has it mutably.
    Ok(unsafe { exchange.as_ref() })
}

/// # Safety
/// As DOCA says of `allgather`: both buffers are as long as they must be, and stay until the
/// exchange is over.
unsafe extern "C" fn allgather(
    sbuf: *mut c_void,
    rbuf: *mut c_void,
    length: usize,
    info: *mut c_void,
    request: *mut *mut c_void,
) -> DocaError {
    callback::guarded(|| {
        let begin = || {
            let request = NonNull::new(request).ok_or(DocaError::INVALID_VALUE)?;
            // SAFETY: the library passes on what it was given.
            let exchange = unsafe { exchange(info) }?;
            // SAFETY: the library's promise about the buffers.
            unsafe { exchange.begin(sbuf.cast(), rbuf.cast(), length) }?;
            // SAFETY: the library has a place for the request there.
            unsafe { request.write(info) };
            Ok(())
        };
        DocaError::of(begin())
    })
}

/// # Safety
/// `request` is one that [`allgather`] gave out and that was not freed.
unsafe extern "C" fn req_test(request: *mut c_void) -> DocaError {
    callback::guarded(|| {
        // SAFETY: a request is the exchange itself.
        match unsafe { exchange(request) }.and_then(Exchange::test) {
            Ok(true) => DocaError::SUCCESS,
            Ok(false) => DocaError::IN_PROGRESS,
            Err(code) => code,
        }
    })
}

/// # Safety
/// As for [`req_test`].
unsafe extern "C" fn req_free(request: *mut c_void) -> DocaError {
    callback::guarded(|| {
        // SAFETY: a request is the exchange itself.
        DocaError::of(unsafe { exchange(request) }.map(Exchange::free))
    })
}
