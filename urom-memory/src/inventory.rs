//! [`Inventory`]: an allocator of buffers.

use std::ops::RangeBounds;
use std::rc::Rc;

use crate::buffer::{Buffer, BufferSpan, Element, InventoryElements, not_in_use};
use crate::error::Result;
use crate::map::Map;
use crate::range::within;

/// A fixed number of buffers, each over any part of any map (`doca_buf_inventory`).
///
/// Only [`new`](Self::new) and [`expand`](Self::expand) allocate. The inventory and its buffers
/// stay on one thread. Buffers may outlive the inventory.
///
/// ```
/// use urom_memory::{Access, Inventory, Mmap};
///
/// let map = Mmap::allocate(4096, Access::LOCAL_READ_WRITE)?;
/// let inventory = Inventory::new(2)?;
/// let (head, body) = (inventory.take(&map, ..64)?, inventory.take(&map, 64..)?);
/// head.append(b"header")?;
/// head.chain(body)?;
/// head.append(&[7; 100])?;
/// assert_eq!(head.list().map(|range| range.len).collect::<Vec<_>>(), [64, 42]);
/// assert_eq!(inventory.free(), 0);
/// drop(head);
/// assert_eq!(inventory.free(), 2);
/// # Ok::<(), urom_memory::Error>(())
/// ```
#[derive(Debug)]
pub struct Inventory {
    elements: Rc<InventoryElements>,
}

impl Inventory {
    /// Makes `count` buffers (`doca_buf_inventory_create`, `doca_buf_inventory_start`).
    ///
    /// # Errors
    /// `INVALID_VALUE` for 0, or 2^32 and more; `NO_MEMORY` when the allocation fails.
    pub fn new(count: usize) -> Result<Inventory> {
        Ok(Inventory { elements: InventoryElements::new(count, false)? })
    }

    /// Allocates `count` more buffers (`doca_buf_inventory_expand`).
    ///
    /// # Errors
    /// `INVALID_VALUE` for 2^32 buffers or more in all; `NO_MEMORY` when the allocation fails.
    pub fn expand(&self, count: usize) -> Result<()> {
        self.elements.expand(count)
    }

    /// Returns the number of buffers (`doca_buf_inventory_get_num_elements`).
    #[must_use]
    #[allow(clippy::len_without_is_empty, reason = "it is never empty")]
    pub fn len(&self) -> usize {
        self.elements.len()
    }

    /// Returns the number of unused buffers (`doca_buf_inventory_get_num_free_elements`).
    #[must_use]
    pub fn free(&self) -> usize {
        self.elements.free()
    }

    /// Takes a buffer over a range of the map, without data (`doca_buf_inventory_buf_get_by_addr`).
    ///
    /// # Errors
    /// `INVALID_VALUE` for a range outside of the map, `NO_MEMORY` when all buffers are used.
    pub fn take(&self, map: &(impl Map + ?Sized), range: impl RangeBounds<u64>) -> Result<Buffer> {
        let (head, len) = within(range, map.memory().0.len)?;
        self.elements.take(map.memory().0, BufferSpan::empty(head, len)).map(Buffer::of)
    }

    /// Takes a buffer over a range of the map as data (`doca_buf_inventory_buf_get_by_data`). With
    /// [`Buffer::set_data`], it is `doca_buf_inventory_buf_get_by_args`.
    ///
    /// # Errors
    /// As [`take`](Self::take).
    pub fn take_data(
        &self,
        map: &(impl Map + ?Sized),
        range: impl RangeBounds<u64>,
    ) -> Result<Buffer> {
        let buffer = self.take(map, range)?;
        buffer.set_data(..)?;
        Ok(buffer)
    }

    /// Takes a buffer over the same memory as the first element of another buffer
    /// (`doca_buf_inventory_buf_dup`). It shares the bytes, and has its own data range.
    ///
    /// # Errors
    /// `NO_MEMORY` when all buffers are used.
    pub fn dup(&self, buffer: &Buffer) -> Result<Buffer> {
        self.dup_element(buffer.element()).map(Buffer::of)
    }

    /// As [`dup`](Self::dup), for the C library.
    ///
    /// # Errors
    /// As [`dup`](Self::dup); `INVALID_VALUE` for a free element.
    #[doc(hidden)]
    pub fn dup_element(&self, element: &Element) -> Result<Element> {
        let map = element.map().ok_or_else(not_in_use)?;
        self.elements.take(&map, element.span())
    }

    /// As [`take`](Self::take) without an owner, for the C library.
    ///
    /// # Errors
    /// As [`take`](Self::take); `INVALID_VALUE` when the data does not lie within the buffer.
    #[doc(hidden)]
    pub fn take_element(&self, map: &(impl Map + ?Sized), span: BufferSpan) -> Result<Element> {
        self.elements.take(map.memory().0, span.checked(map.memory().0.len)?)
    }
}
