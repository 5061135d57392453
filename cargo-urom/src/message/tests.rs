//! Against what the typed encoders and decoders do, and the bytes that C made.

use bytemuck::Zeroable;
use graph_protocol as graph;
use sandbox_protocol as sandbox;
use serde_json::Value;
use test_protocols::{rdmo, ucc};
use urom_abi::describe;
use urom_abi::protocol::{Protocol, Reply, Request};
use urom_abi::{Data, Elements, Payload, Received, Registered};

use super::encode::Encoded;
use super::{Assignment, Decoded, Shown, command, decode, encode, not_echoed};

fn given(text: &str) -> Vec<Assignment> {
    text.split_whitespace().map(|word| word.parse().expect("field=value")).collect()
}

fn made(protocol: &describe::Protocol, name: &str, fields: &str) -> Result<Encoded, String> {
    encode(&protocol.commands, command(&protocol.commands, name)?, &given(fields))
}

/// The bytes of a command that leaves no remarks.
fn plainly(protocol: &describe::Protocol, name: &str, fields: &str) -> Vec<u8> {
    let encoded = made(protocol, name, fields).unwrap();
    assert_eq!(encoded.remarks, [""; 0]);
    encoded.bytes
}

fn typed<C: Request>(command: &C) -> Vec<u8> {
    let mut out = vec![0xee; command.encoded_len().unwrap()];
    command.encode(&mut out).unwrap();
    out
}

fn refused(protocol: &describe::Protocol, name: &str, fields: &str) -> String {
    made(protocol, name, fields).expect_err("a command that cannot be")
}

fn answered<R: Reply>(protocol: &describe::Protocol, reply: R, echo: &R::Echo) -> Decoded {
    decode(&protocol.notifications, None, reply.into_descriptor(echo).unwrap().payload()).unwrap()
}

/// Every command that was made is read back as itself.
fn read_back(protocol: &describe::Protocol, bytes: &[u8]) -> Decoded {
    let decoded = decode(&protocol.commands, None, bytes).unwrap();
    assert_eq!(decoded.problems, [""; 0]);
    decoded
}

const GRAPH: &describe::Protocol = graph::Protocol::DESCRIPTION;
const SANDBOX: &describe::Protocol = sandbox::Protocol::DESCRIPTION;
const RDMO: &describe::Protocol = rdmo::Protocol::DESCRIPTION;
const UCC: &describe::Protocol = ucc::Protocol::DESCRIPTION;

/// Values that are checked, and text.
mod values {
    use urom_abi::{Described, urom_command, urom_notification};
    use zerocopy::{FromZeros, Immutable, IntoBytes, TryFromBytes};

    #[derive(Clone, Copy, Debug, PartialEq, FromZeros, IntoBytes, Immutable, Described)]
    #[repr(u16)]
    pub(crate) enum Mode {
        Fast = 0,
        VerySlow = 300,
    }

    #[derive(Clone, Copy, Debug, PartialEq, TryFromBytes, IntoBytes, Immutable, Described)]
    #[repr(C)]
    pub(crate) struct Step {
        pub(crate) modes: [Mode; 2],
        pub(crate) last: bool,
        pub(crate) first: bool,
    }

    #[urom_command(plugin = "worker_values", version = 1)]
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub(crate) enum Command<'a> {
        #[urom(reply = Set)]
        Name {
            #[urom(echo)]
            mode: Mode,
            loud: bool,
            letter: char,
            step: Step,
            #[urom(inline, addr = none, when = loud)]
            name: Option<&'a str>,
        },
    }

    #[urom_notification]
    #[derive(Debug)]
    pub(crate) enum Notification {
        Set {
            #[urom(echo)]
            mode: Mode,
            done: bool,
            letter: char,
        },
    }
}

const VALUES: &describe::Protocol = values::Protocol::DESCRIPTION;

fn name() -> values::Name<'static> {
    use values::{Mode, Step};
    let step = Step { modes: [Mode::Fast, Mode::VerySlow], last: true, first: false };
    values::Name { mode: Mode::VerySlow, loud: true, letter: 'é', step, name: Some("größe") }
}

