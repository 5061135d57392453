//! Well-formed messages: at least one of every kind, and those that the C plugins' own pack
//! functions made.

use std::num::NonZeroU64;

use bytemuck::Zeroable;
use rdma_protocol as rdma;
use rdmo_protocol as rdmo;
use robustness::subject::{Answered, GRAPH, SANDBOX, SUBJECTS, Sent, Subject, written};
use sandbox_protocol as sandbox;
use serde_json::Value;
use test_protocols::ucc::{self, CollArgs, LibParams};
use urom_abi::{Data, Elements, Payload, Received, Registered};

pub(crate) struct Sample {
    /// Its place in [`SUBJECTS`].
    pub(crate) protocol: u8,
    pub(crate) is_command: bool,
    /// For humans, and for the names of files.
    pub(crate) name: String,
    pub(crate) bytes: Vec<u8>,
}

impl Sample {
    pub(crate) fn subject(&self) -> &'static Subject {
        SUBJECTS[usize::from(self.protocol)]
    }

    fn new(subject: &Subject, is_command: bool, name: &str, bytes: Vec<u8>) -> Sample {
        let of = |other: &&Subject| std::ptr::eq(*other, subject);
        let protocol = SUBJECTS.iter().position(of).expect("all subjects are listed") as u8;
        let name = format!("{}-{}", subject.description.name, name.replace(' ', "-"));
        Sample { protocol, is_command, name, bytes }
    }
}

fn command<C: Sent>(name: &str, command: C) -> Sample {
    Sample::new(C::SUBJECT, true, name, written(command.encoded_len(), |out| command.encode(out)))
}

fn notification<R: Answered>(name: &str, reply: R) -> Sample {
    let desc = reply.into_descriptor(&R::echo(0x1122_3344_5566_7788)).expect("the C heap has room");
    Sample::new(R::SUBJECT, false, name, desc.payload().to_vec())
}

pub(crate) fn all() -> Vec<Sample> {
    let mut samples = vec![
        command("Loopback", graph_protocol::Loopback { data: 1 << 40 }),
        notification("LoopbackDone", graph_protocol::LoopbackDone { data: 3 }),
    ];
    // Long texts, which are slow under Miri.
    if !cfg!(miri) {
        let graph = include_str!("../../../../plugins/graph-rs/protocol/golden/worker_graph.json");
        samples.extend(golden(graph, &GRAPH));
        let sandbox =
            include_str!("../../../../plugins/sandbox-rs/protocol/golden/worker_sandbox.json");
        samples.extend(golden(sandbox, &SANDBOX));
    }
    samples.extend(of_sandbox());
    samples.extend(of_rdmo());
    samples.extend(of_ucc());
    samples.extend(of_rdma());
    samples
}

fn golden(text: &str, subject: &Subject) -> Vec<Sample> {
    let file: Value = serde_json::from_str(text).expect("a golden file is JSON");
    let direction = |name: &str, is_command| {
        let messages = file[name].as_array().expect("a list of messages");
        let messages = messages.iter().map(|message| {
            let text = |key: &str| message[key].as_str().expect("a text");
            let hex = text("bytes");
            let bytes = (0..hex.len())
                .step_by(2)
                .map(|at| u8::from_str_radix(&hex[at..at + 2], 16).expect("hex"));
            let mut bytes = bytes.collect::<Vec<_>>();
            // The file has 0 for the address that C sends, which says that data follows.
            if message["fields"]["inline"] == true {
                bytes[16] = 1;
            }
            Sample::new(subject, is_command, &format!("{name}-golden-{}", text("name")), bytes)
        });
        messages.collect::<Vec<_>>()
    };
    let mut all = direction("commands", true);
    all.extend(direction("notifications", false));
    assert!(!all.is_empty());
    all
}

