//! The supported DOCA releases.

const OLDEST: (u32, u32) = (2, 7);
const NEWEST_MAJOR: u32 = 3;

/// Returns whether a version such as `2.9.1-0.1` is newer than the known releases, or its problem.
pub(super) fn judge(text: &str) -> Result<bool, String> {
    match parse(text) {
        None => Err(format!(
            "its doca_version_runtime returns {text:?}, which is not a release of DOCA"
        )),
        Some(release) if release < OLDEST => Err(format!("it is of DOCA {}", text.escape_debug())),
        Some((major, _)) => Ok(major > NEWEST_MAJOR),
    }
}

/// Parses the first two numbers: digits without a following letter or digit.
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
        let known = "2.7.0 2.7 2.7.0085-1 2.10.1 3.0.0058 3.1.0105 3.99";
        assert!(known.split(' ').all(|text| judge(text) == Ok(false)));
        assert_eq!(judge(" 2.9.1\n"), Ok(false));
        assert!("4.0.0 10.1 4.0".split(' ').all(|text| judge(text) == Ok(true)));
    }

    #[test]
    fn older_releases_and_what_is_no_release_are_not() {
        let none = " 2 2. .7 2.x two.seven -2.7 +2.7 2.+7 2.7rc1 v2.7.0 99999999999.1";
        for (why, texts) in [
            ("it is of DOCA", "2.6.9 2.0.2 1.99.0 0.0.0 2.5.0108"),
            ("which is not a release", none),
        ] {
            for text in texts.split(' ') {
                assert!(judge(text).unwrap_err().contains(why), "{text:?}");
            }
        }
    }
}
