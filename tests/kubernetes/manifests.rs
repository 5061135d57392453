//! The manifests of `deploy/`: each field is one of the Kubernetes API, and names match each other.
//!
//! The API's types ignore unknown fields. So an object is written again after it was read, and a
//! field that is then missing or different is wrong.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use k8s_openapi::api::apps::v1::DaemonSet;
use k8s_openapi::api::core::v1::{Container, Pod, PodSpec, Probe, Service};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, ObjectMeta};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The fields of the Prometheus operator's type that the manifest uses, from its documentation.
#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct ServiceMonitor {
    api_version: String,
    kind: String,
    metadata: ObjectMeta,
    spec: ServiceMonitorSpec,
}

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct ServiceMonitorSpec {
    selector: LabelSelector,
    endpoints: Vec<Endpoint>,
}

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Endpoint {
    port: String,
    path: String,
    interval: String,
}

const FILES: [&str; 3] =
    ["container/uromd.yaml", "kubernetes/uromd.yaml", "kubernetes/servicemonitor.yaml"];

fn text(file: &str) -> Result<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy").join(file);
    std::fs::read_to_string(&path).with_context(|| path.display().to_string())
}

fn objects(text: &str) -> Result<Vec<Value>> {
    Ok(serde_saphyr::from_multiple(text)?)
}

fn all_objects() -> Result<Vec<Value>> {
    let texts = FILES.iter().map(|file| objects(&text(file)?)).collect::<Result<Vec<_>>>()?;
    Ok(texts.concat())
}

/// Fails for an object with a field or value that its type does not have.
fn check(object: &Value) -> Result<()> {
    fn written<T: DeserializeOwned + Serialize>(object: &Value) -> Result<Value> {
        Ok(serde_json::to_value(serde_json::from_value::<T>(object.clone())?)?)
    }
    let written = match (object["apiVersion"].as_str(), object["kind"].as_str()) {
        (Some("v1"), Some("Pod")) => written::<Pod>(object)?,
        (Some("v1"), Some("Service")) => written::<Service>(object)?,
        (Some("apps/v1"), Some("DaemonSet")) => written::<DaemonSet>(object)?,
        (Some("monitoring.coreos.com/v1"), Some("ServiceMonitor")) => {
            written::<ServiceMonitor>(object)?
        }
        other => bail!("an unknown type of object: {other:?}"),
    };
    kept(object, &written, "")
}

/// Fails if a field of `given` is not in `written`, which may have more fields.
fn kept(given: &Value, written: &Value, at: &str) -> Result<()> {
    match (given, written) {
        (Value::Object(given), Value::Object(written)) => {
            given.iter().try_for_each(|(key, value)| {
                let at = format!("{at}/{key}");
                let other = written.get(key).with_context(|| format!("{at} is not a field"))?;
                kept(value, other, &at)
            })
        }
        (Value::Array(given), Value::Array(written)) if given.len() == written.len() => {
            let mut pairs = given.iter().zip(written).enumerate();
            pairs.try_for_each(|(index, (a, b))| kept(a, b, &format!("{at}/{index}")))
        }
        _ => {
            ensure!(given == written, "{at}: {given} is read as {written}");
            Ok(())
        }
    }
}

#[test]
fn every_field_is_one_of_the_api() -> Result<()> {
    for file in FILES {
        for object in objects(&text(file)?)? {
            check(&object).with_context(|| format!("{file}: {}", object["kind"]))?;
        }
    }
    Ok(())
}

/// Maps whose keys are not fields.
const FREE: [&str; 5] = ["labels", "matchLabels", "nodeSelector", "limits", "requests"];

/// Pointers to all keys and to all scalars.
fn places(value: &Value, at: String, keys: &mut Vec<(String, String)>, scalars: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            let is_selector_of_service = at == "/spec/selector" && fields.contains_key(NAME);
            let is_free = is_selector_of_service || FREE.iter().any(|name| at.ends_with(name));
            for (key, value) in fields {
                if !is_free {
                    keys.push((at.clone(), key.clone()));
                }
                let key = key.replace('~', "~0").replace('/', "~1");
                places(value, format!("{at}/{key}"), keys, scalars);
            }
        }
        Value::Array(values) => {
            for (index, value) in values.iter().enumerate() {
                places(value, format!("{at}/{index}"), keys, scalars);
            }
        }
        _ => scalars.push(at),
    }
}

const NAME: &str = "app.kubernetes.io/name";

#[test]
fn each_field_with_another_name_or_type_fails() -> Result<()> {
    let (mut renamed, mut changed) = (0, 0);
    for object in all_objects()? {
        let (mut keys, mut scalars) = (Vec::new(), Vec::new());
        places(&object, String::new(), &mut keys, &mut scalars);
        for (parent, key) in keys {
            let mut wrong = object.clone();
            let fields = wrong.pointer_mut(&parent).and_then(Value::as_object_mut);
            let fields = fields.context(parent.clone())?;
            let value = fields.remove(&key).context(key.clone())?;
            fields.insert(format!("{key}x"), value);
            ensure!(check(&wrong).is_err(), "{parent}/{key}x is accepted");
            renamed += 1;
        }
        for scalar in scalars {
            let mut wrong = object.clone();
            *wrong.pointer_mut(&scalar).context(scalar.clone())? = serde_json::json!([[true]]);
            ensure!(check(&wrong).is_err(), "{scalar} with another type is accepted");
            changed += 1;
        }
    }
    ensure!(renamed > 100 && changed > 50, "{renamed} fields, {changed} values");
    Ok(())
}

