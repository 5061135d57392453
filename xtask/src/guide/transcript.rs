//! Compares a command's output with the page. `…` and `[..]` match text in a line; a line `…`
//! matches any lines.

use anyhow::{Result, bail};

pub(super) fn compare(shown: &[String], printed: &str) -> Result<()> {
    let printed: Vec<_> = printed.lines().map(str::trim_end).collect();
    let shown: Vec<_> = shown.iter().map(|line| line.trim_end()).collect();
    if !lines(&shown, &printed) {
        bail!(
            "the page shows\n\n{}\n\nand this was printed:\n\n{}\n",
            shown.join("\n"),
            printed.join("\n")
        );
    }
    Ok(())
}

/// Whether the output so far begins like the page's.
pub(super) fn reached(shown: &[String], printed: &str) -> bool {
    let mut shown: Vec<_> = shown.iter().map(|line| line.trim_end()).collect();
    shown.push(ANY);
    lines(&shown, &printed.lines().map(str::trim_end).collect::<Vec<_>>())
}

const ANY: &str = "…";

fn lines(shown: &[&str], printed: &[&str]) -> bool {
    match shown.split_first() {
        None => printed.is_empty(),
        Some((&ANY, rest)) => (0..=printed.len()).any(|skipped| lines(rest, &printed[skipped..])),
        Some((first, rest)) => printed
            .split_first()
            .is_some_and(|(line, others)| matches(first, line) && lines(rest, others)),
    }
}

fn matches(shown: &str, line: &str) -> bool {
    let shown = shown.replace("[..]", ANY);
    let Some((start, rest)) = shown.split_once(ANY) else { return shown == line };
    let Some(mut line) = line.strip_prefix(start) else { return false };
    let mut parts: Vec<_> = rest.split(ANY).collect();
    let end = parts.pop().unwrap_or_default();
    for part in parts {
        match line.find(part) {
            Some(at) => line = &line[at + part.len()..],
            None => return false,
        }
    }
    line.ends_with(end)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn same(shown: &[&str], printed: &str) -> bool {
        compare(&shown.iter().map(|line| (*line).to_owned()).collect::<Vec<_>>(), printed).is_ok()
    }

    #[test]
    fn output_is_compared_line_by_line() {
        assert!(same(&[], "") && same(&["a", "", "b"], "a\n\nb\n") && same(&["a"], "a  \n"));
        for wrong in ["", "a", "b\na", "a\nb\nc", "a\nbb", "a\n\nb"] {
            assert!(!same(&["a", "b"], wrong), "{wrong:?}");
        }
        assert!(!same(&[], "anything"));
    }

    #[test]
    fn varying_text_is_omitted_within_a_line() {
        for shown in ["took … s", "took [..] s", "…", "t…o…k…s", "took 1.5 s…"] {
            assert!(same(&[shown], "took 1.5 s"), "{shown}");
        }
        for shown in ["took … ms", "x…", "…x", "took 1.5 s … s", "k…t"] {
            assert!(!same(&[shown], "took 1.5 s"), "{shown}");
        }
    }

    #[test]
    fn a_line_of_its_own_stands_for_any_number_of_lines() {
        for printed in ["end", "1\nend", "1\n2\nend", "end\nend"] {
            assert!(same(&["…", "end"], printed), "{printed:?}");
        }
        assert!(!same(&["…", "end"], "end\nmore") && !same(&["a", "…", "end"], "b\nend"));
        assert!(same(&["…", "a", "…", "b"], "x\na\ny\na\nb"));
    }

    #[test]
    fn a_program_that_goes_on_is_waited_for_until_it_printed_what_is_shown() {
        let shown = ["listening on …".to_owned()];
        assert!(!reached(&shown, "") && !reached(&shown, "starting\n"));
        assert!(reached(&shown, "listening on x\n") && reached(&shown, "listening on x\nmore\n"));
    }
}
