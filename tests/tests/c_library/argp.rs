//! `doca_argp`.

use anyhow::Result;
use urom_tests::Transcript;
use urom_tests::c::{Host, launched, prefix};

use super::{programs, surroundings};

#[test]
fn every_call_gives_its_codes() -> Result<()> {
    let service = surroundings()?;
    for program in programs("argp_calls.c")? {
        assert_eq!(Host::new(program).run(&service)?.success()?.stdout, "done\n");
    }
    Ok(())
}

fn check(source: &str, expected: &str) -> Result<()> {
    for program in programs(source)? {
        let mut transcript = Transcript::new()?;
        transcript.set("LD_LIBRARY_PATH", prefix()?.library_path());
        transcript.set("PROGRAM", launched(&program));
        transcript.check(expected)?;
    }
    Ok(())
}

#[test]
fn flags_call_back_and_what_is_wrong_is_said() -> Result<()> {
    check("argp_flags.c", "c_library/argp.md")
}

#[test]
fn commands_have_flags_of_their_own_and_the_last_one_is_called() -> Result<()> {
    check("argp_commands.c", "c_library/argp_commands.md")
}
