//! Checks that the macro reference explains every key of the macros.

use std::collections::BTreeSet;

/// The sources in which the macros define their keys.
const KEYS: [&str; 4] = [
    include_str!("../../urom-pdk-derive/src/attrs.rs"),
    include_str!("../../urom-pdk-derive/src/parse/keys.rs"),
    include_str!("../../urom-pdk-derive/src/parse/plugin.rs"),
    include_str!("../../urom-pdk-derive/src/described.rs"),
];

/// The pages of the reference.
const REFERENCE: [&str; 5] = [
    include_str!("../src/reference/described.md"),
    include_str!("../src/reference/fields.md"),
    include_str!("../src/reference/messages.md"),
    include_str!("../src/reference/payloads.md"),
    include_str!("../src/reference/plugin.md"),
];

/// Returns the first argument, a literal, of each call that takes a key.
fn keys(source: &str) -> BTreeSet<&str> {
    let calls =
        ["flag(", "value(", "value_with(", "value::<", "required(&mut keys,", "required(keys,"];
    let source = source.split("#[cfg(test)]").next().unwrap_or_default();
    let after = calls.iter().flat_map(|call| source.split(call).skip(1));
    let literals = after.filter_map(|rest| {
        let (before, rest) = rest.split_once('"')?;
        // Only a type or a line end may precede the name.
        (before.len() < 40 && !before.contains([';', '{', '=', ')']))
            .then(|| rest.split('"').next())?
    });
    literals.filter(|name| name.bytes().all(|byte| byte.is_ascii_lowercase())).collect()
}

#[test]
fn every_key_of_the_macros_is_in_the_reference() {
    let keys: BTreeSet<_> = KEYS.into_iter().flat_map(keys).collect();
    for known in
        ["plugin", "version", "reply", "also", "echo", "when", "unless", "abort", "export", "crate"]
    {
        assert!(
            keys.contains(known),
            "`{known}` was not found among {keys:?}: do the macros read keys otherwise now?"
        );
    }
    for key in keys {
        let written = [format!("`{key}"), format!("#[urom({key}")];
        let is_there =
            REFERENCE.iter().any(|page| written.iter().any(|written| page.contains(written)));
        assert!(is_there, "the reference does not explain the key `{key}`");
    }
}
