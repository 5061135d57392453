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

/// The bit of [`CollArgs::mask`] that makes [`CollArgs::flags`] count.
pub const FIELD_FLAGS: u64 = 1;
/// The bit of [`CollArgs::flags`] that makes counts 8 bytes wide, and not 4.
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

/// How many bytes an array of one number for each member of the team takes; `wide` makes the
/// numbers 8 bytes.
fn array(args: Elements<'_, CollArgs>, team_size: u64, wide: u64) -> Option<u64> {
    let args = args.get(0)?;
    let is_wide = args.mask & FIELD_FLAGS != 0 && args.flags & wide != 0;
    team_size.checked_mul(if is_wide { 8 } else { 4 })
}

/// What a host can ask of UCC's plugin.
#[urom_command(plugin = "libucc_doca_urom_plugin", version = 1, tag = u32)]
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Command<'a> {
    /// Makes the library.
    #[urom(reply = LibCreated)]
    LibCreate {
        /// The worker that is meant.
        #[urom(header, echo)]
        dpu_worker_id: u64,
        /// How the library should be.
        #[urom(inline, len = 1)]
        params: Elements<'a, LibParams>,
    },
    /// Ends the library.
    #[urom(reply = LibDestroyed)]
    LibDestroy {
        /// The worker that is meant.
        #[urom(header, echo)]
        dpu_worker_id: u64,
    },
    /// Makes a context. Its ranks are `start`, `start + stride` and so on, or an array when
    /// `stride` is not positive.
    #[urom(reply = ContextCreated)]
    ContextCreate {
        /// The worker that is meant.
        #[urom(header, echo)]
        dpu_worker_id: u64,
        /// The first rank; C has the array's address here when there is an array.
        start: i64,
        /// The distance of ranks.
        stride: i64,
        /// How many ranks.
        size: u64,
        /// The ranks one by one.
        #[urom(inline, addr = none, len = size, when = stride <= 0)]
        ranks: Option<Elements<'a, i64>>,
        /// Where the host's memory begins.
        base_va: u64,
        /// How long it is, in bytes.
        len: u64,
    },
    /// Ends a context.
    #[urom(reply = ContextDestroyed)]
    ContextDestroy {
        /// The worker that is meant.
        #[urom(header, echo)]
        dpu_worker_id: u64,
        /// The context.
        context: u64,
    },
    /// Makes a team.
    #[urom(reply = TeamCreated)]
    TeamCreate {
        /// The worker that is meant.
        #[urom(header, echo)]
        dpu_worker_id: u64,
        /// The first rank.
        start: i64,
        /// The distance of ranks.
        stride: i64,
        /// How many ranks.
        size: u64,
        /// The context.
        context: u64,
    },
    /// Runs a collective.
    #[urom(reply = CollDone)]
    Coll {
        /// The worker that is meant.
        #[urom(header, echo)]
        dpu_worker_id: u64,
        /// The collective.
        #[urom(inline, len = 1)]
        coll_args: Elements<'a, CollArgs>,
        /// The team.
        team: u64,
        /// Whether to use cross-GVMI memory.
        use_xgvmi: i32,
        /// Keys of the memory that is worked on.
        #[urom(inline, optional)]
        work_buffer: &'a [u8],
        /// How many members the team has.
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
    /// Tells the plugin how to reach the host's memory.
    #[urom(reply = ChannelCreated)]
    CreatePassiveDataChannel {
        /// The worker that is meant.
        #[urom(header, echo)]
        dpu_worker_id: u64,
        /// The host's UCX worker address.
        #[urom(inline)]
        ucp_addr: &'a [u8],
    },
}

/// What UCC's plugin answers.
#[urom_notification(tag = u32)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Notification {
    /// The library is there.
    LibCreated {
        /// The worker that was meant.
        #[urom(header, echo)]
        dpu_worker_id: u64,
    },
    /// The library is gone.
    LibDestroyed {
        /// The worker that was meant.
        #[urom(header, echo)]
        dpu_worker_id: u64,
    },
    /// The context is there.
    ContextCreated {
        /// The worker that was meant.
        #[urom(header, echo)]
        dpu_worker_id: u64,
        /// The context, for later commands.
        context: u64,
    },
    /// The context is gone.
    ContextDestroyed {
        /// The worker that was meant.
        #[urom(header, echo)]
        dpu_worker_id: u64,
    },
    /// The team is there.
    TeamCreated {
        /// The worker that was meant.
        #[urom(header, echo)]
        dpu_worker_id: u64,
        /// The team, for later commands.
        team: u64,
    },
    /// The collective is over.
    CollDone {
        /// The worker that was meant.
        #[urom(header, echo)]
        dpu_worker_id: u64,
        /// `ucc_status_t`.
        status: i32,
    },
    /// The host's memory can be reached.
    ChannelCreated {
        /// The worker that was meant.
        #[urom(header, echo)]
        dpu_worker_id: u64,
        /// `ucc_status_t`.
        status: i32,
    },
}
