//! Lists and structures as text: their brackets, and what stands between commas.

/// The items of `[..]`; `None` for another text.
pub(super) fn list(text: &str) -> Option<Result<Vec<&str>, String>> {
    let text = text.trim();
    let shown = || text.escape_debug();
    match (text.strip_prefix('['), text.ends_with(']')) {
        (Some(inner), true) => Some(parts(inner.strip_suffix(']')?)),
        (Some(_), false) => Some(Err(format!(
            "`{}` has no `]` at its end; a shell wants quotes around a list with spaces",
            shown()
        ))),
        (None, true) => Some(Err(format!("`{}` has no `[` in front", shown()))),
        (None, false) if text.contains(',') && !text.starts_with('{') => {
            Some(Err(format!("several values are a list: write `[{}]`", shown())))
        }
        (None, false) => None,
    }
}

/// The innermost bracket of a list or a structure that lacks its end.
pub(crate) fn is_open(text: &str) -> Option<char> {
    let mut open = Vec::new();
    for c in text.chars().filter(|_| text.starts_with(['[', '{'])) {
        match (c, open.last()) {
            ('[' | '{', _) => open.push(c),
            (']', Some('[')) | ('}', Some('{')) => _ = open.pop(),
            (']' | '}', _) => return None,
            _ => {}
        }
    }
    open.pop()
}

/// What stands between the commas that are in no brackets.
pub(super) fn parts(text: &str) -> Result<Vec<&str>, String> {
    let mut parts = Vec::new();
    let (mut open, mut start) = (Vec::new(), 0);
    for (at, c) in text.char_indices() {
        match c {
            '[' => open.push(']'),
            '{' => open.push('}'),
            ']' | '}' if open.pop() != Some(c) => {
                return Err(format!("`{text}` has a `{c}` without its opening bracket"));
            }
            ',' if open.is_empty() => {
                parts.extend(text.get(start..at));
                start = at + 1;
            }
            _ => {}
        }
    }
    if let Some(missing) = open.pop() {
        return Err(format!("`{text}` lacks a `{missing}`: it opens more brackets than it closes"));
    }
    let last = text.get(start..).unwrap_or_default();
    if !last.trim().is_empty() {
        parts.push(last);
    }
    match parts.iter().position(|part| part.trim().is_empty()) {
        Some(index) => {
            Err(format!("`{text}` has nothing in front of its comma number {}", index + 1))
        }
        None => Ok(parts.into_iter().map(str::trim).collect()),
    }
}
