//! The C headers of `include/`: each compiles alone, all of them in any order, in C and C++, and so
//! do their macros.

use std::fs;
use std::path::{Path, PathBuf};

use c_interface::Language;

fn include() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("include")
}

/// The names of the headers, sorted.
fn headers() -> Vec<String> {
    let entries = fs::read_dir(include())
        .expect("the headers")
        .map(|entry| entry.expect("a header").file_name());
    let mut names: Vec<String> =
        entries.map(|name| name.into_string().expect("a readable name")).collect();
    names.sort_unstable();
    names
}

fn compiles(language: Language, code: &str) {
    if let Err(complaints) = c_interface::check(language, &include(), code) {
        panic!("{language:?} does not take this:\n{code}\n{complaints}");
    }
}

fn includes<'a>(names: impl IntoIterator<Item = &'a String>) -> String {
    // ISO C wants at least one declaration.
    names
        .into_iter()
        .map(|name| format!("#include <{name}>\n"))
        .chain(["int declared;\n".to_owned()])
        .collect()
}

#[test]
#[cfg_attr(miri, ignore = "it runs the C compiler")]
fn each_header_compiles_alone_and_twice() {
    let headers = headers();
    assert!(headers.len() >= 17, "{headers:?}");
    for &language in Language::ALL {
        for name in &headers {
            compiles(language, &includes([name, name]));
        }
    }
}

#[test]
#[cfg_attr(miri, ignore = "it runs the C compiler")]
fn all_headers_compile_whichever_is_first() {
    let mut headers = headers();
    for &language in Language::ALL {
        for _ in 0..headers.len() {
            headers.rotate_left(1);
            compiles(language, &includes(&headers));
            compiles(language, &includes(headers.iter().rev()));
        }
    }
}

/// What a program of somebody else does with the macros, without a warning.
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
}

#[test]
#[cfg_attr(miri, ignore = "it runs the C compiler")]
fn a_function_that_is_stable_is_not_warned_of() {
    compiles(
        Language::C11,
        "#include <doca_pe.h>\nint use(struct doca_pe *pe);\nint use(struct doca_pe *pe) { return doca_pe_progress(pe); }\n",
    );
}
