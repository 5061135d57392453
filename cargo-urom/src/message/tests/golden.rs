//! The bytes that C made.

use serde_json::Value;

use super::*;

#[test]
fn the_golden_messages_of_c_come_out_as_c_made_them() {
    for (protocol, golden) in [
        (GRAPH, include_str!("../../../../plugins/graph-rs/protocol/golden/worker_graph.json")),
        (
            SANDBOX,
            include_str!("../../../../plugins/sandbox-rs/protocol/golden/worker_sandbox.json"),
        ),
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
    (0..text.len())
        .step_by(2)
        .map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap())
        .collect()
}
