//! Writes `uromd`'s manual pages and completions into a `share` directory: for `cargo xtask install`.

mod help;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use clap::{Arg, ArgAction, Command, ValueHint};
use clap_complete::Shell;
use clap_mangen::Man;
use fs_err as fs;

use help::{COMMANDS, OPTIONS, OptionHelp, Section, sections};

/// Where shells look, relative to `share`. Debian's zsh has a directory for packages.
const COMPLETIONS: [(Shell, &str); 3] = [
    (Shell::Bash, "bash-completion/completions/uromd"),
    (Shell::Zsh, "zsh/vendor-completions/_uromd"),
    (Shell::Fish, "fish/vendor_completions.d/uromd.fish"),
];

fn main() -> Result<()> {
    let share = std::env::args_os().nth(1).context("usage: xtask-manual DIRECTORY")?;
    write(&PathBuf::from(share))
}

fn write(share: &Path) -> Result<()> {
    let pages = share.join("man/man8");
    fs::create_dir_all(&pages)?;
    let mut uromd = uromd();
    uromd.build();
    for command in uromd.get_subcommands().chain([&uromd]) {
        let source = concat!("uromd ", env!("CARGO_PKG_VERSION"));
        Man::new(command.clone()).section("8").source(source).generate_to(&pages)?;
    }
    for (shell, file) in COMPLETIONS {
        let file = share.join(file);
        fs::create_dir_all(file.parent().context("a file lies in a directory")?)?;
        clap_complete::generate(shell, &mut uromd, "uromd", &mut fs::File::create(file)?);
    }
    Ok(())
}

/// Describes the command line that `uromd` parses.
fn uromd() -> Command {
    let mut commands = sections(COMMANDS);
    let own = commands.next().unwrap_or_default();
    let uromd = with_options(described(Command::new("uromd"), own.about));
    let uromd = uromd.version(env!("CARGO_PKG_VERSION")).disable_help_subcommand(true);
    let uromd = uromd.subcommand_value_name("COMMAND");
    uromd.subcommands(commands.map(command))
}

fn command(section: Section) -> Command {
    let name = section.title.split(' ').nth(1).unwrap_or_default();
    let command = described(Command::new(name), section.about);
    match name {
        "check-config" => with_options(command),
        _ => command.args(section.options.into_iter().map(argument)),
    }
}

fn described(command: Command, text: String) -> Command {
    let help = Arg::new("help").short('h').long("help").action(ArgAction::Help);
    let command = command.disable_help_flag(true).arg(help.help("Prints the help"));
    command.about(first_sentence(&text)).long_about(text)
}

/// For completions, and the line of a page that `apropos` prints.
fn first_sentence(text: &str) -> String {
    text.split_once(". ").map_or(text, |(first, _)| first).trim_end_matches('.').to_owned()
}

fn with_options(command: Command) -> Command {
    sections(OPTIONS).fold(command, |command, section| {
        // clap describes --help and --version itself.
        let options = section.options.into_iter().filter(|option| !option.text.is_empty());
        command.next_help_heading(section.title).args(options.map(argument))
    })
}

fn argument(option: OptionHelp) -> Arg {
    let argument = Arg::new(option.long).long(option.long).short(option.short);
    let action = match option.value {
        Some(_) if option.text.contains("May be given several times") => ArgAction::Append,
        Some(_) => ArgAction::Set,
        None => ArgAction::SetTrue,
    };
    let argument = argument.action(action);
    let argument = argument.help(first_sentence(&option.text)).long_help(option.text);
    match option.value {
        Some("FILE") => argument.value_name("FILE").value_hint(ValueHint::FilePath),
        Some("DIR") => argument.value_name("DIR").value_hint(ValueHint::DirPath),
        Some(value) => argument.value_name(value),
        None => argument,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The long options in a text of `uromd`'s help, without the parser under test.
    fn options(text: &str) -> Vec<String> {
        let lines = text.lines().filter(|line| line.starts_with("  -"));
        let words = lines.filter_map(|line| line.split(' ').find(|word| word.starts_with("--")));
        words.map(ToOwned::to_owned).collect()
    }

    #[test]
    fn every_option_and_command_is_in_pages_and_completions() {
        let share = tempfile::tempdir().expect("a temporary directory");
        write(share.path()).expect("it can be written");
        let read = |file: &str| fs::read_to_string(share.path().join(file)).expect(file);
        let page = |name: &str| {
            read(&format!("man/man8/{name}.8")).replace("\\-", "-").replace("\\*(Aq", "'")
        };
        let completions = COMPLETIONS.map(|(shell, file)| (shell, read(file)));
        let mut count = 0;
        let mut is_in = |page: &str, option: &str| {
            count += 1;
            assert!(page.contains(option), "{option}: {page}");
            for (shell, text) in &completions {
                let shown = if *shell == Shell::Fish { &option[2..] } else { option };
                assert!(text.contains(shown), "{shell}: {option}");
            }
        };
        for name in ["uromd", "uromd-check-config"] {
            let page = page(name);
            options(OPTIONS).iter().filter(|option| *option != "--version").for_each(|option| {
                is_in(&page, option);
            });
            assert!(page.contains("UROM's header of 24 or 32 bytes included"), "{page}");
        }
        let (uromd, paragraphs) = (page("uromd"), COMMANDS.split("\n\n").skip(1));
        for paragraph in paragraphs {
            let command = paragraph.split(' ').nth(1).expect("uromd COMMAND");
            assert!(uromd.contains(&format!("uromd-{command}(8)")), "{command}: {uromd}");
            let page = page(&format!("uromd-{command}"));
            options(paragraph).iter().for_each(|option| is_in(&page, option));
        }
        assert_eq!(count, 2 * 29 + 16);
    }

    #[test]
    fn an_option_has_its_letter_and_its_value() {
        let uromd = uromd();
        let argument = |name: &str| {
            uromd.get_arguments().find(|argument| argument.get_id() == name).expect(name)
        };
        assert_eq!(argument("max-msg-size").get_short(), Some('m'));
        assert!(matches!(argument("config").get_action(), ArgAction::Set));
        assert_eq!(argument("plain-doca").get_value_names(), None);
        assert_eq!(argument("key-file").get_value_hint(), ValueHint::FilePath);
        assert!(matches!(argument("worker-env").get_action(), ArgAction::Append));
    }
}
