//! Files in the plugin path: served files, and messages about the others.

use std::fs;
use std::os::unix::net::UnixListener;
use std::path::Path;

use urom_abi::DocaError;
use urom_abi::describe::section::{self, Build, Panic, SECTION};
use urom_abi::describe::{Messages, Protocol, Type};
use urom_service::plugins;

use crate::support::client::{Client, any, serving};
use crate::support::plugins::Plugins;
use crate::support::uromd::Uromd;

/// A plugin whose two functions have these bodies.
pub(crate) fn source(version: &str, iface: &str) -> String {
    format!(
        "#include \"plugin.h\"\n\
         static doca_error_t one(struct urom_worker_ctx *c) {{ (void)c; return 0; }}\n\
         static void two(struct urom_worker_ctx *c) {{ (void)c; }}\n\
         static doca_error_t three(struct urom_worker_ctx *c, void *a, size_t *l) {{ (void)c; (void)a; *l = 0; return 0; }}\n\
         static doca_error_t four(struct urom_worker_ctx *c, ucs_list_link_t *l) {{ (void)c; (void)l; return 25; }}\n\
         static doca_error_t five(struct urom_worker_notify *n, size_t *l, void *p) {{ (void)n; (void)l; (void)p; return 0; }}\n\
         doca_error_t urom_plugin_get_version(uint64_t *version) {{ (void)version; {version} }}\n\
         doca_error_t urom_plugin_get_iface(struct urom_plugin_iface *iface)\n\
         {{ struct urom_plugin_iface all = {{ 1, one, two, three, four, four, five }}; *iface = all; {iface} }}\n"
    )
}

#[test]
fn each_file_that_is_no_plugin_is_named_with_its_reason_and_the_rest_is_served() {
    let plugins = Plugins::new();
    let fine = "*version = 3; return 0;";
    plugins.add_source("a_fine", &source(fine, "return 0;"));
    plugins.add_source("b_version_fails", &source("return 21;", "return 0;"));
    plugins.add_source("c_iface_fails", &source(fine, "return 7;"));
    plugins.add_source("d_zero_word", &source(fine, "iface->__doca_api_version = 0; return 0;"));
    plugins.add_source("e_no_progress", &source(fine, "iface->progress = 0; return 0;"));
    plugins.add_source("f_no_symbols", "int nothing;\n");
    plugins
        .add_source("g_no_iface", "int urom_plugin_get_version(long *v) { *v = 1; return 0; }\n");
    let calls = "int missing_function(void); int f(void) { return missing_function(); }\n";
    plugins.add_source("h_unresolved", &format!("{}{calls}", source(fine, "return 0;")));
    plugins.add_source("i_long_iface", &source(fine, "((uint64_t *)iface)[20] = 1; return 0;"));
    let path = plugins.path();
    fs::write(path.join("j_foreign.so"), foreign(&path.join("a_fine.so"))).unwrap();
    fs::write(path.join("j_text.so"), "This is not an ELF file. ".repeat(100)).unwrap();
    fs::write(path.join("k_empty.so"), "").unwrap();
    fs::create_dir(path.join("l_directory.so")).unwrap();
    std::os::unix::fs::symlink("/does/not/exist", path.join("m_dangling.so")).unwrap();
    let _socket = UnixListener::bind(path.join("n_socket.so")).unwrap();
    fs::copy(path.join("a_fine.so"), path.join(".so")).unwrap();
    let (longest, too_long) = ("x".repeat(47), "y".repeat(48));
    fs::copy(path.join("a_fine.so"), path.join(format!("{longest}.so"))).unwrap();
    fs::copy(path.join("a_fine.so"), path.join(format!("{too_long}.so"))).unwrap();
    fs::write(path.join("README"), "no plugin, without an error").unwrap();
    let second = Plugins::new();
    second.add_source("a_fine", &source("*version = 9; return 0;", "return 0;"));
    second.add_source("z_last", &source(fine, "return 0;"));

    let [fine, other] = [path, second.path()].map(|directory| directory.to_str().unwrap());
    let directories = [fine, "", "/no/such/directory", "/no/such:/either", other];
    let uromd = Uromd::start_with(&directories, &[]);
    let client = Client::connect(uromd.address);
    let found: Vec<_> = client
        .plugins
        .iter()
        .map(|entry| (entry.name.as_str(), entry.id, entry.build.version))
        .collect();
    assert_eq!(
        found,
        [("a_fine", 1, 3), ("i_long_iface", 2, 3), (longest.as_str(), 4, 3), ("z_last", 8, 3)]
    );
    for (file, reason) in [
        ("b_version_fails.so", "`urom_plugin_get_version` failed"),
        ("c_iface_fails.so", "`urom_plugin_get_iface` failed"),
        ("d_zero_word.so", "__doca_api_version"),
        ("e_no_progress.so", "lacks `progress`"),
        ("f_no_symbols.so", "does not export `urom_plugin_get_version`"),
        ("g_no_iface.so", "does not export `urom_plugin_get_iface`"),
        ("h_unresolved.so", "missing_function"),
        ("j_foreign.so", "it is for RISC-V"),
        ("j_text.so", "does not begin as an ELF file does"),
        ("k_empty.so", "the file is too short"),
        ("l_directory.so", "not a regular file"),
        ("m_dangling.so", "No such file"),
        ("n_socket.so", "not a regular file"),
        ("/.so", "lacks a name"),
        (too_long.as_str(), "48 bytes"),
        ("/no/such/directory", "cannot be read"),
        ("/no/such:/either", "separated by `;`, not by `:`"),
        (
            second.path().join("a_fine.so").to_str().unwrap(),
            "a plugin of the name `a_fine` was found at",
        ),
    ] {
        uromd.logged(&[file, reason]);
    }
    let before = uromd.lines_with("[WRN]");
    let again = Client::connect(uromd.address);
    assert_eq!(again.plugins, client.plugins);
    uromd.logged(&["[DBG]", "b_version_fails.so"]);
    assert_eq!(uromd.lines_with("[WRN]"), before, "nothing is complained about twice");
}

