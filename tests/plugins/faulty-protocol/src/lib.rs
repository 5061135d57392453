//! Commands that make a plugin misbehave, and some that let a test look around in its worker.
#![allow(missing_docs, reason = "the crate is for tests: names say the rest")]

use urom_abi::{urom_command, urom_notification};

#[urom_command(plugin = "worker_faulty", version = 1)]
#[derive(Debug, Clone, Copy)]
pub enum Command {
    #[urom(reply = Echoed)]
    Echo { data: u64 },
    #[urom(reply = Done)]
    Panic,
    /// Fails in the handler.
    #[urom(reply = Done)]
    Fail {
        /// The DOCA code to fail with; 0 as well.
        code: u32,
    },
    #[urom(reply = Done)]
    Hang,
    /// Goes through the executor several times before it ends.
    #[urom(reply = Echoed)]
    Yield { times: u32, value: u64 },
    #[urom(reply = Done)]
    Crash,
    /// Asks for a variable of the worker's environment.
    #[urom(reply = EnvValue)]
    Env {
        /// The variable's name, ended by a NUL or by the array.
        name: [u8; 32],
    },
    #[urom(reply = Cpus)]
    Affinity,
    #[urom(reply = Process)]
    Pid,
    /// Keeps the worker's thread asleep.
    #[urom(reply = Done)]
    Stall { millis: u32 },
    /// Sleeps by the kit's clock, and answers with how long that took, in microseconds.
    #[urom(reply = Echoed)]
    Sleep { micros: u32 },
    /// Waits until it is told, by `Tell`.
    #[urom(reply = Echoed)]
    Await { key: u64, value: u64 },
    /// Has every `Await` of this key answer, those included that are still to come.
    #[urom(reply = Done)]
    Tell { key: u64 },
    #[urom(reply = Long)]
    AskForLong,
    #[urom(reply = Done)]
    Print,
    /// Waits until nobody waits for it any more, and keeps the reason under a key.
    #[urom(reply = Done)]
    OutlastHost { key: u64 },
    /// Asks for the reason under a key: 0 when there is none yet, else 1 and `urom_pdk`'s.
    #[urom(reply = Echoed)]
    Reason { key: u64 },
    /// Asks what the command's context says of its worker.
    #[urom(reply = Surroundings)]
    LookAround,
    /// Asks how many connections were said to be over.
    #[urom(reply = Echoed)]
    Departed,
    /// Fails with a text of this many bytes.
    #[urom(reply = Done)]
    FailAtLength { len: u32 },
}

#[urom_notification]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Notification {
    Done,
    Echoed {
        data: u64,
    },
    EnvValue {
        /// How long the whole value is; `u64::MAX` when there is no such variable.
        len: u64,
        /// The value's first bytes, then zeros.
        value: [u8; 64],
    },
    Cpus {
        /// One bit for each CPU, CPU 0 first.
        mask: [u64; 16],
    },
    Process {
        pid: u64,
    },
    /// `u64::MAX` for what the worker does not say.
    Surroundings {
        /// How many microseconds are left until the deadline.
        left: u64,
        message_limit: u64,
        worker_id: u64,
        group_id: u64,
    },
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
