//! Checks a host's request for a worker and builds the worker's configuration.

use std::ffi::OsString;
use std::net::IpAddr;

use urom_abi::cpu::CpuSet;
use urom_abi::{DocaError, WorkerId};
use urom_wire::control::{Failure, StartWorker};

use super::args::DaemonArgs;
use super::config::DaemonConfig;
use super::discovery::FoundPlugin;
use super::environment::{inherited, is_granted};
use super::trust::{self, Distrust};
use crate::worker::{PluginItem, WorkerConfig};

pub(crate) fn resolve(
    id: WorkerId,
    wish: &StartWorker,
    plugins: &[FoundPlugin],
    daemon: &DaemonConfig,
    listen: IpAddr,
) -> Result<(WorkerConfig, Vec<(OsString, OsString)>), Failure> {
    let args = &daemon.args;
    let wanted = plugins.iter().filter(|found| wish.plugins & found.entry.id != 0);
    let plugins = wanted.map(plugin).collect::<Result<_, _>>()?;
    let config = WorkerConfig {
        id,
        gid: wish.gid,
        max_message: args.max_message,
        max_unread: args.max_unread(),
        max_hosts: args.limits.hosts,
        peer_timeout: daemon.peer_timeout,
        plugin_timeout: args.plugin_timeout,
        plain_doca: args.plain_doca,
        listen,
        socket: None,
        cpus: cpus(wish.cpus.as_deref(), daemon)?,
        log_level: args.log_level,
        sdk_log_level: args.sdk_log_level(),
        log_format: args.log_format(),
        log_file: args.log_file.clone(),
        plugins,
    };
    let own = wish.env.is_some().then(std::env::vars_os).into_iter().flatten();
    let inherited = inherited(own, &args.worker_env, listen);
    let env = wish.env.iter().flatten().enumerate();
    let env =
        env.map(|(at, text)| variable(at, text, args, &inherited)).collect::<Result<_, _>>()?;
    Ok((config, env))
}

/// Checks again who may write to a plugin: the host's list may be days old.
fn plugin(found: &FoundPlugin) -> Result<PluginItem, Failure> {
    let path = found.file.clone();
    match trust::check(&path) {
        Err(reason @ (Distrust::Writable { .. } | Distrust::Owner { .. })) => {
            let text = format!("{} is not loaded any more: {reason}", path.display());
            Err(Failure::new(DocaError::NOT_PERMITTED, text))
        }
        // A file without metadata cannot be loaded; loading reports a better error.
        Ok(()) | Err(Distrust::Io(_)) => Ok(PluginItem { path, id: found.entry.id }),
    }
}

fn cpus(wish: Option<&str>, daemon: &DaemonConfig) -> Result<Option<CpuSet>, Failure> {
    let invalid = |text: String| Failure::new(DocaError::INVALID_VALUE, text);
    let Some(text) = wish else {
        return Ok(daemon.args.cpus);
    };
    let cpus: CpuSet =
        text.parse().map_err(|error| invalid(format!("the worker's CPU set: {error}")))?;
    if !cpus.is_subset(&daemon.cpus) {
        let all = daemon.cpus;
        return Err(invalid(format!(
            "the worker's CPUs {cpus} are not all among the service's, {all}"
        )));
    }
    Ok(Some(cpus))
}

fn variable(
    at: usize,
    text: &str,
    args: &DaemonArgs,
    inherited: &[(OsString, OsString)],
) -> Result<(OsString, OsString), Failure> {
    let parts = text.split_once('=').filter(|(name, _)| !name.is_empty() && !text.contains('\0'));
    let (name, value) = parts.ok_or_else(|| {
        // The daemon logs this text, and the string may be a secret value.
        let text = format!(
            "entry {at} of the worker's environment is not NAME=value, or has a zero byte in it"
        );
        Failure::new(DocaError::INVALID_VALUE, text)
    })?;
    let granted = (&args.worker_env[..], &args.worker_env_allow[..]);
    if !is_granted(granted, inherited, name, value) {
        let text = format!(
            "`{0}` is not for a host to set: by names like it a worker loads code, writes files or listens elsewhere; start \
             the service with `uromd --worker-env-allow {0}`, or name variables of plugins `UROM_...`",
            name.escape_debug()
        );
        return Err(Failure::new(DocaError::NOT_PERMITTED, text));
    }
    Ok((name.into(), value.into()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::daemon::fuzzing::found;
    use urom_wire::control::LONGEST_TEXT;

    fn wish() -> StartWorker {
        StartWorker { id: 1, plugins: 0b10, gid: 4, env: None, cpus: None }
    }

    fn resolve_with(
        wish: &StartWorker,
    ) -> Result<(WorkerConfig, Vec<(OsString, OsString)>), Failure> {
        let daemon = DaemonConfig::new(DaemonArgs::default(), "0-7".parse().unwrap());
        resolve(
            WorkerId(9),
            wish,
            &[found(1), found(2), found(4)],
            &daemon,
            "127.0.0.1".parse().unwrap(),
        )
    }

    #[test]
    fn a_worker_gets_what_the_host_asked_for() {
        let env = Some(vec!["UROM_A=b=c".to_owned(), "UROM_EMPTY=".to_owned()]);
        let (config, env) =
            resolve_with(&StartWorker { env, cpus: Some("2-3".to_owned()), ..wish() }).unwrap();
        assert_eq!((config.id, config.gid), (WorkerId(9), 4));
        assert_eq!(config.cpus.unwrap().to_string(), "2-3");
        assert_eq!(config.plugins, [PluginItem { path: "/p/plugin2.so".into(), id: 2 }]);
        assert_eq!(env, [("UROM_A".into(), "b=c".into()), ("UROM_EMPTY".into(), "".into())]);
    }

    #[test]
    fn an_environment_that_is_none_is_named() {
        for text in ["hidden", "=hidden", "", "A=hidden\0"] {
            let env = Some(vec!["UROM_A=b".to_owned(), text.to_owned()]);
            let error = resolve_with(&StartWorker { env, ..wish() }).unwrap_err();
            assert_eq!(error.code, DocaError::INVALID_VALUE);
            let text = &error.text;
            assert!(
                text.contains("entry 1") && text.contains("NAME=value") && !text.contains("hidden"),
                "{text}"
            );
        }
    }

    #[test]
    fn however_long_the_wish_the_refusal_is_short() {
        let long = "\u{1}".repeat(1 << 20);
        let wishes = [
            StartWorker { cpus: Some(long.clone()), ..wish() },
            StartWorker { env: Some(vec![long.clone()]), ..wish() },
            StartWorker { env: Some(vec![format!("LD_{long}=x")]), ..wish() },
        ];
        for wish in wishes {
            let text = resolve_with(&wish).unwrap_err().text;
            assert!(
                text.len() <= LONGEST_TEXT && text.capacity() <= 2 * LONGEST_TEXT,
                "{}",
                text.len()
            );
        }
    }
}