#[test]
fn the_63rd_plugin_is_not_served() {
    let plugins = Plugins::new();
    let first = plugins.add_source("p00", &source("*version = 1; return 0;", "return 0;"));
    for number in 1..64 {
        fs::copy(&first, plugins.path().join(format!("p{number:02}.so"))).unwrap();
    }
    let (uromd, client) = serving(&plugins);
    assert_eq!(client.plugins.len(), 62);
    assert_eq!(client.plugins[61].id, 1 << 61);
    for name in ["p62.so", "p63.so"] {
        uromd.logged(&[name, "all 62 plugin ids are taken"]);
    }
}

#[test]
fn a_plugin_keeps_its_id_while_others_come_and_go() {
    let (plugins, aside) = (Plugins::new(), tempfile::tempdir().unwrap());
    let text = |version: u32| source(&format!("*version = {version}; return 0;"), "return 0;");
    plugins.add_source("m", &text(1));
    plugins.add_source("n", &text(1));
    let uromd = Uromd::start(&plugins);
    let seen = || {
        let plugins = Client::connect(uromd.address).plugins;
        plugins
            .into_iter()
            .map(|entry| (entry.name, entry.id, entry.build.version))
            .collect::<Vec<_>>()
    };
    let entry = |name: &str, id, version| (name.to_owned(), id, version);
    assert_eq!(seen(), [entry("m", 1, 1), entry("n", 2, 1)]);
    fs::rename(plugins.path().join("m.so"), aside.path().join("m.so")).unwrap();
    plugins.add_source("a", &text(1));
    assert_eq!(seen(), [entry("a", 4, 1), entry("n", 2, 1)]);
    replace(&plugins, "n", &text(2));
    fs::rename(aside.path().join("m.so"), plugins.path().join("m.so")).unwrap();
    assert_eq!(seen(), [entry("a", 4, 1), entry("m", 1, 1), entry("n", 2, 2)]);
    replace(&plugins, "n", &text(3));
    assert_eq!(seen(), [entry("a", 4, 1), entry("m", 1, 1), entry("n", 2, 3)]);
}

pub(crate) fn replace(plugins: &Plugins, name: &str, text: &str) {
    let fresh = Plugins::new();
    let file = fresh.add_source(name, text);
    let target = plugins.path().join(format!("{name}.so"));
    let beside = Path::new(&target).with_extension("new");
    fs::copy(file, &beside).unwrap();
    fs::rename(beside, target).unwrap();
}

const CRASH: &str =
    "#include <stdlib.h>\n__attribute__((constructor)) static void crash(void) { abort(); }\n";

