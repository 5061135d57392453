//! The C headers of `include/` in C and C++ with strict warnings. Programs can use every name of
//! DOCA's public interface (`docas_interface.txt`), and the headers compile in any order.

use std::fs;
use std::path::{Path, PathBuf};

use c_interface::Language;

const NAMES: &str = include_str!("docas_interface.txt");

fn include() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("include")
}

fn headers() -> Vec<(&'static str, Vec<&'static str>)> {
    let parts = NAMES.split("\n# ").skip(1);
    let lines = |part: &'static str| part.lines().skip(1).filter(|line| !line.is_empty()).collect();
    parts.map(|part| (part.lines().next().expect("a header's name"), lines(part))).collect()
}

fn program(language: Language, header: &str, lines: &[&str]) -> String {
    let mut outside = String::new();
    let mut inside = String::new();
    for line in lines {
        // Compiler errors show the line of the list.
        let directive = format!("#line 1 \"{}\"\n", line.replace(['\\', '"'], "'"));
        let mut add = |text: String| {
            inside += &directive;
            inside += &text;
            inside.push('\n');
        };
        if let Some(declaration) = line.strip_prefix("typedef ") {
            let (before, rest) = declaration.split_once("(*").expect(line);
            let (name, rest) = rest.split_once(')').expect(line);
            // A pointer to another type would not match.
            outside += &format!("{directive}typedef {before}(*of_list_{name}){rest}\n");
            add(format!("\t{{ of_list_{name} *pointer = cast({name} *, 0); (void)pointer; }}"));
        } else if let Some((name, code)) = line.split_once(": ") {
            match name.split_once(' ') {
                Some(("outside", _)) => outside += &format!("{directive}{code}\n"),
                Some(("in", _)) if language != Language::C11 => {}
                _ => add(format!("\t{code}")),
            }
        } else if let Some(prototype) = line.strip_suffix(';') {
            let (before, arguments) = prototype.split_once('(').expect(line);
            let at = before.rfind([' ', '*']).expect(line) + 1;
            let (returns, name) = before.split_at(at);
            add(format!("\t{{ {returns}(*use)({arguments} = {name}; (void)use; }}"));
        } else if let Some((value, number)) = line.split_once(" = ") {
            add(format!(
                "\tconstant((unsigned long long)({value}) == {number}ull, \"another value\");"
            ));
        } else {
            add(format!("\t{{ {line} *pointer = cast({line} *, 0); (void)pointer; }}"));
        }
    }
    let language_of = match language {
        Language::C11 => {
            "#define cast(type, value) ((type)(value))\n#define constant _Static_assert\n"
        }
        Language::Cxx17 => {
            "#define cast(type, value) static_cast<type>(value)\n#define constant static_assert\n"
        }
    };
    format!(
        "#define DOCA_ALLOW_EXPERIMENTAL_API\n#include <{header}>\n#include <stddef.h>\n{language_of}\
         {outside}void use_all(void);\nvoid use_all(void)\n{{\n{inside}}}\n"
    )
}

#[test]
#[cfg_attr(miri, ignore = "it runs the C compiler")]
fn a_program_that_includes_its_header_can_use_every_name() {
    let headers = headers();
    let count: usize = headers.iter().map(|(_, lines)| lines.len()).sum();
    assert!(headers.len() >= 15 && count >= 405, "{count} names of {} headers", headers.len());
    for &language in Language::ALL {
        for (header, lines) in &headers {
            let code = program(language, header, lines);
            if let Err(complaints) = c_interface::check(language, &include(), &code) {
                panic!("{language:?} and {header}:\n{complaints}\n{code}");
            }
        }
    }
}

#[test]
fn every_header_is_in_the_list() {
    let listed: Vec<_> = headers().into_iter().map(|(header, _)| header).collect();
    let entries =
        fs::read_dir(include()).expect("the headers").map(|entry| entry.expect("a header"));
    for name in entries.map(|entry| entry.file_name().into_string().expect("a readable name")) {
        let is_docas = name.starts_with("doca_") && !name.ends_with("_config.h");
        assert!(is_docas == listed.contains(&&*name), "{name}");
        assert!(
            is_docas || name.starts_with("urom_") || name.ends_with("_config.h"),
            "{name} is not DOCA's"
        );
    }
}

