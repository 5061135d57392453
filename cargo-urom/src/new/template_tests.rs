//! That the tool carries the template, and that each of its files is rendered as the template
//! engine renders it. `UROM_BLESS=1` writes `template.json` anew.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use liquid::ParserBuilder;

use super::*;

const TEMPLATE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../templates/plugin");
const COMMITTED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src/new/template.json");
const KITS: [&str; 3] = ["path", "git", "registry"];

/// What lies in the template's directory and is no part of a workspace.
const NOT_PARTS: [&str; 3] = ["Cargo.lock", "cargo-generate.toml", "target"];

/// Texts by their paths.
type Tree = BTreeMap<String, String>;

/// The template's own files, `NAME.liquid` in the place of `NAME`.
fn sources() -> Tree {
    fn add(directory: &Path, prefix: &str, tree: &mut Tree) {
        for entry in fs::read_dir(directory).expect("the template lies in the clone") {
            let entry = entry.expect("a file");
            let name = entry.file_name().into_string().expect("a name in UTF-8");
            if NOT_PARTS.contains(&&*name) {
                continue;
            }
            let path = format!("{prefix}{name}");
            match entry.path().is_dir() {
                true => add(&entry.path(), &format!("{path}/"), tree),
                false => _ = tree.insert(path, fs::read_to_string(entry.path()).expect("a text")),
            }
        }
    }
    let mut tree = Tree::new();
    add(Path::new(TEMPLATE), "", &mut tree);
    let liquid: Vec<_> =
        tree.keys().filter_map(|path| path.strip_suffix(".liquid")).map(str::to_owned).collect();
    for path in liquid {
        let text = tree.remove(&format!("{path}.liquid")).expect("it was listed");
        tree.insert(path, text);
    }
    tree
}

/// The answers that decide more than a name.
#[derive(Clone, Copy)]
struct Choice<'a> {
    kit: &'a str,
    ucx: bool,
    c_header: bool,
}

/// A file as the template engine renders it. `None` where `cargo-generate.toml` leaves it out.
fn rendered(
    path: &str,
    text: &str,
    choice: Choice<'_>,
    names: [&str; 4],
) -> Option<(String, String)> {
    let Choice { kit, ucx, c_header } = choice;
    let for_ucx = path == "plugin/build.rs";
    let for_c = path.starts_with("include/") || path.starts_with("protocol/tests/");
    if for_ucx && !ucx || for_c && !c_header {
        return None;
    }
    let [project, krate, plugin, source] = names;
    let values = liquid::object!({
        "project-name": project,
        "crate_name": krate,
        "plugin_name": plugin,
        "kit_source": source,
        "kit": kit,
        "ucx": ucx,
        "c_header": c_header,
    });
    let parser = ParserBuilder::with_stdlib().build().expect("the engine starts");
    let one = |text: &str| parser.parse(text).and_then(|text| text.render(&values)).expect(path);
    Some((one(path), one(text)))
}

const FLAGS: [(bool, bool); 4] = [(false, false), (false, true), (true, false), (true, true)];

/// What the tool should carry: of the answers, each file names those that change it.
fn made() -> Vec<Carried> {
    const PLACEHOLDERS: [&str; 4] =
        ["{{project-name}}", "{{crate_name}}", "{{plugin_name}}", "{{kit_source}}"];
    let mut all = Vec::new();
    for (path, text) in sources() {
        let of = |kit: &str, ucx, c_header| {
            rendered(&path, &text, Choice { kit, ucx, c_header }, PLACEHOLDERS)
        };
        let any = |differ: &dyn Fn(&str, bool, bool) -> bool| {
            KITS.iter().any(|kit| FLAGS.iter().any(|&(ucx, c_header)| differ(kit, ucx, c_header)))
        };
        let by_kit =
            any(&|kit, ucx, c_header| of(kit, ucx, c_header) != of(KITS[0], ucx, c_header));
        let by_ucx = any(&|kit, ucx, c_header| of(kit, ucx, c_header) != of(kit, !ucx, c_header));
        let by_c = any(&|kit, ucx, c_header| of(kit, ucx, c_header) != of(kit, ucx, !c_header));
        for kit in KITS.iter().take(if by_kit { KITS.len() } else { 1 }) {
            for (ucx, c_header) in FLAGS {
                if ucx && !by_ucx || c_header && !by_c {
                    continue;
                }
                let Some((path, text)) = of(kit, ucx, c_header) else { continue };
                let lines = text
                    .strip_suffix('\n')
                    .expect("a line's end")
                    .split('\n')
                    .map(str::to_owned)
                    .collect();
                all.push(Carried {
                    path,
                    kit: by_kit.then(|| (*kit).to_owned()),
                    ucx: by_ucx.then_some(ucx),
                    c_header: by_c.then_some(c_header),
                    lines,
                });
            }
        }
    }
    all
}

#[test]
fn the_tool_carries_the_template() {
    let made = made();
    if std::env::var_os("UROM_BLESS").is_some() {
        let text = serde_json::to_string_pretty(&made).expect("texts can be written as JSON");
        fs::write(COMMITTED, text + "\n").expect("it can be written");
        return;
    }
    let carried: Vec<Carried> = serde_json::from_str(FILES).expect("it is JSON");
    assert_eq!(carried.len(), made.len(), "run cargo xtask template --bless");
    for (carried, made) in carried.iter().zip(&made) {
        assert_eq!(carried, made, "{} has changed: run cargo xtask template --bless", made.path);
    }
}

#[test]
fn every_answer_gives_what_the_template_engine_gives() {
    for kit in ["registry", "path=../kit", "git=file:///kit"] {
        for (ucx, c_header) in FLAGS {
            let answers = Answers {
                project: "my-calc".to_owned(),
                plugin: "worker_calc".to_owned(),
                ucx,
                c_header,
                kit: kit.parse().expect("a place"),
            };
            let names = ["my-calc", "my_calc", "worker_calc", &answers.kit.source];
            let choice = Choice { kit: answers.kit.kind, ucx, c_header };
            let files = sources();
            let expected =
                files.iter().filter_map(|(path, text)| rendered(path, text, choice, names));
            let expected: Tree = expected.collect();
            let given: Tree = render(&answers).expect("the template is good").into_iter().collect();
            assert_eq!(given, expected);
            for (path, text) in &given {
                for sign in ["{{", "{%", "%}", ".liquid"] {
                    assert!(!path.contains(sign) && !text.contains(sign), "{path}: {sign}");
                }
            }
        }
    }
}
