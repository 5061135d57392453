//! A plugin's file as text for people: the JSON of its description, a line for each part.
//!
//! Names are printed as they are: a description with control characters in a name is refused.

use std::fmt::Write as _;

use serde_json::Value;
use urom_abi::describe::section::{Description, Panic};

use crate::description::{PluginFile, json};
use crate::elf::SYMBOLS;
use crate::output::plain;

pub(super) fn file(file: &PluginFile) -> String {
    let elf = &file.elf;
    let name = file
        .plugin_name()
        .unwrap_or_else(|why| format!("none, because no service takes the file: {why}"));
    let mut out = format!("plugin       {}\n", plain(&name));
    let Some(Description { protocol, build }) = file.description else {
        out +=
            "version      what its urom_plugin_get_version returns: `cargo urom check` asks it\n";
        _ = writeln!(out, "machine      {}", elf.machine_name());
        for name in SYMBOLS {
            let there = match elf.export(name) {
                Some(_) => "exported",
                None if elf.sectionless => "not to be seen: the file has no sections",
                None => "missing: no service takes the file",
            };
            _ = writeln!(out, "symbol       {name}, {there}");
        }
        for library in &elf.needed {
            _ = writeln!(out, "needs        {}", plain(library));
        }
        return out
            + "
The file does not describe its commands, as plugins in C and ones without this kit's #[urom_plugin]
do not. Their header does. `cargo urom call --protocol FILE.so` takes the commands of another plugin
that speaks the same protocol and describes it, and `--raw` sends bytes.
";
    };
    let panic = match build.panic {
        Panic::Unwind => "unwinds",
        Panic::Abort => "aborts the worker",
    };
    let fingerprint = protocol.fingerprint();
    _ = writeln!(out, "version      {}\nfingerprint  {fingerprint:#018x}", protocol.version);
    _ = writeln!(out, "machine      {}", elf.machine_name());
    _ = writeln!(out, "built with   urom-pdk {}, a panic {panic}", plain(build.kit));
    let described = json::protocol(protocol);
    for title in ["commands", "notifications"] {
        let Value::Object(messages) = &described[title] else { continue };
        let (len, tag) = (&messages["len"], messages["tag"]["name"].as_str().unwrap_or_default());
        _ = writeln!(out, "\n{title}: {len} bytes each without payloads, tag {tag} at 0");
        list(&messages["header"]).iter().for_each(|field| part(&mut out, 1, field));
        for variant in list(&messages["variants"]) {
            out.push('\n');
            part(&mut out, 1, variant);
        }
    }
    out
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// Prints a part of a description: a line with its name, what is said of it and the first sentence
/// of its documentation, and its own parts below.
fn part(out: &mut String, depth: usize, of: &Value) {
    let (mut said, mut parts) = (Vec::new(), Vec::new());
    for (key, value) in of.as_object().into_iter().flatten() {
        let text = match value {
            Value::Null | Value::Bool(false) => continue,
            Value::String(_) if ["name", "docs"].contains(&&**key) => continue,
            Value::String(kind) if key == "kind" && kind == "plain" => continue,
            Value::Bool(true) => String::new(),
            Value::String(text) => plain(text),
            Value::Array(items) => {
                parts.extend(items);
                continue;
            }
            // A type with its parts, or a count.
            Value::Object(ty) => {
                let mut inner = value;
                while !inner["array"].is_null() {
                    inner = &inner["array"]["of"];
                }
                parts.extend([&inner["fields"], &inner["values"]].into_iter().flat_map(list));
                let value = ty.get("name").or_else(|| ty.values().next()).unwrap_or(value);
                value.as_str().map_or_else(|| value.to_string(), plain)
            }
            Value::Number(number) => number.to_string(),
        };
        said.push(format!("{key} {text}").trim_end().to_owned());
    }
    let name = of["name"].as_str().unwrap_or_default();
    let docs = first_sentence(of["docs"].as_str().unwrap_or_default());
    let stop = if docs.is_empty() { "" } else { ". " };
    _ = writeln!(out, "{:1$}{name}: {2}{stop}{docs}", "", 2 * depth, said.join(", "));
    parts.into_iter().for_each(|inner| part(out, depth + 1, inner));
}

/// The lines of a documentation up to the first empty one.
fn first_paragraph(docs: &str) -> Vec<String> {
    let lines = docs.lines().map(|line| plain(line.trim()));
    lines.skip_while(String::is_empty).take_while(|line| !line.is_empty()).collect()
}

fn first_sentence(docs: &str) -> String {
    let text = first_paragraph(docs).join(" ");
    text.split_once(". ").map_or_else(|| text.clone(), |(sentence, _)| format!("{sentence}."))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documentation_is_cut_to_what_a_line_holds_and_cannot_move_the_cursor() {
        assert_eq!(first_sentence(" One thing. Another.\n\n More."), "One thing.");
        assert_eq!(first_sentence("\n Over\n two lines.\n"), "Over two lines.");
        assert_eq!(first_sentence(" \u{1b}[2J"), "\\u{1b}[2J");
    }
}
