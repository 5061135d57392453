//! Well-formed messages: every kind, made by the kit of fixed bytes, and the messages that the pack
//! functions of the C plugins made.

use robustness::subject::{Answered, GRAPH, SANDBOX, SUBJECTS, Sent, Subject, written};
use serde_json::Value;
use urom_pdk::test_util::Seed;

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

/// Every message as the kit makes it up of `len` bytes, which follow each other by `step`.
fn made(len: u8, step: u8, end: &str) -> Vec<Sample> {
    let bytes = (1..=len).map(|at| at.wrapping_mul(step).rotate_left(3));
    let seed = Seed::new(&bytes.collect::<Vec<_>>());
    let mut samples = Vec::new();
    macro_rules! make {
        ($name:ident = $module:path {
            $($command:ident $(<$life:lifetime>)?),*;
            $($reply:ident $({ $echo:ident })?),*
        }) => {{
            use $module as this;
            let name = |message: &str| format!("{message}{end}");
            $(samples.push(command(
                &name(stringify!($command)),
                seed.make::<this::$command $(<$life>)?>(),
            ));)*
            $(samples.push(notification(
                &name(stringify!($reply)),
                seed.make::<this::$reply>(),
            ));)*
        }};
    }
    robustness::every_message!(make);
    samples
}

pub(crate) fn all() -> Vec<Sample> {
    // Both are short. The first has data inline; the second has lists, and data in registered
    // memory.
    let (mut samples, others) = (made(100, 109, ""), made(215, 135, "-other"));
    let lens: Vec<_> = samples.iter().map(|sample| sample.bytes.len()).collect();
    // A second message without a payload would add nothing.
    samples.extend(
        lens.into_iter()
            .zip(others)
            .filter_map(|(len, other)| (other.bytes.len() != len).then_some(other)),
    );
    // Long texts, which are slow under Miri.
    if !cfg!(miri) {
        let graph = include_str!("../../../../plugins/graph-rs/protocol/golden/worker_graph.json");
        samples.extend(golden(graph, &GRAPH));
        let sandbox =
            include_str!("../../../../plugins/sandbox-rs/protocol/golden/worker_sandbox.json");
        samples.extend(golden(sandbox, &SANDBOX));
    }
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
            // The file has 0 for the address that C sends. An address means that data follows.
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