#[test]
#[cfg_attr(miri, ignore = "it runs the C compiler")]
fn a_name_that_is_missing_or_different_is_found() {
    let inventory = "static inline doca_error_t doca_buf_inventory_buf_get_by_data(";
    for (header, old, new, named) in [
        ("doca_pe.h", "void doca_task_free(", "void doca_task_drop(", "doca_task_free"),
        (
            "doca_buf.h",
            "const struct doca_buf *buf, size_t *data_len",
            "struct doca_buf *buf, size_t *data_len",
            "doca_buf_get_data_len",
        ),
        (
            "doca_buf_inventory.h",
            inventory,
            "static inline doca_error_t by_data(",
            "doca_buf_inventory_buf_get_by_data",
        ),
        ("doca_version.h", "*doca_version(void)", "*version(void)", "doca_version"),
        ("doca_log.h", "#define DOCA_LOG_DBG(", "#define DOCA_LOG_DEBUG(", "DOCA_LOG_DBG"),
        (
            "doca_log.h",
            "#define DOCA_LOG_REGISTER(",
            "#define DOCA_LOG_REGISTERED(",
            "DOCA_LOG_REGISTER",
        ),
        ("doca_ctx.h", "STATE_STOPPING = 3", "STATE_STOPPING = 4", "DOCA_CTX_STATE_STOPPING"),
        ("doca_dev.h", "#define DOCA_DEVINFO_PCI_BDF_SIZE 8", "", "DOCA_DEVINFO_PCI_BDF_SIZE"),
        ("doca_argp.h", "#include <doca_log.h>", "", "DOCA_LOG_LEVEL_INFO"),
        ("doca_compat.h", "#include <assert.h>", "", "assert"),
        (
            "doca_argp.h",
            "_cb_t)(void *param, void *config)",
            "_cb_t)(void *param)",
            "doca_argp_param_cb_t",
        ),
        ("doca_urom_plugin.h", "\tuint32_t reserved;     /* 0 */\n", "", "reserved"),
        ("doca_error.h", "typedef enum doca_error {", "typedef enum doca_codes {", "doca_error"),
    ] {
        let copy = tempfile::tempdir().expect("a temporary directory");
        for entry in fs::read_dir(include()).expect("the headers") {
            let entry = entry.expect("a header");
            fs::copy(entry.path(), copy.path().join(entry.file_name())).expect("a copy");
        }
        let text = fs::read_to_string(copy.path().join(header)).expect("a header");
        assert_eq!(text.matches(old).count(), 1, "`{old}` in {header}");
        fs::write(copy.path().join(header), text.replace(old, new)).expect("a copy");
        let headers = headers();
        let (_, lines) =
            headers.iter().find(|(name, _)| *name == header).expect("it is in the list");
        for &language in Language::ALL {
            let complaints =
                c_interface::check(language, copy.path(), &program(language, header, lines));
            let complaints =
                complaints.expect_err(&format!("{language:?} takes {header} without {named}"));
            assert!(complaints.contains(named), "{language:?}, {header}, {named}:\n{complaints}");
        }
    }
}

fn compiles(language: Language, code: &str) {
    if let Err(complaints) = c_interface::check(language, &include(), code) {
        panic!("{language:?} does not take this:\n{code}\n{complaints}");
    }
}

fn includes<'a>(names: impl IntoIterator<Item = &'a String>) -> String {
    // ISO C requires at least one declaration.
    names
        .into_iter()
        .map(|name| format!("#include <{name}>\n"))
        .chain(["int declared;\n".to_owned()])
        .collect()
}

#[test]
#[cfg_attr(miri, ignore = "it runs the C compiler")]
fn all_headers_compile_whichever_is_first() {
    let entries = fs::read_dir(include()).expect("the headers");
    let names = entries.map(|entry| entry.expect("a header").file_name());
    let mut headers: Vec<_> =
        names.map(|name| name.into_string().expect("a readable name")).collect();
    headers.sort_unstable();
    assert!(headers.len() >= 17, "{headers:?}");
    for &language in Language::ALL {
        for _ in 0..headers.len() {
            headers.rotate_left(1);
            compiles(language, &includes(&headers));
            compiles(language, &includes(headers.iter().rev()));
        }
    }
}

#[test]
#[cfg_attr(miri, ignore = "it runs the C compiler")]
fn the_macros_are_usable() {
    let code = "\
#define DOCA_ALLOW_EXPERIMENTAL_API
#include <doca_log.h>
#include <doca_urom.h>
DOCA_LOG_REGISTER(UROM::TEST : MACROS)
struct versioned { DOCA_STRUCT_START; int more; };
int use(struct doca_urom_worker *worker, ucs_list_link_t *list);
int use(struct doca_urom_worker *worker, ucs_list_link_t *list)
{
	struct urom_worker_cmd_desc *desc, *next;
	struct versioned object;
	doca_error_t result = DOCA_SUCCESS;
	doca_cpu_set_t cpus;

	DOCA_STRUCT_MEMSET_CTOR(object);
	DOCA_CPU_ZERO(&cpus);
	DOCA_CPU_SET(3, &cpus);
	DOCA_ERROR_PROPAGATE(result, doca_urom_worker_set_cpuset(worker, cpus));
	DOCA_ERROR_PROPAGATE(result, doca_urom_worker_set_id(worker, DOCA_UROM_WORKER_ID_ANY));
	if (DOCA_IS_ERROR(result) || !doca_cpu_is_set(3, &cpus))
		DOCA_LOG_ERR(\"code %d\", (int)result);
	else
		DOCA_LOG_INFO(\"none\");
	DOCA_LOG_TRC(\"%d\", 1);
	ucs_list_for_each_safe(desc, next, list, entry)
		ucs_list_del(&desc->entry);
	ucs_list_for_each(desc, list, entry)
		return 1;
	return DOCA_STRUCT_GET_VERSION(&object) == DOCA_VERSION_EXACT;
}
";
    for &language in Language::ALL {
        compiles(language, code);
    }
}

#[test]
#[cfg_attr(miri, ignore = "it runs the C compiler")]
fn an_experimental_function_is_warned_of_unless_it_is_allowed() {
    let code = "#include <doca_urom.h>\n\
        struct doca_ctx *use(struct doca_urom_worker *worker);\n\
        struct doca_ctx *use(struct doca_urom_worker *worker) { return doca_urom_worker_as_ctx(worker); }\n";
    let complaints =
        c_interface::check(Language::C11, &include(), code).expect_err("it is experimental");
    assert!(complaints.contains("DOCA_ALLOW_EXPERIMENTAL_API"), "{complaints}");
    compiles(Language::C11, &format!("#define DOCA_ALLOW_EXPERIMENTAL_API\n{code}"));
    let stable = code.replace("doca_urom.h", "doca_pe.h").replace("ctx *use", "pe *use");
    let stable = stable.replace("doca_urom_worker *worker", "doca_pe *pe");
    let stable = stable.replace("doca_urom_worker_as_ctx(worker)", "(doca_pe_progress(pe), pe)");
    compiles(Language::C11, &stable);
}
