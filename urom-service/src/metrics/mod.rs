//! Counters of workers and of the daemon, and their text for Prometheus.
//!
//! | file | contents |
//! | --- | --- |
//! | `page` | a worker's counters, in memory that it shares with the daemon |
//! | `sums` | sums of a command's counters over workers |
//! | `handover` | the descriptor of the page, from the daemon to the worker |

mod handover;
mod page;
mod sums;

pub(crate) use handover::{receive, send};
pub(crate) use page::{
    BUCKETS, CODES, CommandRow, MetricsPage, REFUSALS, ROWS, RowKey, TIMED, bucket, bucket_limit,
};
pub(crate) use sums::CommandSums;
