//! The container image and pod: builds the Containerfile's image in a root directory, runs it with
//! the pod file's settings, and serves hosts outside.

use std::collections::BTreeSet;
use std::io::{self, BufRead, BufReader, Write};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::{fs, thread};

use anyhow::{Context, Result, bail, ensure};
use urom_tests::c::{Prefix, prefix};
use urom_tests::{Uromd, built, copy_program, run};
use yaml_rust2::{Yaml, YamlLoader};

const SHELL: &str = "/bin/sh";

const METRICS: &str = "METRICS_ADDRESS";

/// No other user.
const ROOT: &str = "";

/// Default search path in a container.
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// Mounts that a container runtime adds to an image. `$1` is the root, `$2` the user; the other
/// arguments are the command.
const IN_A_CONTAINER: &str = r#"
set -e
root=$1; user=$2; shift 2
mount -t proc proc "$root/proc"
mount --rbind /sys "$root/sys"
mount -t tmpfs tmpfs "$root/dev"
for device in null zero full random urandom; do
    touch "$root/dev/$device"
    mount --bind "/dev/$device" "$root/dev/$device"
done
mkdir "$root/dev/shm"
mount -t tmpfs tmpfs "$root/dev/shm"
if [ -n "$user" ]; then
    # Another user's process would not be killed with the test, but the process 1 of its namespace is.
    chroot --userspec "$user" "$root" "$@"
    exit
fi
exec chroot "$root" "$@"
"#;

struct Image {
    root: tempfile::TempDir,
    user: String,
    variables: Vec<(String, String)>,
    entrypoint: Vec<String>,
}

fn container_file(prefix: &Prefix, name: &str) -> Result<String> {
    let file = prefix.root().join("share/urom/deploy/container").join(name);
    fs::read_to_string(&file).with_context(|| file.display().to_string())
}

impl Image {
    /// Executes the Containerfile with the prefix as context.
    fn build() -> Result<Image> {
        let prefix = prefix()?;
        let mut image = Image {
            root: tempfile::tempdir()?,
            user: String::new(),
            variables: Vec::new(),
            entrypoint: Vec::new(),
        };
        // The root of an image is world-readable.
        fs::set_permissions(image.root(), fs::Permissions::from_mode(0o755))?;
        for directory in ["dev", "proc", "sys", "tmp"] {
            fs::create_dir(image.path(directory))?;
        }
        image.add_with_libraries(Path::new(SHELL))?;
        let text = container_file(&prefix, "Containerfile")?;
        let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
        let mut labels = Vec::new();
        for line in lines {
            let (instruction, rest) = line.split_once(' ').context(line.to_owned())?;
            match (instruction, &rest.split(' ').collect::<Vec<_>>()[..]) {
                ("FROM", [base]) => ensure!(base.starts_with("debian:"), "{line}"),
                ("COPY", [from, to]) => copy(&prefix.root().join(from), &image.path(to))?,
                ("ENV", [assignment]) => {
                    let (name, value) = assignment.split_once('=').context(line.to_owned())?;
                    image.variables.push((name.to_owned(), value.to_owned()));
                }
                ("EXPOSE", ["18700", "18701"]) => {}
                ("LABEL", [label, ..]) => labels.push((*label).to_owned()),
                ("USER", [user]) => image.user = (*user).to_owned(),
                ("HEALTHCHECK", [.., "CMD", command]) => {
                    let [program]: [PathBuf; 1] = serde_json::from_str(command)?;
                    ensure!(image.path(&program).is_file(), "{line}");
                }
                ("ENTRYPOINT", _) => image.entrypoint = serde_json::from_str(rest)?,
                _ => bail!("unknown instruction: {line}"),
            }
        }
        let version = env!("CARGO_PKG_VERSION");
        let version = format!("org.opencontainers.image.version=\"{version}\"");
        ensure!(labels.contains(&version), "{labels:?}");
        // Adds uromd's C library, which a base image has. The prefix contains UCX.
        for library in
            libraries(&prefix.uromd())?.iter().filter(|file| !file.starts_with(prefix.root()))
        {
            image.add(library)?;
        }
        Ok(image)
    }

    fn root(&self) -> &Path {
        self.root.path()
    }

    fn path(&self, inside: impl AsRef<Path>) -> PathBuf {
        let inside = inside.as_ref();
        self.root().join(inside.strip_prefix("/").unwrap_or(inside))
    }

    fn add(&self, file: &Path) -> Result<()> {
        let to = self.path(file);
        if !to.exists() {
            fs::create_dir_all(to.parent().context("it has a folder")?)?;
            copy_program(file, &to)?;
        }
        Ok(())
    }

    fn add_with_libraries(&self, program: &Path) -> Result<()> {
        self.add(program)?;
        libraries(program)?.iter().try_for_each(|library| self.add(library))
    }

