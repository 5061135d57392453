//! The differences between the headers and the Rust side, each as a sentence.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;

use super::model::{Interface, Record};
use super::names::{CONSTANTS_OF_C_ONLY, ENUMS_OF_C_ONLY};

/// All of them; none when the two are the same.
pub(crate) fn differences(c: &Interface, rust: &Interface) -> Vec<String> {
    let mut found = Vec::new();
    both("function", &c.functions, &rust.functions, &[], &mut found, differ("function"));
    both("structure", &c.records, &rust.records, &[], &mut found, record);
    let names = |set: &BTreeSet<String>| {
        set.iter().map(|name| (name.clone(), ())).collect::<BTreeMap<_, _>>()
    };
    both(
        "opaque structure",
        &names(&c.opaque),
        &names(&rust.opaque),
        &[],
        &mut found,
        |_, (), ()| Vec::new(),
    );
    both("enum", &c.enums, &rust.enums, ENUMS_OF_C_ONLY, &mut found, differ("enum"));
    both(
        "constant",
        &c.constants,
        &rust.constants,
        CONSTANTS_OF_C_ONLY,
        &mut found,
        differ("constant"),
    );
    found
}

/// Compares two maps. What is `only_c`'s has to be in C and nowhere else.
fn both<T>(
    what: &str,
    c: &BTreeMap<String, T>,
    rust: &BTreeMap<String, T>,
    only_c: &[&str],
    found: &mut Vec<String>,
    compare: impl Fn(&str, &T, &T) -> Vec<String>,
) {
    for (name, in_c) in c {
        match rust.get(name) {
            Some(in_rust) => found.extend(compare(name, in_c, in_rust)),
            None if only_c.contains(&name.as_str()) => {}
            None => found.push(format!("{what} {name}: the headers have it, Rust does not")),
        }
    }
    for name in rust.keys().filter(|name| !c.contains_key(*name)) {
        found.push(format!("{what} {name}: Rust has it, the headers do not"));
    }
    for name in only_c {
        if !c.contains_key(*name) {
            found.push(format!("{what} {name}: names.rs says that C has it, the headers do not"));
        } else if rust.contains_key(*name) {
            found.push(format!(
                "{what} {name}: names.rs says that only C has it, but Rust has it too"
            ));
        }
    }
}

fn differ<T: Display + PartialEq>(what: &str) -> impl Fn(&str, &T, &T) -> Vec<String> {
    move |name, c, rust| {
        if c == rust {
            Vec::new()
        } else {
            vec![format!("{what} {name}: {c} in the headers, {rust} in Rust")]
        }
    }
}

fn record(name: &str, c: &Record, rust: &Record) -> Vec<String> {
    let mut found = Vec::new();
    let mut check = |what: &str, c: &dyn Display, rust: &dyn Display| {
        let (c, rust) = (c.to_string(), rust.to_string());
        if c != rust {
            found.push(format!("structure {name}: {what} is {c} in the headers, {rust} in Rust"));
        }
    };
    check("whether it is a union", &c.union, &rust.union);
    check("its size", &c.size, &rust.size);
    check("its alignment", &c.align, &rust.align);
    let names = |record: &Record| {
        record.fields.iter().map(|field| field.name.as_str()).collect::<Vec<_>>().join(", ")
    };
    check("the list of its fields", &names(c), &names(rust));
    for c in &c.fields {
        if let Some(rust) = rust.fields.iter().find(|field| field.name == c.name) {
            check(&format!("the type of {}", c.name), &c.ty, &rust.ty);
            check(&format!("the offset of {}", c.name), &c.offset, &rust.offset);
        }
    }
    found
}