#[test]
fn a_field_at_a_wrong_place_given_twice_or_unreadable_fails() -> Result<()> {
    let good = text("kubernetes/uromd.yaml")?;
    for (from, to) in [
        ("      hostNetwork: true\n", ""),
        ("containerPort: 18700", "containerPort: \"18700\""),
        ("      hostNetwork: true", "      hostNetwork: \"true\""),
        ("      hostNetwork: true", "      hostNetwork: true\n      hostNetwork: true"),
        ("      hostNetwork: true", "     hostNetwork: true"),
        ("kind: DaemonSet", "kind: Daemonset"),
        ("apiVersion: apps/v1", "apiVersion: apps/v2"),
        ("              memory: 64Mi", "              memory: [64Mi]"),
        ("          readinessProbe:", "          readynessProbe:"),
        ("      containers:", "      containers: []\n      more:"),
    ] {
        ensure!(good.contains(from), "{from}");
        let wrong = good.replacen(from, to, 1);
        let checked = objects(&wrong).and_then(|objects| objects.iter().try_for_each(check));
        // Removing an optional field is no error.
        ensure!(checked.is_ok() == to.is_empty(), "{from:?} as {to:?}: {checked:?}");
    }
    Ok(())
}

struct Manifests {
    daemons: DaemonSet,
    pod: PodSpec,
    service: Service,
    monitor: ServiceMonitor,
}

fn manifests() -> Result<Manifests> {
    let [daemons, service]: [Value; 2] =
        objects(&text("kubernetes/uromd.yaml")?)?.try_into().ok().context("two objects")?;
    let [monitor]: [Value; 1] =
        objects(&text("kubernetes/servicemonitor.yaml")?)?.try_into().ok().context("one object")?;
    let daemons: DaemonSet = serde_json::from_value(daemons)?;
    let pod = daemons.spec.clone().and_then(|spec| spec.template.spec).context("a pod")?;
    let (service, monitor) = (serde_json::from_value(service)?, serde_json::from_value(monitor)?);
    Ok(Manifests { daemons, pod, service, monitor })
}

fn variable<'a>(container: &'a Container, name: &str) -> Result<&'a str> {
    let found = container.env.iter().flatten().find(|variable| variable.name == name);
    found.and_then(|variable| variable.value.as_deref()).with_context(|| format!("no {name}"))
}

#[test]
fn labels_ports_and_probes_match() -> Result<()> {
    let Manifests { daemons, pod, service, monitor } = manifests()?;
    let spec = daemons.spec.context("a spec")?;
    let labels = spec.template.metadata.and_then(|metadata| metadata.labels);
    ensure!(labels.is_some() && spec.selector.match_labels == labels, "{labels:?}");
    let service_spec = service.spec.context("a spec")?;
    assert_eq!(service_spec.selector, labels);
    assert_eq!(monitor.spec.selector.match_labels, service.metadata.labels);

    let container = &pod.containers[0];
    let ports = container.ports.iter().flatten();
    let ports: BTreeMap<_, _> =
        ports.map(|port| (port.name.clone(), port.container_port)).collect();
    let port = |name: &str| ports.get(&Some(name.to_owned())).copied();
    assert_eq!((port("uromd"), port("metrics")), (Some(18700), Some(18701)));
    assert_eq!(variable(container, "METRICS_ADDRESS")?, "0.0.0.0:18701");
    let [service_port] = &service_spec.ports.context("ports")?[..] else { bail!("one port") };
    let metrics = IntOrString::String("metrics".to_owned());
    assert_eq!(service_port.target_port, Some(metrics.clone()));
    let [endpoint] = &monitor.spec.endpoints[..] else { bail!("one endpoint") };
    assert_eq!((&*endpoint.port, &*endpoint.path), ("metrics", "/metrics"));
    assert_eq!(service_port.name.as_deref(), Some("metrics"));
    for (probe, path) in [
        (&container.startup_probe, "/healthz"),
        (&container.liveness_probe, "/healthz"),
        (&container.readiness_probe, "/readyz"),
    ] {
        let Some(Probe { http_get: Some(get), .. }) = probe else { bail!("no probe of {path}") };
        assert_eq!((get.path.as_deref(), &get.port), (Some(path), &metrics));
    }
    Ok(())
}

