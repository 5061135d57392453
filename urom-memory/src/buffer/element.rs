//! [`Element`]: a slot of an inventory's array, which backs a `doca_buf` without an allocation. A
//! list can contain elements of several inventories, and only uses its first element's reference
//! count.

use std::cell::{Ref, RefCell, RefMut};
use std::ptr::NonNull;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use urom_abi::DocaError;
use urom_abi::memory::MemoryRange;
use urom_os::fork::Maker;

use crate::error::{Error, Result};
use crate::inner::{MapInner, check};
use crate::range::within;
use crate::remote::elsewhere;
use crate::view::View;

#[derive(Debug)]
pub(crate) struct InventoryElements {
    maker: Maker,
    slots: RefCell<Vec<ElementRecord>>,
    /// Elements that are not in use. Its capacity suffices for all.
    free: RefCell<Vec<u32>>,
    are_fixed: bool,
}

#[derive(Debug, Default)]
struct ElementRecord {
    /// `None` while it is free.
    map: Option<Arc<MapInner>>,
    span: BufferSpan,
    references: u16,
    next: Option<Element>,
    follows: bool,
    label: Option<NonNull<()>>,
}

/// Positions of a buffer and its data, in bytes from the start of the map.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BufferSpan {
    pub head: u64,
    pub len: u64,
    pub data: u64,
    pub data_len: u64,
}

impl BufferSpan {
    pub(crate) fn empty(head: u64, len: u64) -> BufferSpan {
        BufferSpan { head, len, data: head, data_len: 0 }
    }

    /// Checks that the buffer lies within a map of `len` bytes and the data within the buffer.
    pub(crate) fn checked(self, len: u64) -> Result<BufferSpan> {
        within(self.head..self.head.saturating_add(self.len), len)?;
        BufferSpan::empty(self.head, self.len).with_data(self.data, self.data_len)
    }

    fn end(&self) -> u64 {
        self.head + self.len
    }

    pub(crate) fn tailroom(&self) -> u64 {
        self.end() - self.data - self.data_len
    }

    pub(crate) fn with_data(self, data: u64, data_len: u64) -> Result<BufferSpan> {
        let end = data.checked_add(data_len);
        if data < self.head || end.is_none_or(|end| end > self.end()) {
            return Err(Error::invalid(format!(
                "data of {data_len} bytes at {data} does not lie within the buffer, \
                 which has {} bytes at {} of its memory",
                self.len, self.head
            )));
        }
        Ok(BufferSpan { data, data_len, ..self })
    }
}

impl InventoryElements {
    pub(crate) fn new(count: usize, are_fixed: bool) -> Result<Rc<InventoryElements>> {
        if count == 0 {
            return Err(Error::invalid("an inventory needs at least one element"));
        }
        let (slots, free) = (RefCell::default(), RefCell::default());
        let elements = InventoryElements { maker: Maker::here(), are_fixed, slots, free };
        elements.expand(count)?;
        Ok(Rc::new(elements))
    }

    pub(crate) fn expand(&self, count: usize) -> Result<()> {
        self.check()?;
        let mut slots = self.slots.borrow_mut();
        let mut free = self.free.borrow_mut();
        let first = slots.len();
        let end = first.checked_add(count).and_then(|end| u32::try_from(end).ok());
        let Some(end) = end else {
            return Err(Error::invalid(format!(
                "an inventory cannot have {count} more elements than {first}: 2^32 - 1 are possible"
            )));
        };
        let no_memory = |_| {
            Error::new(
                DocaError::NO_MEMORY,
                format!("no memory for {count} elements of an inventory"),
            )
        };
        slots.try_reserve_exact(count).map_err(no_memory)?;
        let more = end as usize - free.len();
        free.try_reserve_exact(more).map_err(no_memory)?;
        slots.resize_with(end as usize, ElementRecord::default);
        // The first element is at the top of the stack.
        free.splice(0..0, (first as u32..end).rev());
        Ok(())
    }

    /// Fails with `BAD_STATE` in a child of the process that made the elements.
    pub(crate) fn check(&self) -> Result<()> {
        check(self.maker)
    }

