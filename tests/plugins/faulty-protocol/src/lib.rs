//! Commands that make a plugin misbehave or inspect its worker.
#![allow(missing_docs, reason = "the crate is for tests: names describe the rest")]

use urom_abi::{urom_command, urom_notification};

#[urom_command(plugin = "worker_faulty", version = 1)]
#[derive(Debug, Clone, Copy)]
pub enum Command {
    #[urom(reply = Echoed)]
    Echo { data: u64 },
    #[urom(reply = Done)]
    Panic,
    #[urom(reply = Done)]
    Fail {
        /// The DOCA code of the failure, possibly 0.
        code: u32,
    },
    #[urom(reply = Done)]
    Hang,
    /// Yields `times` times before it answers.
    #[urom(reply = Echoed)]
    Yield { times: u32, value: u64 },
    #[urom(reply = Done)]
    Crash,
    #[urom(reply = EnvValue)]
    Env {
        /// Name of the variable, ended by a NUL or by the array.
        name: [u8; 32],
    },
    #[urom(reply = Cpus)]
    Affinity,
    #[urom(reply = Process)]
    Pid,
    /// Blocks the worker's thread.
    #[urom(reply = Done)]
    Stall { millis: u32 },
    /// Sleeps by the kit's clock; answers with the elapsed microseconds.
    #[urom(reply = Echoed)]
    Sleep { micros: u32 },
    #[urom(reply = Echoed)]
    Await { key: u64, value: u64 },
    /// Makes every `Await` of this key answer, including later commands.
    #[urom(reply = Done)]
    Tell { key: u64 },
    #[urom(reply = Long)]
    AskForLong,
    #[urom(reply = Done)]
    Print,
    /// Waits until the command is cancelled, and stores the reason under a key.
    #[urom(reply = Done)]
    OutlastHost { key: u64 },
    /// Returns `urom_pdk`'s reason under a key plus 1, or 0 if it is missing.
    #[urom(reply = Echoed)]
    Reason { key: u64 },
    #[urom(reply = Surroundings)]
    LookAround,
    /// Returns the number of connections reported as ended.
    #[urom(reply = Echoed)]
    Departed,
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
        /// Length of the whole value; `u64::MAX` if the variable is not set.
        len: u64,
        /// First bytes of the value, zero-padded.
        value: [u8; 64],
    },
    Cpus {
        /// One bit for each CPU, CPU 0 first.
        mask: [u64; 16],
    },
    Process {
        pid: u64,
    },
    /// `u64::MAX` marks unknown values.
    Surroundings {
        /// Microseconds until the deadline.
        left: u64,
        message_limit: u64,
        worker_id: u64,
        group_id: u64,
    },
    Long {
        /// The last word is nonzero, so the whole array is sent.
        words: [u64; 16],
    },
}

/// Converts a variable's name to [`Env::name`], truncated if too long.
pub fn env_name(name: &str) -> [u8; 32] {
    let mut bytes = [0; 32];
    for (slot, byte) in bytes.iter_mut().zip(name.bytes()) {
        *slot = byte;
    }
    bytes
}
