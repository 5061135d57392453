//! Commands with flags and subcommands. The outermost is the program: all inherit its DOCA flags.

use crate::argp::model::{ArgpError, ConfigCallback, Flag, built_in, check_name, refusal};

#[derive(Clone, Debug, Default)]
pub(crate) struct ArgpCommand {
    pub(crate) name: Option<String>,
    pub(crate) description: Option<String>,
    pub(crate) callback: Option<ConfigCallback>,
    pub(crate) is_hidden: bool,
    pub(crate) flags: Vec<Flag>,
    pub(crate) commands: Vec<ArgpCommand>,
}

impl ArgpCommand {
    pub(crate) fn program() -> ArgpCommand {
        ArgpCommand { flags: built_in(), ..ArgpCommand::default() }
    }

    pub(crate) fn shown(&self) -> &str {
        self.name.as_deref().unwrap_or("without a name")
    }

    pub(crate) fn needs_command(&self) -> bool {
        self.callback.is_none() && !self.commands.is_empty()
    }

    pub(crate) fn add_flag(&mut self, flag: Flag) -> Result<(), ArgpError> {
        flag.check()?;
        let of_doca = built_in();
        if let Some(other) = of_doca.iter().chain(&self.flags).find(|other| other.is_named(&flag)) {
            let whose = if other.is_programs() { "is registered already" } else { "is DOCA's own" };
            return Err(refusal!(
                ALREADY_EXIST,
                "flag {flag} has a name of {other}, which {whose}: choose another"
            ));
        }
        self.flags.push(flag);
        Ok(())
    }

    pub(crate) fn add_command(&mut self, command: ArgpCommand) -> Result<(), ArgpError> {
        command.check()?;
        if self.commands.iter().any(|other| other.name == command.name) {
            return Err(refusal!(
                ALREADY_EXIST,
                "command {} is registered already: choose another name",
                command.shown()
            ));
        }
        self.commands.push(command);
        Ok(())
    }

    fn check(&self) -> Result<(), ArgpError> {
        for (is_there, what, call) in [
            (self.name.is_some(), "name", "doca_argp_cmd_set_name"),
            (self.description.is_some(), "description", "doca_argp_cmd_set_description"),
            (
                self.callback.is_some() || !self.commands.is_empty(),
                "callback",
                "doca_argp_cmd_set_callback, or doca_argp_cmd_register_cmd,",
            ),
        ] {
            if !is_there {
                return Err(refusal!(
                    INITIALIZATION,
                    "command {} lacks its {what}: call {call} before it is registered",
                    self.shown()
                ));
            }
        }
        self.name.iter().try_for_each(|name| check_name(name, "command"))
    }

    fn names(&self) -> String {
        let listed = self.commands.iter().filter(|command| !command.is_hidden);
        listed.map(ArgpCommand::shown).collect::<Vec<_>>().join(", ")
    }

    pub(crate) fn missing_command(&self) -> ArgpError {
        refusal!(
            INVALID_VALUE,
            "a command is missing: there are {}; -h explains them",
            self.names()
        )
    }
}

/// The program and the commands of the command line, outermost first.
#[derive(Clone, Debug)]
pub(crate) struct CommandPath<'a>(Vec<&'a ArgpCommand>);

impl<'a> CommandPath<'a> {
    pub(crate) fn to(program: &'a ArgpCommand) -> CommandPath<'a> {
        CommandPath(vec![program])
    }

    pub(crate) fn commands(&self) -> &[&'a ArgpCommand] {
        &self.0
    }

    pub(crate) fn last(&self) -> &'a ArgpCommand {
        self.0[self.0.len() - 1]
    }

    /// Enters a subcommand; `None` if the last command lacks subcommands.
    pub(crate) fn enter(&mut self, name: &[u8]) -> Option<Result<(), ArgpError>> {
        let last = self.last();
        if last.commands.is_empty() {
            return None;
        }
        let is_meant = |command: &&ArgpCommand| command.shown().as_bytes() == name;
        let Some(command) = last.commands.iter().find(is_meant) else {
            return Some(Err(refusal!(
                NOT_SUPPORTED,
                "unknown command `{}`; there are {}",
                name.escape_ascii(),
                last.names()
            )));
        };
        self.0.push(command);
        Some(Ok(()))
    }

    /// Returns the valid flags of the last command. An inner flag shadows an outer one of its name.
    pub(crate) fn flags(&self) -> impl Iterator<Item = &'a Flag> {
        self.0.iter().rev().enumerate().flat_map(|(outwards, command)| {
            command.flags.iter().filter(move |flag| outwards == 0 || flag.is_inherited)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use urom_abi::{DocaError, DocaStatus};

    use crate::argp::model::{INT, tests::flag};

    unsafe extern "C" fn callback(_: *mut std::ffi::c_void) -> DocaStatus {
        DocaStatus::SUCCESS
    }

    fn command(name: &str) -> ArgpCommand {
        ArgpCommand {
            name: Some(name.to_owned()),
            description: Some("About it, at length".to_owned()),
            callback: Some(callback),
            ..ArgpCommand::default()
        }
    }

    #[test]
    fn whatever_a_command_lacks_is_named_with_the_call_that_sets_it() {
        for (lacking, call) in [
            (ArgpCommand { name: None, ..command("net") }, "doca_argp_cmd_set_name"),
            (ArgpCommand { description: None, ..command("net") }, "doca_argp_cmd_set_description"),
            (ArgpCommand { callback: None, ..command("net") }, "doca_argp_cmd_set_callback"),
        ] {
            let refusal = ArgpCommand::program().add_command(lacking).unwrap_err();
            assert_eq!(refusal.code, DocaError::INITIALIZATION);
            assert!(refusal.text.contains(call), "{}", refusal.text);
        }
    }

    #[test]
    fn a_flag_of_a_command_may_have_the_name_of_an_outer_one_but_not_of_docas() {
        let mut program = ArgpCommand::program();
        let shared = Flag { is_inherited: true, ..flag("d", "device", INT) };
        program.add_flag(shared).unwrap();
        let mut net = command("net");
        net.add_flag(flag("d", "", INT)).unwrap();
        for (short, long) in [("l", ""), ("", "json"), ("d", "")] {
            let refusal = net.add_flag(flag(short, long, INT)).unwrap_err();
            assert_eq!(refusal.code, DocaError::ALREADY_EXIST, "{}", refusal.text);
        }
        program.add_command(net).unwrap();
        let mut path = CommandPath::to(&program);
        path.enter(b"net").unwrap().unwrap();
        let names: Vec<_> = path.flags().map(Flag::to_string).collect();
        assert_eq!(names.first().unwrap(), "-d");
        assert_eq!(names.last().unwrap(), "-d/--device");
        assert!(path.enter(b"net").is_none(), "it lacks commands");
    }
}
