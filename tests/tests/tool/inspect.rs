//! `cargo urom inspect`, compared with the definitions.

use anyhow::{Context, Result};
use serde_json::{Value, json};
use urom_abi::describe::{Messages, Protocol, c_header};
use urom_abi::protocol::Protocol as _;

use crate::common::{rust, says};

const PLUGINS: [(&str, &Protocol); 2] = [
    ("worker_graph", graph_protocol::Protocol::DESCRIPTION),
    ("worker_sandbox", sandbox_protocol::Protocol::DESCRIPTION),
];

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
fn the_json_agrees_with_the_definition() -> Result<()> {
    for (name, protocol) in PLUGINS {
        for words in [&["--format", "json"][..], &["--json"]] {
            let shown = says([&["inspect", &rust(name)?], words].concat())?;
            let shown: Value = serde_json::from_str(&shown)?;
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
        let header = says(["inspect", &rust(name)?, "--format", "c-header"])?;
        assert_eq!(header, c_header(protocol));
    }
    Ok(())
}
