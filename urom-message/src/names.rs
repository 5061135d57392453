//! Errors about unknown names.

use crate::text::quoted;

const ALIKE: f64 = 0.75;

pub(super) fn plain(name: &str) -> String {
    name.chars().filter(|c| !matches!(c, '_' | '-')).flat_map(char::to_lowercase).collect()
}

/// Returns an error's text about an unknown name, with the most similar known one.
pub fn unknown<'a>(what: &str, name: &str, known: impl Iterator<Item = &'a str>) -> String {
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
    fn where_there_are_no_names_none_is_listed() {
        assert_eq!(unknown("no field", "a", [].into_iter()), "no field `a`, nor any other");
    }
}
