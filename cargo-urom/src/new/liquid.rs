//! A subset of the template language Liquid: values, `if` with `or`, `raw`, and trimming tags.
//!
//! cargo-generate uses the crate `liquid`, and tests compare both results. The tool avoids that
//! crate, which would take a fifth of its build time.

use std::collections::BTreeMap;

use anyhow::{Context as _, Result, bail, ensure};

/// Values by name. An empty value is false.
pub(super) type Values = BTreeMap<&'static str, String>;

/// Renders `text` with `values`. Skips `assign` tags, whose results are in `values`.
pub(super) fn render(text: &str, values: &Values) -> Result<String> {
    let (mut rest, mut rendered) = (text, String::new());
    // For each open `if`: whether a branch was taken, and whether the present branch is shown.
    let mut branches: Vec<(bool, bool)> = Vec::new();
    while let Some(at) = rest.find("{{").into_iter().chain(rest.find("{%")).min() {
        let (before, tag) = rest.split_at(at);
        let is_value = tag.starts_with("{{");
        let end = if is_value { "}}" } else { "%}" };
        let words;
        (words, rest) = tag[2..].split_once(end).with_context(|| format!("`{tag}` lacks {end}"))?;
        let before = if words.starts_with('-') { before.trim_end() } else { before };
        if words.ends_with('-') {
            rest = rest.trim_start();
        }
        let is_shown = |branches: &[(bool, bool)]| branches.iter().all(|(_, shown)| *shown);
        if is_shown(&branches) {
            rendered += before;
        }
        let words = words.trim_matches('-').trim();
        if is_value {
            if is_shown(&branches) {
                rendered += values.get(words).with_context(|| format!("no value `{words}`"))?;
            }
            continue;
        }
        let (name, condition) = words.split_once(' ').unwrap_or((words, ""));
        match name {
            "if" => {
                let holds = holds(condition, values)?;
                branches.push((holds, holds));
            }
            "elsif" | "else" => {
                let (taken, shown) = branches.last_mut().context("a branch without `if`")?;
                *shown = !*taken && (name == "else" || holds(condition, values)?);
                *taken |= *shown;
            }
            "endif" => drop(branches.pop().context("`endif` without `if`")?),
            "raw" => {
                let (raw, after) =
                    rest.split_once("{% endraw %}").context("`raw` is not closed")?;
                if is_shown(&branches) {
                    rendered += raw;
                }
                rest = after;
            }
            "assign" => {}
            other => bail!("unknown tag `{other}`"),
        }
    }
    ensure!(branches.is_empty(), "an `if` is not closed");
    Ok(rendered + rest)
}

/// Whether a comparison between `or` holds: `name`, `name == "text"`, `name != "text"`.
fn holds(condition: &str, values: &Values) -> Result<bool> {
    for comparison in condition.split(" or ") {
        let mut words = comparison.split_ascii_whitespace();
        let name = words.next().unwrap_or_default();
        let value = values.get(name).with_context(|| format!("no value `{comparison}`"))?;
        let holds = match words.collect::<Vec<_>>()[..] {
            [] => !value.is_empty(),
            ["==", text] => value == text.trim_matches('"'),
            ["!=", text] => value != text.trim_matches('"'),
            _ => bail!("unknown condition `{comparison}`"),
        };
        if holds {
            return Ok(true);
        }
    }
    Ok(false)
}
