//! A plugin that logs through `log` and `tracing` on request.

use std::time::Duration;

use talkative_protocol::{Fail, Handler, Said, SayAll, SayElsewhere, SayInSpans};
use urom_pdk::prelude::*;

struct Talkative;

#[urom_plugin]
impl Handler for Talkative {
    fn open(_cx: &OpenContext) -> Result<Self> {
        log::info!("open by log");
        tracing::info!("open by tracing");
        Ok(Talkative)
    }

    async fn say_all(&self, _cx: &Context, SayAll { number }: SayAll) -> Result<Said> {
        log::error!("error by log {number}");
        log::warn!("warn by log {number}");
        log::info!("info by log {number}");
        log::debug!("debug by log {number}");
        log::trace!("trace by log {number}");
        tracing::error!("error by tracing {number}");
        tracing::warn!("warn by tracing {number}");
        tracing::info!("info by tracing {number}");
        tracing::debug!("debug by tracing {number}");
        tracing::trace!("trace by tracing {number}");
        log::info!(target: "another::part", bytes = 7, peer = "node 7"; "fields by log {number}");
        tracing::info!(target: "another::part", bytes = 7, peer = "node 7", "fields by tracing {number}");
        Ok(Said)
    }

    async fn say_elsewhere(&self, _cx: &Context, cmd: SayElsewhere) -> Result<Said> {
        let said = std::thread::spawn(move || {
            log::warn!("elsewhere by log {}", cmd.number);
            tracing::warn!("elsewhere by tracing {}", cmd.number);
        });
        said.join().map_err(|_| "the thread panicked")?;
        Ok(Said)
    }

    async fn fail(&self, _cx: &Context, _cmd: Fail) -> Result<Said> {
        Err(DocaError::NOT_FOUND)?
    }

    async fn say_in_spans(&self, _cx: &Context, _cmd: SayInSpans) -> Result<Said> {
        tracing::info_span!("part").in_scope(|| {
            log::info!("parent {:?}", urom_pdk::traceparent());
        });
        urom_pdk::time::sleep(Duration::from_millis(1)).await;
        tracing::info!("after the pause");
        Ok(Said)
    }
}
