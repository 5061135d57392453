//! The C and C++ compilers, as the `cc` crate finds them.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

/// What to read a text as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    /// `-std=c11`.
    C11,
    /// `-std=c++17`.
    Cxx17,
}

impl Language {
    /// Those whose compilers the set-up brings: C++ on the machine it is made for, C everywhere.
    pub const ALL: &[Language] = if cfg!(target_arch = "x86_64") {
        &[Language::C11, Language::Cxx17]
    } else {
        &[Language::C11]
    };
}

/// The compiler for the machine this test was compiled for, strict about warnings.
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

/// `code` with all includes and macros expanded.
pub(crate) fn preprocessed(include: &Path, code: &str) -> String {
    let mut command = compiler(Language::C11);
    command.arg("-E").arg("-I").arg(include).arg("-").stdout(Stdio::piped());
    feed(&mut command, code).unwrap_or_else(|complaints| panic!("the headers: {complaints}"))
}

/// Compiles `code` without making anything of it; gives the compiler's complaints when it refuses.
pub fn check(language: Language, include: &Path, code: &str) -> Result<(), String> {
    let mut command = compiler(language);
    feed(command.arg("-fsyntax-only").arg("-I").arg(include).arg("-"), code).map(drop)
}

/// Makes the C program `program` of `code`.
pub fn build(include: &Path, code: &str, program: &Path) -> Result<(), String> {
    let mut command = compiler(Language::C11);
    feed(command.arg("-I").arg(include).arg("-").arg("-o").arg(program), code).map(drop)
}

/// Runs a program that was built here, behind cargo's runner when there is one, and gives what it
/// printed.
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

/// Runs a compiler on `code` and gives what it prints, or its complaints.
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
