//! Two processes that connect over TCP, on embedded services and on one `uromd`.

mod support;

use std::net::TcpListener;
use std::process::Command;

use anyhow::Result;
use rustix::process::Signal;
use support::{MIB, PROGRAM, has_table, sandbox};
use urom_tests::c::{Source, prefix};
use urom_tests::program::{Ended, LONG, Running, SOON, program};
use urom_tests::{PluginDirectory, Uromd, free_address};

fn one(plugins: &PluginDirectory, address: &str, rank: &str, options: &[&str]) -> Result<Running> {
    let mut command = program(PROGRAM, plugins);
    command.args(["--rendezvous", address, "--rank", rank]).args(options);
    Running::start(command)
}

fn two(plugins: &PluginDirectory, server: &[&str], client: &[&str]) -> Result<[Running; 2]> {
    let address = free_address()?;
    Ok([one(plugins, &address, "0", server)?, one(plugins, &address, "1", client)?])
}

fn end([server, client]: [Running; 2]) -> Result<[Ended; 2]> {
    Ok([server.end(LONG)?, client.end(LONG)?])
}

#[test]
fn a_text_of_the_greatest_length_makes_a_round_trip_and_both_print_it() -> Result<()> {
    let text = "x".repeat(99);
    let arguments = ["-m", &text, "-l", "50"];
    let [server, client] = end(two(&sandbox()?, &arguments, &arguments)?)?;
    let completed = format!("Server completed PING recv: {text}");
    let received = format!("Client received PONG recv: {text}");
    let of_server = ["Server posted PONG recv", &completed, "Server posted PONG send"];
    let of_client = ["Client posted PING recv", "Client posted PING send", &received];
    for (ended, said) in [(&server, of_server), (&client, of_client)] {
        for line in said.into_iter().chain(["Sample finished successfully"]) {
            assert!(ended.errors.contains(line), "{line} is not in\n{}", ended.errors);
        }
    }
    assert_eq!(server.succeeded().len(), 0);
    has_table(client, ["rendezvous", "100", "inline", "1", "1"]);
    Ok(())
}

#[test]
fn messages_of_every_kind_arrive_on_embedded_services_and_on_a_common_uromd() -> Result<()> {
    let plugins = sandbox()?;
    let daemon = Uromd::start_with(plugins.variable(), |command| command.args(["-l", "10"]))?;
    let (embedded, common): (&[&str], &[&str]) = (&[], &["--service", daemon.address()]);
    for service in [embedded, common] {
        let cases: [(&[&str], _); 5] = [
            (&["-m", ""], ["1", "inline", "1", "1"]),
            (&["--size", "1", "-i", "30"], ["1", "inline", "30", "27"]),
            (&["--size", "4000", "-i", "30"], ["4000", "inline", "30", "27"]),
            (&["--registered"], ["12", "registered", "1", "1"]),
            (&["--size", MIB, "--registered", "-i", "9"], [MIB, "registered", "9", "9"]),
        ];
        for (arguments, [bytes, how, rounds, measured]) in cases {
            let arguments = [service, arguments].concat();
            let [server, client] = end(two(&plugins, &arguments, &arguments)?)?;
            server.succeeded();
            has_table(client, ["rendezvous", bytes, how, rounds, measured]);
        }
    }
    Ok(())
}

/// DOCA's sample crashes on an invalid handle, so it must not receive any.
#[test]
fn a_plugin_that_is_not_the_kits_gets_no_memory_and_the_process_prints_why() -> Result<()> {
    let own = Source::new("sandbox_plugin.c").ucx();
    for source in [own.clone(), own.define("SANDBOX_BELIEVES_ITS_HOSTS", "")] {
        let mut plugins = PluginDirectory::with(&[])?;
        plugins.add(&source.plugin("worker_sandbox")?)?;
        // The uromd of the prefix finds the libraries of C plugins.
        let daemon = Uromd::start_command(Command::new(prefix()?.uromd()), plugins.path())?;
        let arguments = ["--service", daemon.address(), "--registered"];
        for ended in end(two(&plugins, &arguments, &arguments)?)? {
            ended.failed_saying("the worker, or its plugin, is not this kit's");
            ended.failed_saying("leave --registered out");
            assert!(!ended.errors.contains("CONNECTION_RESET"), "{}", ended.errors);
        }
        // Inline messages work.
        let inline = ["--service", daemon.address()];
        let [server, client] = end(two(&plugins, &inline, &inline)?)?;
        server.succeeded();
        has_table(client, ["rendezvous", "12", "inline", "1", "1"]);
    }
    Ok(())
}

/// C plugins, and the kit's plugin with such a host, import handles that UCX exports.
#[test]
fn registered_memory_goes_by_emulated_handles_to_plugins_in_c_and_in_rust() -> Result<()> {
    let library = prefix()?.lib().join("liburom_ucx_emulation.so");
    let in_c = Source::new("sandbox_plugin.c").ucx().define("SANDBOX_BELIEVES_ITS_HOSTS", "");
    let mut plugins = PluginDirectory::with(&[])?;
    plugins.add(&in_c.plugin("worker_sandbox")?)?;
    for plugins in [plugins, sandbox()?] {
        let mut uromd = Command::new(prefix()?.uromd());
        uromd.args(["-l", "40", "--plain-doca", "--emulate-exported-memory"]);
        let daemon = Uromd::start_command(uromd, plugins.path())?;
        for size in ["12", "4000", MIB] {
            let address = free_address()?;
            let start = |rank: &str| {
                let mut command = program(PROGRAM, &plugins);
                command.env("LD_PRELOAD", &library);
                let service = daemon.address();
                command.args(["--rendezvous", &address, "--rank", rank, "--service", service]);
                command.args(["--registered", "--size", size, "-i", "20"]);
                Running::start(command)
            };
            let [server, client] = end([start("0")?, start("1")?])?;
            server.succeeded();
            has_table(client, ["rendezvous", size, "registered", "20", "18"]);
        }
    }
    Ok(())
}

