//! The protocol of UCC's plugin (`urom_ucc.h`, version 1): a 32-bit tag, a header field, payloads
//! that depend on the contents of another payload.

use bytemuck::{Pod, Zeroable};
use urom_abi::{Described, Elements, urom_command, urom_notification};

/// `ucc_lib_params_t`, 40 bytes.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Pod, Zeroable, Described)]
pub struct LibParams {
    /// Which fields are set.
    pub mask: u64,
    /// `ucc_thread_mode_t`.
    pub thread_mode: u32,
    /// C's padding.
    pub pad: u32,
    /// A bit for each collective that is wanted.
    pub coll_types: u64,
    /// A bit for each reduction that is wanted.
    pub reduction_types: u64,
    /// `ucc_coll_sync_type_t`.
    pub sync_type: u32,
    /// C's padding.
    pub pad_end: u32,
}

/// Source or destination of a collective: `ucc_coll_buffer_info_t` or its vector form, 40 bytes.
pub type BufferInfo = [u64; 5];

/// `ucc_coll_args_t`, 200 bytes.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Pod, Zeroable, Described)]
pub struct CollArgs {
    /// Which of the optional fields are set; see [`FIELD_FLAGS`].
    pub mask: u64,
    /// One of the `COLL_` bits.
    pub coll_type: u32,
    /// C's padding.
    pub pad: u32,
    /// The source.
    pub source: BufferInfo,
    /// The destination.
    pub destination: BufferInfo,
    /// The reduction and C's padding.
    pub op: u64,
    /// See [`COUNT_64BIT`] and [`DISPLACEMENTS_64BIT`].
    pub flags: u64,
    /// The rank of the root.
    pub root: u64,
    /// `ucc_error_type_t`.
    pub error_type: u32,
    /// The tag that tells collectives apart.
    pub tag: u16,
    /// C's padding.
    pub pad_tag: u16,
    /// An address.
    pub global_work_buffer: u64,
    /// A callback and its argument.
    pub callback: [u64; 2],
    /// In seconds.
    pub timeout: f64,
    /// Start, stride, size and C's padding.
    pub active_set: [u64; 5],
}

/// The bit of [`CollArgs::mask`] that makes [`CollArgs::flags`] valid.
pub const FIELD_FLAGS: u64 = 1;
/// The bit of [`CollArgs::flags`] that makes counts 8 bytes wide instead of 4.
pub const COUNT_64BIT: u64 = 4;
/// The same for displacements.
pub const DISPLACEMENTS_64BIT: u64 = 8;

/// All-gather with counts.
pub const COLL_ALLGATHERV: u32 = 1 << 1;
/// All-reduce.
pub const COLL_ALLREDUCE: u32 = 1 << 2;
/// All-to-all with counts.
pub const COLL_ALLTOALLV: u32 = 1 << 4;
/// Gather with counts.
pub const COLL_GATHERV: u32 = 1 << 10;
/// Reduce-scatter with counts.
pub const COLL_REDUCE_SCATTERV: u32 = 1 << 13;
/// Scatter with counts.
pub const COLL_SCATTERV: u32 = 1 << 15;

/// The collectives that carry counts and displacements.
pub const WITH_COUNTS: u32 =
    COLL_ALLGATHERV | COLL_ALLTOALLV | COLL_GATHERV | COLL_REDUCE_SCATTERV | COLL_SCATTERV;

fn carries_counts(args: Elements<'_, CollArgs>) -> bool {
    args.get(0).is_some_and(|args| args.coll_type & WITH_COUNTS != 0)
}

/// Returns the bytes of an array with one number for each member of the team; `wide` selects 8-byte
/// numbers.
fn array(args: Elements<'_, CollArgs>, team_size: u64, wide: u64) -> Option<u64> {
    let args = args.get(0)?;
    let is_wide = args.mask & FIELD_FLAGS != 0 && args.flags & wide != 0;
    team_size.checked_mul(if is_wide { 8 } else { 4 })
}