    pub(crate) fn len(&self) -> usize {
        self.slots.borrow().len()
    }

    pub(crate) fn free(&self) -> usize {
        self.free.borrow().len()
    }

    pub(crate) fn next_free(&self) -> Result<u32> {
        self.free.borrow().last().copied().ok_or_else(|| {
            Error::new(
                DocaError::NO_MEMORY,
                "all elements of the inventory are in use: give some back, or make it larger",
            )
        })
    }

    /// Takes an element with one reference. `span` must lie within the map.
    pub(crate) fn take(self: &Rc<Self>, map: &Arc<MapInner>, span: BufferSpan) -> Result<Element> {
        self.check()?;
        map.check()?;
        let index = self.next_free()?;
        self.free.borrow_mut().pop();
        let element = Element { elements: Rc::clone(self), index };
        map.buffers.fetch_add(1, Ordering::Relaxed);
        let mut slot = element.slot_mut();
        slot.map = Some(Arc::clone(map));
        slot.span = span;
        slot.references = 1;
        drop(slot);
        Ok(element)
    }
}

/// An element of an inventory, used or free.
#[doc(hidden)]
#[derive(Clone, Debug)]
pub struct Element {
    elements: Rc<InventoryElements>,
    index: u32,
}

impl PartialEq for Element {
    fn eq(&self, other: &Element) -> bool {
        Rc::ptr_eq(&self.elements, &other.elements) && self.index == other.index
    }
}

const MOST_REFERENCES: u16 = u16::MAX;

