//! Arbitrary commands.

use std::num::NonZeroU64;

use bytemuck::Zeroable;
use proptest::array::uniform5;
use proptest::collection::vec;
use proptest::prelude::*;
use sandbox_protocol::{MapParams, MemMap, TagRecv, TagSend};
use test_protocols::rdmo::{ClientInit, MrDereg, MrReg, RqCreate, RqDestroy};
use test_protocols::ucc::{
    self, Coll, CollArgs, ContextCreate, ContextDestroy, CreatePassiveDataChannel, LibCreate, LibDestroy,
    LibParams, TeamCreate,
};
use urom_abi::{Data, Elements, Registered};

use super::{bytes, command, config, word};

fn lib_params() -> impl Strategy<Value = LibParams> {
    (word(), any::<[u32; 4]>(), word(), word()).prop_map(|(mask, small, coll_types, reduction_types)| {
        let [thread_mode, pad, sync_type, pad_end] = small;
        LibParams { mask, thread_mode, pad, coll_types, reduction_types, sync_type, pad_end }
    })
}

fn coll_args() -> impl Strategy<Value = CollArgs> {
    let kinds = prop_oneof![
        any::<u32>(),
        Just(ucc::COLL_ALLREDUCE),
        Just(ucc::COLL_ALLTOALLV),
        Just(ucc::WITH_COUNTS)
    ];
    (kinds, word(), 0..16u64, uniform5(word()), uniform5(word()), any::<f64>(), any::<(u16, u32)>()).prop_map(
        |(coll_type, mask, flags, source, destination, timeout, (tag, error_type))| CollArgs {
            coll_type,
            mask,
            flags,
            source,
            destination,
            timeout,
            tag,
            error_type,
            ..CollArgs::zeroed()
        },
    )
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn loopback(data in word()) {
        command(graph_protocol::Loopback { data });
    }

    #[test]
    fn mem_map(context in word(), words in any::<[u64; 4]>(), small in any::<[u32; 4]>(), memh in bytes()) {
        let [field_mask, address, length, _] = words;
        let [flags, prot, memory_type, pad] = small;
        // The member that the payload fills; C's own value there is not kept.
        let exported_memh_buffer = u64::from(!memh.is_empty());
        let map_params =
            MapParams { field_mask, address, length, flags, prot, memory_type, pad, exported_memh_buffer };
        command(MemMap { context, map_params, exported_memh: &memh });
    }

    #[test]
    fn tag_send(context in word(), dest in word(), data in bytes(), tag in word(), at in any::<(u64, u64, u64)>()) {
        command(TagSend { context, dest, data: Data::Inline(&data), tag });
        let memory = NonZeroU64::new(at.0).unwrap_or(NonZeroU64::MAX);
        let registered = Registered { memory, address: at.1, len: at.2 };
        command(TagSend { context, dest, data: registered.into(), tag });
    }

    #[test]
    fn tag_recv(context in word(), words in uniform5(word())) {
        let [buffer, count, tag, tag_mask, memh_id] = words;
        command(TagRecv { context, buffer, count, tag, tag_mask, memh_id });
    }

    #[test]
    fn client_init_and_rq_create(id in word(), addr in bytes()) {
        command(ClientInit { id, addr: &addr });
        command(RqCreate { addr: &addr });
    }

    #[test]
    fn mr_reg(va in word(), len in word(), packed_rkey in bytes(), packed_memh in bytes()) {
        command(MrReg { va, len, packed_rkey: &packed_rkey, packed_memh: &packed_memh });
    }

    #[test]
    fn rq_destroy_and_mr_dereg(id in word()) {
        command(RqDestroy { rq_id: id });
        command(MrDereg { rkey: id });
    }

    #[test]
    fn lib_create_and_lib_destroy(dpu_worker_id in word(), params in lib_params()) {
        command(LibCreate { dpu_worker_id, params: Elements::from(&[params]) });
        command(LibDestroy { dpu_worker_id });
    }

    #[test]
    fn context_create(
        dpu_worker_id in word(),
        (start, stride) in (any::<i64>(), prop_oneof![any::<i64>(), -2..3i64]),
        ranks in vec(any::<i64>(), 0..40),
        (size, base_va, len) in (word(), word(), word()),
    ) {
        let listed = stride <= 0;
        let size = if listed { ranks.len() as u64 } else { size };
        let ranks = listed.then(|| Elements::from(&ranks));
        command(ContextCreate { dpu_worker_id, start, stride, size, ranks, base_va, len });
    }

    #[test]
    fn context_destroy_and_team_create(
        dpu_worker_id in word(), start in any::<i64>(), stride in any::<i64>(), size in word(), context in word(),
    ) {
        command(ContextDestroy { dpu_worker_id, context });
        command(TeamCreate { dpu_worker_id, start, stride, size, context });
    }

    #[test]
    fn coll(
        (dpu_worker_id, team) in (word(), word()),
        args in coll_args(),
        (use_xgvmi, work_buffer) in (any::<i32>(), bytes()),
        (team_size, many) in (0..50u64, word()),
        content in vec(any::<u8>(), 400),
    ) {
        let with_counts = args.coll_type & ucc::WITH_COUNTS != 0;
        let array = |wide: u64| {
            let is_wide = args.mask & ucc::FIELD_FLAGS != 0 && args.flags & wide != 0;
            with_counts.then(|| &content[..team_size as usize * if is_wide { 8 } else { 4 }])
        };
        command(Coll {
            dpu_worker_id,
            coll_args: Elements::from(&[args]),
            team,
            use_xgvmi,
            work_buffer: &work_buffer,
            team_size: if with_counts { team_size } else { many },
            source_counts: array(ucc::COUNT_64BIT),
            destination_counts: array(ucc::COUNT_64BIT),
            source_displacements: array(ucc::DISPLACEMENTS_64BIT),
            destination_displacements: array(ucc::DISPLACEMENTS_64BIT),
        });
    }

    #[test]
    fn create_passive_data_channel(dpu_worker_id in word(), ucp_addr in bytes()) {
        command(CreatePassiveDataChannel { dpu_worker_id, ucp_addr: &ucp_addr });
    }
}
