//! Reads and writes the bytes of the C plugin's pack functions, except for ignored ones in the
//! file.

use std::num::NonZeroU64;

use sandbox_protocol::{
    Command, MapParams, MemMap, MemMapped, Notification, Protocol, TagReceived, TagRecv, TagSend,
    TagSent,
};
use serde_json::Value;
use urom_abi::protocol::{Protocol as _, Reply, Request};
use urom_abi::{Data, Payload, Received, Registered};

struct Message {
    name: String,
    fields: Value,
    bytes: Vec<u8>,
    ignore: Vec<(usize, usize)>,
}

impl Message {
    fn number(&self, field: &str) -> u64 {
        self.fields[field].as_u64().unwrap_or_else(|| panic!("{}: {field}", self.name))
    }

    /// Returns the word at `offset`, for addresses: the file's decimal fields are wrong.
    fn word(&self, offset: usize) -> u64 {
        u64::from_le_bytes(self.bytes[offset..offset + 8].try_into().unwrap())
    }

    fn status(&self) -> i8 {
        self.fields["status"].as_i64().unwrap().try_into().unwrap()
    }

    fn data(&self, field: &str) -> Vec<u8> {
        match self.fields[field].as_str().unwrap() {
            "byte i is (7*i) mod 256, 4000 bytes" => (0..4000).map(|i| (7 * i) as u8).collect(),
            text => hex(text),
        }
    }

    /// Checks that `made` is this message, except for ignored bytes.
    fn is(&self, made: &[u8]) {
        let blank = |bytes: &[u8]| {
            let mut bytes = bytes.to_vec();
            for &(start, len) in &self.ignore {
                bytes[start..start + len].fill(0);
            }
            bytes
        };
        assert_eq!(made.len(), self.bytes.len(), "{}", self.name);
        assert_eq!(blank(made), blank(&self.bytes), "{}", self.name);
    }
}

fn hex(text: &str) -> Vec<u8> {
    (0..text.len()).step_by(2).map(|i| u8::from_str_radix(&text[i..i + 2], 16).unwrap()).collect()
}

fn golden() -> Value {
    serde_json::from_str(include_str!("../golden/worker_sandbox.json")).unwrap()
}

/// Returns the messages of one direction whose name begins with `kind`; at least one.
fn messages(direction: &str, kind: &str) -> Vec<Message> {
    let golden = golden();
    let found = golden[direction].as_array().unwrap().iter().filter_map(|message| {
        let name = message["name"].as_str().unwrap();
        let ignore = message["ignore"].as_array().unwrap().iter();
        name.starts_with(kind).then(|| Message {
            name: name.to_owned(),
            fields: message["fields"].clone(),
            bytes: hex(message["bytes"].as_str().unwrap()),
            ignore: ignore
                .map(|range| {
                    (range[0].as_u64().unwrap() as usize, range[1].as_u64().unwrap() as usize)
                })
                .collect(),
        })
    });
    let found = found.collect::<Vec<_>>();
    assert!(!found.is_empty(), "{direction} {kind}");
    found
}

fn encoded<C: Request>(command: &C) -> Vec<u8> {
    let mut out = vec![0xee; 4072];
    let len = command.encode(&mut out).unwrap();
    assert_eq!(command.encoded_len(), Some(len));
    out.truncate(len);
    out
}

#[test]
fn name_version_and_lengths_are_those_of_c() {
    let golden = golden();
    assert_eq!(Protocol::NAME, golden["plugin"].as_str().unwrap());
    assert_eq!(Protocol::VERSION, golden["version"].as_u64().unwrap());
    assert_eq!((Protocol::COMMAND_LEN, Protocol::NOTIFICATION_LEN), (72, 48));
    assert_eq!(size_of::<MapParams>(), 48);
}

#[test]
fn every_message_of_the_golden_file_is_tried() {
    let golden = golden();
    let kinds = |direction: &str, kinds: &[&str]| -> usize {
        kinds.iter().map(|kind| messages(direction, kind).len()).sum()
    };
    let commands = kinds("commands", &["mem_map", "tag_send", "tag_recv"]);
    assert_eq!(commands, golden["commands"].as_array().unwrap().len());
    let notifications = kinds("notifications", &["mem_map", "tag_send", "tag_recv"]);
    assert_eq!(notifications, golden["notifications"].as_array().unwrap().len());
}