#[doc(hidden)]
#[allow(missing_docs, reason = "it is for this project's C library; each is a function of DOCA's")]
impl Element {
    fn slot(&self) -> Ref<'_, ElementRecord> {
        Ref::map(self.elements.slots.borrow(), |slots| &slots[self.index as usize])
    }

    fn slot_mut(&self) -> RefMut<'_, ElementRecord> {
        RefMut::map(self.elements.slots.borrow_mut(), |slots| &mut slots[self.index as usize])
    }

    pub(crate) fn check(&self) -> Result<()> {
        self.elements.check()
    }

    pub fn index(&self) -> usize {
        self.index as usize
    }

    /// The C library's pointer for the element.
    pub fn label(&self) -> Option<NonNull<()>> {
        self.slot().label
    }

    pub fn set_label(&self, label: NonNull<()>) {
        self.slot_mut().label = Some(label);
    }

    pub fn span(&self) -> BufferSpan {
        self.slot().span
    }

    pub fn set_data(&self, data: u64, len: u64) -> Result<()> {
        let mut slot = self.slot_mut();
        slot.span = slot.span.with_data(data, len)?;
        Ok(())
    }

    pub fn reuse(&self, span: BufferSpan) -> Result<()> {
        self.check()?;
        let mut slot = self.slot_mut();
        let len = slot.map.as_ref().ok_or_else(not_in_use)?.len;
        if self.elements.are_fixed {
            return Err(Error::not_permitted("a buffer of a pool stays where it is"));
        }
        if slot.follows || slot.next.is_some() || slot.references != 1 {
            return Err(Error::not_permitted(
                "a buffer in a list, or with several references, stays where it is",
            ));
        }
        slot.span = span.checked(len)?;
        Ok(())
    }

    pub fn set_data_len(&self, len: u64) -> Result<()> {
        let data = self.span().data;
        self.set_data(data, len)
    }

    /// Returns the address of the map's first byte in its owner's process, or 0 for a free element.
    pub fn address(&self) -> u64 {
        self.slot().map.as_ref().map_or(0, |map| map.address)
    }

    pub(crate) fn map(&self) -> Option<Arc<MapInner>> {
        self.slot().map.clone()
    }

    pub(crate) fn with_map<T>(&self, f: impl FnOnce(&Arc<MapInner>) -> T) -> Option<T> {
        self.slot().map.as_ref().map(f)
    }

    pub(crate) fn range(&self, offset: u64, len: u64) -> MemoryRange {
        let memory = self.with_map(|map| map.id).unwrap_or(0);
        MemoryRange { memory, offset, len }
    }

    pub(crate) fn with_view<T>(&self, f: impl FnOnce(View<'_>) -> Result<T>) -> Result<T> {
        let slot = self.slot();
        match slot.map.as_ref().and_then(|map| map.view()) {
            Some(view) => f(view),
            None => Err(elsewhere(self.range(0, 0).memory)),
        }
    }

    pub fn references(&self) -> u16 {
        self.slot().references
    }

    pub fn retain(&self) -> Result<u16> {
        let mut slot = self.slot_mut();
        slot.is_first()?;
        let before = slot.references;
        if before == MOST_REFERENCES {
            return Err(Error::new(
                DocaError::TOO_BIG,
                "a buffer cannot have more than 65535 references",
            ));
        }
        slot.references += 1;
        Ok(before)
    }

    /// Ends a reference, and returns the number before. The last reference returns all elements of
    /// the list to their inventories, and calls `freed` for each.
    pub fn release(&self, mut freed: impl FnMut(&Element)) -> Result<u16> {
        let mut slot = self.slot_mut();
        slot.is_first()?;
        let before = slot.references;
        slot.references = before.saturating_sub(1);
        drop(slot);
        if before <= 1 {
            let mut next = self.free();
            freed(self);
            while let Some(element) = next {
                next = element.free();
                freed(&element);
            }
        }
        Ok(before)
    }

    /// Returns the element to its inventory. Returns the next element of the list.
    fn free(&self) -> Option<Element> {
        let mut slot = self.slot_mut();
        let map = slot.map.take()?;
        slot.references = 0;
        slot.follows = false;
        let next = slot.next.take();
        drop(slot);
        map.buffers.fetch_sub(1, Ordering::Relaxed);
        self.elements.free.borrow_mut().push(self.index);
        next
    }

    pub fn next(&self) -> Option<Element> {
        self.slot().next.clone()
    }

    /// Returns this element and those that follow it.
    pub(crate) fn list(&self) -> impl Iterator<Item = Element> {
        std::iter::successors(Some(self.clone()), Element::next)
    }

    pub fn last(&self) -> Element {
        let mut last = self.clone();
        while let Some(next) = last.next() {
            last = next;
        }
        last
    }

    pub fn is_first(&self) -> bool {
        !self.slot().follows
    }

    pub fn is_last(&self) -> bool {
        self.slot().next.is_none()
    }

    pub fn list_len(&self) -> u32 {
        self.list().count() as u32
    }

    /// Appends the list `other` to this list, whose last element is `tail`.
    pub fn chain(&self, tail: &Element, other: &Element) -> Result<()> {
        if !self.is_first() || !other.is_first() {
            return Err(not_first());
        }
        if self == other || !tail.is_last() || (tail.is_first() && tail != self) {
            return Err(Error::invalid(
                "a list is put behind the last element of another list, whose first is named, too",
            ));
        }
        // Such a list would be a cycle.
        if other.last() == *tail {
            return Err(Error::invalid("the tail is an element of the list that is put behind it"));
        }
        other.slot_mut().follows = true;
        tail.slot_mut().next = Some(other.clone());
        Ok(())
    }

    /// Splits the list, which begins with this element, before `other`.
    pub fn unchain(&self, other: &Element) -> Result<()> {
        if !self.is_first() {
            return Err(not_first());
        }
        let mut before = self.clone();
        while let Some(next) = before.next() {
            if next == *other {
                before.slot_mut().next = None;
                other.slot_mut().follows = false;
                return Ok(());
            }
            before = next;
        }
        Err(Error::invalid("the buffer does not follow in this list"))
    }
}

impl ElementRecord {
    fn is_first(&self) -> Result<()> {
        if self.follows {
            return Err(Error::not_permitted(
                "only the references to the first buffer of a list count",
            ));
        }
        Ok(())
    }
}

#[cold]
pub(crate) fn not_in_use() -> Error {
    Error::invalid("the buffer is not in use")
}

#[cold]
fn not_first() -> Error {
    Error::invalid("a list is named by its first buffer")
}