    /// The entry point in its own namespaces, except the network, as in the pod.
    fn command(&self, user: &str, variables: &[(String, String)]) -> Command {
        let mut command = Command::new("unshare");
        if !rustix::process::geteuid().is_root() {
            command.arg("--map-root-user");
        }
        command.args([
            "--mount",
            "--pid",
            "--ipc",
            "--fork",
            "--kill-child",
            SHELL,
            "-c",
            IN_A_CONTAINER,
            SHELL,
        ]);
        command
            .arg(self.root())
            .arg(user)
            .args(&self.entrypoint)
            .current_dir("/")
            .env_clear()
            .env("PATH", PATH);
        command.envs(self.variables.iter().chain(variables).map(|(name, value)| (name, value)));
        command
    }

    fn refuses(&self, service_args: &str, arguments: &[&str]) -> Result<String> {
        let variables = [("SERVICE_ARGS".to_owned(), service_args.to_owned())];
        let Output { status, stderr, .. } =
            self.command(ROOT, &variables).args(arguments).output()?;
        let said = String::from_utf8(stderr)?;
        ensure!(status.code() == Some(2), "{status}: {said}");
        Ok(said)
    }
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(if from.is_dir() { to } else { to.parent().context("it has a folder")? })?;
    let from = if from.is_dir() { from.join(".") } else { from.to_owned() };
    run(Command::new("cp").arg("-a").arg(&from).arg(to))?;
    Ok(())
}

fn libraries(program: &Path) -> Result<BTreeSet<PathBuf>> {
    let text = run(Command::new("ldd").arg(program))?;
    Ok(text.split_whitespace().filter(|word| word.starts_with('/')).map(PathBuf::from).collect())
}

/// Facts about the pod in NVIDIA's guide: path in a pod file, and prefix of the value. The guide's
/// example of the daemon's options also has `-l 60`.
const FACTS: [(&str, &str); 4] = [
    ("apiVersion", "v1"),
    ("kind", "Pod"),
    ("spec/containers/0/env/SERVICE_ARGS", "-m 4096"),
    ("spec/containers/0/env/UROM_PLUGIN_PATH", "/"),
];

fn pod() -> Result<Yaml> {
    let mut documents = YamlLoader::load_from_str(&container_file(&prefix()?, "uromd.yaml")?)?;
    ensure!(documents.len() == 1, "{} documents", documents.len());
    Ok(documents.remove(0))
}

fn variables(pod: &Yaml) -> Result<Vec<(String, String)>> {
    let containers = pod["spec"]["containers"].as_vec().context("a list of containers")?;
    // Workers run in the daemon's container.
    ensure!(containers.len() == 1, "{containers:?}");
    let variables = containers[0]["env"].as_vec().context("a list of variables")?;
    let text = |value: &Yaml| value.as_str().map(str::to_owned).context("kubelet takes text only");
    variables
        .iter()
        .map(|variable| Ok((text(&variable["name"])?, text(&variable["value"])?)))
        .collect()
}

fn value<'a>(variables: &'a [(String, String)], wanted: &str) -> Result<&'a str> {
    let found = variables.iter().find(|(name, _)| name == wanted);
    Ok(&found.with_context(|| format!("no {wanted}"))?.1)
}

#[test]
fn the_pod_is_like_that_of_nvidias_service() -> Result<()> {
    let pod = pod()?;
    let variables = variables(&pod)?;
    for (path, start) in FACTS {
        let found = match path.rsplit_once("/env/") {
            Some((_, name)) => value(&variables, name)?,
            None => pod[path].as_str().context(path)?,
        };
        ensure!(found.starts_with(start), "{path}: {found}");
    }
    // The image's entry point reads SERVICE_ARGS.
    let container = &pod["spec"]["containers"][0];
    ensure!(container["command"].is_badvalue() && container["args"].is_badvalue(), "{container:?}");
    Ok(())
}

#[test]
fn every_file_that_the_pods_variables_name_is_mounted() -> Result<()> {
    let pod = pod()?;
    let variables = variables(&pod)?;
    let names = |list: &Yaml, key: &str| -> Result<BTreeSet<String>> {
        let list = list.as_vec().context("a list")?;
        list.iter().map(|entry| Ok(entry[key].as_str().context("text")?.to_owned())).collect()
    };
    let mounts = &pod["spec"]["containers"][0]["volumeMounts"];
    assert_eq!(names(mounts, "name")?, names(&pod["spec"]["volumes"], "name")?);
    let mut named = BTreeSet::from(["/dev/shm".to_owned()]);
    named.insert(value(&variables, "UROM_KEY_FILE")?.to_owned());
    named.extend(value(&variables, "UROM_PLUGIN_PATH")?.split(';').map(str::to_owned));
    assert_eq!(names(mounts, "mountPath")?, named);
    Ok(())
}

#[test]
fn a_host_outside_is_served_by_the_image() -> Result<()> {
    let image = Image::build()?;
    serve(&image, ROOT)?;
    // A user namespace of the test maps only root.
    if rustix::process::geteuid().is_root() {
        let image = Image::build()?;
        ensure!(image.user != ROOT, "the image has no user");
        serve(&image, &image.user)?;
    }
    Ok(())
}

