//! Encoded commands, compared with the typed encoders.

use bytemuck::Zeroable;
use urom_abi::{Data, Elements, Registered};

use super::*;

#[test]
fn a_command_of_one_field_is_what_the_typed_encoder_writes() {
    let want = typed(&graph::Loopback { data: 42 });
    for name in ["Loopback", "loopback", "LOOP-BACK", "loop_back"] {
        assert_eq!(plainly(GRAPH, name, "data=42"), want, "{name}");
    }
}

#[test]
fn bytes_that_travel_along_bring_their_words() {
    let data = Data::Inline(b"hello");
    let want = typed(&sandbox::TagSend { context: 0, dest: 1, data, tag: 7 });
    assert_eq!(plainly(SANDBOX, "TagSend", "dest=1 tag=7 data=hello"), want);
    assert_eq!(plainly(SANDBOX, "TagSend", "data=[104,101,108,108,111] tag=7 dest=1"), want);
    let nothing = typed(&sandbox::TagSend { context: 0, dest: 1, data: Data::default(), tag: 7 });
    assert_eq!(plainly(SANDBOX, "TagSend", "dest=1 tag=7"), nothing);
    assert_eq!(plainly(SANDBOX, "TagSend", "dest=1 tag=7 data="), nothing);
}

#[test]
fn registered_memory_is_three_words_that_the_user_gives() {
    let registered = Registered { memory: 5.try_into().unwrap(), address: 0x1000, len: 64 };
    let want = typed(&sandbox::TagSend {
        context: 0,
        dest: 1,
        data: Data::Registered(registered),
        tag: 7,
    });
    let fields = "dest=1 tag=7 memh_id=5 data_addr=0x1000 data_len=64";
    assert_eq!(plainly(SANDBOX, "TagSend", fields), want);
    let receive =
        sandbox::TagRecv { context: 0, buffer: 0, count: 9, tag: 7, tag_mask: 1, memh_id: 0 };
    assert_eq!(plainly(SANDBOX, "TagRecv", "count=9 tag=7 tag_mask=1"), typed(&receive));
    let error = refused(SANDBOX, "TagSend", "dest=1 tag=7 memh_id=5 data_addr=0x1000");
    assert!(error.contains("`data_len`"), "{error}");
    let error = refused(SANDBOX, "TagSend", "dest=1 tag=7 memh_id=5 data=x");
    assert!(error.contains("leave it out, or `memh_id`"), "{error}");
}

#[test]
fn words_that_are_given_go_out_as_they_are_with_a_remark() {
    let encoded =
        made(SANDBOX, "TagSend", "dest=1 tag=7 data=hello data_len=9 data_addr=77").unwrap();
    assert_eq!(encoded.remarks, ["`data_len` is sent as given, though 5 would be right"]);
    assert_eq!((encoded.bytes[24], encoded.bytes[32]), (77, 9));
}

#[test]
fn payloads_of_several_lengths_come_in_order() {
    let command = rdmo::MrReg { va: 1, len: 2, packed_rkey: b"rkey", packed_memh: b"memory" };
    let bytes = plainly(RDMO, "mr_reg", "packed_memh=memory packed_rkey=rkey va=1 len=2");
    assert_eq!(bytes, typed(&command));
    let read = read_back(RDMO, &bytes);
    assert_eq!(read.fields[3], ("packed_memh", Datum::Bytes(b"memory".into())));
    let empty = rdmo::MrReg { va: 1, len: 2, packed_rkey: b"rkey", packed_memh: &[] };
    assert_eq!(plainly(RDMO, "mr_reg", "va=1 len=2 packed_rkey=rkey packed_memh="), typed(&empty));
}

#[test]
fn an_element_is_given_by_its_members_or_as_a_list() {
    let params =
        ucc::LibParams { mask: 3, thread_mode: 1, coll_types: 0xff, ..ucc::LibParams::zeroed() };
    let want = typed(&ucc::LibCreate {
        dpu_worker_id: 9,
        params: Elements::from(std::slice::from_ref(&params)),
    });
    for fields in [
        "params.mask=3 params.thread_mode=1 params.coll_types=0xff",
        "params[0].mask=3 params[0].thread_mode=1 params[0].coll_types=0xff",
        "params={mask=3,thread_mode=1,coll_types=0xff}",
        "params=[{mask=3,thread_mode=1,coll_types=0xff}]",
    ] {
        assert_eq!(
            plainly(UCC, "LibCreate", &format!("dpu_worker_id=9 {fields}")),
            want,
            "{fields}"
        );
    }
    for (fields, part) in [
        ("params[1].mask=3", "only 0 to 0"),
        ("params[0][0]=3", "does not have elements"),
        ("params[x]=3", "`x` in `params[x]` is not an index"),
        ("params[0=3", "a `[` without its `]`"),
        ("params[0]b=3", "a `[` without its `]`"),
        ("params=[]", "exactly 1"),
        ("params.mosk=3", "did you mean `mask`"),
        ("params.mask=-3", "holds 0 to"),
    ] {
        let error = refused(UCC, "LibCreate", fields);
        assert!(error.contains(part), "{fields}: {error}");
    }
}