/// Commands of UCC's plugin.
#[urom_command(plugin = "libucc_doca_urom_plugin", version = 1, tag = u32)]
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Command<'a> {
    /// Makes the library.
    #[urom(reply = LibCreated)]
    LibCreate {
        /// The target worker.
        #[urom(header, echo)]
        dpu_worker_id: u64,
        /// Properties of the library.
        #[urom(inline, len = 1)]
        params: Elements<'a, LibParams>,
    },
    /// Ends the library.
    #[urom(reply = LibDestroyed)]
    LibDestroy {
        /// The target worker.
        #[urom(header, echo)]
        dpu_worker_id: u64,
    },
    /// Makes a context. Its ranks are `start`, `start + stride` and so on, or an array when
    /// `stride` is not positive.
    #[urom(reply = ContextCreated)]
    ContextCreate {
        /// The target worker.
        #[urom(header, echo)]
        dpu_worker_id: u64,
        /// The first rank; C has the array's address here when there is an array.
        start: i64,
        /// The distance of ranks.
        stride: i64,
        /// Number of ranks.
        size: u64,
        /// The ranks one by one.
        #[urom(inline, addr = none, len = size, when = stride <= 0)]
        ranks: Option<Elements<'a, i64>>,
        /// Start of the host's memory.
        base_va: u64,
        /// Length of the host's memory in bytes.
        len: u64,
    },
    /// Ends a context.
    #[urom(reply = ContextDestroyed)]
    ContextDestroy {
        /// The target worker.
        #[urom(header, echo)]
        dpu_worker_id: u64,
        /// The context.
        context: u64,
    },
    /// Makes a team.
    #[urom(reply = TeamCreated)]
    TeamCreate {
        /// The target worker.
        #[urom(header, echo)]
        dpu_worker_id: u64,
        /// The first rank.
        start: i64,
        /// The distance of ranks.
        stride: i64,
        /// Number of ranks.
        size: u64,
        /// The context.
        context: u64,
    },
    /// Runs a collective.
    #[urom(reply = CollDone)]
    Coll {
        /// The target worker.
        #[urom(header, echo)]
        dpu_worker_id: u64,
        /// The collective.
        #[urom(inline, len = 1)]
        coll_args: Elements<'a, CollArgs>,
        /// The team.
        team: u64,
        /// Whether to use cross-GVMI memory.
        use_xgvmi: i32,
        /// Keys of the work buffer.
        #[urom(inline, optional)]
        work_buffer: &'a [u8],
        /// Number of members of the team.
        team_size: u64,
        /// A count for each member: 4 bytes each, or 8.
        #[urom(inline, optional, addr = none, when = carries_counts(coll_args), len = array(coll_args, team_size, COUNT_64BIT))]
        source_counts: Option<&'a [u8]>,
        /// The same for the destination.
        #[urom(inline, optional, addr = none, when = carries_counts(coll_args), len = array(coll_args, team_size, COUNT_64BIT))]
        destination_counts: Option<&'a [u8]>,
        /// A displacement for each member.
        #[urom(inline, optional, addr = none, when = carries_counts(coll_args), len = array(coll_args, team_size, DISPLACEMENTS_64BIT))]
        source_displacements: Option<&'a [u8]>,
        /// The same for the destination.
        #[urom(inline, optional, addr = none, when = carries_counts(coll_args), len = array(coll_args, team_size, DISPLACEMENTS_64BIT))]
        destination_displacements: Option<&'a [u8]>,
    },
    /// Passes the host's UCX worker address to the plugin.
    #[urom(reply = ChannelCreated)]
    CreatePassiveDataChannel {
        /// The target worker.
        #[urom(header, echo)]
        dpu_worker_id: u64,
        /// The host's UCX worker address.
        #[urom(inline)]
        ucp_addr: &'a [u8],
    },
}

/// Notifications of UCC's plugin.
#[urom_notification(tag = u32)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Notification {
    /// The library was created.
    LibCreated {
        /// The target worker.
        #[urom(header, echo)]
        dpu_worker_id: u64,
    },
    /// The library was destroyed.
    LibDestroyed {
        /// The target worker.
        #[urom(header, echo)]
        dpu_worker_id: u64,
    },
    /// The context was created.
    ContextCreated {
        /// The target worker.
        #[urom(header, echo)]
        dpu_worker_id: u64,
        /// The context, for later commands.
        context: u64,
    },
    /// The context was destroyed.
    ContextDestroyed {
        /// The target worker.
        #[urom(header, echo)]
        dpu_worker_id: u64,
    },
    /// The team was created.
    TeamCreated {
        /// The target worker.
        #[urom(header, echo)]
        dpu_worker_id: u64,
        /// The team, for later commands.
        team: u64,
    },
    /// The collective has ended.
    CollDone {
        /// The target worker.
        #[urom(header, echo)]
        dpu_worker_id: u64,
        /// `ucc_status_t`.
        status: i32,
    },
    /// The host's memory is reachable.
    ChannelCreated {
        /// The target worker.
        #[urom(header, echo)]
        dpu_worker_id: u64,
        /// `ucc_status_t`.
        status: i32,
    },
}
