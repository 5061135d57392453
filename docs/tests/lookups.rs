//! Checks that the pages to look things up are complete: options of `uromd`, and error codes.

const OPTIONS: &str = include_str!("../src/options.md");
const HELP: &str = include_str!("../../urom-service/src/daemon/program/options.txt");
const CODES: &str = include_str!("../src/codes.md");
const HEADER: &str = include_str!("../../urom-abi/include/doca_error.h");

#[test]
fn every_option_of_uromd_is_in_the_table() {
    let options = HELP.split_whitespace().filter(|word| word.starts_with("--"));
    let mut count = 0;
    for option in options {
        let name = option.trim_matches(|c: char| !c.is_alphanumeric() && c != '-');
        let name = name.split(['[', '=']).next().expect("a split has a part");
        // Another option may begin with the same letters.
        let is_there = ["`", " ", "["].iter().any(|end| OPTIONS.contains(&format!("`{name}{end}")));
        assert!(is_there, "options.md lacks {name}");
        count += 1;
    }
    assert!(count > 15, "the help text is not read");
}

#[test]
fn every_error_code_is_in_the_table() {
    let codes = HEADER.lines().filter_map(|line| {
        line.trim().strip_prefix("DOCA_ERROR_")?.split_once(" =").map(|(name, _)| name)
    });
    let codes: Vec<&str> = codes.collect();
    assert!(codes.len() > 25, "the header is not read: {codes:?}");
    for code in codes {
        assert!(CODES.contains(&format!("| `{code}` |")), "codes.md lacks {code}");
    }
}
