//! [`Pool`]: buffers of one size.

use std::rc::Rc;
use std::sync::Arc;

use crate::buffer::{Buffer, BufferSpan, Element, InventoryElements};
use crate::error::{Error, Result};
use crate::inner::MapInner;
use crate::map::Map;

/// A fixed number of buffers of equal size at consecutive offsets of a map (`doca_buf_pool`).
///
/// Only [`new`](Self::new) allocates. The pool keeps the map's memory. It stays on one thread.
///
/// ```
/// use urom_memory::{Access, Mmap, Pool};
///
/// let map = Mmap::allocate(4096, Access::LOCAL_READ_WRITE)?;
/// let pool = Pool::new(&map, 4, 1000, 64)?;
/// let buffer = pool.take()?;
/// buffer.append(b"hello")?;
/// assert_eq!((buffer.memory().len, buffer.data().len), (1000, 5));
/// # Ok::<(), urom_memory::Error>(())
/// ```
#[derive(Debug)]
pub struct Pool {
    elements: Rc<InventoryElements>,
    map: Arc<MapInner>,
    first: u64,
    stride: u64,
    size: u64,
}

impl Pool {
    /// Makes a pool of `count` buffers of `size` bytes each, from the beginning of the map on.
    /// Their addresses in the map's owner are multiples of `alignment` bytes
    /// (`doca_buf_pool_create`, `doca_buf_pool_set_element_alignment`, `doca_buf_pool_start`).
    ///
    /// # Errors
    /// `INVALID_VALUE` when `count` or `size` is 0, the buffers do not fit, or the alignment is not
    /// a power of two; `NO_MEMORY` when the allocation fails.
    pub fn new(map: &(impl Map + ?Sized), count: usize, size: u64, alignment: u64) -> Result<Pool> {
        let map = Arc::clone(map.memory().0);
        if size == 0 || !alignment.is_power_of_two() {
            return Err(Error::invalid(format!(
                "the buffers of a pool have at least one byte, and an alignment that is a power \
                 of two: not {size} bytes with the alignment {alignment}"
            )));
        }
        let first = map.address.checked_next_multiple_of(alignment).map(|at| at - map.address);
        let layout =
            first.zip(size.checked_next_multiple_of(alignment)).filter(|(first, stride)| {
                let all_but_last = stride.checked_mul((count as u64).saturating_sub(1));
                let end = all_but_last.and_then(|len| len.checked_add(size)?.checked_add(*first));
                end.is_some_and(|end| end <= map.len)
            });
        let Some((first, stride)) = layout else {
            return Err(Error::invalid(format!(
                "{count} buffers of {size} bytes with the alignment {alignment} do not fit into \
                 memory of {} bytes at {:#x}",
                map.len, map.address
            )));
        };
        Ok(Pool { elements: InventoryElements::new(count, true)?, map, first, stride, size })
    }

    /// Returns the number of buffers (`doca_buf_pool_get_num_elements`).
    #[must_use]
    #[allow(clippy::len_without_is_empty, reason = "it is never empty")]
    pub fn len(&self) -> usize {
        self.elements.len()
    }

    /// Returns the number of unused buffers (`doca_buf_pool_get_num_free_elements`).
    #[must_use]
    pub fn free(&self) -> usize {
        self.elements.free()
    }

    /// Takes a buffer without data (`doca_buf_pool_buf_alloc`). Its bytes keep their last values.
    ///
    /// # Errors
    /// `NO_MEMORY` when all buffers are used.
    pub fn take(&self) -> Result<Buffer> {
        self.take_element().map(Buffer::of)
    }

    /// As [`take`](Self::take), for the C library.
    ///
    /// # Errors
    /// As [`take`](Self::take).
    #[doc(hidden)]
    pub fn take_element(&self) -> Result<Element> {
        // An element always refers to the same part of the map.
        let index = self.elements.next_free()?;
        let head = self.first + u64::from(index) * self.stride;
        self.elements.take(&self.map, BufferSpan::empty(head, self.size))
    }
}
