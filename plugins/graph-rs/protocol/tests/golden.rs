//! Reads and writes the bytes that the C plugin's own pack functions made.

use graph_protocol::{Command, Loopback, LoopbackDone, Notification, Protocol};
use serde_json::Value;
use urom_abi::protocol::{Protocol as _, Reply, Request};

fn golden() -> Value {
    serde_json::from_str(include_str!("../golden/worker_graph.json")).unwrap()
}

fn messages(direction: &str) -> Vec<(u64, Vec<u8>)> {
    let golden = golden();
    let messages = golden[direction].as_array().unwrap();
    assert!(!messages.is_empty());
    messages
        .iter()
        .map(|message| {
            let hex = message["bytes"].as_str().unwrap();
            let bytes =
                (0..hex.len()).step_by(2).map(|i| u8::from_str_radix(&hex[i..i + 2], 16).unwrap());
            (message["fields"]["data"].as_u64().unwrap(), bytes.collect())
        })
        .collect()
}

#[test]
fn name_version_and_lengths_are_those_of_c() {
    let golden = golden();
    assert_eq!(Protocol::NAME, golden["plugin"].as_str().unwrap());
    assert_eq!(Protocol::VERSION, golden["version"].as_u64().unwrap());
    assert_eq!((Protocol::COMMAND_LEN, Protocol::NOTIFICATION_LEN), (16, 16));
}

#[test]
fn commands_are_byte_for_byte_those_of_c() {
    for (data, bytes) in messages("commands") {
        let mut out = [0xee; 16];
        assert_eq!(Request::encode(&Loopback { data }, &mut out), Ok(16));
        assert_eq!(out[..], bytes);
        assert_eq!(Loopback::decode(&bytes), Ok(Loopback { data }));
        assert_eq!(Command::decode(&bytes), Ok(Command::Loopback { data }));
    }
}

#[test]
fn notifications_are_byte_for_byte_those_of_c() {
    for (data, bytes) in messages("notifications") {
        let echo = Loopback { data }.echo();
        let desc = LoopbackDone { data }.into_descriptor(&echo).unwrap();
        assert_eq!(desc.payload(), bytes);
        assert_eq!(LoopbackDone::decode(&bytes[..], &echo), Ok(LoopbackDone { data }));
        assert_eq!(Notification::decode(&bytes), Ok(Notification::LoopbackDone { data }));
    }
}

#[test]
fn whatever_cannot_be_served_is_answered_with_sixteen_bytes() {
    let mut asked = [0; 17];
    asked[8] = 3;
    for len in 0..=17 {
        assert_eq!(Protocol::refusal(&asked[..len]).unwrap().payload(), [0; 16], "{len} bytes");
    }
    asked[0] = 9;
    assert_eq!(Protocol::refusal(&asked).unwrap().payload()[..8], 9u64.to_le_bytes());
}