#[test]
fn one_process_may_send_from_registered_memory_and_the_other_inline() -> Result<()> {
    let (server, client) = (["--size", "3000", "--registered"], ["--size", "3000"]);
    let [_, client] = end(two(&sandbox()?, &server, &client)?)?;
    has_table(client, ["rendezvous", "3000", "inline", "1", "1"]);
    Ok(())
}

#[test]
fn processes_with_different_parameters_do_not_play() -> Result<()> {
    let plugins = sandbox()?;
    for (server, client) in [(["--size", "8"], ["--size", "9"]), (["-i", "1"], ["-i", "2"])] {
        for ended in end(two(&plugins, &server, &client)?)? {
            ended.failed_saying("were told different things");
        }
    }
    let [server, client] = end(two(&plugins, &["-m", "abcd"], &["-m", "abXd"])?)?;
    let found =
        [&server, &client].into_iter().filter(|ended| ended.errors.contains("byte 2 of 5")).count();
    assert!(
        found > 0 && server.code == Some(1) && client.code == Some(1),
        "{}{}",
        server.errors,
        client.errors
    );
    Ok(())
}

#[test]
fn a_message_too_long_for_a_command_is_refused_with_advice() -> Result<()> {
    let arguments = ["--size", "4001"];
    let [server, client] = end(two(&sandbox()?, &arguments, &arguments)?)?;
    client.failed_saying("4001 bytes are too many to travel in a command: give --registered");
    client.failed_saying("DOCA_ERROR_TOO_BIG");
    assert_eq!(server.code, Some(1), "{}", server.errors);
    Ok(())
}

#[test]
fn a_process_whose_partner_is_killed_in_a_long_run_soon_ends_with_the_reason() -> Result<()> {
    let plugins = sandbox()?;
    let endless = ["-i", "10000000", "-l", "50"];
    for victim in [0, 1] {
        let mut pair = two(&plugins, &endless, &endless)?;
        pair[1].says("Client received PONG")?;
        let [server, client] = pair;
        let (killed, left) = if victim == 0 { (server, client) } else { (client, server) };
        killed.signal(Signal::KILL)?;
        left.end(SOON)?.failed_saying("the other process is lost");
        assert_eq!(killed.end(SOON)?.code, None);
    }
    Ok(())
}

#[test]
fn both_processes_notice_that_their_uromd_is_killed() -> Result<()> {
    let plugins = sandbox()?;
    let daemon = Uromd::start_with(plugins.variable(), |command| command.args(["-l", "10"]))?;
    let arguments = ["-i", "10000000", "--service", daemon.address(), "-l", "50"];
    let mut pair = two(&plugins, &arguments, &arguments)?;
    pair[1].says("Client received PONG")?;
    drop(daemon);
    for process in pair {
        process.end(SOON)?.failed_saying("ping_pong, rank ");
    }
    Ok(())
}

#[test]
fn without_its_plugin_a_process_names_it_and_the_other_one_does_not_wait() -> Result<()> {
    let (address, none, plugins) = (free_address()?, PluginDirectory::with(&[])?, sandbox()?);
    let server = one(&none, &address, "0", &[])?;
    let client = one(&plugins, &address, "1", &[])?;
    server.end(LONG)?.failed_saying("worker_sandbox");
    client.end(LONG)?.failed_saying("participant 0");
    Ok(())
}

#[test]
fn a_meeting_point_that_is_taken_is_named() -> Result<()> {
    let taken = TcpListener::bind("127.0.0.1:0")?;
    let address = taken.local_addr()?.to_string();
    let ended = one(&sandbox()?, &address, "0", &[])?.end(LONG)?;
    ended.failed_saying(&format!("the two processes did not meet at {address}"));
    Ok(())
}

#[test]
fn options_that_make_no_sense_are_refused() -> Result<()> {
    let (plugins, long) = (sandbox()?, "x".repeat(100));
    let cases: [(&[&str], &str); 13] = [
        (&["-m", &long], "100 bytes, at most 99"),
        (&["--size", "0"], "0 is not in"),
        (&["--size", "268435457"], "268435457 is not in"),
        (&["--size", "8", "-m", "both"], "cannot be used with"),
        (&["--iterations", "0"], "0 is not in"),
        (&["--iterations", "10000001"], "10000001 is not in"),
        (&["--rendezvous", "localhost:1"], "--rank"),
        (&["--rank", "0"], "--rendezvous"),
        (&["--rendezvous", "localhost:1", "--rank", "2"], "2 is not in"),
        (&["-l", "71"], "71 is not in"),
        (&["--log-level", "9"], "9 is not in"),
        (&["--sdk-log-level", "info"], "invalid value 'info'"),
        (&["--no-such-option"], "--no-such-option"),
    ];
    for (arguments, expected) in cases {
        let mut command = program(PROGRAM, &plugins);
        command.args(arguments);
        let ended = Running::start(command)?.end(LONG)?;
        assert_eq!(ended.code, Some(2), "{arguments:?}: {}", ended.errors);
        assert!(ended.errors.contains(expected), "{arguments:?}: {}", ended.errors);
    }
    Ok(())
}
