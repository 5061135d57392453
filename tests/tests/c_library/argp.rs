//! `doca_argp`.

use std::io::Write;
use std::path::PathBuf;

use anyhow::{Context, Result};
use urom_tests::c::{Host, Output, Service};

use super::{programs, surroundings};

/// A program with the flags -d/--device, -n/--number, --all and -gid/--gid-index.
struct Flags {
    programs: Vec<PathBuf>,
    service: Service,
}

impl Flags {
    fn new() -> Result<Flags> {
        Ok(Flags { programs: programs("argp_flags.c")?, service: surroundings()? })
    }

    /// Runs it both ways, which gives the same.
    fn run(&self, variable: Option<&str>, line: &[&str]) -> Result<Output> {
        let outputs = self.programs.iter().map(|program| {
            let mut host = Host::new(program);
            for arg in line {
                host = host.arg(arg);
            }
            if let Some(variable) = variable {
                host = host.env(variable, "1");
            }
            host.run(&self.service)
        });
        let outputs: Vec<Output> = outputs.collect::<Result<_>>()?;
        for pair in outputs.windows(2) {
            assert_eq!(pair[0].stdout, pair[1].stdout, "{line:?}\n{}", pair[1].stderr);
            assert_eq!(pair[0].stderr, pair[1].stderr, "{line:?}");
        }
        outputs.into_iter().next().context("it is run one way at least")
    }

    /// What the callbacks got.
    fn called(&self, line: &[&str]) -> Result<String> {
        let output = self.run(None, line)?.success()?;
        assert_eq!(output.stderr, "", "{line:?}");
        let calls = output
            .stdout
            .strip_prefix("before ")
            .and_then(|rest| rest.strip_suffix("DOCA_SUCCESS\n"));
        Ok(calls.context(output.stdout.clone())?.replace('\n', " ").trim_end().to_owned())
    }

    /// That it is refused with a code, by one line that says all `parts`; nothing was called.
    fn refused(
        &self,
        variable: Option<&str>,
        line: &[&str],
        code: &str,
        parts: &[&str],
    ) -> Result<()> {
        let output = self.run(variable, line)?;
        assert_eq!(output.stdout, format!("before DOCA_ERROR_{code}\n"), "{line:?}");
        assert_eq!(output.stderr.lines().count(), 1, "{}", output.stderr);
        for part in parts {
            assert!(output.stderr.contains(part), "{line:?}: no {part:?} in {}", output.stderr);
        }
        Ok(())
    }
}

fn json(text: &str) -> Result<(tempfile::NamedTempFile, String)> {
    let mut file = tempfile::NamedTempFile::new()?;
    file.write_all(text.as_bytes())?;
    let path = file.path().to_str().context("a path of letters")?.to_owned();
    Ok((file, path))
}

#[test]
fn every_call_gives_its_codes() -> Result<()> {
    let service = surroundings()?;
    for program in programs("argp_calls.c")? {
        assert_eq!(Host::new(program).run(&service)?.success()?.stdout, "done\n");
    }
    Ok(())
}

#[test]
fn flags_call_back_in_their_order() -> Result<()> {
    let flags = Flags::new()?;
    assert_eq!(flags.called(&[])?, "");
    assert_eq!(
        flags.called(&["-d", "mlx5_0", "--number=-3", "--all"])?,
        "device=mlx5_0 number=-3 all=1"
    );
    assert_eq!(
        flags.called(&["--all", "-n", "-3", "-dx", "-gid", "7"])?,
        "all=1 number=-3 device=x gid=7"
    );
    assert_eq!(flags.called(&["-d", "a", "-d", "b", "--", "-n"])?, "device=a device=b");
    assert_eq!(flags.called(&["-l", "60", "--sdk-log-level", "10", "--log-level=70"])?, "");
    Ok(())
}

