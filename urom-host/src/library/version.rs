//! Which releases of DOCA can be used.

/// The oldest release with the functions of the table as they are.
const OLDEST: (u32, u32) = (2, 7);
/// The newest major number whose interface is known.
const NEWEST_MAJOR: u32 = 3;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    Known,
    /// It is newer than what is known, and probably can be used.
    Newer,
    TooOld,
    NoRelease,
}

/// Judges what `doca_version_runtime` says: `2.7.0`, `3.0.0058`, `2.9.1-0.1`.
pub(super) fn judge(text: &str) -> Verdict {
    match parse(text) {
        None => Verdict::NoRelease,
        Some(release) if release < OLDEST => Verdict::TooOld,
        Some((major, _)) if major > NEWEST_MAJOR => Verdict::Newer,
        Some(_) => Verdict::Known,
    }
}

/// The first two numbers. They consist of digits, and no letter or digit follows them.
fn parse(text: &str) -> Option<(u32, u32)> {
    let (major, rest) = text.trim().split_once('.')?;
    let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    let (minor, rest) = rest.split_at(end);
    let number =
        |digits: &str| digits.bytes().all(|b| b.is_ascii_digit()).then(|| digits.parse().ok())?;
    let ends = rest.chars().next().is_none_or(|c| !c.is_alphanumeric());
    ends.then_some((number(major)?, number(minor)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn releases_from_2_7_on_are_taken() {
        for text in
            ["2.7.0", "2.7", "2.7.0085-1", "2.10.1", "3.0.0058", "3.1.0105", "3.99", " 2.9.1\n"]
        {
            assert_eq!(judge(text), Verdict::Known, "{text:?}");
        }
        for text in ["4.0.0", "10.1", "4.0"] {
            assert_eq!(judge(text), Verdict::Newer, "{text:?}");
        }
    }

    #[test]
    fn older_releases_are_not() {
        for text in ["2.6.9", "2.0.2", "1.99.0", "0.0.0", "2.5.0108"] {
            assert_eq!(judge(text), Verdict::TooOld, "{text:?}");
        }
    }

    #[test]
    fn what_is_no_release_is_not_taken_for_one() {
        for text in [
            "",
            "2",
            "2.",
            ".7",
            "2.x",
            "two.seven",
            "-2.7",
            "+2.7",
            "2.+7",
            "2.7rc1",
            "v2.7.0",
            "99999999999.1",
        ] {
            assert_eq!(judge(text), Verdict::NoRelease, "{text:?}");
        }
    }
}