fn of_sandbox() -> Vec<Sample> {
    let (memory, context) = (NonZeroU64::new(7).expect("not 0"), 5);
    let registered = Registered { memory, address: 0x7fff_0000, len: 1 << 40 };
    let map_params = sandbox::MapParams::exported(0x1000);
    let received = |data| sandbox::TagReceived { data, sender_tag: 9, status: -1 };
    vec![
        command("MemMap", sandbox::MemMap { context, map_params, exported_memh: b"packed" }),
        command(
            "TagSend",
            sandbox::TagSend { context, dest: 1, data: Data::Inline(b"hello"), tag: 2 },
        ),
        command(
            "TagSend registered",
            sandbox::TagSend { context, dest: 1, data: registered.into(), tag: 2 },
        ),
        command(
            "TagRecv",
            sandbox::TagRecv { context, buffer: 1, count: 2, tag: 3, tag_mask: 4, memh_id: 0 },
        ),
        notification("MemMapped", sandbox::MemMapped { memh_id: 3 }),
        notification("TagSent", sandbox::TagSent { status: -3 }),
        notification("TagReceived", received(Received::Inline(Payload::from(b"received")))),
        notification("TagReceived empty", received(Received::default())),
        notification("TagReceived registered", received(Received::Registered { len: 4711 })),
    ]
}

fn of_rdmo() -> Vec<Sample> {
    let mr_reg =
        |packed_memh| rdmo::MrReg { va: 1, len: 2, packed_rkey: b"remote key", packed_memh };
    vec![
        command("ClientInit", rdmo::ClientInit { id: 1, addr: b"address" }),
        command("RqCreate", rdmo::RqCreate { addr: b"" }),
        command("RqDestroy", rdmo::RqDestroy { rq_id: 1 }),
        command("MrReg", mr_reg(b"memory handle")),
        command("MrReg without handle", mr_reg(b"")),
        command("MrDereg", rdmo::MrDereg { rkey: 1 }),
        notification(
            "ClientInitialized",
            rdmo::ClientInitialized { addr: Payload::from(b"address") },
        ),
        notification("RqCreated", rdmo::RqCreated { rq_id: 1 }),
        notification("RqDestroyed", rdmo::RqDestroyed { rq_id: 1 }),
        notification("MrRegistered", rdmo::MrRegistered { rkey: 1 }),
        notification("MrDeregistered", rdmo::MrDeregistered { rkey: 1 }),
    ]
}

fn of_ucc() -> Vec<Sample> {
    let dpu_worker_id = 1;
    let params = [LibParams { mask: 1, sync_type: 2, ..LibParams::zeroed() }];
    let by_stride = ucc::ContextCreate {
        dpu_worker_id,
        start: -1,
        stride: 2,
        size: 3,
        ranks: None,
        base_va: 0x1000,
        len: 4096,
    };
    let ranks = [4, 3, -9i64];
    let listed = ucc::ContextCreate { stride: 0, ranks: Some(Elements::from(&ranks)), ..by_stride };
    let plain =
        [CollArgs { coll_type: ucc::COLL_ALLREDUCE, timeout: f64::NAN, ..CollArgs::zeroed() }];
    let narrow = [CollArgs { coll_type: ucc::COLL_ALLTOALLV, ..CollArgs::zeroed() }];
    let flags = ucc::COUNT_64BIT;
    let wide = [CollArgs {
        coll_type: ucc::COLL_GATHERV,
        mask: ucc::FIELD_FLAGS,
        flags,
        ..CollArgs::zeroed()
    }];
    let coll = |args, counts, displacements| ucc::Coll {
        dpu_worker_id,
        coll_args: Elements::from(args),
        team: 2,
        use_xgvmi: -1,
        work_buffer: b"keys",
        team_size: 3,
        source_counts: counts,
        destination_counts: counts,
        source_displacements: displacements,
        destination_displacements: displacements,
    };
    vec![
        command("LibCreate", ucc::LibCreate { dpu_worker_id, params: Elements::from(&params) }),
        command("LibDestroy", ucc::LibDestroy { dpu_worker_id }),
        command("ContextCreate", by_stride),
        command("ContextCreate listed", listed),
        command("ContextDestroy", ucc::ContextDestroy { dpu_worker_id, context: 2 }),
        command(
            "TeamCreate",
            ucc::TeamCreate { dpu_worker_id, start: 0, stride: 1, size: 3, context: 2 },
        ),
        command("Coll", coll(&plain, None, None)),
        command("Coll counts", coll(&narrow, Some(&[1; 12]), Some(&[2; 12]))),
        command("Coll wide counts", coll(&wide, Some(&[1; 24]), Some(&[2; 12]))),
        command(
            "CreatePassiveDataChannel",
            ucc::CreatePassiveDataChannel { dpu_worker_id, ucp_addr: b"here" },
        ),
        notification("LibCreated", ucc::LibCreated),
        notification("LibDestroyed", ucc::LibDestroyed),
        notification("ContextCreated", ucc::ContextCreated { context: 2 }),
        notification("ContextDestroyed", ucc::ContextDestroyed),
        notification("TeamCreated", ucc::TeamCreated { team: 2 }),
        notification("CollDone", ucc::CollDone { status: -1 }),
        notification("ChannelCreated", ucc::ChannelCreated { status: 0 }),
    ]
}

