//! An allreduce of four members on their workers, against MPI's allreduce of the same buffers, in
//! turns in the same processes (`examples/allreduce --perf`).
//!
//! *Host free* is the idle share of the host's waiting thread: 1 minus its processor time over the
//! time of the call.

use anyhow::{Context, Result, ensure};
use tempfile::TempDir;
use urom_tests::{built, mpirun};

use crate::figure::Figure;
use crate::launch::Launch;

const PROGRAM: &str = "allreduce";

const MEMBERS: u32 = 4;
const SIZES: [&str; 2] = ["65536", "4194304"];
/// Works with shared memory in containers.
const MPI: &str = "--mca pml ob1 --mca btl self,vader --mca btl_vader_single_copy_mechanism none";

pub(super) fn measure(launch: &Launch) -> Result<Vec<Figure>> {
    let daemon = launch.daemon(&["worker_allreduce"])?;
    let directory = TempDir::new()?;
    let mut command = mpirun(MEMBERS, directory.path());
    command.args(MPI.split(' ')).arg(built(PROGRAM)?);
    command.args(["--perf", "--time", if launch.quick { "100" } else { "300" }]);
    let output = command.args(["--service", daemon.address()]).output();
    let output = output.context("mpirun does not start: `cargo xtask setup` installs it")?;
    let [out, err] = [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text));
    ensure!(output.status.success(), "mpirun failed with {}:\n{out}{err}", output.status);
    let mut figures = Vec::new();
    for line in out.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [bytes, workers, mpi, _ratio, free] = words[..] else { continue };
        if SIZES.contains(&bytes) {
            let time = Figure::new(format!("allreduce/time/shm/{bytes}"), "us", workers.parse()?);
            figures.push(time.against("MPI_Allreduce of Open MPI", mpi.parse()?));
            let name = format!("allreduce/host-free/shm/{bytes}");
            let note =
                format!("{MEMBERS} hosts and {MEMBERS} workers on {} cores", launch.cores.count());
            figures.push(Figure::new(name, "", free.parse()?).note(note));
        }
    }
    ensure!(figures.len() == 2 * SIZES.len(), "the table lacks sizes:\n{out}");
    Ok(figures)
}
