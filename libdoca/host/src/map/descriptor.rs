//! `doca_buf` of an inventory or a pool: the target of a host's pointer.

use std::cell::RefCell;
use std::ffi::c_void;
use std::ptr::{self, NonNull};

use urom_abi::DocaError;
use urom_abi::host::Buf;
use urom_memory::Element;

use super::logged;
use crate::handle::{ObjectTag, as_c, object};

/// Valid for the host while it has an element.
#[repr(C)]
pub(crate) struct BufDescriptor {
    tag: ObjectTag,
    element: RefCell<Option<Element>>,
}

object!(BufDescriptor, Element);

impl BufDescriptor {
    pub(crate) fn element(&self) -> Result<Element, DocaError> {
        self.element.borrow().clone().ok_or(DocaError::INVALID_VALUE)
    }

    pub(crate) fn set_data(&self, data: *mut c_void, len: usize) -> Result<(), DocaError> {
        let element = self.element()?;
        let offset = (data.addr() as u64).checked_sub(element.address());
        let offset = offset.ok_or(DocaError::INVALID_VALUE)?;
        element.set_data(offset, len as u64).map_err(logged)
    }

    /// Drops a reference. Returns the count before.
    pub(crate) fn release(&self) -> Result<u16, DocaError> {
        self.element()?.release(forget).map_err(logged)
    }
}

/// Returns a byte's address, which the host may use if the map is its own.
pub(crate) fn pointer(element: &Element, offset: u64) -> *mut c_void {
    ptr::with_exposed_provenance_mut((element.address() + offset) as usize)
}

pub(crate) fn host_pointer(element: &Element) -> *mut Buf {
    element.label().map_or(ptr::null_mut(), |label| label.as_ptr().cast())
}

/// Invalidates the host's pointer after an element returned to its inventory.
fn forget(element: &Element) {
    let Some(label) = element.label() else { return };
    // SAFETY: the label is a descriptor of the inventory, which outlives its elements.
    let descriptor = unsafe { label.cast::<BufDescriptor>().as_ref() };
    descriptor.element.take();
}

#[derive(Default)]
pub(super) struct BufDescriptors {
    #[expect(clippy::vec_box, reason = "hosts have their addresses while the vector grows")]
    all: RefCell<Vec<Box<BufDescriptor>>>,
}

impl BufDescriptors {
    pub(super) fn expand(&self, count: usize) -> Result<(), DocaError> {
        let mut all = self.all.borrow_mut();
        all.try_reserve_exact(count).map_err(|_| DocaError::NO_MEMORY)?;
        for _ in 0..count {
            let (tag, element) = (ObjectTag::of::<BufDescriptor>(), RefCell::default());
            all.push(Box::new(BufDescriptor { tag, element }));
        }
        Ok(())
    }

    pub(super) fn give(&self, element: Element) -> Result<*mut Buf, DocaError> {
        let all = self.all.borrow();
        let descriptor = all.get(element.index()).ok_or(DocaError::UNEXPECTED)?;
        element.set_label(NonNull::from(&**descriptor).cast());
        *descriptor.element.borrow_mut() = Some(element);
        Ok(as_c(&**descriptor))
    }
}
