//! Splits lists and structures at their brackets and commas.

/// Returns the items of `[..]`; `None` for another text.
pub(super) fn list(text: &str) -> Option<Result<Vec<&str>, String>> {
    let text = text.trim();
    let shown = || text.escape_debug();
    match (text.strip_prefix('['), text.ends_with(']')) {
        (Some(inner), true) => Some(parts(inner.strip_suffix(']')?)),
        (Some(_), false) => Some(Err(format!(
            "`{}` does not end with `]`; a shell wants quotes around a list with spaces",
            shown()
        ))),
        (None, true) => Some(Err(format!("`{}` does not begin with `[`", shown()))),
        (None, false) if text.contains(',') && !text.starts_with('{') => {
            Some(Err(format!("several values are a list: write `[{}]`", shown())))
        }
        (None, false) => None,
    }
}

/// Splits at commas outside of brackets. A comma may end the list.
pub(super) fn parts(text: &str) -> Result<Vec<&str>, String> {
    let (mut parts, missing) = split(text)?;
    if let Some(missing) = missing {
        return Err(format!("`{text}` lacks a `{missing}`: it opens more brackets than it closes"));
    }
    parts.pop_if(|last| last.is_empty());
    match parts.iter().position(|part| part.is_empty()) {
        Some(index) => {
            Err(format!("`{text}` has nothing in front of its comma number {}", index + 1))
        }
        None => Ok(parts),
    }
}

/// Splits at commas outside of brackets, and returns a bracket that is missing at the end.
fn split(text: &str) -> Result<(Vec<&str>, Option<char>), String> {
    let (mut parts, mut start, mut open) = (Vec::new(), 0, Vec::new());
    for (at, c) in text.char_indices() {
        match c {
            '[' => open.push(']'),
            '{' => open.push('}'),
            ']' | '}' if open.pop() != Some(c) => {
                return Err(format!("`{text}` has a `{c}` without its opening bracket"));
            }
            ',' if open.is_empty() => {
                parts.extend(text.get(start..at).map(str::trim));
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.extend(text.get(start..).map(str::trim));
    Ok((parts, open.pop()))
}
