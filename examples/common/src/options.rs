//! The common options of the examples.

use clap::Args;
use clap::builder::TypedValueParser;
use clap::value_parser;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use urom_host::{Service, ServiceBuilder, WorkerBuilder};

/// The service and the log levels. Programs flatten it into their options.
#[derive(Debug, Args)]
pub struct Common {
    /// The InfiniBand device for the service, such as mlx5_0. NVIDIA's library requires one.
    #[arg(short, long, value_name = "NAME")]
    device: Option<String>,

    /// The service's address, HOST:PORT, or @FILE of uromd --address-file; default:
    /// DOCA_UROM_SERVICE_FILE, else a service in this process with the plugins of UROM_PLUGIN_PATH.
    #[arg(long, value_name = "ADDR")]
    service: Option<String>,

    /// The log level: 10 disable, 20 crit, 30 error, 40 warning, 50 info, 60 debug, 70 trace.
    #[arg(short, long, value_name = "LEVEL", default_value = "40", value_parser = level())]
    log_level: LevelFilter,

    /// The libraries' log level, on the same scale; if given, also the workers' UCX_LOG_LEVEL.
    #[arg(long, value_name = "LEVEL", value_parser = level())]
    sdk_log_level: Option<LevelFilter>,
}

impl Common {
    /// Logs to standard error; `program` is the program's crate. From then on, the program ends
    /// quietly when it prints to a reader that has left, such as `head`.
    pub fn install_log(&self, program: &str) {
        let hook = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            // `println!` panics with this text.
            let text = panic.payload().downcast_ref::<String>().map_or("", String::as_str);
            if !text.starts_with("failed printing to stdout: Broken pipe") {
                hook(panic);
            }
        }));
        let sdk = self.sdk_log_level.unwrap_or(LevelFilter::WARN);
        let targets = Targets::new().with_default(sdk).with_target(program, self.log_level);
        tracing_subscriber::registry()
            .with(tracing_subscriber::fmt::layer().with_writer(std::io::stderr))
            .with(targets)
            .init();
    }

    /// Returns a builder for the service of the options or the environment.
    pub fn service(&self) -> ServiceBuilder {
        let mut builder = Service::builder();
        if let Some(address) = &self.service {
            builder = builder.address_from(address, "--service");
        }
        if let Some(device) = &self.device {
            builder = builder.device(device);
        }
        builder
    }

    /// Sets the log level of a worker's UCX.
    pub fn worker_log(&self, worker: WorkerBuilder) -> WorkerBuilder {
        match self.sdk_log_level {
            None => worker,
            Some(LevelFilter::OFF) => worker.env("UCX_LOG_LEVEL", "fatal"),
            Some(level) => worker.env("UCX_LOG_LEVEL", level.to_string()),
        }
    }
}

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
