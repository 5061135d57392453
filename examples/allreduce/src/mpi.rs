//! Allreduce of Open MPI, if its `mpirun` started this process. Loaded at run time.

use std::env;
use std::ffi::{c_int, c_void};
use std::ptr;

use anyhow::{Result, ensure};
use libloading::os::unix::{Library, RTLD_GLOBAL, RTLD_NOW};

type Init = unsafe extern "C" fn(*mut c_int, *mut *mut *mut i8) -> c_int;
type Allreduce = unsafe extern "C" fn(
    *const c_void,
    *mut c_void,
    c_int,
    *const c_void,
    *const c_void,
    *const c_void,
) -> c_int;
type Finalize = unsafe extern "C" fn() -> c_int;

pub(crate) struct Mpi {
    allreduce: Allreduce,
    finalize: Finalize,
    float: *const c_void,
    sum: *const c_void,
    world: *const c_void,
    _library: Library,
}

impl Mpi {
    /// Starts MPI, or returns `None` unless Open MPI started this process.
    pub(crate) fn start() -> Option<Mpi> {
        env::var_os("OMPI_COMM_WORLD_SIZE")?;
        // SAFETY: loading Open MPI runs its constructors, as linking to it would. Its components
        // require its symbols in the global namespace.
        let library =
            unsafe { Library::open(Some("libmpi.so.40"), RTLD_NOW | RTLD_GLOBAL) }.ok()?;
        let object = |name: &[u8]| {
            // SAFETY: Open MPI's predefined handles are addresses of objects with these names.
            let symbol = unsafe { library.get::<*const c_void>(name) };
            symbol.ok().map(|address| *address)
        };
        let (float, sum) = (object(b"ompi_mpi_float\0")?, object(b"ompi_mpi_op_sum\0")?);
        let world = object(b"ompi_mpi_comm_world\0")?;
        // SAFETY: the type follows MPI's standard.
        let init = unsafe { *library.get::<Init>(b"MPI_Init\0").ok()? };
        // SAFETY: as above.
        let allreduce = unsafe { *library.get::<Allreduce>(b"MPI_Allreduce\0").ok()? };
        // SAFETY: as above.
        let finalize = unsafe { *library.get::<Finalize>(b"MPI_Finalize\0").ok()? };
        // SAFETY: called once, before any other MPI function; both arguments may be NULL.
        let started = unsafe { init(ptr::null_mut(), ptr::null_mut()) } == 0;
        started.then_some(Mpi { allreduce, finalize, float, sum, world, _library: library })
    }

    pub(crate) fn sum(&self, send: &[f32], recv: &mut [f32]) -> Result<()> {
        ensure!(send.len() == recv.len(), "both buffers have the same length");
        let count = c_int::try_from(send.len())?;
        // SAFETY: both buffers have `count` floats, and the handles are Open MPI's.
        let code = unsafe {
            let (from, to) = (send.as_ptr().cast(), recv.as_mut_ptr().cast());
            (self.allreduce)(from, to, count, self.float, self.sum, self.world)
        };
        ensure!(code == 0, "MPI_Allreduce failed: {code}");
        Ok(())
    }
}

impl Drop for Mpi {
    fn drop(&mut self) {
        // SAFETY: MPI runs, and is not used after this.
        unsafe { (self.finalize)() };
    }
}
