//! What a user might build in place of a UROM plugin: a small service that answers requests.
//!
//! Each peer is a server, which runs until its process is killed, and a client, which makes one
//! round trip after the other. Both run on one thread, because that is the fastest for one request
//! at a time. They sleep in the kernel between messages, as every program on these libraries does.

pub mod tonic_echo;
pub mod unix_echo;

use std::future::Future;

use anyhow::{Context, Result};
use tokio::runtime::{Builder, Runtime};

/// The bytes of a request and of an answer.
pub const MESSAGE_LEN: usize = 64;

/// A connected client.
#[derive(Debug)]
pub struct Client<C> {
    runtime: Runtime,
    connection: C,
}

impl<C> Client<C> {
    fn connect(connect: impl Future<Output = Result<C>>) -> Result<Client<C>> {
        let runtime = runtime()?;
        let connection = runtime.block_on(connect)?;
        Ok(Client { runtime, connection })
    }
}

fn runtime() -> Result<Runtime> {
    Builder::new_current_thread().enable_all().build().context("cannot start a tokio runtime")
}

/// A request. Its answer must be the same.
fn message(number: u64) -> [u8; MESSAGE_LEN] {
    let mut bytes = [0x5a; MESSAGE_LEN];
    bytes[..8].copy_from_slice(&number.to_le_bytes());
    bytes
}
