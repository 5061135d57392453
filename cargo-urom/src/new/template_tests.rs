//! Compares the tool's copy with the template. `UROM_BLESS=1` rewrites `template.json`.

use std::fs;
use std::path::Path;

use super::*;

const TEMPLATE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../templates/plugin");
const COMMITTED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src/new/template.json");

/// Entries of the template's directory that are not copied to a workspace.
const NOT_PARTS: [&str; 3] = ["Cargo.lock", "cargo-generate.toml", "target"];

fn add(directory: &Path, prefix: &str, files: &mut Files) {
    for entry in fs::read_dir(directory).expect("the template lies in the clone") {
        let entry = entry.expect("a file");
        let name = entry.file_name().into_string().expect("a name in UTF-8");
        let path = format!("{prefix}{name}");
        if NOT_PARTS.contains(&&*name) || directory.join(format!("{name}.liquid")).exists() {
            continue;
        }
        if entry.path().is_dir() {
            add(&entry.path(), &format!("{path}/"), files);
            continue;
        }
        let text = fs::read_to_string(entry.path()).expect("a text");
        let lines = text.strip_suffix('\n').expect("a line's end").split('\n');
        let path = path.strip_suffix(".liquid").unwrap_or(&path);
        files.insert(path.to_owned(), lines.map(str::to_owned).collect());
    }
}

#[test]
fn the_tool_carries_the_template() {
    let mut files = Files::new();
    add(Path::new(TEMPLATE), "", &mut files);
    if std::env::var_os("UROM_BLESS").is_some() {
        let text = serde_json::to_string_pretty(&files).expect("texts can be written as JSON");
        fs::write(COMMITTED, text + "\n").expect("it can be written");
        return;
    }
    let carried: Files = serde_json::from_str(FILES).expect("it is JSON");
    assert_eq!(carried, files, "the template has changed: run cargo xtask template --bless");
}

#[test]
fn every_answer_gives_whole_files_and_the_requested_files() {
    for kit in ["registry", "path=../kit", "git=file:///kit", "vendor"] {
        for (peers, c_header) in [(false, false), (false, true), (true, false), (true, true)] {
            let answers = Answers {
                project: "my-calc".to_owned(),
                plugin: "worker_calc".to_owned(),
                kind: if peers { PluginKind::Peers } else { PluginKind::Answers },
                c_header,
                license: if peers { "MIT".to_owned() } else { String::new() },
                kit: kit.parse().expect("a source"),
            };
            let files = render(&answers).expect("the template is good");
            for (path, text) in &files {
                // This sign belongs to GitHub.
                let text = text.replace("${{ ", "");
                for sign in ["{{", "{%", "%}", ".liquid"] {
                    assert!(!path.contains(sign) && !text.contains(sign), "{path}: {sign}");
                }
            }
            let has = |name: &str| files.iter().any(|(path, _)| path == name);
            assert_eq!(has("plugin/build.rs"), peers);
            assert_eq!(has("include/worker_calc.h"), c_header);
            let manifest = files.iter().find(|(path, _)| path == "Cargo.toml").expect("Cargo.toml");
            assert!(manifest.1.contains(&answers.kit.source), "{}", manifest.1);
            let licensed = files.iter().filter(|(_, text)| text.contains("license"));
            assert_eq!(licensed.count(), if peers { 4 } else { 0 });
        }
    }
}

#[test]
fn a_commit_of_the_kit_stands_beside_its_address() {
    let answers = Answers {
        project: "calc".to_owned(),
        plugin: "worker_calc".to_owned(),
        kind: PluginKind::Answers,
        c_header: false,
        license: String::new(),
        kit: "git=https://a/kit#01ab".parse().expect("a source"),
    };
    let files = render(&answers).expect("the template is good");
    let has = |path: &str, text: &str| {
        let file = files.iter().find(|(name, _)| name == path).expect(path);
        assert!(file.1.contains(text), "{}", file.1);
    };
    has("Cargo.toml", r#"urom-pdk = { git = "https://a/kit", rev = "01ab" }"#);
    has(".github/workflows/ci.yml", "--git https://a/kit --rev 01ab cargo-urom\n");
    has("README.md", "`cargo install --git https://a/kit --rev 01ab cargo-urom`");
}

/// Renders the same files with the crate `liquid`, as cargo-generate does.
fn by_the_crate(answers: &Answers) -> Vec<(String, String)> {
    let values = ::liquid::object!({
        "project-name": answers.project,
        "crate_name": crate_name(&answers.project),
        "plugin_name": answers.plugin,
        "kit": answers.kit.kind,
        "kit_source": answers.kit.source,
        "kind": answers.kind.name(),
        "c_header": answers.c_header,
        "license": answers.license,
    });
    let parser = ::liquid::ParserBuilder::with_stdlib().build().expect("a parser");
    let put_in = |text: &str| parser.parse(text).and_then(|text| text.render(&values)).expect(text);
    let files: Files = serde_json::from_str(FILES).expect("it is JSON");
    let wanted = files.iter().filter(|(path, _)| is_wanted(path, answers));
    wanted.map(|(path, lines)| (put_in(path), put_in(&(lines.join("\n") + "\n")))).collect()
}

#[test]
fn the_files_are_those_of_the_template_language_itself() {
    for kit in ["registry", "path=../kit", "git=file:///kit", "git=https://a/kit#01ab", "vendor"] {
        for flags in 0..8 {
            let answers = Answers {
                project: "my-calc".to_owned(),
                plugin: "worker_calc2".to_owned(),
                kind: if flags & 1 != 0 { PluginKind::Peers } else { PluginKind::Answers },
                c_header: flags & 2 != 0,
                license: if flags & 4 != 0 {
                    "MIT OR Apache-2.0".to_owned()
                } else {
                    String::new()
                },
                kit: kit.parse().expect("a source"),
            };
            assert_eq!(render(&answers).expect("the template is good"), by_the_crate(&answers));
        }
    }
}

#[test]
fn a_broken_template_is_an_error_that_names_the_location() {
    let values = Values::from([("kit", "path".to_owned())]);
    for (text, part) in [
        ("a {{ kit", "lacks }}"),
        ("a {%}", "lacks %}"),
        ("{{ none }}", "no value `none`"),
        ("{% if none %}{% endif %}", "no value `none`"),
        ("{% if kit %}", "an `if` is not closed"),
        ("{% endif %}", "without `if`"),
        ("{% else %}", "without `if`"),
        ("{% if kit contains %}{% endif %}", "unknown condition"),
        ("{% for x in kit %}", "unknown tag `for`"),
        ("{% raw %} x", "`raw` is not closed"),
    ] {
        let error = liquid::render(text, &values).expect_err(text).to_string();
        assert!(error.contains(part), "{text}: {error}");
    }
}
