//! The pkg-config files of an installed prefix. They hold no path of their own, so that the prefix can be moved.

use std::path::Path;

use urom_abi::version::RELEASE;

/// A library of DOCA's.
struct Module {
    name: &'static str,
    library: &'static str,
    description: &'static str,
    requires: &'static str,
}

const MODULES: [Module; 3] = [
    Module {
        name: "doca-common",
        library: "doca_common",
        description: "DOCA's core objects, logging and errors, of the UROM kit",
        requires: "",
    },
    Module {
        name: "doca-argp",
        library: "doca_argp",
        description: "DOCA's command line parser, of the UROM kit",
        requires: "doca-common",
    },
    Module {
        name: "doca-urom",
        library: "doca_urom",
        description: "DOCA UROM's host interface over the UROM kit's service",
        requires: "doca-common",
    },
];

/// The library names a program can link with and load, without `lib` and `.so`.
pub(crate) fn libraries() -> impl Iterator<Item = &'static str> {
    MODULES.iter().map(|module| module.library)
}

/// The file names and texts of DOCA's modules.
pub(crate) fn doca() -> impl Iterator<Item = (String, String)> {
    MODULES.iter().map(|module| {
        let Module { name, library, description, requires } = module;
        let requires = if requires.is_empty() { String::new() } else { format!("Requires: {requires}\n") };
        let text = format!(
            "prefix=${{pcfiledir}}/../..\nincludedir=${{prefix}}/include\nlibdir=${{prefix}}/lib\n\n\
             Name: {name}\nDescription: {description}\nVersion: {RELEASE}\n{requires}\
             Cflags: -I${{includedir}}\nLibs: -L${{libdir}} -l{library}\n"
        );
        (format!("{name}.pc"), text)
    })
}

/// The text of `ucx.pc`. Both directories may begin with `${prefix}`. UCX's headers are somebody else's: a program's own
/// warnings do not look into them.
pub(crate) fn ucx(version: &str, include: &Path, lib: &Path) -> String {
    format!(
        "prefix=${{pcfiledir}}/../..\nincludedir={}\nlibdir={}\n\n\
         Name: ucx\nDescription: The UCX that the UROM kit was built with\nVersion: {version}\n\
         Cflags: -isystem ${{includedir}}\nLibs: -L${{libdir}} -lucp -lucs\n",
        include.display(),
        lib.display()
    )
}