#[test]
fn sends_are_byte_for_byte_those_of_c() {
    for message in messages("commands", "tag_send") {
        let inline = message.fields.get("data").map(|_| message.data("data"));
        let data = match &inline {
            Some(bytes) => Data::Inline(bytes),
            None => Data::Registered(Registered {
                memory: NonZeroU64::new(message.number("memh_id")).unwrap(),
                address: message.word(24),
                len: message.number("count"),
            }),
        };
        let [context, dest, tag] = ["context", "dest", "tag"].map(|field| message.number(field));
        let command = TagSend { context, dest, data, tag };
        message.is(&encoded(&command));
        assert_eq!(TagSend::decode(&message.bytes), Ok(command), "{}", message.name);
        assert_eq!(Command::decode(&message.bytes), Ok(Command::from(command)), "{}", message.name);
    }
}

#[test]
fn receives_are_byte_for_byte_those_of_c() {
    for message in messages("commands", "tag_recv") {
        let number = |field| message.number(field);
        let command = TagRecv {
            context: number("context"),
            buffer: message.word(16),
            count: number("count"),
            tag: number("tag"),
            tag_mask: number("tag_mask"),
            memh_id: number("memh_id"),
        };
        message.is(&encoded(&command));
        assert_eq!(TagRecv::decode(&message.bytes), Ok(command), "{}", message.name);
    }
}

#[test]
fn memory_is_mapped_with_the_bytes_of_c() {
    for message in messages("commands", "mem_map") {
        let handle = message.data("exported_memh");
        let number = |field| message.number(field);
        let map_params = MapParams {
            field_mask: number("field_mask"),
            address: number("address"),
            length: number("length"),
            flags: number("flags") as u32,
            prot: number("prot") as u32,
            memory_type: number("memory_type") as u32,
            ..MapParams::exported(0)
        };
        let command = MemMap { context: number("context"), map_params, exported_memh: &handle };
        message.is(&encoded(&command));
        let read = MemMap::decode(&message.bytes).unwrap();
        assert_eq!((read.context, read.exported_memh), (command.context, &handle[..]));
        assert_eq!(MapParams { exported_memh_buffer: 0, ..read.map_params }, map_params);
    }
}

#[test]
fn answers_to_sends_are_byte_for_byte_those_of_c() {
    for message in messages("notifications", "tag_send") {
        let echo =
            TagSend { context: message.number("context"), dest: 0, data: Data::default(), tag: 0 }
                .echo();
        let made = TagSent { status: message.status() }.into_descriptor(&echo).unwrap();
        message.is(made.payload());
        let read = TagSent::decode(&message.bytes[..], &echo).unwrap();
        assert_eq!(read.status, message.status());
    }
}

#[test]
fn answers_to_receives_are_byte_for_byte_those_of_c() {
    for message in messages("notifications", "tag_recv") {
        let number = |field| message.number(field);
        let inline = message.fields["inline"].as_bool().unwrap();
        let context = number("context");
        let recv = TagRecv { context, buffer: 0, count: 0, tag: 0, tag_mask: 0, memh_id: 0 };
        let data = || match inline {
            true => Received::Inline(Payload::from(&message.data("data")[..])),
            false => Received::Registered { len: number("count") },
        };
        let answer = || TagReceived {
            data: data(),
            sender_tag: number("sender_tag"),
            status: message.status(),
        };
        message.is(answer().into_descriptor(&recv.echo()).unwrap().payload());
        let mut bytes = message.bytes.clone();
        if inline {
            // The file has 0 instead of C's address, which indicates that data follows.
            bytes[16..24].copy_from_slice(&0x7f00_0000_1000u64.to_le_bytes());
        }
        let read = TagReceived::decode(&bytes[..], &recv.echo()).unwrap();
        assert_eq!(read, answer(), "{}", message.name);
        assert!(matches!(Notification::decode(&bytes), Ok(Notification::TagReceived { .. })));
    }
}

#[test]
fn a_mapping_may_be_answered_with_the_tag_of_a_send_as_c_does() {
    for message in messages("notifications", "mem_map") {
        let map = MemMap {
            context: message.number("context"),
            map_params: MapParams::exported(0),
            exported_memh: &[],
        };
        let made =
            MemMapped { memh_id: message.number("memh_id") }.into_descriptor(&map.echo()).unwrap();
        for tag in [0, 1] {
            let mut bytes = message.bytes.clone();
            bytes[0] = tag;
            assert_eq!(
                MemMapped::decode(&bytes[..], &map.echo()).unwrap().memh_id,
                message.number("memh_id")
            );
        }
        message.is(made.payload());
        let mut bytes = message.bytes.clone();
        bytes[0] = 2;
        assert!(MemMapped::decode(&bytes[..], &map.echo()).is_err());
    }
}