fn foreign(file: &Path) -> Vec<u8> {
    let mut bytes = fs::read(file).unwrap();
    bytes[18] = 243;
    bytes
}

#[test]
fn a_file_that_is_no_plugin_is_never_loaded_and_a_library_beside_plugins_causes_no_warning() {
    let plugins = Plugins::obedient();
    for name in ["crash", "libcrash"] {
        plugins.add_source(name, CRASH);
    }
    let half = "int urom_plugin_get_version(long *v) { *v = 1; return 0; }\n";
    plugins.add_source("libhalf", &format!("{half}{CRASH}"));
    let path = plugins.path();
    fs::write(path.join("libforeign.so"), foreign(&path.join("obedient.so"))).unwrap();
    let (uromd, client) = serving(&plugins);
    assert_eq!(client.names(), ["obedient"]);
    uromd.logged(&["[WRN]", "/crash.so is not served", "does not export"]);
    uromd.logged(&[
        "[WRN]",
        "/libhalf.so is not served",
        "does not export `urom_plugin_get_iface`",
    ]);
    uromd.logged(&["[WRN]", "/libforeign.so is not served", "RISC-V"]);
    uromd.logged(&["[DBG]", "libcrash.so is a library and no plugin"]);
    assert_eq!(uromd.lines_with("[WRN]"), 3);
}

#[test]
fn a_file_that_was_cut_or_damaged_does_no_harm() {
    let plugins = Plugins::obedient();
    let whole = fs::read(plugins.path().join("obedient.so")).unwrap();
    for (number, at) in (0..whole.len()).step_by(whole.len() / 40).enumerate() {
        fs::write(plugins.path().join(format!("cut{number}.so")), &whole[..at]).unwrap();
    }
    let damaged = plugins.path().join("damaged");
    let spread = (64..whole.len()).step_by(whole.len() / 200);
    for (at, byte) in (0..64).chain(spread).flat_map(|at| [(at, 0xff), (at, whole[at] ^ 1)]) {
        let mut bytes = whole.clone();
        bytes[at] = byte;
        fs::write(&damaged, bytes).unwrap();
        let looked = plugins::look(&damaged);
        assert!(at >= 4 || looked.is_err(), "byte {at}: {looked:?}");
    }
    let (_uromd, client) = serving(&plugins);
    assert_eq!(client.names(), ["obedient"]);
}

#[test]
fn looking_at_a_pipe_does_not_wait_for_a_writer() {
    let directory = tempfile::tempdir().unwrap();
    let pipe = directory.path().join("pipe.so");
    let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, mode, 0).unwrap();
    for special in [pipe.as_path(), Path::new("/dev/zero")] {
        let error = plugins::look(special).unwrap_err();
        assert_eq!(error.to_string(), "it is not a regular file", "{}", special.display());
    }
}

#[test]
fn a_table_that_is_all_hole_takes_no_memory() {
    let plugins = Plugins::obedient();
    let file = plugins.path().join("obedient.so");
    let mut bytes = fs::read(&file).unwrap();
    // Every section has a terabyte; only a hole can be that large.
    let word = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap()) as usize;
    let (headers, count) =
        (word(0x28), usize::from(u16::from_le_bytes([bytes[0x3c], bytes[0x3d]])));
    for header in 1..count {
        bytes[headers + header * 64 + 32..][..8].copy_from_slice(&(1u64 << 40).to_le_bytes());
    }
    let holed = plugins.path().join("holed");
    fs::write(&holed, bytes).unwrap();
    fs::File::options().write(true).open(&holed).unwrap().set_len(1 << 41).unwrap();
    let error = plugins::look(&holed).unwrap_err();
    assert!(error.to_string().contains("cannot be read as an ELF file"), "{error}");
}

#[test]
fn entries_of_the_path_may_be_files() {
    let plugins = Plugins::new();
    let text = source("*version = 1; return 0;", "return 0;");
    let [one, _two, three] = ["one", "two", "three"].map(|name| plugins.add_source(name, &text));
    fs::copy(&one, plugins.path().join("one.old")).unwrap();
    let entries = [three, one, plugins.path().join("one.old")];
    let uromd = Uromd::start_with(&entries.each_ref().map(|entry| entry.to_str().unwrap()), &[]);
    let client = Client::connect(uromd.address);
    let names = client.names();
    assert_eq!(names, ["three", "one"]);
    uromd.logged(&["one.old is not served", "does not end in `.so`"]);
}

