//! `cargo urom inspect`: what files say of themselves, and that they are never loaded.

use std::fs;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use urom_abi::describe::{Messages, Protocol, c_header};
use urom_abi::protocol::Protocol as _;
use urom_tests::c::Source;

use crate::common::{copy_of, in_c, patch, rust, tool_says};

const PLUGINS: [(&str, &Protocol); 2] = [
    ("worker_graph", graph_protocol::Protocol::DESCRIPTION),
    ("worker_sandbox", sandbox_protocol::Protocol::DESCRIPTION),
];

#[test]
fn the_table_shows_every_command_with_its_fields_and_payloads() -> Result<()> {
    let table = tool_says(["inspect", &rust("worker_sandbox")?])?.good()?;
    let lines: Vec<Vec<&str>> =
        table.lines().map(|line| line.split_whitespace().collect()).collect();
    for line in [
        "plugin worker_sandbox",
        "version 1",
        "commands: 72 bytes each without payloads, tag u64 at 0",
        "context: kind echo, offset 8, optional, size 8, type u64. Any value; the answer repeats it.",
        "map_params: offset 16, size 48, type MapParams. Which memory.",
        "flags: offset 24, type u32. 2 (`UCP_MEM_MAP_ALLOCATE`) for memory that the plugin allocates.",
        "data_addr: kind address, offset 24, payload data, size 8, type u64",
        "data_len: kind length, offset 32, payload data, size 8, type u64",
        "memh_id: kind selector, offset 48, payload data, size 8, type u64. Which registered memory; 0 for data that travels with the command.",
        "exported_memh: address map_params.exported_memh_buffer, count exported_memh_len, element u8, optional. The exported handle of the host's memory; empty for memory that the plugin allocates.",
        "data: address data_addr, count data_len, element u8, optional, registered. Travels with the command, or lies in registered memory; nothing unless set.",
        "memh_id: offset 48, optional, size 8, type u64. Which registered memory to receive into, where no other command may have these bytes (`UCS_ERR_BUSY`); 0 (unless set) receives into the answer.",
        "status: offset 16, size 1, type i8. How the send ended.",
    ] {
        let words: Vec<_> = line.split_whitespace().collect();
        ensure!(lines.contains(&words), "no line {line:?} in\n{table}");
    }
    for part in ["\n  TagSend: reply TagSent, tag 1. ", "\n  MemMapped: also 1, tag 0"] {
        ensure!(table.contains(part), "no {part:?} in\n{table}");
    }
    let fingerprint = sandbox_protocol::Protocol::DESCRIPTION.fingerprint();
    ensure!(table.contains(&format!("{fingerprint:#018x}")), "{table}");
    Ok(())
}

/// Checks what JSON says of the messages of one direction.
fn agrees(shown: &Value, of: &Messages) -> Result<()> {
    let list = |value: &Value| value.as_array().cloned().context("no list");
    let variants = list(&shown["variants"])?;
    assert_eq!((&shown["len"], variants.len()), (&json!(of.len), of.variants.len()));
    for (shown, variant) in variants.iter().zip(of.variants) {
        let said = ["name", "tag", "also", "reply"].map(|key| shown[key].clone());
        let stated = json!([variant.name, variant.tag, variant.also, variant.reply]);
        assert_eq!(json!(said), stated);
        let said = list(&shown["fields"])?;
        let said = said.iter().map(|field| json!([field["name"], field["offset"], field["size"]]));
        let stated = variant.fields.iter();
        let stated = stated.map(|field| json!([field.name, field.offset, field.ty.size()]));
        assert!(said.eq(stated), "{shown:#}");
        let said = list(&shown["payloads"])?;
        let stated = variant.payloads.iter().map(|payload| json!(payload.name));
        assert!(said.iter().map(|payload| payload["name"].clone()).eq(stated), "{shown:#}");
    }
    Ok(())
}

#[test]
fn json_says_what_the_definition_says() -> Result<()> {
    for (name, protocol) in PLUGINS {
        for words in [&["--format", "json"][..], &["--json"]] {
            let shown = tool_says([&["inspect", &rust(name)?], words].concat())?.json()?;
            assert_eq!((&shown["plugin"], &shown["described"]), (&json!(name), &json!(true)));
            let shown = &shown["protocol"];
            assert_eq!(
                (&shown["name"], &shown["version"]),
                (&json!(name), &json!(protocol.version))
            );
            assert_eq!(shown["fingerprint"], format!("{:#018x}", protocol.fingerprint()));
            agrees(&shown["commands"], &protocol.commands)?;
            agrees(&shown["notifications"], &protocol.notifications)?;
        }
    }
    Ok(())
}

#[test]
fn the_c_header_is_that_of_the_definition() -> Result<()> {
    for (name, protocol) in PLUGINS {
        let header = tool_says(["inspect", &rust(name)?, "--format", "c-header"])?.good()?;
        assert_eq!(header, c_header(protocol));
    }
    Ok(())
}

