//! Programs in C that log through `libdoca_urom.so`.

use std::collections::BTreeSet;

use anyhow::Result;
use urom_tests::PluginDirectory;
use urom_tests::c::{Host, Output, Service, Source};

use crate::line::{EACH, Line, said};

fn run(arguments: &[&str]) -> Result<Vec<Output>> {
    run_with(arguments, &[])
}

fn run_with(arguments: &[&str], variables: &[(&str, &str)]) -> Result<Vec<Output>> {
    let service = Service::embedded(PluginDirectory::with(&[])?)?;
    let run = |source: &Source| {
        let program = source.program()?;
        let host = arguments.iter().fold(Host::new(program), |host, argument| host.arg(argument));
        let host = variables.iter().fold(host, |host, (name, value)| host.env(name, value));
        host.run(&service)?.success()
    };
    Source::new("log_host.c").flag("-pthread").each_way().iter().map(run).collect()
}

#[test]
fn lines_up_to_info_go_to_standard_output_and_graver_ones_to_standard_error() -> Result<()> {
    let limits = [
        ("50", "20", 0..3, 3..4),
        ("70", "20", 0..3, 3..6),
        ("60", "30", 1..3, 3..5),
        ("40", "20", 0..3, 0..0),
        ("30", "20", 0..2, 0..0),
        ("70", "50", 0..0, 3..6),
        ("10", "20", 0..0, 0..0),
    ];
    for (lower, upper, graver, lighter) in limits {
        for output in run(&["standard", lower, upper])? {
            assert_eq!(said(&Line::all(&output.stderr)?), EACH[graver.clone()], "{lower} {upper}");
            assert_eq!(said(&Line::all(&output.stdout)?), EACH[lighter.clone()], "{lower} {upper}");
        }
    }
    Ok(())
}

#[test]
fn a_line_names_its_thread_file_and_function() -> Result<()> {
    for output in run(&["standard", "50", "20"])? {
        let line = &Line::all(&output.stdout)?[0];
        assert_eq!((line.name.as_str(), line.function.as_str()), ("DOCA", "one_of_each"));
        assert!(line.location.starts_with("log_host.c:") && line.id > 0, "{line:?}");
    }
    Ok(())
}

#[test]
fn without_a_backend_warnings_and_worse_go_to_standard_error() -> Result<()> {
    for output in run(&["nothing set up"])? {
        assert_eq!(said(&Line::all(&output.stderr)?), EACH[..3]);
        assert_eq!(output.stdout, "");
    }
    Ok(())
}

#[test]
fn a_constructor_can_log_before_any_other() -> Result<()> {
    for output in run_with(&["standard", "50", "20"], &[("LOG_EARLY", "1")])? {
        let lines = Line::all(&output.stderr)?;
        assert_eq!(said(&lines[..1]), [("ERR", "before main")]);
        assert_eq!(lines[0].function, "early");
    }
    Ok(())
}

#[test]
fn every_conversion_of_printf_is_written_as_printf_does() -> Result<()> {
    for output in run(&["conversions"])? {
        let lines = Line::all(&output.stdout)?;
        let texts: Vec<_> = lines.iter().map(|line| line.text.as_str()).collect();
        assert_eq!(
            texts,
            [
                "-1 2 3 10 ff FF c str (nil) %",
                "-3 -4 -5 -6 7 8 9",
                "1.500000 2.35 1.000000e+01 0.5 0x1p+0 2.500000 42 9.500000",
                "[    1|2    |00003|+4|     5|abc|wide]",
                "0.1 1 0.2 2 0.3 3 0.4 4 0.5 5 0.6 6",
                "a b c",
                "No such file or directory",
                "one two tabs  [31mred",
                "not UTF-8: \u{fffd}.",
                "",
            ]
        );
    }
    Ok(())
}

#[test]
fn lines_of_any_length_are_whole() -> Result<()> {
    // Around the size of the stack buffer for short lines, and far beyond.
    for len in [1020, 1027, 4096, 100_000] {
        for output in run(&["long", &len.to_string(), "8"])? {
            let lines = Line::all(&output.stdout)?;
            assert_eq!(lines.len(), 8);
            for (index, line) in lines.iter().enumerate() {
                assert_eq!(line.text.len(), len - index % 4);
                assert!(line.text.bytes().all(|byte| byte == b'x'));
            }
        }
    }
    Ok(())
}

#[test]
fn lines_of_many_threads_do_not_mix_and_none_is_lost() -> Result<()> {
    for output in run(&["threads"])? {
        let lines = Line::all(&output.stdout)?;
        let texts: BTreeSet<_> = lines.iter().map(|line| line.text.clone()).collect();
        let expected: BTreeSet<_> = (0..8)
            .flat_map(|thread| (0..500).map(move |line| format!("thread {thread} line {line} end")))
            .collect();
        assert_eq!(lines.len(), 4000);
        assert_eq!(texts, expected);
        assert_eq!(lines.iter().map(|line| line.id).collect::<BTreeSet<_>>().len(), 8);
    }
    Ok(())
}

#[test]
fn a_logged_line_stands_between_what_was_printed_before_and_after() -> Result<()> {
    for output in run(&["in order"])? {
        let ends: Vec<_> =
            output.stdout.lines().map(|line| line.rsplit("] ").next().unwrap_or(line)).collect();
        assert_eq!(
            ends,
            ["printed 0", "logged 0", "printed 1", "logged 1", "printed 2", "logged 2"]
        );
    }
    Ok(())
}

#[test]
fn each_backend_has_limits_of_its_own() -> Result<()> {
    let directory = tempfile::tempdir()?;
    let [stream, descriptor] = ["stream", "descriptor"].map(|name| directory.path().join(name));
    for output in run(&["backends", &stream.to_string_lossy(), &descriptor.to_string_lossy()])? {
        assert_eq!(said(&Line::all(&std::fs::read_to_string(&stream)?)?), EACH[2..4]);
        assert_eq!(said(&Line::all(&std::fs::read_to_string(&descriptor)?)?), EACH[4..6]);
        assert_eq!((output.stdout.as_str(), output.stderr.as_str()), ("", ""));
    }
    Ok(())
}

#[test]
fn the_library_logs_to_sdk_backends_at_their_level() -> Result<()> {
    let directory = tempfile::tempdir()?;
    let file = directory.path().join("sdk");
    for output in run(&["sdk", &file.to_string_lossy()])? {
        let in_file = Line::all(&std::fs::read_to_string(&file)?)?;
        let on_stderr = Line::all(&output.stderr)?;
        // The highest level adds a debug line.
        assert_eq!(in_file.len(), 3, "{in_file:?}");
        assert!(
            in_file[2].level == "DBG" && in_file[2].text.contains("UROM_DEVICE"),
            "{in_file:?}"
        );
        assert_eq!(on_stderr.len(), 2, "{on_stderr:?}");
        for line in [&in_file[0], &in_file[1], &on_stderr[0]] {
            assert_eq!((line.name.as_str(), line.level.as_str()), ("DOCA", "WRN"));
            assert!(
                line.location.starts_with("device.rs:") && line.text.contains("bad device"),
                "{line:?}"
            );
        }
        assert_eq!(said(&on_stderr[1..]), [("ERR", "of the program")]);
    }
    Ok(())
}
