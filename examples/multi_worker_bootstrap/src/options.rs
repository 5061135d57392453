//! The command line.

use clap::Parser;
use clap::builder::TypedValueParser;
use clap::value_parser;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

/// Starts four workers in two groups, sends each a loopback, and asks the service who is in which group.
#[derive(Debug, Parser)]
#[command(version)]
pub(crate) struct Options {
    /// The InfiniBand device to reach the service through, such as mlx5_0. NVIDIA's library demands one.
    #[arg(short, long, value_name = "NAME")]
    pub(crate) device: Option<String>,

    /// The service's address, HOST:PORT. Otherwise the environment says where it is: DOCA_UROM_SERVICE_FILE, or else it
    /// is embedded in this process and finds its plugins in UROM_PLUGIN_PATH.
    #[arg(long, value_name = "ADDR")]
    pub(crate) service: Option<String>,

    /// Ends after one round instead of waiting for SIGINT or SIGTERM.
    #[arg(long)]
    pub(crate) once: bool,

    /// What this program logs: 10 disable, 20 crit, 30 error, 40 warning, 50 info, 60 debug, 70 trace.
    #[arg(short, long, value_name = "LEVEL", default_value = "40", value_parser = level())]
    log_level: LevelFilter,

    /// What the libraries log, on the same scale; given, it is also the workers' UCX_LOG_LEVEL.
    #[arg(long, value_name = "LEVEL", value_parser = level())]
    sdk_log_level: Option<LevelFilter>,
}

impl Options {
    /// Sends log lines to standard error.
    pub(crate) fn install_log(&self) {
        let sdk = self.sdk_log_level.unwrap_or(LevelFilter::WARN);
        let targets = Targets::new().with_default(sdk).with_target(env!("CARGO_CRATE_NAME"), self.log_level);
        tracing_subscriber::registry()
            .with(tracing_subscriber::fmt::layer().with_writer(std::io::stderr))
            .with(targets)
            .init();
    }

    /// What the workers' UCX is to log, when that was asked for.
    pub(crate) fn worker_log_level(&self) -> Option<&'static str> {
        self.sdk_log_level.map(|level| match level.into_level() {
            None => "fatal",
            Some(tracing::Level::ERROR) => "error",
            Some(tracing::Level::WARN) => "warn",
            Some(tracing::Level::INFO) => "info",
            Some(tracing::Level::DEBUG) => "debug",
            Some(tracing::Level::TRACE) => "trace",
        })
    }
}

/// DOCA's numbers as levels.
fn level() -> impl TypedValueParser<Value = LevelFilter> {
    value_parser!(u8).range(10..=70).map(|number| match number {
        ..30 => LevelFilter::OFF,
        30..40 => LevelFilter::ERROR,
        40..50 => LevelFilter::WARN,
        50..60 => LevelFilter::INFO,
        60..70 => LevelFilter::DEBUG,
        _ => LevelFilter::TRACE,
    })
}