#[test]
fn conditions_that_are_plain_comparisons_are_kept() {
    let ranks = [3i64, 1, 4, -1];
    let command = ucc::ContextCreate {
        dpu_worker_id: 0,
        start: 0,
        stride: -1,
        size: 4,
        ranks: Some(Elements::from(&ranks)),
        base_va: 7,
        len: 8,
    };
    let fixed = "start=0 size=4 base_va=7 len=8";
    let bytes = plainly(UCC, "context_create", &format!("{fixed} stride=-1 ranks=[3,1,4,-1]"));
    assert_eq!(bytes, typed(&command));
    let ranks = Datum::List([3, 1, 4, -1].map(Datum::Int).into());
    assert!(read_back(UCC, &bytes).fields.contains(&("ranks", ranks)));
    let none = ucc::ContextCreate { stride: 1, ranks: None, ..command };
    let bytes = plainly(UCC, "context_create", &format!("{fixed} stride=1"));
    assert_eq!(bytes, typed(&none));
    assert!(read_back(UCC, &bytes).fields.contains(&("ranks", Datum::Absent)));
    for (fields, part) in [
        ("stride=1 ranks=[3,1,4,-1]", "must be left out, because `stride <= 0`"),
        ("stride=0", "must be given, because `stride <= 0`"),
        ("stride=0 ranks=[1]", "it has 1 element, and `size` calls for 4"),
    ] {
        let error = refused(UCC, "context_create", &format!("{fixed} {fields}"));
        assert!(error.contains(part), "{fields}: {error}");
    }
}

#[test]
fn expressions_that_cannot_be_computed_are_said_to_be_unchecked() {
    let args = ucc::CollArgs { coll_type: ucc::COLL_ALLREDUCE, ..ucc::CollArgs::zeroed() };
    let command = ucc::Coll {
        dpu_worker_id: 0,
        coll_args: Elements::from(std::slice::from_ref(&args)),
        team: 1,
        use_xgvmi: -1,
        work_buffer: b"keys",
        team_size: 3,
        source_counts: None,
        destination_counts: None,
        source_displacements: None,
        destination_displacements: None,
    };
    let fields = "coll_args.coll_type=4 team=1 use_xgvmi=-1 work_buffer=keys team_size=3";
    let encoded = made(UCC, "Coll", fields).unwrap();
    assert_eq!(encoded.bytes, typed(&command));
    assert_eq!(encoded.remarks.len(), 4, "{:?}", encoded.remarks);
    assert!(encoded.remarks[0].contains("`carries_counts(coll_args)`"), "{:?}", encoded.remarks);

    let args = ucc::CollArgs { coll_type: ucc::COLL_ALLTOALLV, ..args };
    let counts = [7; 12];
    let command = ucc::Coll {
        coll_args: Elements::from(std::slice::from_ref(&args)),
        source_counts: Some(&counts),
        destination_counts: Some(&counts),
        source_displacements: Some(&counts),
        destination_displacements: Some(&counts),
        ..command
    };
    let counts = "hex:070707070707070707070707";
    let fields = format!(
        "{} source_counts={counts} destination_counts={counts} source_displacements={counts} \
         destination_displacements={counts}",
        fields.replace("coll_type=4", "coll_type=16")
    );
    let encoded = made(UCC, "Coll", &fields).unwrap();
    assert_eq!(encoded.bytes, typed(&command));
    // Their presence and their length.
    assert_eq!(encoded.remarks.len(), 8, "{:?}", encoded.remarks);
    let read = read_back(UCC, &encoded.bytes);
    assert_eq!(
        read.fields.iter().find(|(name, _)| *name == "source_counts").unwrap().1,
        Datum::Bytes(vec![7; 48])
    );
    assert!(read.remarks[0].contains("cannot be computed here"), "{:?}", read.remarks);
}