#[test]
fn values_are_given_and_shown_by_their_names() {
    let text = "mode=very_slow loud=true letter=é step={modes=[Fast,300],last=1} name=größe";
    let bytes = plainly(VALUES, "name", text);
    assert_eq!(bytes, typed(&name()));
    let shown: Vec<_> =
        read_back(VALUES, &bytes).fields.iter().map(|(name, value)| format!("{name}={value}")).collect();
    let want = [
        "mode=VerySlow",
        "loud=true",
        "letter=é",
        "step={modes=[Fast,VerySlow],last=true,first=false}",
        "name=größe",
    ];
    assert_eq!(shown, want);
    let json: Vec<_> =
        read_back(VALUES, &bytes).fields.iter().map(|(_, value)| value.json().to_string()).collect();
    let step = r#"{"first":false,"last":true,"modes":["Fast","VerySlow"]}"#;
    assert_eq!(json, [r#""VerySlow""#, "true", r#""é""#, step, r#""größe""#]);
}

#[test]
fn a_condition_that_is_a_bool_is_computed() {
    let left_out = refused(VALUES, "name", "loud=true letter=x step={last=true}");
    assert!(left_out.contains("it must be given, because `loud` holds"), "{left_out}");
    let given = refused(VALUES, "name", "loud=false letter=x step={last=true} name=x");
    assert!(given.contains("it must be left out, because `loud` does not hold"), "{given}");
}

#[test]
fn bytes_that_are_no_value_are_shown_and_are_a_problem() {
    let reply = values::Set { done: true, letter: 'x' };
    let echo = name().echo();
    let mut bytes = reply.into_descriptor(&echo).unwrap().payload().to_vec();
    let fields = VALUES.notifications.variants[0].fields;
    let at = |name: &str| fields.iter().find(|field| field.name == name).unwrap().offset;
    bytes[at("done")] = 9;
    bytes[at("mode")] = 1;
    bytes[at("letter") + 3] = 1;
    let decoded = decode(&VALUES.notifications, None, &bytes).unwrap();
    let shown: Vec<_> = decoded.fields.iter().map(|(name, value)| format!("{name}={value}")).collect();
    assert_eq!(shown, ["mode=257", "done=9", "letter=16777336"]);
    let problems = decoded.problems.join("; ");
    assert!(problems.contains("mode: 257 is no `Mode`: expected 0 (Fast), 300 (VerySlow)"), "{problems}");
    assert!(
        problems.contains("done: 9 is no `bool`") && problems.contains("letter: 0x1000078"),
        "{problems}"
    );
    // A text that is none.
    let mut bytes = typed(&name());
    let last = bytes.len() - 1;
    bytes[last] = 0xff;
    let problems = decode(&VALUES.commands, None, &bytes).unwrap().problems.join("; ");
    assert!(problems.contains("name: no UTF-8"), "{problems}");
}

#[test]
fn a_command_of_one_field_is_what_the_typed_encoder_writes() {
    let want = typed(&graph::Loopback { data: 42 });
    for name in ["Loopback", "loopback", "LOOP-BACK", "loop_back"] {
        assert_eq!(plainly(GRAPH, name, "data=42"), want, "{name}");
    }
    assert_eq!(plainly(GRAPH, "loopback", "data=0x2A"), want);
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
    let want = typed(&sandbox::TagSend { context: 0, dest: 1, data: Data::Registered(registered), tag: 7 });
    let fields = "dest=1 tag=7 memh_id=5 data_addr=0x1000 data_len=64";
    assert_eq!(plainly(SANDBOX, "TagSend", fields), want);
    let receive = sandbox::TagRecv { context: 0, buffer: 0, count: 9, tag: 7, tag_mask: 1, memh_id: 0 };
    assert_eq!(plainly(SANDBOX, "TagRecv", "count=9 tag=7 tag_mask=1"), typed(&receive));
    let error = refused(SANDBOX, "TagSend", "dest=1 tag=7 memh_id=5 data_addr=0x1000");
    assert!(error.contains("`data_len`"), "{error}");
    let error = refused(SANDBOX, "TagSend", "dest=1 tag=7 memh_id=5 data=x");
    assert!(error.contains("leave it out, or `memh_id`"), "{error}");
}

#[test]
fn words_that_are_given_go_out_as_they_are_with_a_remark() {
    let encoded = made(SANDBOX, "TagSend", "dest=1 tag=7 data=hello data_len=9 data_addr=77").unwrap();
    assert_eq!(encoded.remarks, ["`data_len` goes out as it is given, though 5 would be right"]);
    assert_eq!((encoded.bytes[24], encoded.bytes[32]), (77, 9));
}

#[test]
fn payloads_of_several_lengths_come_in_order() {
    let command = rdmo::MrReg { va: 1, len: 2, packed_rkey: b"rkey", packed_memh: b"memory" };
    let bytes = plainly(RDMO, "mr_reg", "packed_memh=memory packed_rkey=rkey va=1 len=2");
    assert_eq!(bytes, typed(&command));
    let read = read_back(RDMO, &bytes);
    assert_eq!(read.fields[3], ("packed_memh", Shown::Bytes(b"memory".into())));
    let empty = rdmo::MrReg { va: 1, len: 2, packed_rkey: b"rkey", packed_memh: &[] };
    assert_eq!(plainly(RDMO, "mr_reg", "va=1 len=2 packed_rkey=rkey packed_memh="), typed(&empty));
}

#[test]
fn an_element_is_given_by_its_members_or_as_a_list() {
    let params = ucc::LibParams { mask: 3, thread_mode: 1, coll_types: 0xff, ..ucc::LibParams::zeroed() };
    let want =
        typed(&ucc::LibCreate { dpu_worker_id: 9, params: Elements::from(std::slice::from_ref(&params)) });
    for fields in [
        "params.mask=3 params.thread_mode=1 params.coll_types=0xff",
        "params[0].mask=3 params[0].thread_mode=1 params[0].coll_types=0xff",
        "params={mask=3,thread_mode=1,coll_types=0xff}",
        "params=[{mask=3,thread_mode=1,coll_types=0xff}]",
    ] {
        assert_eq!(plainly(UCC, "LibCreate", &format!("dpu_worker_id=9 {fields}")), want, "{fields}");
    }
    for (fields, part) in [
        ("params[1].mask=3", "only 0 to 0"),
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
    let ranks = Shown::List([3, 1, 4, -1].map(Shown::Int).into());
    assert!(read_back(UCC, &bytes).fields.contains(&("ranks", ranks)));
    let none = ucc::ContextCreate { stride: 1, ranks: None, ..command };
    let bytes = plainly(UCC, "context_create", &format!("{fixed} stride=1"));
    assert_eq!(bytes, typed(&none));
    assert!(read_back(UCC, &bytes).fields.contains(&("ranks", Shown::Absent)));
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
    // Whether they are there, and how long they are.
    assert_eq!(encoded.remarks.len(), 8, "{:?}", encoded.remarks);
    let read = read_back(UCC, &encoded.bytes);
    assert_eq!(
        read.fields.iter().find(|(name, _)| *name == "source_counts").unwrap().1,
        Shown::Bytes(vec![7; 48])
    );
    assert!(read.remarks[0].contains("cannot be computed here"), "{:?}", read.remarks);
}

#[test]
fn what_is_missing_unknown_or_given_twice_is_named() {
    for (protocol, name, fields, parts) in [
        (GRAPH, "Loopback", "", &["needs `data` too: data=<u64>"][..]),
        (GRAPH, "Loopback", "dota=1", &["no field `dota`: did you mean `data`? There is `data`"]),
        (GRAPH, "Loopback", "data=1 data=2", &["`data` is given twice"]),
        (GRAPH, "Loopback", "data=x", &["Loopback: data: `x` is no integer for a u64"]),
        (GRAPH, "Loopback", "data.x=1", &["a u64 has no fields"]),
        (GRAPH, "Loopbak", "data=1", &["no command `Loopbak`: did you mean `Loopback`?"]),
        (
            SANDBOX,
            "TagSend",
            "data=x",
            &["needs `dest`, `tag` too: [context=<u64>] dest=<u64> tag=<u64> [data=<bytes>]"],
        ),
        (SANDBOX, "TagSend", "zzz=1", &["no field `zzz`: there is `context`, `dest`, `tag`, `data`"]),
        (SANDBOX, "TagSend", "data[0]=1", &["give all of it, as a list"]),
        (SANDBOX, "MemMap", "map_params=1", &["expected the fields of MapParams: `{field_mask=..,"]),
        (RDMO, "MrReg", "va=1 len=2", &["needs `packed_rkey`, `packed_memh` too"]),
    ] {
        let error = refused(protocol, name, fields);
        assert!(parts.iter().all(|part| error.contains(part)), "{name} {fields}: {error}");
    }
    assert!("data".parse::<Assignment>().unwrap_err().contains("field=value"));
}

#[test]
fn notifications_are_read_as_the_typed_decoder_reads_them() {
    let decoded = answered(GRAPH, graph::LoopbackDone { data: 42 }, &graph::Loopback { data: 42 }.echo());
    assert_eq!(
        (decoded.variant.name, &decoded.fields[..]),
        ("LoopbackDone", &[("data", Shown::Int(42))][..])
    );

    let recv = sandbox::TagRecv { context: 3, buffer: 0, count: 9, tag: 0, tag_mask: 0, memh_id: 0 }.echo();
    let answer = |data| sandbox::TagReceived { data, sender_tag: 6, status: -2 };
    let inline = answered(SANDBOX, answer(Received::Inline(Payload::from(&b"hi"[..]))), &recv);
    let common = [("context", Shown::Int(3)), ("sender_tag", Shown::Int(6)), ("status", Shown::Int(-2))];
    assert_eq!(inline.fields[..3], common);
    assert_eq!(inline.fields[3], ("data", Shown::Bytes(b"hi".into())));
    let registered = answered(SANDBOX, answer(Received::Registered { len: 8192 }), &recv);
    assert_eq!(registered.fields[3], ("data", Shown::Registered(8192)));

    let echo = rdmo::ClientInit { id: 0, addr: &[] }.echo();
    let decoded = answered(RDMO, rdmo::ClientInitialized { addr: Payload::from(&[0xff; 3][..]) }, &echo);
    assert_eq!(decoded.fields, [("addr", Shown::Bytes(vec![0xff; 3]))]);

    let echo = ucc::LibDestroy { dpu_worker_id: 9 }.echo();
    let decoded = answered(UCC, ucc::LibDestroyed, &echo);
    assert_eq!(decoded.fields, [("dpu_worker_id", Shown::Int(9))]);
}

#[test]
fn a_second_tag_counts_when_its_message_is_expected() {
    let map = |tag: u8| {
        let mut bytes = vec![0; 48];
        (bytes[0], bytes[16]) = (tag, 85);
        bytes
    };
    let expected = SANDBOX.notifications.variants.iter().find(|variant| variant.name == "MemMapped");
    let name = |expected, bytes: &[u8]| decode(&SANDBOX.notifications, expected, bytes).unwrap().variant.name;
    assert_eq!(name(expected, &map(1)), "MemMapped");
    assert_eq!(name(None, &map(1)), "TagSent");
    let mut received = map(2);
    received[16] = 0;
    assert_eq!(name(expected, &received), "TagReceived");
}

#[test]
fn notifications_that_are_cut_or_too_long_are_said_to_be() {
    let recv = sandbox::TagRecv { context: 3, buffer: 0, count: 9, tag: 0, tag_mask: 0, memh_id: 0 }.echo();
    let data = Received::Inline(Payload::from(&b"hello"[..]));
    let whole = sandbox::TagReceived { data, sender_tag: 6, status: 0 }.into_descriptor(&recv).unwrap();
    let whole = whole.payload();
    for len in 0..whole.len() {
        let problems = match decode(&SANDBOX.notifications, None, &whole[..len]) {
            Ok(decoded) => decoded.problems,
            Err(problem) => vec![problem],
        };
        assert_eq!(problems.len(), 1, "{len} bytes: {problems:?}");
    }
    let longer = [whole, &[0]].concat();
    let decoded = decode(&SANDBOX.notifications, None, &longer).unwrap();
    assert_eq!(decoded.problems, ["1 byte more than the message's fields call for"]);
    let mut endless = whole.to_vec();
    endless[24..32].fill(0xff);
    let decoded = decode(&SANDBOX.notifications, None, &endless).unwrap();
    assert!(decoded.problems[0].starts_with("data: 18446744073709551615 elements"), "{:?}", decoded.problems);
    let unknown = decode(&SANDBOX.notifications, None, &[9; 48]).unwrap_err();
    assert!(unknown.contains("none of 0 (MemMapped), 1 (TagSent)"), "{unknown}");
}

#[test]
fn an_answer_that_does_not_repeat_its_command_is_found() {
    let sent = plainly(SANDBOX, "TagSend", "context=7 dest=1 tag=2");
    let command = command(&SANDBOX.commands, "TagSend").unwrap();
    let mut answer = vec![0; 48];
    answer[0] = 1;
    let differs = |answer: &[u8]| {
        let sent = (&SANDBOX.commands, command, &sent[..]);
        not_echoed(sent, (&SANDBOX.notifications, SANDBOX.notifications.find(answer).unwrap(), answer))
    };
    assert_eq!(differs(&answer), ["context"]);
    answer[8] = 7;
    assert_eq!(differs(&answer), [""; 0]);
}

#[test]
fn a_path_into_a_structure_sets_a_member_and_payload_words_within_are_filled_in() {
    let params = sandbox::MapParams::exported(0x1000);
    let want = typed(&sandbox::MemMap { context: 5, map_params: params, exported_memh: b"window" });
    let fields = "context=5 map_params.field_mask=0x21 map_params.address=0x1000 exported_memh=window";
    assert_eq!(plainly(SANDBOX, "mem_map", fields), want);
    let fields = "context=5 map_params={field_mask=33,address=4096} exported_memh=hex:77696e646f77";
    assert_eq!(plainly(SANDBOX, "mem_map", fields), want);
}

#[test]
fn the_golden_messages_of_c_come_out_as_c_made_them() {
    for (protocol, golden) in [
        (GRAPH, include_str!("../../../plugins/graph-rs/protocol/golden/worker_graph.json")),
        (SANDBOX, include_str!("../../../plugins/sandbox-rs/protocol/golden/worker_sandbox.json")),
    ] {
        let golden: Value = serde_json::from_str(golden).unwrap();
        for message in golden["commands"].as_array().unwrap() {
            let name = message["name"].as_str().unwrap();
            let command = name.split(' ').next().unwrap();
            let want = hex(message["bytes"].as_str().unwrap());
            let made = plainly(protocol, command, &fields_of(message, &want));
            let blank = |bytes: &[u8]| {
                let mut bytes = bytes.to_vec();
                for range in message["ignore"].as_array().unwrap() {
                    let [start, len] = [0, 1].map(|at| range[at].as_u64().unwrap() as usize);
                    bytes[start..start + len].fill(0);
                }
                bytes
            };
            assert_eq!(blank(&made), blank(&want), "{name}");
            read_back(protocol, &made);
        }
    }
}

/// A golden message's fields as a user gives them.
fn fields_of(message: &Value, bytes: &[u8]) -> String {
    let fields = message["fields"].as_object().unwrap().iter().map(|(name, value)| {
        // The file's decimal addresses do not agree with its bytes, and the bytes are what C made.
        let word = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap());
        let sends = message["name"].as_str().unwrap().starts_with("tag_send");
        match (name.as_str(), value) {
            ("buffer", _) if sends => format!("data_addr={}", word(24)),
            ("buffer", _) => format!("buffer={}", word(16)),
            ("count", value) if sends => format!("data_len={value}"),
            ("data", Value::String(text)) if text.contains(' ') => {
                format!(
                    "data=hex:{}",
                    bytes[72..].iter().map(|byte| format!("{byte:02x}")).collect::<String>()
                )
            }
            (_, Value::String(hex)) => format!("{name}=hex:{hex}"),
            ("field_mask" | "address" | "length" | "flags" | "prot" | "memory_type", value) => {
                format!("map_params.{name}={value}")
            }
            (_, value) => format!("{name}={value}"),
        }
    });
    fields.collect::<Vec<_>>().join(" ")
}

fn hex(text: &str) -> Vec<u8> {
    (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap()).collect()
}
