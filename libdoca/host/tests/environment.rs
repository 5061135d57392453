//! The service in the environment. One test, because a process has one environment.

#[path = "../../../urom-service/tests/plugins/compile.rs"]
mod compile;

#[allow(unreachable_pub, dead_code, reason = "shared with the other tests of the library")]
#[macro_use]
#[path = "library/support.rs"]
mod support;
#[allow(unreachable_pub, dead_code, reason = "shared with the other tests of the library")]
#[path = "library/processes.rs"]
mod processes;

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use processes::{Plugins, Uromd};
use support::{At, Engine, TestService, TestWorker, failed_start};
use urom_abi::DocaError;

fn set(name: &str, value: impl AsRef<std::ffi::OsStr>) {
    // SAFETY: the only test of this process; other threads do not read the environment now.
    unsafe { std::env::set_var(name, value) };
}

fn one_command() {
    let engine = Engine::new();
    let service = TestService::start(&At::Environment, &engine);
    let worker = TestWorker::start(service.raw, &engine, 1, 1);
    worker.echo(&engine, 1);
}

#[test]
fn the_environment_names_the_service() {
    let plugins = Plugins::obedient();
    let directory = tempfile::tempdir().unwrap();
    let file: &Path = &directory.path().join("services");
    let shown = file.display().to_string();

    // Without variables: the embedded service, with the plugins of the variable.
    set("UROM_PLUGIN_PATH", plugins.path());
    one_command();

    // A missing file, a wrong file, a file for other hosts.
    set("DOCA_UROM_SERVICE_FILE", file);
    let (code, text) = failed_start(&At::Environment);
    assert!(code == DocaError::NOT_FOUND && text.contains(&shown), "{text}");
    std::fs::write(file, "# our services\nlocalhost dpu\n").unwrap();
    let (code, text) = failed_start(&At::Environment);
    assert!(
        code == DocaError::BAD_CONFIG && text.contains(&format!("line 2 of {shown}")),
        "{text}"
    );
    std::fs::write(file, "some.other.host dpu 127.0.0.1 03:00.0 eth0\n").unwrap();
    let (code, text) = failed_start(&At::Environment);
    assert!(code == DocaError::NOT_FOUND && text.contains("DOCA_UROM_SERVICE_FILE"), "{text}");

    // A pipe and an endless device.
    let pipe = directory.path().join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    for other in [&*pipe, Path::new("/dev/zero")] {
        set("DOCA_UROM_SERVICE_FILE", other);
        let (code, text) = failed_start(&At::Environment);
        let shown = other.display().to_string();
        assert!(code == DocaError::IO_FAILED && text.contains(&shown), "{text}");
        assert!(text.contains("not a regular file"), "{text}");
    }
    set("DOCA_UROM_SERVICE_FILE", file);
    std::fs::write(file, vec![b'\n'; (1 << 20) + 1]).unwrap();
    let (code, text) = failed_start(&At::Environment);
    assert!(code == DocaError::IO_FAILED && text.contains(&shown), "{text}");
    assert!(text.contains("more than 1048576 bytes"), "{text}");

    let uromd = Uromd::start(&plugins);
    std::fs::write(
        file,
        "other dpu 192.0.2.1 03:00.0 eth0\n127.0.0.1 dpu 127.0.0.1 03:00.0 eth0:1\n",
    )
    .unwrap();
    set("UROM_SERVICE_PORT", uromd.address.port().to_string());
    one_command();

    // A key is ignored with a keyless daemon, but must be valid.
    let key = directory.path().join("key");
    std::fs::write(&key, [7; 32]).unwrap();
    std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o600)).unwrap();
    set("UROM_KEY_FILE", &key);
    let (code, text) = failed_start(&At::Environment);
    assert!(code == DocaError::AUTHENTICATION && text.contains("asks for no key"), "{text}");
    set("UROM_KEY_FILE", directory.path());
    let (code, text) = failed_start(&At::Environment);
    assert!(code == DocaError::BAD_CONFIG && text.ends_with("(named by UROM_KEY_FILE)"), "{text}");
    // The embedded service does not need a key.
    set("DOCA_UROM_SERVICE_FILE", "");
    one_command();
    set("DOCA_UROM_SERVICE_FILE", file);
    set("UROM_KEY_FILE", "");
    one_command();

    // A terminated daemon and an invalid port.
    let address = uromd.address;
    drop(uromd);
    let (_, text) = failed_start(&At::Environment);
    let expected = format!(
        "no UROM daemon answers at {address} (from line 2 of {shown}, named by DOCA_UROM_SERVICE_FILE; the port from \
         UROM_SERVICE_PORT)"
    );
    assert!(
        text.starts_with(&expected) && text.ends_with("correct the file or UROM_SERVICE_PORT"),
        "{text}"
    );
    set("UROM_SERVICE_PORT", "0");
    let (code, text) = failed_start(&At::Environment);
    assert!(code == DocaError::BAD_CONFIG && text.contains("UROM_SERVICE_PORT"), "{text}");
}
