//! `doca_buf` of an inventory or a pool: what a host's pointer to one stands for.

use std::cell::RefCell;
use std::ffi::c_void;
use std::ptr::{self, NonNull};

use urom_abi::DocaError;
use urom_abi::host::Buf;
use urom_memory::Element;

use super::told;
use crate::handle::quick;
use crate::shell::{Kind, Shell, Shells};

/// The host has it while there is an element.
#[derive(Default)]
pub(crate) struct Descriptor {
    element: RefCell<Option<Element>>,
}

impl Descriptor {
    pub(crate) fn element(&self) -> Result<Element, DocaError> {
        self.element.borrow().clone().ok_or(DocaError::INVALID_VALUE)
    }

    pub(crate) fn set_data(&self, data: *mut c_void, len: usize) -> Result<(), DocaError> {
        let element = self.element()?;
        let offset = (data.addr() as u64).checked_sub(element.address());
        let offset = offset.ok_or(DocaError::INVALID_VALUE)?;
        element.set_data(offset, len as u64).map_err(told)
    }

    /// Ends a reference; gives how many there were.
    pub(crate) fn release(&self) -> Result<u16, DocaError> {
        self.element()?.release(forget).map_err(told)
    }
}

/// The address of a byte of an element's map, which the host may use if the map is its own.
pub(crate) fn pointer(element: &Element, offset: u64) -> *mut c_void {
    ptr::with_exposed_provenance_mut((element.address() + offset) as usize)
}

/// The host's pointer to an element.
pub(crate) fn host_pointer(element: &Element) -> *mut Buf {
    element.label().map_or(ptr::null_mut(), |label| label.as_ptr().cast())
}

/// An element went back to its inventory: the host's pointer means nothing now.
fn forget(element: &Element) {
    let Some(label) = element.label() else { return };
    // SAFETY: a label is a shell, and shells stay for ever.
    let shell: &Shell = unsafe { label.cast::<Shell>().as_ref() };
    // SAFETY: the shell's mark is that of a descriptor, which stays as long as its inventory, and
    // that is not destroyed before the element is back.
    if let Ok(descriptor) = unsafe { quick::<Descriptor, _>(shell) } {
        shell.mark().clear();
        descriptor.element.take();
    }
}

/// The descriptors of an inventory, one for each element; allocated when it is started.
#[derive(Default)]
pub(super) struct Descriptors {
    all: RefCell<Vec<(&'static Shell, Box<Descriptor>)>>,
}

impl Descriptors {
    /// Makes as many more.
    pub(super) fn expand(&self, count: usize) -> Result<(), DocaError> {
        let mut all = self.all.borrow_mut();
        all.try_reserve_exact(count).map_err(|_| DocaError::NO_MEMORY)?;
        let mut shells = Shells::all();
        for _ in 0..count {
            let descriptor = Box::<Descriptor>::default();
            let shell = shells.enclose(Kind::Element, &raw const *descriptor);
            // The host does not have it yet.
            shell.mark().clear();
            all.push((shell, descriptor));
        }
        Ok(())
    }

    /// Hands an element to the host.
    pub(super) fn give(&self, element: Element) -> Result<*mut Buf, DocaError> {
        let all = self.all.borrow();
        let (shell, descriptor) = all.get(element.index()).ok_or(DocaError::UNEXPECTED)?;
        element.set_label(NonNull::from(*shell).cast());
        let pointer = host_pointer(&element);
        *descriptor.element.borrow_mut() = Some(element);
        shell.mark().set(Kind::Element);
        Ok(pointer)
    }
}

impl Drop for Descriptors {
    fn drop(&mut self) {
        let mut shells = Shells::all();
        for (shell, _) in self.all.get_mut().drain(..) {
            shells.empty(shell);
        }
    }
}
