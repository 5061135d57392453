//! [`Inventory`]: what buffers are taken from.

use std::ops::RangeBounds;
use std::rc::Rc;

use crate::buffer::{Buffer, BufferSpan, Element, Elements};
use crate::error::{Error, Result};
use crate::map::Map;
use crate::range::within;

/// A fixed number of buffers, each over any part of any map (`doca_buf_inventory`).
///
/// [`new`](Self::new) and [`expand`](Self::expand) allocate; nothing else does. The inventory and
/// its buffers stay on one thread. Buffers may outlive the inventory.
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
    elements: Rc<Elements>,
}

impl Inventory {
    /// An inventory of `count` buffers (`doca_buf_inventory_create`, `doca_buf_inventory_start`).
    ///
    /// # Errors
    /// `INVALID_VALUE` for 0, or 2^32 and more; `NO_MEMORY` when the system has none.
    pub fn new(count: usize) -> Result<Inventory> {
        Ok(Inventory { elements: Elements::new(count, false)? })
    }

    /// Adds `count` buffers, for which it allocates (`doca_buf_inventory_expand`).
    ///
    /// # Errors
    /// `INVALID_VALUE` when there would be 2^32 or more in all; `NO_MEMORY` when the system has
    /// none.
    pub fn expand(&self, count: usize) -> Result<()> {
        self.elements.expand(count)
    }

    /// How many buffers it has in all (`doca_buf_inventory_get_num_elements`).
    #[must_use]
    #[allow(clippy::len_without_is_empty, reason = "it is never empty")]
    pub fn len(&self) -> usize {
        self.elements.len()
    }

    /// How many of them are not in use (`doca_buf_inventory_get_num_free_elements`).
    #[must_use]
    pub fn free(&self) -> usize {
        self.elements.free()
    }

    /// A buffer over a range of the map, without data so far
    /// (`doca_buf_inventory_buf_get_by_addr`).
    ///
    /// # Errors
    /// `INVALID_VALUE` when the range does not lie within the map, `NO_MEMORY` when all buffers are
    /// in use.
    pub fn take(&self, map: &(impl Map + ?Sized), range: impl RangeBounds<u64>) -> Result<Buffer> {
        let (head, len) = within(range, map.memory().0.len)?;
        self.elements.take(map.memory().0, BufferSpan::empty(head, len)).map(Buffer::of)
    }

    /// A buffer over a range of the map, all of it data (`doca_buf_inventory_buf_get_by_data`).
    /// With [`Buffer::set_data`] this is `doca_buf_inventory_buf_get_by_args`.
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

    /// A buffer over the same memory as the first element of another one, with the same data
    /// (`doca_buf_inventory_buf_dup`). Its data can be set without changing the other buffer's; the
    /// bytes are the same.
    ///
    /// # Errors
    /// `NO_MEMORY` when all buffers are in use.
    pub fn dup(&self, buffer: &Buffer) -> Result<Buffer> {
        self.dup_element(buffer.element()).map(Buffer::of)
    }

    /// As [`dup`](Self::dup), for the C library.
    ///
    /// # Errors
    /// As [`dup`](Self::dup); `INVALID_VALUE` for an element that is not in use.
    #[doc(hidden)]
    pub fn dup_element(&self, element: &Element) -> Result<Element> {
        let Some(map) = element.map() else {
            return Err(Error::invalid("the buffer is not in use"));
        };
        self.elements.take(&map, element.place())
    }

    /// An element without an owner, for the C library; all is checked.
    ///
    /// # Errors
    /// As [`take`](Self::take); `INVALID_VALUE` when the data does not lie within the buffer.
    #[doc(hidden)]
    pub fn take_element(&self, map: &(impl Map + ?Sized), place: BufferSpan) -> Result<Element> {
        self.elements.take(map.memory().0, place.checked(map.memory().0.len)?)
    }
}
