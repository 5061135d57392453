//! Library files and invalid files.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use anyhow::Result;
use urom_abi::host::Api;
use urom_host::{DocaError, Library, ProgressEngine, Service, devices_of};
use urom_tests::{PluginDirectory, doca_library, plain_doca_library};

use crate::shim::Shim;
use crate::{load, refused};

#[test]
fn a_file_is_loaded_once_whatever_it_is_called() -> Result<()> {
    let (directory, file) = (tempfile::tempdir()?, doca_library()?);
    let library = load(&file)?;
    assert_eq!((library.path(), library.version()), (Some(&*file), Some("2.7.0")));
    let link = directory.path().join("libdoca_common.so.2");
    symlink(&file, &link)?;
    for name in [&file, &link, &file.with_file_name(".").join("libdoca_urom.so")] {
        let again = load(name)?;
        assert_eq!(again, library);
        assert_eq!(again.path(), Some(&*file), "it has the name it was first loaded under");
    }
    // Another file is another library, even with the same content.
    assert_ne!(load(plain_doca_library(directory.path())?)?, library);
    assert_ne!(Library::builtin(), library);
    assert_eq!((Library::builtin().path(), Library::builtin().version()), (None, None));
    Ok(())
}

#[test]
fn a_library_with_contexts_of_another_libdoca_common_is_refused() -> Result<()> {
    let first = load(doca_library()?)?;
    // Its contexts are its own, but their functions come from the first library.
    let mut code = String::from(
        "static long object[8];\n\
         unsigned doca_urom_service_create(void **service) { *service = object; return 0; }\n\
         void *doca_urom_service_as_ctx(void *service) { return service; }\n",
    );
    for name in Api::SYMBOLS.iter().filter(|name| name.starts_with("doca_urom_")) {
        if !code.contains(&format!("{name}(")) {
            code += &format!("unsigned {name}(void) {{ return 0; }}\n");
        }
    }
    let common = doca_library()?.with_file_name("libdoca_common.so");
    let beside = format!("-Wl,-rpath,{}", common.with_file_name("").display());
    let second = Shim::compile(&code, &[&common, Path::new(&beside)])?;
    let error = refused(&second.path(), DocaError::INITIALIZATION).to_string();
    for part in ["does not work with the libdoca_common of this process", "of one directory"] {
        assert!(error.contains(part), "{error}");
    }
    let plugins = PluginDirectory::with(&["worker_graph"])?;
    let engine = ProgressEngine::with_library(first)?;
    Service::builder().plugin_paths([plugins.variable()]).engine(&engine).connect_blocking()?;
    Ok(())
}

#[test]
fn a_library_without_the_one_that_it_needs_is_refused() -> Result<()> {
    let needed = Shim::compile("int needed(void) { return 0; }\n", &[])?;
    let library = Shim::compile("", &[&needed.path()])?;
    fs::remove_file(needed.path())?;
    let error = refused(&library.path(), DocaError::INITIALIZATION).to_string();
    assert!(error.contains("No such file"), "{error}");
    Ok(())
}

#[test]
fn threads_that_load_one_file_at_a_time_get_one_library() -> Result<()> {
    let shim = Shim::new(Some("\"2.7.0\""), &[])?;
    let libraries: Vec<_> = std::thread::scope(|scope| {
        let load = || load(shim.path());
        let threads: Vec<_> = (0..8).map(|_| scope.spawn(load)).collect();
        threads
            .into_iter()
            .map(|thread| {
                thread.join().map_err(|_| anyhow::anyhow!("it panicked"))?.map_err(Into::into)
            })
            .collect::<Result<_>>()
    })?;
    assert!(libraries.iter().all(|library| *library == libraries[0]));
    Ok(())
}

#[test]
fn a_library_that_lacks_functions_is_refused_with_a_line_for_each() -> Result<()> {
    const MISSING: [&str; 3] =
        ["doca_pe_create", "doca_urom_domain_add_buffer", "doca_buf_set_data"];
    let shim = Shim::new(Some("\"3.0.0058\""), &MISSING)?;
    let error = refused(&shim.path(), DocaError::NOT_SUPPORTED).to_string();
    let head = format!("DOCA 3.0.0058 there lacks 3 of the {} functions", Api::SYMBOLS.len());
    assert!(error.contains(&head) && error.contains("Install all of DOCA's libraries"), "{error}");
    let lines: Vec<_> = error.lines().skip(1).collect();
    let expected = [
        "  doca_urom_domain_add_buffer, which libdoca_urom has",
        "  doca_pe_create, which libdoca_common has",
        "  doca_buf_set_data, which libdoca_common has",
    ];
    assert_eq!(lines, expected, "in the order of the table");
    Ok(())
}

#[test]
fn functions_may_be_in_a_library_that_the_file_is_linked_with() -> Result<()> {
    let of_urom = |name: &&&str| name.starts_with("doca_urom_");
    let all: Vec<&str> = Api::SYMBOLS.iter().filter(of_urom).copied().collect();
    let common = Shim::new(Some("\"2.9.1\""), &all)?;
    let code: String =
        all.iter().map(|name| format!("unsigned {name}(void) {{ return 1; }}\n")).collect();
    let urom = Shim::compile(&code, &[&common.path()])?;
    let library = load(urom.path())?;
    assert_eq!(library.version(), Some("2.9.1"));
    assert_eq!(library.path(), Some(&*urom.path()));
    Ok(())
}

