//! Commands that make a plugin misbehave, and some that let a test look around in its worker.

use urom_abi::{urom_command, urom_notification};

/// What a test can ask of the faulty plugin.
#[urom_command(plugin = "worker_faulty", version = 1)]
#[derive(Debug, Clone, Copy)]
pub enum Command {
    /// Asks for `data` back.
    #[urom(reply = Echoed)]
    Echo {
        /// Any value.
        data: u64,
    },
    /// Panics in the handler.
    #[urom(reply = Done)]
    Panic,
    /// Fails in the handler.
    #[urom(reply = Done)]
    Fail {
        /// The DOCA code to fail with; 0 as well.
        code: u32,
    },
    /// Never ends.
    #[urom(reply = Done)]
    Hang,
    /// Goes through the executor several times before it ends.
    #[urom(reply = Echoed)]
    Yield {
        /// How many times.
        times: u32,
        /// What to answer then.
        value: u64,
    },
    /// Aborts the worker's process.
    #[urom(reply = Done)]
    Crash,
    /// Asks for a variable of the worker's environment.
    #[urom(reply = EnvValue)]
    Env {
        /// The variable's name, ended by a NUL or by the array.
        name: [u8; 32],
    },
    /// Asks on which CPUs the worker's thread may run.
    #[urom(reply = Cpus)]
    Affinity,
    /// Asks for the worker's process id.
    #[urom(reply = Process)]
    Pid,
    /// Keeps the worker's thread asleep.
    #[urom(reply = Done)]
    Stall {
        /// For how long.
        millis: u32,
    },
    /// Sleeps by the kit's clock, and answers with how long that took, in microseconds.
    #[urom(reply = Echoed)]
    Sleep {
        /// For how long.
        micros: u32,
    },
    /// Waits until it is told, by `Tell`.
    #[urom(reply = Echoed)]
    Await {
        /// What tells it.
        key: u64,
        /// What to answer then.
        value: u64,
    },
    /// Has every `Await` of this key answer, those included that are still to come.
    #[urom(reply = Done)]
    Tell {
        /// The key.
        key: u64,
    },
    /// Asks for as long an answer as there is.
    #[urom(reply = Long)]
    AskForLong,
    /// Prints a line on standard output.
    #[urom(reply = Done)]
    Print,
}

/// What the faulty plugin answers.
#[urom_notification]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Notification {
    /// Nothing but that it ended.
    Done,
    /// Answers `Echo`, `Yield`, `Sleep` and `Await`.
    Echoed {
        /// The value the command carried.
        data: u64,
    },
    /// Answers `Env`.
    EnvValue {
        /// How long the whole value is; `u64::MAX` when there is no such variable.
        len: u64,
        /// The value's first bytes, then zeros.
        value: [u8; 64],
    },
    /// Answers `Affinity`.
    Cpus {
        /// One bit for each CPU, CPU 0 first.
        mask: [u64; 16],
    },
    /// Answers `Pid`.
    Process {
        /// The process id.
        pid: u64,
    },
    /// Answers `AskForLong`.
    Long {
        /// Not zero at the end, so that all of it travels.
        words: [u64; 16],
    },
}

/// [`Env::name`] for a variable's name; what does not fit is cut off.
pub fn env_name(name: &str) -> [u8; 32] {
    let mut bytes = [0; 32];
    for (slot, byte) in bytes.iter_mut().zip(name.bytes()) {
        *slot = byte;
    }
    bytes
}