fn of_rdma() -> Vec<Sample> {
    let rdma = (4 << 32) | 1;
    let (target, immediate) = (rdma::Remote { memory: 7, offset: 4096 }, [0x12, 0x34, 0x56, 0x78]);
    let list = [1, 2].map(|memory| rdma::MemoryRange { memory, offset: 8, len: 64 });
    let (pieces, result) = (Elements::from(&list), list[0]);
    let limits = rdma::Limits { message: 1 << 31, list: 64, ..rdma::Limits::default() };
    vec![
        command("Create", rdma::Create { permissions: 0x30 }),
        command("Destroy", rdma::Destroy { rdma }),
        command("Start", rdma::Start { rdma }),
        command("Stop", rdma::Stop { rdma }),
        command("Export", rdma::Export { rdma }),
        command("Connect", rdma::Connect { rdma, details: b"details" }),
        command("Query", rdma::Query { rdma }),
        command("Receive", rdma::Receive { rdma, places: pieces }),
        command("Receive nothing", rdma::Receive { rdma, places: Elements::from(&[]) }),
        command("Send", rdma::Send { rdma, pieces }),
        command("SendImm", rdma::SendImm { rdma, immediate, pieces }),
        command("Write", rdma::Write { rdma, target, pieces }),
        command("WriteImm", rdma::WriteImm { rdma, target, immediate, pieces }),
        command("Read", rdma::Read { rdma, source: target, places: pieces }),
        command("CompareSwap", rdma::CompareSwap { rdma, target, compare: 1, swap: 2, result }),
        command("FetchAdd", rdma::FetchAdd { rdma, target, add: 3, result }),
        notification("Created", rdma::Created { rdma, limits }),
        notification("Destroyed", rdma::Destroyed {}),
        notification("Started", rdma::Started {}),
        notification("Stopped", rdma::Stopped {}),
        notification("Exported", rdma::Exported { details: Payload::from(b"details") }),
        notification("Connected", rdma::Connected {}),
        notification(
            "StateIs",
            rdma::StateIs {
                state: rdma::State::Error,
                failure: 24,
                why: Payload::from(b"the other end has left"),
            },
        ),
        notification(
            "Received",
            rdma::Received { opcode: rdma::Opcode::SendImm, immediate, len: 64 },
        ),
        notification("Sent", rdma::Sent {}),
        notification("Written", rdma::Written {}),
        notification("ReadDone", rdma::ReadDone {}),
        notification("Swapped", rdma::Swapped { before: 1 }),
        notification("Added", rdma::Added { before: 1 }),
    ]
}

#[test]
fn there_is_a_sample_of_every_message_of_every_protocol() {
    let samples = all();
    for (protocol, subject) in SUBJECTS.iter().enumerate() {
        let description = subject.description;
        for (messages, is_command) in
            [(&description.commands, true), (&description.notifications, false)]
        {
            for variant in messages.variants {
                let found = samples.iter().any(|sample| {
                    let tag = &sample.bytes[..messages.tag.size()];
                    usize::from(sample.protocol) == protocol
                        && sample.is_command == is_command
                        && *tag == variant.tag.to_le_bytes()[..tag.len()]
                });
                assert!(found, "{}: {}", description.name, variant.name);
            }
        }
    }
}