/// Serves a host as a user, who owns the key.
fn serve(image: &Image, user: &str) -> Result<()> {
    let mut variables = variables(&pod()?)?;
    let plugins = image.path(value(&variables, "UROM_PLUGIN_PATH")?);
    let key = image.path(value(&variables, "UROM_KEY_FILE")?);
    fs::create_dir_all(&plugins)?;
    let plugin = plugins.join("worker_graph.so");
    fs::copy(built("libworker_graph.so")?, &plugin)?;
    fs::create_dir_all(key.parent().context("it has a folder")?)?;
    fs::write(&key, [7; 32])?;
    fs::set_permissions(&key, fs::Permissions::from_mode(0o600))?;
    if user != ROOT {
        run(Command::new("chown").arg(user).arg(&key))?;
    }
    // The test adds a free local port.
    for (_, options) in variables.iter_mut().filter(|(name, _)| name == "SERVICE_ARGS") {
        let without = options.strip_suffix(" --listen 0.0.0.0").context("it listens everywhere")?;
        *options = without.to_owned();
    }
    let path = value(&variables, "UROM_PLUGIN_PATH")?.to_owned();
    // The image's port may be in use here.
    let free = TcpListener::bind("127.0.0.1:0")?.local_addr()?.to_string();
    variables.push((METRICS.to_owned(), free.clone()));
    let uromd = Uromd::start_at(image.command(user, &variables), "127.0.0.1:0", path)?;

    let mut call = Command::new(built("cargo-urom")?);
    call.args(["urom", "call", "worker_graph", "loopback", "data=42", "--protocol"]).arg(&plugin);
    // The host's copy of the key.
    let copy = tempfile::NamedTempFile::new()?;
    fs::write(&copy, [7; 32])?;
    call.args(["--service", uromd.address(), "--key-file"]).arg(copy.path());
    assert_eq!(run(&mut call)?, "LoopbackDone\n  data = 42\n");
    ensure!(is_healthy(&free)?, "uromd serves /healthz");
    Ok(())
}

#[test]
fn service_args_are_split_at_spaces_and_never_evaluated() -> Result<()> {
    let image = Image::build()?;
    for word in ["*", "$(id)", "$HOME", "`id`", "\"0-1\"", "0;id", "~"] {
        let said = image.refuses(&format!("-l  60\n --cpus {word}"), &[])?;
        ensure!(said.contains(&format!("invalid value '{word}' for '--cpus")), "{word}: {said}");
    }
    // The container's own arguments are not split.
    let said = image.refuses("", &["--cpus", "0 1"])?;
    ensure!(said.contains("invalid value '0 1' for '--cpus"), "{said}");
    let said = image.refuses("-l 60", &["-m", "1"])?;
    ensure!(said.contains("invalid value '1' for '--max-msg-size"), "{said}");
    Ok(())
}

fn is_healthy(address: &str) -> Result<bool> {
    let health = prefix()?.root().join("share/urom/deploy/container/health");
    Ok(Command::new(health).env(METRICS, address).output()?.status.success())
}

#[test]
fn the_health_check_passes_only_for_an_answer_with_200() -> Result<()> {
    for (answer, is_good) in [
        ("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", true),
        ("HTTP/1.1 503 Service Unavailable\r\n\r\n", false),
        ("200", false),
        ("", false),
    ] {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let port = listener.local_addr()?.port();
        let server = thread::spawn(move || -> io::Result<String> {
            let (mut stream, _) = listener.accept()?;
            let mut lines = BufReader::new(stream.try_clone()?).lines();
            let request = lines.next().transpose()?;
            while lines.next().transpose()?.is_some_and(|line| !line.is_empty()) {}
            stream.write_all(answer.as_bytes())?;
            Ok(request.unwrap_or_default())
        });
        assert_eq!(is_healthy(&format!("0.0.0.0:{port}"))?, is_good, "{answer}");
        let request = server.join().expect("the server does not panic")?;
        assert_eq!(request, "GET /healthz HTTP/1.1");
        ensure!(!is_healthy(&format!("127.0.0.1:{port}"))?, "no program listens there now");
    }
    ensure!(is_healthy("")?, "the service has no metrics");
    Ok(())
}

#[test]
fn the_entry_point_passes_the_address_of_the_metrics() -> Result<()> {
    let image = Image::build()?;
    let variables = [(METRICS.to_owned(), "no address".to_owned())];
    let Output { status, stderr, .. } = image.command(ROOT, &variables).output()?;
    let said = String::from_utf8(stderr)?;
    ensure!(said.contains("invalid value 'no address' for '--metrics"), "{status}: {said}");
    Ok(())
}

#[test]
fn the_entry_point_ends_with_the_daemon() -> Result<()> {
    let file = prefix()?.root().join("share/urom/deploy/container/entrypoint");
    assert_eq!(fs::metadata(&file)?.permissions().mode() & 0o555, 0o555);
    let text = fs::read_to_string(&file)?;
    // A waiting shell would keep SIGTERM from uromd.
    ensure!(text.lines().last().is_some_and(|line| line.starts_with("exec ")), "{text}");
    Ok(())
}