#[test]
fn a_file_that_is_only_linked_with_the_library_is_refused_with_the_library_s_name() -> Result<()> {
    let library = Shim::new(Some("\"2.9.1\""), &[])?;
    let plugin = Shim::compile(
        "int urom_plugin_get_iface(void *p) { return p != 0; }\n",
        &[&library.path()],
    )?;
    let error = refused(&plugin.path(), DocaError::INVALID_VALUE).to_string();
    assert!(error.contains("such as a plugin"), "{error}");
    assert!(
        error.contains(&format!("doca_urom_service_create is in {}", library.path().display())),
        "{error}"
    );
    Ok(())
}

#[test]
fn a_file_that_is_not_there_is_not_found() -> Result<()> {
    for path in ["/nonexistent/libdoca_urom.so", "libdoca_urom.so.2", "/dev/null/x"] {
        let error = load(path).expect_err("it is missing");
        assert!(matches!(error.code(), DocaError::NOT_FOUND | DocaError::IO_FAILED), "{error}");
        assert!(
            error.to_string().contains(path) && error.to_string().contains("DOCA 2.7"),
            "{error}"
        );
    }
    assert_eq!(load("").expect_err("no name").code(), DocaError::NOT_FOUND);
    Ok(())
}

#[test]
fn a_file_that_is_not_a_library_is_refused_with_the_loader_s_message() -> Result<()> {
    let directory = tempfile::tempdir()?;
    let pipe = directory.path().join("pipe.so");
    urom_tests::run(Command::new("mkfifo").arg(&pipe))?;
    for other in [directory.path(), &pipe] {
        let error = refused(other, DocaError::IO_FAILED).to_string();
        assert!(error.contains("not a regular file"), "{error}");
    }
    for (name, bytes, said) in [
        (
            "text.so",
            &b"GROUP ( libdoca_urom.so.2 ) and more to be long enough for a header........"[..],
            "ELF",
        ),
        ("empty.so", b"", "too short"),
        ("cut.so", &fs::read(doca_library()?)?[..40], "too short"),
    ] {
        let file = directory.path().join(name);
        fs::write(&file, bytes)?;
        let error = refused(&file, DocaError::INITIALIZATION).to_string();
        assert!(error.contains(said), "{error}");
    }
    Ok(())
}

#[test]
fn a_library_for_another_machine_is_distinguished_from_a_missing_library() -> Result<()> {
    let directory = tempfile::tempdir()?;
    let (file, mut bytes) = (directory.path().join("libdoca_urom.so"), fs::read(doca_library()?)?);
    let (machine, name) = match std::env::consts::ARCH {
        "aarch64" => ([62, 0], "x86-64"),
        _ => ([183, 0], "AArch64"),
    };
    bytes[18..20].copy_from_slice(&machine);
    fs::write(&file, bytes)?;
    let error = refused(&file, DocaError::INITIALIZATION).to_string();
    assert!(
        error.contains(&format!("it is for {name}")) && error.contains("for this machine"),
        "{error}"
    );
    Ok(())
}

#[test]
fn a_library_that_lacks_another_one_names_it_and_what_to_do() -> Result<()> {
    let gone = Shim::new(Some("\"2.9.1\""), &[])?;
    let needs = Shim::compile("", &[&gone.path()])?;
    drop(gone);
    let error = refused(&needs.path(), DocaError::INITIALIZATION).to_string();
    assert!(error.contains("No such file") && error.contains("LD_LIBRARY_PATH"), "{error}");
    Ok(())
}

#[test]
fn errors_of_connect_name_the_file_and_its_release() -> Result<()> {
    let shim = Shim::new(Some("\"2.8.0082\""), &[])?;
    let through = format!("through {} (DOCA 2.8.0082)", shim.path().display());
    let library = load(shim.path())?;
    let builder = Service::builder().library(library);
    let error = builder.connect_blocking().map(drop).expect_err("no function works");
    assert_eq!(error.code(), DocaError::DRIVER);
    assert!(error.to_string().contains(&through), "{error}");
    assert_eq!(devices_of(library).expect_err("no function works").code(), DocaError::DRIVER);
    Ok(())
}

#[test]
fn a_service_is_of_its_engine_s_library() -> Result<()> {
    let plugins = PluginDirectory::with(&["worker_graph"])?;
    let library = load(doca_library()?)?;
    let engine = ProgressEngine::with_library(library)?;
    let builder = || Service::builder().plugin_paths([plugins.variable()]);
    assert_eq!(builder().engine(&engine).connect_blocking()?.library(), library);
    assert_eq!(builder().library(library).engine(&engine).connect_blocking()?.library(), library);
    let builtin = ProgressEngine::with_library(Library::builtin())?;
    let error = builder()
        .library(library)
        .engine(&builtin)
        .connect_blocking()
        .map(drop)
        .expect_err("two libraries");
    assert_eq!(error.code(), DocaError::INVALID_VALUE);
    assert!(error.to_string().contains("another library"), "{error}");
    Ok(())
}

#[test]
fn functions_of_this_project_s_library_are_refused_by_others_with_the_remedy() -> Result<()> {
    let directory = tempfile::tempdir()?;
    let plain = load(plain_doca_library(directory.path())?)?;
    for builder in [
        Service::builder().library(plain).address("127.0.0.1:1"),
        Service::builder().library(plain).plugin_paths([Path::new("/nonexistent")]),
    ] {
        let error = builder.connect_blocking().map(drop).expect_err("it lacks a function for that");
        assert_eq!(error.code(), DocaError::NOT_SUPPORTED);
        assert!(error.to_string().contains("DOCA_UROM_SERVICE_FILE"), "{error}");
    }
    Ok(())
}