#[test]
fn containers_have_few_rights_and_limits() -> Result<()> {
    let Manifests { pod, .. } = manifests()?;
    let image = text("container/Containerfile")?;
    let user = image.lines().find_map(|line| line.strip_prefix("USER ")).context("no USER")?;
    let rights = pod.security_context.clone().context("a security context")?;
    assert_eq!(rights.run_as_non_root, Some(true));
    let [uid, gid] = [rights.run_as_user, rights.run_as_group].map(Option::unwrap_or_default);
    assert_eq!(format!("{uid}:{gid}"), user);
    ensure!(uid != 0 && rights.fs_group == rights.run_as_group && rights.seccomp_profile.is_some());
    assert_eq!(pod.automount_service_account_token, Some(false));
    for container in pod.containers.iter().chain(pod.init_containers.iter().flatten()) {
        let rights = container.security_context.clone().context("a security context")?;
        assert_eq!(rights.allow_privilege_escalation, Some(false));
        assert_eq!(rights.read_only_root_filesystem, Some(true));
        let dropped = rights.capabilities.and_then(|capabilities| capabilities.drop);
        assert_eq!(dropped, Some(vec!["ALL".to_owned()]));
        let resources = container.resources.clone().context("resources")?;
        let of = |map: &Option<BTreeMap<String, _>>, name| {
            map.as_ref().is_some_and(|map| map.contains_key(name))
        };
        ensure!(of(&resources.requests, "cpu") && of(&resources.requests, "memory"));
        ensure!(of(&resources.limits, "memory") && !of(&resources.limits, "cpu"));
    }
    Ok(())
}

#[test]
fn the_key_of_the_secret_is_copied_for_the_user_of_uromd() -> Result<()> {
    let Manifests { pod, .. } = manifests()?;
    let volumes = pod.volumes.context("volumes")?;
    let secret = volumes.iter().find(|volume| volume.secret.is_some()).context("no Secret")?;
    let mounts = |container: &Container| -> BTreeMap<String, String> {
        let mounts = container.volume_mounts.iter().flatten();
        mounts.map(|mount| (mount.name.clone(), mount.mount_path.clone())).collect()
    };
    let [init] = &pod.init_containers.context("an init container")?[..] else { bail!("one") };
    let (of_init, of_uromd) = (mounts(init), mounts(&pod.containers[0]));
    let used: BTreeSet<_> = of_init.keys().chain(of_uromd.keys()).collect();
    assert_eq!(used, volumes.iter().map(|volume| &volume.name).collect());
    ensure!(!of_uromd.contains_key(&secret.name), "uromd reads the copy");

    let key = variable(&pod.containers[0], "UROM_KEY_FILE")?;
    let from = format!("{}/key", of_init[&secret.name]);
    let copy = ["install", "-m", "0600", &from, key];
    assert_eq!(init.command.as_deref().unwrap_or_default(), copy);
    assert_eq!(of_init["key"], of_uromd["key"]);
    assert_eq!(Path::new(key).parent(), Some(Path::new(&of_uromd["key"])));
    assert_eq!(init.image, pod.containers[0].image);
    let plugins = variable(&pod.containers[0], "UROM_PLUGIN_PATH")?;
    assert_eq!(of_uromd["plugins"], plugins);
    Ok(())
}

#[test]
fn hosts_may_finish_before_the_pod_ends_unless_uromd_does_not_answer() -> Result<()> {
    let Manifests { pod, .. } = manifests()?;
    let container = &pod.containers[0];
    let hook = container.lifecycle.as_ref().and_then(|all| all.pre_stop.as_ref()?.exec.as_ref());
    let command = hook.and_then(|hook| hook.command.as_deref()).context("a command")?;
    let [program, drain, option, seconds] = command else { bail!("{command:?}") };
    ensure!(text("container/Containerfile")?.contains(&format!("COPY bin/uromd {program}\n")));
    assert_eq!([drain, option], ["drain", "--deadline"]);
    // Enough for uromd's own end.
    let end = 15;
    assert_eq!(pod.termination_grace_period_seconds, Some(seconds.parse::<i64>()? + end));
    let liveness = container.liveness_probe.as_ref().context("a probe")?;
    assert_eq!(liveness.termination_grace_period_seconds, Some(end));
    // The socket that `uromd drain` uses by default.
    ensure!(variable(container, "SERVICE_ARGS")?.ends_with(" --control /run/uromd/control"));
    let mut mounts = container.volume_mounts.iter().flatten();
    let mount = mounts.find(|mount| mount.mount_path == "/run/uromd").context("a mount")?;
    ensure!(mount.read_only != Some(true), "uromd makes the socket there");
    Ok(())
}

#[test]
fn the_pod_of_a_dpu_logs_no_debug_lines_and_owns_its_key() -> Result<()> {
    let [pod]: [Value; 1] =
        objects(&text("container/uromd.yaml")?)?.try_into().ok().context("one object")?;
    let pod: Pod = serde_json::from_value(pod)?;
    let container = &pod.spec.context("a spec")?.containers[0];
    assert_eq!(variable(container, "SERVICE_ARGS")?, "-m 4096 --listen 0.0.0.0");
    let rights = container.security_context.as_ref().context("a security context")?;
    assert_eq!(rights.run_as_user, Some(0));
    Ok(())
}
