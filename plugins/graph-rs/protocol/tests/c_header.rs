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
    let golden: Value = serde_json::from_str(include_str!("../golden/worker_graph.json")).unwrap();
    let [commands, notifications] =
        ["commands", "notifications"].map(|of| golden[of].as_array().unwrap());
    assert!(!commands.is_empty());
    let (plugin, version) =
        (golden["plugin"].as_str().unwrap(), golden["version"].as_u64().unwrap());
    let notification = &notifications[0];
    for command in commands {
        let data = command["fields"]["data"].as_u64().unwrap().to_string();
        let written = c_interface::run(program, &[&data, notification["bytes"].as_str().unwrap()]);
        let bytes = command["bytes"].as_str().unwrap();
        assert_eq!(
            written,
            format!("{bytes} {} {plugin} {version}\n", notification["fields"]["data"])
        );
    }
}
