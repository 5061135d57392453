//! A C host with the committed header: its bytes equal the output of the C sample's pack functions.

use std::path::Path;

use serde_json::Value;

#[test]
fn a_host_in_c_packs_and_reads_the_samples_bytes() {
    let include = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../include"));
    let program = format!("{}/c_host-{}", env!("CARGO_TARGET_TMPDIR"), std::env::consts::ARCH);
    let program = Path::new(&program);
    if let Err(complaints) = c_interface::build(include, include_str!("c_host.c"), program) {
        panic!("the host does not compile:\n{complaints}");
    }
    let golden: Value =
        serde_json::from_str(include_str!("../golden/worker_sandbox.json")).unwrap();
    let named = |direction: &str, name: &str| -> Vec<Value> {
        let messages = golden[direction].as_array().unwrap().iter();
        messages
            .filter(|message| message["name"].as_str().unwrap().starts_with(name))
            .cloned()
            .collect()
    };
    let sends = named("commands", "tag_send inline");
    let [received] = &named("notifications", "tag_recv inline")[..] else {
        panic!("there is one such answer")
    };
    let answer = ["context", "sender_tag", "status"]
        .map(|field| received["fields"][field].to_string())
        .join(" ");
    let answer = format!("{answer} {}", received["fields"]["data"].as_str().unwrap());
    assert!(!sends.is_empty());
    for send in &sends {
        let mut bytes = send["bytes"].as_str().unwrap().to_owned();
        let data = bytes[144..].to_owned();
        // Instead of C's address, the word is 1 if there is data.
        bytes.replace_range(
            48..64,
            if data.is_empty() { "0000000000000000" } else { "0100000000000000" },
        );
        let [context, dest, tag] =
            ["context", "dest", "tag"].map(|field| send["fields"][field].to_string());
        let written = c_interface::run(
            program,
            &[&context, &dest, &tag, &data, received["bytes"].as_str().unwrap()],
        );
        assert_eq!(written, format!("{bytes} {answer} worker_sandbox 1\n"), "{}", send["name"]);
    }
}