#[test]
fn of_a_plugin_in_c_there_is_what_its_file_says() -> Result<()> {
    let file = in_c("worker_graph")?;
    let table = tool_says(["inspect", &file])?.good()?;
    for part in [
        "worker_graph",
        "urom_plugin_get_iface, exported",
        "libdoca_common.so.2",
        "does not describe",
        "--protocol",
    ] {
        ensure!(table.contains(part), "no {part:?} in\n{table}");
    }
    let shown = tool_says(["inspect", "--json", &file])?.json()?;
    assert_eq!((&shown["described"], &shown["protocol"]), (&json!(false), &Value::Null));
    let error = tool_says(["inspect", &file, "--format", "c-header"])?.bad()?;
    ensure!(error.contains("no header"), "{error}");
    Ok(())
}

#[test]
fn a_file_is_looked_at_without_running_anything_of_it() -> Result<()> {
    let directory = tempfile::tempdir()?;
    let source = directory.path().join("trap.c");
    fs::write(
        &source,
        "#include <stdlib.h>\n\
         void spring(void);\n\
         __attribute__((constructor)) void spring(void) { abort(); }\n",
    )?;
    let file = Source::new(&source).plugin("worker_trap")?;
    let said = tool_says(["inspect".as_ref(), file.as_os_str()])?;
    ensure!(said.out.contains("urom_plugin_get_iface, missing"), "{said:?}");
    let error = said.bad()?;
    ensure!(error.contains("is no plugin: it does not export `urom_plugin_get_"), "{error}");
    Ok(())
}

#[test]
fn what_is_no_plugin_is_refused_with_the_reason() -> Result<()> {
    let directory = tempfile::tempdir()?;
    let place = |name: &str| directory.path().join(name).display().to_string();
    let whole = fs::read(rust("worker_graph")?)?;
    fs::write(place("text.so"), "not at all")?;
    fs::write(place("cut.so"), &whole[..whole.len() / 2])?;
    let at = whole.windows(8).position(|bytes| bytes == b"uromdesc").context("a description")?;
    let mut damaged = whole.clone();
    // It claims 64 KiB more than there are.
    damaged[at + 14] ^= 1;
    fs::write(place("damaged.so"), &damaged)?;
    let mut later = whole;
    later[at + 8] = 99;
    fs::write(place("later.so"), &later)?;
    for (file, part) in [
        (place("absent.so"), "cannot be read"),
        ("/dev/zero".to_owned(), "not a regular file"),
        ("/proc/self/fd/0".to_owned(), "not a regular file"),
        (directory.path().display().to_string(), "cannot be read"),
        (place("text.so"), "no ELF file"),
        (place("cut.so"), "damaged"),
        (place("damaged.so"), "the description should have"),
        (place("later.so"), "the layout 99"),
    ] {
        let error = tool_says(["inspect", &file])?.bad()?;
        ensure!(
            error.contains(part) && error.contains(&file) && error.lines().count() == 1,
            "{file}: {error}"
        );
    }
    Ok(())
}

#[test]
fn a_description_does_nothing_to_a_terminal() -> Result<()> {
    let directory = tempfile::tempdir()?;
    let acts = |text: &str| text.chars().any(|c| c.is_control() && !matches!(c, '\n' | '\t'));
    // In the documentation it is shown, as what it is.
    let file = copy_of("worker_sandbox", directory.path(), "worker_sandbox.so")?;
    let path = file.to_str().context("a path in UTF-8")?;
    patch(&file, b"How the send ended.", b"How \xc2\x9b2J\x1b[2J ended.")?;
    for format in ["table", "json", "c-header"] {
        let said = tool_says(["inspect", path, "--format", format])?.good()?;
        ensure!(!acts(&said) && said.contains("[2J ended."), "{format}: {said}");
    }
    // In a name it is no description of ours.
    patch(&file, b"TagSend", b"Tag\x1b[2J")?;
    for words in [&["inspect", path][..], &["call", path], &["call", path, "tag_send"]] {
        let error = tool_says(words)?.bad()?;
        ensure!(!acts(&error) && error.contains("`Tag\\u{1b}[2J`"), "{words:?}: {error}");
    }
    Ok(())
}

#[test]
fn a_name_that_no_service_takes_keeps_nothing_from_being_shown() -> Result<()> {
    let directory = tempfile::tempdir()?;
    let file = copy_of("worker_graph", directory.path(), "worker_graph.so.1")?;
    let file = file.to_str().context("a path in UTF-8")?;
    let table = tool_says(["inspect", file])?.good()?;
    ensure!(
        table.contains("none, because no service takes the file") && table.contains("Loopback"),
        "{table}"
    );
    assert_eq!(tool_says(["inspect", file, "--json"])?.json()?["plugin"], Value::Null);
    Ok(())
}

#[test]
fn what_the_help_looks_for_with_jq_is_there() -> Result<()> {
    let help = tool_says(["inspect", "--help"])?.good()?;
    ensure!(help.contains("jq '.protocol.commands.variants[].name'"), "{help}");
    let shown = tool_says(["inspect", &rust("worker_graph")?, "--format", "json"])?.json()?;
    assert_eq!(shown["protocol"]["commands"]["variants"][0]["name"], "Loopback");
    Ok(())
}