#[test]
fn a_file_as_cargo_names_it_is_the_plugin_that_it_states_and_no_other() {
    let (plugins, text) = (Plugins::new(), source("*version = 1; return 0;", "return 0;"));
    let with = |name: &str, stated: &'static str| {
        plugins.add_source(name, &format!("{text}{}", described(stated)));
    };
    with("libas_stated", "as-stated");
    with("libother", "something_else");
    with("renamed", "original");
    plugins.add_source("libplain", &text);
    let (_uromd, client) = serving(&plugins);
    let names = client.names();
    assert_eq!(names, ["as-stated", "libother", "libplain", "renamed"]);
}

#[test]
fn a_host_gets_the_fingerprint_and_on_request_the_description_of_a_file() {
    let (plugins, text) = (Plugins::new(), source("*version = 1; return 0;", "return 0;"));
    plugins.add_source("described", &format!("{text}{}", described("described")));
    plugins.add_source("in_c", &text);
    let (_uromd, mut client) = serving(&plugins);
    let of = |name: &str| client.plugins.iter().find(|entry| entry.name == name).unwrap().clone();
    let [with, in_c] = ["described", "in_c"].map(of);
    let bytes = client.describe(with.id).unwrap();
    let description = section::read(&bytes).unwrap();
    assert_eq!(description.protocol.name, "described");
    assert_eq!(with.build.fingerprint, Some(description.protocol.fingerprint()));
    assert_eq!(in_c.build.fingerprint, None);
    let failure = client.describe(in_c.id).unwrap_err();
    assert_eq!(failure.code, DocaError::NOT_FOUND, "{failure}");
    for no_id in [0, 1 << 40, u64::MAX] {
        assert_eq!(client.describe(no_id).unwrap_err().code, DocaError::INVALID_VALUE);
    }
}

/// Hosts could not check whether message layouts agree.
#[test]
fn a_plugin_whose_description_cannot_be_read_is_not_served() {
    let (plugins, text) = (Plugins::new(), source("*version = 1; return 0;", "return 0;"));
    // A wrong start, and a wrong layout number after the start's eight bytes.
    let damaged = described("damaged").replace("{117,", "{118,");
    let layout = format!(",115,99,{},0,0,0,", section::FORMAT);
    let foreign = described("foreign").replace(&layout, ",115,99,99,0,0,0,");
    plugins.add_source("damaged", &format!("{text}{damaged}"));
    plugins.add_source("foreign", &format!("{text}{foreign}"));
    let uromd = Uromd::start(&plugins);
    assert_eq!(Client::connect(uromd.address).plugins, []);
    uromd.logged(&["damaged.so is not served", "one release of the kit"]);
    uromd.logged(&["foreign.so is not served", "layout 99", "one release of the kit"]);
}

/// Plugins find each other by name, across workers whose services may use other file names.
#[test]
fn a_worker_calls_a_plugin_as_its_daemon_does() {
    let (plugins, text) =
        (Plugins::new(), source("*version = 1; return 0;", "iface->open = fails; return 0;"));
    let fails = "#include \"plugin.h\"\nstatic doca_error_t fails(struct urom_worker_ctx *c) { (void)c; return 21; }\n";
    plugins.add_source("libas_stated", &format!("{fails}{text}{}", described("as-stated")));
    let uromd = Uromd::start(&plugins);
    let failure = Client::connect(uromd.address).start(any()).unwrap_err();
    assert!(failure.text.contains("plugin `as-stated` did not open"), "{failure}");
}

pub(crate) fn described(name: &'static str) -> String {
    let tag = Type::Int { bytes: 8, signed: false };
    let none =
        Messages { name: "None", docs: "", tag, len: 8, union_at: 8, header: &[], variants: &[] };
    let protocol = Protocol { name, version: 1, commands: none, notifications: none };
    let build = Build { kit: "0", panic: Panic::Unwind };
    let bytes = section::bytes(&protocol, &build, true);
    let bytes = bytes.iter().map(ToString::to_string).collect::<Vec<_>>().join(",");
    format!(
        "__attribute__((section(\"{SECTION}\"), used)) static const unsigned char d[] = {{{bytes}}};\n"
    )
}
