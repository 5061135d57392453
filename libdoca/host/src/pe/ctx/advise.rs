//! `doca_mmap_advise`: a context for hints about memory.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use urom_abi::DocaError;
use urom_abi::host::CtxState;
use urom_wire::control::Failure;

use crate::device::Device;
use crate::pe::ctx::{Context, ContextPart};
use crate::pe::local;
use crate::pe::tasks::{LocalTaskKind, LocalTasks};

pub(crate) struct MmapAdvise {
    /// Keeps the device open.
    device: RefCell<Option<Arc<Device>>>,
    tasks: LocalTasks,
}

impl MmapAdvise {
    pub(crate) fn new(device: Arc<Device>) -> MmapAdvise {
        MmapAdvise { device: RefCell::new(Some(device)), tasks: LocalTasks::default() }
    }
}

impl ContextPart for MmapAdvise {
    fn name(&self) -> &'static str {
        "mmap_advise"
    }

    fn start(&self, ctx: &Rc<Context>) -> Result<CtxState, Failure> {
        ctx.engine()?;
        Ok(CtxState::RUNNING)
    }

    fn stop(&self, ctx: &Context) -> Result<CtxState, DocaError> {
        Ok(local::stop(ctx, &self.tasks))
    }

    fn retire(&self) {
        self.device.take();
    }

    fn in_flight(&self) -> usize {
        self.tasks.in_flight.get()
    }

    fn tasks(&self, kind: LocalTaskKind) -> Option<&LocalTasks> {
        (kind == LocalTaskKind::InvalidateCache).then_some(&self.tasks)
    }
}
