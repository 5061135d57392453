//! Runs the C and C++ compilers that the `cc` crate finds.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

/// Language and standard of a source text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    /// `-std=c11`.
    C11,
    /// `-std=c++17`.
    Cxx17,
}

impl Language {
    /// Languages whose compilers are installed: C++ only on x86-64, C everywhere.
    pub const ALL: &[Language] = if cfg!(target_arch = "x86_64") {
        &[Language::C11, Language::Cxx17]
    } else {
        &[Language::C11]
    };
}

fn compiler(language: Language) -> Command {
    let compiler = cc::Build::new()
        .cargo_metadata(false)
        .cpp(language == Language::Cxx17)
        .target(&format!("{}-unknown-linux-gnu", std::env::consts::ARCH))
        .host("x86_64-unknown-linux-gnu")
        .opt_level(0)
        .try_get_compiler()
        .expect("a C compiler: run `cargo xtask setup`");
    let mut command = compiler.to_command();
    command.args(match language {
        Language::C11 => ["-std=c11", "-x", "c"],
        Language::Cxx17 => ["-std=c++17", "-x", "c++"],
    });
    command.args(["-Wall", "-Wextra", "-Werror", "-pedantic"]);
    command
}

pub(crate) fn preprocessed(include: &Path, code: &str) -> String {
    let mut command = compiler(Language::C11);
    command.arg("-E").arg("-I").arg(include).arg("-").stdout(Stdio::piped());
    feed(&mut command, code).unwrap_or_else(|complaints| panic!("the headers: {complaints}"))
}

/// Checks the syntax of `code`; returns the compiler's messages if it fails.
pub fn check(language: Language, include: &Path, code: &str) -> Result<(), String> {
    let mut command = compiler(language);
    feed(command.arg("-fsyntax-only").arg("-I").arg(include).arg("-"), code).map(drop)
}

/// Compiles and links `code` as the C program `program`.
pub fn build(include: &Path, code: &str, program: &Path) -> Result<(), String> {
    let mut command = compiler(Language::C11);
    feed(command.arg("-I").arg(include).arg("-").arg("-o").arg(program), code).map(drop)
}

/// Runs a program made by `build`, under cargo's runner if one is set; returns its output.
pub fn run(program: &Path, arguments: &[&str]) -> String {
    let variable = format!(
        "CARGO_TARGET_{}_UNKNOWN_LINUX_GNU_RUNNER",
        std::env::consts::ARCH.to_ascii_uppercase()
    );
    let runner = std::env::var(variable).unwrap_or_default();
    let program = program.to_str().expect("a readable path");
    let mut words = runner.split_whitespace().chain([program]).chain(arguments.iter().copied());
    let mut command = Command::new(words.next().expect("a program"));
    let output = command.args(words).output().expect("the program starts: run `cargo xtask setup`");
    assert!(output.status.success(), "{command:?}: {}", output.status);
    String::from_utf8(output.stdout).expect("text")
}

fn feed(command: &mut Command, code: &str) -> Result<String, String> {
    let mut compiling =
        command.stdin(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap_or_else(|error| {
            panic!("{command:?} does not start ({error}): run `cargo xtask setup`")
        });
    let mut input = compiling.stdin.take().expect("a pipe");
    input.write_all(code.as_bytes()).expect("the compiler reads");
    drop(input);
    let done = compiling.wait_with_output().expect("the compiler ends");
    let said = if done.status.success() { Ok(done.stdout) } else { Err(done.stderr) };
    said.map(|text| String::from_utf8_lossy(&text).into_owned())
        .map_err(|text| String::from_utf8_lossy(&text).into_owned())
}
