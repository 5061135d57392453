//! Traces: the program's spans beside its commands, in one file for Perfetto.
//!
//! [`layer`] gives each span of the crate `tracing` the ids of the W3C's header `traceparent`. A
//! command that is submitted within a span carries them to its worker, if library and service are
//! this project's: the plugin's spans and log lines are then children of the program's span.
//!
//! ```no_run
//! use tracing_subscriber::prelude::*;
//!
//! # fn main() -> std::io::Result<()> {
//! tracing_subscriber::registry().with(urom_host::trace::layer()?).init();
//! let _step = tracing::info_span!("step").entered();
//! # Ok(())
//! # }
//! ```
//!
//! `cargo urom trace -- PROGRAM`, or the variable `UROM_TRACE`, names the file. Without a file, the
//! ids travel only. Make the layer before the workers start: later ones are traced, others are not.
//! The ids do not travel through a library that the program loads.

use std::io;
use std::num::NonZeroU32;
use std::path::Path;

use libdoca_host::trace::{self, Tracer};
use tracing::Subscriber;
use tracing::span::{Attributes, Id};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::Context;
use tracing_subscriber::registry::{LookupSpan, SpanRef};
use urom_abi::trace::TraceContext;

/// Makes the layer for the file of the variable `UROM_TRACE`, or without a file.
///
/// # Errors
/// The file cannot be written, or the variable `UROM_TRACE_SAMPLE` is wrong.
pub fn layer() -> io::Result<TraceLayer> {
    trace::start(None, NonZeroU32::MIN).map(TraceLayer)
}

/// Makes the layer for a file, in which one trace in `every` is sampled. The variable `UROM_TRACE`
/// replaces both. The file is extended if it exists.
///
/// # Errors
/// As [`layer`].
pub fn layer_to(file: impl AsRef<Path>, every: NonZeroU32) -> io::Result<TraceLayer> {
    trace::start(Some(file.as_ref()), every).map(TraceLayer)
}

/// A layer of `tracing_subscriber` that [`layer`] makes.
#[derive(Clone, Copy, Debug)]
pub struct TraceLayer(&'static Tracer);

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for TraceLayer {
    fn on_new_span(&self, _: &Attributes<'_>, id: &Id, ctx: Context<'_, S>) {
        if let Some(span) = ctx.span(id) {
            let parent = span.parent().and_then(|parent| context_of(&parent));
            span.extensions_mut().replace(self.0.span(parent));
        }
    }

    fn on_enter(&self, id: &Id, ctx: Context<'_, S>) {
        self.moved(id, true, &ctx);
    }

    fn on_exit(&self, id: &Id, ctx: Context<'_, S>) {
        self.moved(id, false, &ctx);
    }
}

fn context_of<'a, S: LookupSpan<'a>>(span: &SpanRef<'a, S>) -> Option<TraceContext> {
    span.extensions().get().copied()
}

impl TraceLayer {
    /// Writes that a span was entered or left, and sets the context of the thread's next commands.
    fn moved<S: Subscriber + for<'a> LookupSpan<'a>>(
        &self,
        id: &Id,
        begins: bool,
        ctx: &Context<'_, S>,
    ) {
        let current = ctx.lookup_current();
        trace::set_current(current.and_then(|span| context_of(&span)));
        if let Some(span) = ctx.span(id)
            && let Some(context) = context_of(&span).filter(TraceContext::is_sampled)
        {
            self.0.write_span(span.name(), begins, &context);
        }
    }
}
