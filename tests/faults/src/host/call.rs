//! Submits single commands.

use std::time::Duration;

use faulty_protocol::Client;
use urom_host::{DocaError, Host, Service, Worker};

use super::words::{Call, Trouble};

/// Submits `call` and waits for its end; returns the value, or 0.
pub(super) async fn call(
    service: &Service,
    faulty: &Client<Host>,
    worker: &Worker,
    call: Call,
    limit: Duration,
) -> Result<u64, Trouble> {
    let unruly = || service.plugin::<unruly_protocol::Protocol>();
    Ok(match call {
        Call::Echo(data) => faulty.task_echo(worker, data).timeout(limit).submit()?.await?.data,
        Call::Stall(time) => {
            let millis = u32::try_from(time.as_millis()).unwrap_or(u32::MAX);
            faulty.task_stall(worker, millis).timeout(limit).submit()?.await.map(|_| 0)?
        }
        Call::Raw { plugin, words } => raw(service, worker, &plugin, words, limit).await?,
        Call::Keep(data) => unruly()?.task_keep(worker, data).timeout(limit).submit()?.await?.data,
        Call::PanicAtOnce => {
            unruly()?.task_panic_at_once(worker).timeout(limit).submit()?.await?.data
        }
        Call::PanicLater => unruly()?.task_panic_later(worker).timeout(limit).submit()?.await?.data,
        Call::PanicAfterwards => {
            unruly()?.task_panic_afterwards(worker).timeout(limit).submit()?.await?.data
        }
        Call::PanicWhenCancelled => {
            unruly()?.task_panic_when_cancelled(worker).timeout(limit).submit()?.await?.data
        }
        Call::Leak(bytes) => {
            unruly()?.task_leak(worker, bytes).timeout(limit).submit()?.await?.data
        }
        Call::LateAnswers => worker.late_replies(),
    })
}

async fn raw(
    service: &Service,
    worker: &Worker,
    plugin: &str,
    words: [u64; 2],
    limit: Duration,
) -> Result<u64, Trouble> {
    let plugin = service.plugin_named(plugin)?;
    let command = words.map(u64::to_le_bytes).concat();
    let answer = worker.task(plugin, &command).timeout(limit).submit()?.await;
    answer.status.check().map_err(|code| Trouble::new(code, &code))?;
    let bytes = answer.bytes.unwrap_or_default();
    let second = bytes.last_chunk().filter(|_| bytes.len() == command.len());
    second.map(|word| u64::from_le_bytes(*word)).ok_or_else(|| {
        let text = format!("{} bytes instead of {}", bytes.len(), command.len());
        Trouble::new(DocaError::UNEXPECTED, &text)
    })
}
