//! Times by size, compared with MPI, and the host's free processor time.

use std::time::{Duration, Instant};

use anyhow::Result;
use rustix::time::{ClockId, clock_gettime};

use crate::member::{LONGEST, Member};
use crate::mpi::Mpi;

const HEAD: [&str; 5] = ["bytes", "workers [us]", "MPI [us]", "ratio", "host free"];

const WARM_UP: u32 = 3;

/// Returns a table with a line for each size, from 16 bytes to 4 MiB by factors of eight.
pub(crate) fn run(member: &Member, mpi: Option<&Mpi>, time: Duration) -> Result<String> {
    let mut rows = Vec::new();
    let sizes = (0..).map(|power| 16_usize << (3 * power));
    for bytes in sizes.take_while(|bytes| *bytes <= LONGEST) {
        let count = bytes as u64 / 4;
        let on_workers = || -> Result<()> {
            let reduced = member.reduce(count)?;
            Ok(reduced.wait().map(drop)?)
        };
        let (workers, busy) = median(member, time, on_workers)?;
        let (send, mut recv) = (vec![1.0_f32; count as usize], vec![0.0; count as usize]);
        let by_mpi = match mpi {
            Some(mpi) => Some(median(member, time, || mpi.sum(&send, &mut recv))?.0),
            None => None,
        };
        let micros = |time: f64| format!("{:.1}", time * 1e6);
        rows.push([
            bytes.to_string(),
            micros(workers),
            by_mpi.map_or_else(|| "-".to_owned(), micros),
            by_mpi.map_or_else(|| "-".to_owned(), |mpi| format!("{:.2}", workers / mpi)),
            format!("{:.2}", (1.0 - busy).max(0.0)),
        ]);
    }
    Ok(format!(
        "{}(median of the slowest member; host free: the share of a call in which the host's thread \
         used no processor)\n",
        example_common::render(HEAD, &rows)
    ))
}

/// Returns the slowest member's median time in seconds, and the largest busy share.
fn median(
    member: &Member,
    time: Duration,
    mut call: impl FnMut() -> Result<()>,
) -> Result<(f64, f64)> {
    for _ in 0..WARM_UP {
        call()?;
    }
    // All members make the same number of calls.
    let begin = Instant::now();
    call()?;
    let once = member.largest(begin.elapsed().as_secs_f64())?;
    let calls = (time.as_secs_f64() / once.max(1e-6)).clamp(5.0, 10_000.0) as usize;
    let (mut times, used) = (Vec::with_capacity(calls), thread_time());
    let begin = Instant::now();
    for _ in 0..calls {
        let begin = Instant::now();
        call()?;
        times.push(begin.elapsed().as_secs_f64());
    }
    let busy = (thread_time() - used).as_secs_f64() / begin.elapsed().as_secs_f64();
    times.sort_by(f64::total_cmp);
    Ok((member.largest(times[calls / 2])?, member.largest(busy)?))
}

fn thread_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}
