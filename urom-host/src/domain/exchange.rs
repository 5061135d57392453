//! The library's out-of-band callbacks, implemented with an [`AllGather`].

use std::cell::{Cell, RefCell};
use std::ffi::c_void;
use std::ptr::NonNull;

use urom_abi::host::OobColl;
use urom_abi::{DocaError, DocaStatus};

use crate::callback;
use crate::gather::{self, AllGather, BoxError};

pub(super) struct Exchange {
    /// `None` while a call runs, so that an all-gather that panicked is not called again.
    gather: Cell<Option<Box<dyn AllGather>>>,
    pub(super) participants: u32,
    pub(super) index: u32,
    request: Cell<Option<Request>>,
    pub(super) failure: RefCell<Option<BoxError>>,
}

#[derive(Clone, Copy)]
struct Request {
    /// The library keeps this buffer until the exchange is over.
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

    /// The returned callbacks point to this exchange: it must not move or be dropped before them.
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

    /// # Safety
    /// `sbuf` holds a block of `length` bytes, `rbuf` a block of each participant. They stay until
    /// [`test`](Self::test) reports the end of the exchange or until [`free`](Self::free).
    unsafe fn begin(&self, sbuf: *const u8, rbuf: *mut u8, length: usize) -> Result<(), DocaError> {
        if self.request.get().is_some() {
            return Err(DocaError::BAD_STATE);
        }
        let total = length
            .checked_mul(self.participants as usize)
            .filter(|total| isize::try_from(*total).is_ok());
        let total = total.ok_or(DocaError::TOO_BIG)?;
        let bytes = |pointer| match total {
            0 => Ok(NonNull::dangling()),
            _ => NonNull::new(pointer).ok_or(DocaError::INVALID_VALUE),
        };
        let (block, blocks) = (bytes(sbuf.cast_mut())?, bytes(rbuf)?);
        // SAFETY: the caller vouches for `length` bytes, unchanged until the exchange is over.
        let block = unsafe { std::slice::from_raw_parts(block.as_ptr(), length) };
        self.run(|gather| gather.begin(block))?;
        // SAFETY: the caller vouches for `total` bytes, which only this exchange uses now.
        unsafe { blocks.as_ptr().write_bytes(0, total) };
        self.request.set(Some(Request { blocks, length: total, over: false }));
        Ok(())
    }

    fn test(&self) -> Result<bool, DocaError> {
        let mut request = self.request.get().ok_or(DocaError::INVALID_VALUE)?;
        if !request.over {
            // SAFETY: `begin` received these bytes from its caller and has initialised them. Only
            // this exchange uses them until it is over.
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
/// `pointer` comes from [`Exchange::oob`], and the exchange is still live.
unsafe fn exchange<'a>(pointer: *mut c_void) -> Result<&'a Exchange, DocaError> {
    let exchange = NonNull::new(pointer.cast::<Exchange>()).ok_or(DocaError::INVALID_VALUE)?;
    // SAFETY: the caller's promise; the exchange is never borrowed mutably.
    Ok(unsafe { exchange.as_ref() })
}

/// # Safety
/// DOCA's contract of `allgather`.
unsafe extern "C" fn allgather(
    sbuf: *mut c_void,
    rbuf: *mut c_void,
    length: usize,
    info: *mut c_void,
    request: *mut *mut c_void,
) -> DocaStatus {
    callback::guarded(|| {
        let request = NonNull::new(request).ok_or(DocaError::INVALID_VALUE)?;
        // SAFETY: the library passes the `info` pointer that it received from `oob`.
        let exchange = unsafe { exchange(info) }?;
        // SAFETY: the library's promise about the buffers.
        unsafe { exchange.begin(sbuf.cast(), rbuf.cast(), length) }?;
        // SAFETY: the library passes a valid pointer for the request.
        unsafe { request.write(info) };
        Ok(())
    })
}

/// # Safety
/// `request` comes from [`allgather`] and has not been freed.
unsafe extern "C" fn req_test(request: *mut c_void) -> DocaStatus {
    callback::guarded(|| {
        // SAFETY: a request is the exchange itself.
        let is_over = unsafe { exchange(request) }.and_then(Exchange::test)?;
        if is_over { Ok(()) } else { Err(DocaError::IN_PROGRESS) }
    })
}

/// # Safety
/// As [`req_test`].
unsafe extern "C" fn req_free(request: *mut c_void) -> DocaStatus {
    callback::guarded(|| {
        // SAFETY: a request is the exchange itself.
        unsafe { exchange(request) }.map(Exchange::free)
    })
}