#[test]
fn levels_are_set_for_the_program_and_for_the_library() -> Result<()> {
    let flags = Flags::new()?;
    let (_file, path) = json(r#"{"doca_general_flags": {"log-level": 20, "sdk-log-level": 30}}"#)?;
    for (line, levels) in [
        (&[][..], "50 50"),
        (&["-l", "60"], "60 50"),
        (&["--log-level=10", "--sdk-log-level", "70"], "10 70"),
        (&["-j", &path], "20 30"),
        (&["-l40", "-j", &path], "40 30"),
        // What is wrong sets nothing.
        (&["-l", "60", "--what"], "50 50"),
        (&["-l", "60", "--sdk-log-level=65"], "50 50"),
    ] {
        let output = flags.run(Some("LEVELS"), line)?;
        assert!(
            output.stdout.starts_with(&format!("before {levels}\n")),
            "{line:?}: {}",
            output.stdout
        );
    }
    Ok(())
}

#[test]
fn what_is_wrong_on_the_command_line_is_said_and_nothing_called() -> Result<()> {
    let flags = Flags::new()?;
    let unknown = ["flags-program: unknown flag `--what`", "-h"];
    flags.refused(None, &["-d", "a", "--what"], "NOT_SUPPORTED", &unknown)?;
    let level = ["-l/--log-level", "55", "20=CRITICAL"];
    flags.refused(None, &["-d", "a", "-l", "55"], "INVALID_VALUE", &level)?;
    let file = "/nonexistent/x.json";
    flags.refused(None, &["-d", "a", "-j", file], "IO_FAILED", &[file])?;
    flags.refused(Some("NAMELESS"), &["-x"], "NOT_SUPPORTED", &["argp_flags: unknown flag `-x`"])
}

#[test]
fn a_callback_that_refuses_ends_the_parse_with_its_code() -> Result<()> {
    let output = Flags::new()?.run(None, &["--all", "-d", "refused", "-n", "1"])?;
    assert_eq!(output.stdout, "before all=1\ndevice=refused\nDOCA_ERROR_NOT_FOUND\n");
    assert!(
        output.stderr.contains("-d/--device") && output.stderr.contains("resource not found"),
        "{}",
        output.stderr
    );
    Ok(())
}

#[test]
fn mandatory_flags_come_from_the_command_line_or_from_a_file() -> Result<()> {
    let flags = Flags::new()?;
    let mandatory = Some("MANDATORY");
    flags.refused(
        mandatory,
        &["--all"],
        "INVALID_VALUE",
        &["flags -d/--device, -n/--number are required"],
    )?;
    flags.refused(mandatory, &["-n", "1"], "INVALID_VALUE", &["flag -d/--device is required"])?;
    let (_file, path) = json(r#"{"doca_program_flags": {"device": "a"}}"#)?;
    let output = flags.run(mandatory, &["-n", "1", "-j", &path])?.success()?;
    assert_eq!(output.stdout, "before device=a\nnumber=1\nDOCA_SUCCESS\n");
    Ok(())
}

#[test]
fn a_file_gives_flags_and_the_command_line_wins() -> Result<()> {
    let flags = Flags::new()?;
    let (_file, path) = json(
        r#"{
            // As DOCA's own files have it.
            "doca_general_flags": { "log-level": 60, },
            "doca_program_flags": { "number": -4, "all": false, "device": "of the file" }
        }"#,
    )?;
    assert_eq!(flags.called(&["-j", &path])?, "device=of the file number=-4 all=0");
    assert_eq!(flags.called(&["-d", "mine", "--json", &path])?, "number=-4 all=0 device=mine");
    Ok(())
}

#[test]
fn what_is_wrong_in_a_file_is_said_with_its_name() -> Result<()> {
    let flags = Flags::new()?;
    let (_file, path) = json(r#"{"doca_general_flags": {"log-level": 5}}"#)?;
    let parts = [path.as_str(), "-l/--log-level needs a level"];
    flags.refused(None, &["-j", &path], "INVALID_VALUE", &parts)?;
    Ok(())
}

#[test]
fn help_and_version_end_the_program_with_success() -> Result<()> {
    let flags = Flags::new()?;
    for line in [&["-h"][..], &["-d", "a", "--help"]] {
        let output = flags.run(Some("MANDATORY"), line)?.success()?;
        let text = &output.stdout;
        assert!(
            text.starts_with(
                "before Usage: flags-program [DOCA Flags] [Program Flags]\n\nDOCA Flags:\n"
            ),
            "{text}"
        );
        for line in [
            "  -h, --help  ",
            "  -v, --version  ",
            "  -l, --log-level <level>  ",
            "  --sdk-log-level <level>  ",
            "  -j, --json <path>  ",
        ] {
            assert!(text.contains(line), "no {line:?} in {text}");
        }
        let program = "
Program Flags:
  -d, --device <name>               Which device (required)
  -n, --number <count>              How many (required)
  --all                             Whether all
  -gid, --gid-index <index>         Which GID
";
        assert!(text.ends_with(program), "{text}");
        assert_eq!(output.stderr, "");
    }
    let output = flags.run(Some("NAMELESS"), &["-h"])?.success()?;
    assert!(
        output.stdout.starts_with("before Usage: argp_flags [DOCA Flags]"),
        "{}",
        output.stdout
    );
    for line in ["-v", "--version"] {
        assert_eq!(flags.run(None, &[line])?.success()?.stdout, "before DOCA version: 2.7.0\n");
    }
    Ok(())
}