#[test]
fn missing_unknown_and_repeated_fields_are_named() {
    for (protocol, name, fields, parts) in [
        (GRAPH, "Loopback", "", &["needs `data` too: data=<u64>"][..]),
        (
            GRAPH,
            "Loopback",
            "dota=1",
            &["unknown field `dota`: did you mean `data`? There is `data`"],
        ),
        (GRAPH, "Loopback", "data=1 data=2", &["`data` is given twice"]),
        (GRAPH, "Loopback", "data=x", &["Loopback: data: `x` is not an integer for a u64"]),
        (GRAPH, "Loopback", "data.x=1", &["a u64 does not have fields"]),
        (GRAPH, "Loopbak", "data=1", &["unknown command `Loopbak`: did you mean `Loopback`?"]),
        (
            SANDBOX,
            "TagSend",
            "data=x",
            &["needs `dest`, `tag` too: [context=<u64>] dest=<u64> tag=<u64> [data=<bytes>]"],
        ),
        (
            SANDBOX,
            "TagSend",
            "zzz=1",
            &["unknown field `zzz`: there is `context`, `dest`, `tag`, `data`"],
        ),
        (SANDBOX, "TagSend", "data[0]=1", &["give all of it, as a list"]),
        (
            SANDBOX,
            "MemMap",
            "map_params=1",
            &["expected the fields of MapParams: `{field_mask=..,"],
        ),
        (RDMO, "MrReg", "va=1 len=2", &["needs `packed_rkey`, `packed_memh` too"]),
    ] {
        let error = refused(protocol, name, fields);
        assert!(parts.iter().all(|part| error.contains(part)), "{name} {fields}: {error}");
    }
}

#[test]
fn a_path_into_a_structure_sets_a_member_and_payload_words_within_are_filled_in() {
    let params = sandbox::MapParams::exported(0x1000);
    let want = typed(&sandbox::MemMap { context: 5, map_params: params, exported_memh: b"window" });
    let fields =
        "context=5 map_params.field_mask=0x21 map_params.address=0x1000 exported_memh=window";
    assert_eq!(plainly(SANDBOX, "mem_map", fields), want);
    let fields = "context=5 map_params={field_mask=33,address=4096} exported_memh=hex:77696e646f77";
    assert_eq!(plainly(SANDBOX, "mem_map", fields), want);
}

#[test]
fn a_range_is_the_name_of_memory_or_its_own_fields() {
    let range = |offset, len| MemoryRange { memory: 7, offset, len };
    for (text, memory) in [
        ("memory=m", range(0, 4096)),
        ("memory=m[8..1K]", range(8, 1016)),
        ("memory=m[8..]", range(8, 4088)),
        ("memory={memory=7,offset=1,len=2}", range(1, 2)),
        ("memory.memory=7 memory.offset=3 memory.len=4", range(3, 4)),
    ] {
        let made = made_with_memory("look", text).unwrap();
        assert_eq!(made.bytes, typed(&memory_protocol::Look { memory }), "{text}");
    }
    let (from, to) = (range(0, 10), range(10, 10));
    let made = made_with_memory("copy", "from=m[..10] to=m[10..20] piece=3").unwrap();
    assert_eq!(made.bytes, typed(&memory_protocol::Copy { from, to, piece: 3 }));
}

#[test]
fn memory_is_named_where_a_range_is_and_lies_within() {
    for (name, fields, part) in [
        ("look", "memory=n", "Look: memory: unknown memory `n`"),
        ("look", "memory=m[0..4097]", "Look: memory: `m[0..4097]` does not lie within its 4096"),
        ("look", "memory=m[0", "write NAME[from..to]"),
        ("look", "memory.len=m", "`m` is memory, which only a field of type MemoryRange names"),
        ("read", "memory=m offset=m[1..] len=1", "`m` is memory"),
    ] {
        let why = made_with_memory(name, fields).unwrap_err();
        assert!(why.contains(part), "{fields}: {why}");
    }
    let why = refused(MEMORY, "look", "memory=m");
    assert!(why.ends_with("make it with --memory m=SIZE or --memory m=@FILE"), "{why}");
    // Text that equals a memory's name stays text.
    let made = made_with_memory("write", "memory=m offset=0 data=m").unwrap();
    let memory = MemoryRange { memory: 7, offset: 0, len: 4096 };
    assert_eq!(made.bytes, typed(&memory_protocol::Write { memory, offset: 0, data: b"m" }));
}
