//! `doca_buf_inventory` and `doca_buf_pool`, created first and started later.

use std::cell::{Cell, Ref, RefCell};
use std::rc::{Rc, Weak};

use urom_abi::DocaError;
use urom_abi::host::{self, Buf, Data};
use urom_memory::{BufferSpan, Element};

use super::descriptor::BufDescriptors;
use super::{Map, logged};
use crate::failure::refuse_if;
use crate::handle::{Object, ObjectTag, object};

/// A buffer source: an inventory or a pool.
#[repr(C)]
pub(crate) struct Stock<T: ElementSource> {
    tag: ObjectTag,
    own: T,
    count: Cell<usize>,
    pub(crate) user_data: Cell<Data>,
    is_running: Cell<bool>,
    /// `Some` from the first start on.
    elements: RefCell<Option<StockElements<T::Elements>>>,
}

struct StockElements<T> {
    all: T,
    descriptors: BufDescriptors,
}

pub(crate) trait ElementSource {
    type Elements;

    fn make(&self, count: usize) -> Result<Self::Elements, DocaError>;

    fn free(elements: &Self::Elements) -> usize;
}

pub(crate) type Inventory = Stock<OfInventory>;

object!(Inventory, Inventory, host::BufInventory);

#[derive(Default)]
pub(crate) struct OfInventory;

impl ElementSource for OfInventory {
    type Elements = urom_memory::Inventory;

    fn make(&self, count: usize) -> Result<Self::Elements, DocaError> {
        urom_memory::Inventory::new(count).map_err(logged)
    }

    fn free(elements: &Self::Elements) -> usize {
        elements.free()
    }
}

pub(crate) type Pool = Stock<OfPool>;

object!(Pool, Pool, host::BufPool);

pub(crate) struct OfPool {
    map: Weak<Map>,
    size: usize,
    alignment: Cell<usize>,
}

impl ElementSource for OfPool {
    type Elements = urom_memory::Pool;

    fn make(&self, count: usize) -> Result<Self::Elements, DocaError> {
        let map = self.map.upgrade().ok_or(DocaError::INVALID_VALUE)?;
        let (size, alignment) = (self.size as u64, self.alignment.get() as u64);
        map.with(|map| urom_memory::Pool::new(map, count, size, alignment))
    }

    fn free(elements: &Self::Elements) -> usize {
        elements.free()
    }
}

impl<T: ElementSource> Stock<T> {
    fn new(own: T, count: usize) -> Result<Stock<T>, DocaError>
    where
        Stock<T>: Object,
    {
        refuse_if(count == 0 || u32::try_from(count).is_err(), DocaError::INVALID_VALUE)?;
        Ok(Stock {
            tag: ObjectTag::of::<Stock<T>>(),
            own,
            count: Cell::new(count),
            user_data: Cell::default(),
            is_running: Cell::new(false),
            elements: RefCell::new(None),
        })
    }

    /// `BAD_STATE` after the first start.
    pub(crate) fn idle(&self) -> Result<&Self, DocaError> {
        if self.elements.borrow().is_some() { Err(DocaError::BAD_STATE) } else { Ok(self) }
    }

    /// `BAD_STATE` unless it is running.
    fn running(&self) -> Result<Ref<'_, StockElements<T::Elements>>, DocaError> {
        refuse_if(!self.is_running.get(), DocaError::BAD_STATE)?;
        Ref::filter_map(self.elements.borrow(), Option::as_ref).map_err(|_| DocaError::BAD_STATE)
    }

    pub(crate) fn start(&self) -> Result<(), DocaError> {
        refuse_if(self.is_running.get(), DocaError::BAD_STATE)?;
        let mut elements = self.elements.borrow_mut();
        if elements.is_none() {
            let count = self.count.get();
            let new = StockElements {
                all: self.own.make(count)?,
                descriptors: BufDescriptors::default(),
            };
            new.descriptors.expand(count)?;
            *elements = Some(new);
        }
        self.is_running.set(true);
        Ok(())
    }

    /// The host's buffers stay valid until it releases them.
    pub(crate) fn stop(&self) -> Result<(), DocaError> {
        if self.is_running.replace(false) { Ok(()) } else { Err(DocaError::BAD_STATE) }
    }

    /// `IN_USE` while the host has buffers.
    pub(crate) fn unused(&self) -> Result<(), DocaError> {
        if self.free() < self.count.get() { Err(DocaError::IN_USE) } else { Ok(()) }
    }

    pub(crate) fn count(&self) -> u32 {
        // `new` and `expand` limit it to `u32`.
        self.count.get() as u32
    }

    pub(crate) fn free(&self) -> usize {
        self.elements.borrow().as_ref().map_or(self.count.get(), |elements| T::free(&elements.all))
    }

    fn give(
        &self,
        take: impl FnOnce(&T::Elements) -> Result<Element, DocaError>,
    ) -> Result<*mut Buf, DocaError> {
        let elements = self.running()?;
        elements.descriptors.give(take(&elements.all)?)
    }
}

impl Inventory {
    pub(crate) fn create(count: usize) -> Result<Inventory, DocaError> {
        Stock::new(OfInventory, count)
    }

    /// Allowed in any state.
    pub(crate) fn expand(&self, more: u32) -> Result<(), DocaError> {
        let count = self.count.get() + more as usize;
        refuse_if(more == 0 || u32::try_from(count).is_err(), DocaError::INVALID_VALUE)?;
        if let Some(elements) = &*self.elements.borrow() {
            elements.descriptors.expand(more as usize)?;
            elements.all.expand(more as usize).map_err(logged)?;
        }
        self.count.set(count);
        Ok(())
    }

    pub(crate) fn take(&self, map: &Map, span: BufferSpan) -> Result<*mut Buf, DocaError> {
        let (start, _) = map.range()?;
        let start = start.addr() as u64;
        let (Some(head), Some(data)) = (span.head.checked_sub(start), span.data.checked_sub(start))
        else {
            log!(warn, "doca_buf_inventory_buf_get: the memory begins before its map");
            return Err(DocaError::INVALID_VALUE);
        };
        let span = BufferSpan { head, data, ..span };
        self.give(|all| map.with(|map| all.take_element(map, span)))
    }

    pub(crate) fn dup(&self, element: &Element) -> Result<*mut Buf, DocaError> {
        self.give(|all| all.dup_element(element).map_err(logged))
    }
}

impl Pool {
    pub(crate) fn create(count: usize, size: usize, map: &Rc<Map>) -> Result<Pool, DocaError> {
        refuse_if(size == 0, DocaError::INVALID_VALUE)?;
        Stock::new(OfPool { map: Rc::downgrade(map), size, alignment: Cell::new(1) }, count)
    }

    pub(crate) fn set_alignment(&self, alignment: usize) -> Result<(), DocaError> {
        self.idle()?;
        refuse_if(!alignment.is_power_of_two(), DocaError::INVALID_VALUE)?;
        self.own.alignment.set(alignment);
        Ok(())
    }

    pub(crate) fn alignment(&self) -> usize {
        self.own.alignment.get()
    }

    pub(crate) fn take(&self) -> Result<*mut Buf, DocaError> {
        self.give(|all| all.take_element().map_err(logged))
    }
}
