//! Commands whose payloads contradict the fields that describe them are not written.

use bytemuck::Zeroable;
use proptest::collection::vec;
use proptest::prelude::*;
use test_protocols::ucc::{self, Coll, CollArgs, ContextCreate, LibCreate, LibParams};
use urom_abi::Elements;
use urom_abi::protocol::Request;
use urom_abi::wire::EncodeError;

/// Whether it can be written; if not, the payload that is wrong is named and nothing is written.
fn is_written<C: Request>(command: &C, field: &str) -> bool {
    let mut out = vec![0xee; command.encoded_len().expect("it has a length")];
    match command.encode(&mut out) {
        Ok(len) => {
            assert_eq!(len, out.len());
            true
        }
        Err(EncodeError::Mismatch { field: found, .. }) => {
            assert_eq!(found, field);
            assert!(out.iter().all(|byte| *byte == 0xee), "nothing is written then");
            false
        }
        Err(other) => panic!("{other}"),
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: if cfg!(miri) { 2 } else { 256 },
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn ranks_are_there_when_there_is_no_stride_and_as_many_as_the_size_says(
        stride in -2..3i64,
        size in prop_oneof![0..6u64, any::<u64>()],
        ranks in proptest::option::of(vec(any::<i64>(), 0..6)),
    ) {
        let right = match &ranks {
            None => stride > 0,
            Some(ranks) => stride <= 0 && ranks.len() as u64 == size,
        };
        let ranks = ranks.as_ref().map(Elements::from);
        let command = ContextCreate { dpu_worker_id: 0, start: 0, stride, size, ranks, base_va: 0, len: 0 };
        prop_assert_eq!(is_written(&command, "ranks"), right);
    }

    #[test]
    fn a_library_has_one_set_of_parameters(count in 0..4usize) {
        let params = vec![LibParams::zeroed(); count];
        let command = LibCreate { dpu_worker_id: 0, params: Elements::from(&params) };
        prop_assert_eq!(is_written(&command, "params"), count == 1);
    }

    #[test]
    fn counts_are_those_of_the_team(
        kind in prop_oneof![Just(ucc::COLL_ALLREDUCE), Just(ucc::COLL_SCATTERV)],
        team_size in prop_oneof![0..4u64, Just(1 << 62), Just(u64::MAX)],
        counts in proptest::option::of(vec(any::<u8>(), 0..16)),
    ) {
        let args = [CollArgs { coll_type: kind, ..CollArgs::zeroed() }];
        let command = Coll {
            dpu_worker_id: 0,
            coll_args: Elements::from(&args),
            team: 0,
            use_xgvmi: 0,
            work_buffer: &[],
            team_size,
            source_counts: counts.as_deref(),
            destination_counts: counts.as_deref(),
            source_displacements: counts.as_deref(),
            destination_displacements: counts.as_deref(),
        };
        let right = match &counts {
            None => kind == ucc::COLL_ALLREDUCE,
            Some(counts) => {
                kind == ucc::COLL_SCATTERV && team_size.checked_mul(4) == Some(counts.len() as u64)
            }
        };
        prop_assert_eq!(is_written(&command, "source_counts"), right);
    }
}
