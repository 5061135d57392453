//! Errors about unknown names.

use crate::output::quoted;

const ALIKE: f64 = 0.75;

pub(super) fn plain(name: &str) -> String {
    name.chars().filter(|c| !matches!(c, '_' | '-')).flat_map(char::to_lowercase).collect()
}

pub(super) fn unknown<'a>(what: &str, name: &str, known: impl Iterator<Item = &'a str>) -> String {
    let known: Vec<&str> = known.collect();
    let score = |other: &str| strsim::jaro_winkler(&plain(name), &plain(other));
    let best = known
        .iter()
        .max_by(|a, b| score(a).total_cmp(&score(b)))
        .filter(|other| score(other) > ALIKE);
    let name = name.escape_debug();
    let all = || quoted(&known);
    match best {
        None if known.is_empty() => format!("{what} `{name}`, nor any other"),
        None => format!("{what} `{name}`: there is {}", all()),
        Some(best) => format!("{what} `{name}`: did you mean `{best}`? There is {}", all()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_is_recognised_and_all_names_are_listed() {
        let known = ["context", "dest", "tag_mask"];
        let text = unknown("there is no field", "contxt", known.into_iter());
        assert_eq!(
            text,
            "there is no field `contxt`: did you mean `context`? There is `context`, `dest`, `tag_mask`"
        );
        let text = unknown("there is no field", "zzz", known.into_iter());
        assert_eq!(text, "there is no field `zzz`: there is `context`, `dest`, `tag_mask`");
        assert!(unknown("there is no field", "a", [].into_iter()).ends_with("nor any other"));
    }
}
