//! The pkg-config files of an installed prefix, which is relocatable: they contain no fixed path.

use std::path::Path;

/// The DOCA release of the library's interface, as `urom_abi::version::RELEASE`, whose crate builds
/// slowly.
pub(crate) const RELEASE: &str = "2.7.0";

/// Each library's name, description and required module.
const MODULES: [(&str, &str, &str); 3] = [
    ("common", "DOCA's core objects, logging and errors, of the UROM kit", ""),
    ("argp", "DOCA's command line parser, of the UROM kit", "Requires: doca-common\n"),
    ("urom", "DOCA UROM's host interface over the UROM kit's service", "Requires: doca-common\n"),
];

/// Library names, without `lib` and `.so`.
pub(crate) fn libraries() -> impl Iterator<Item = String> {
    MODULES.iter().map(|(name, ..)| format!("doca_{name}"))
}

pub(crate) fn doca() -> impl Iterator<Item = (String, String)> {
    MODULES.iter().map(|(name, description, requires)| {
        let text = format!(
            "prefix=${{pcfiledir}}/../..\nincludedir=${{prefix}}/include\nlibdir=${{prefix}}/lib\n\n\
             Name: doca-{name}\nDescription: {description}\nVersion: {RELEASE}\n{requires}\
             Cflags: -I${{includedir}}\nLibs: -L${{libdir}} -ldoca_{name}\n"
        );
        (format!("doca-{name}.pc"), text)
    })
}

/// Returns the text of `ucx.pc`. The directories may begin with `${prefix}`. System headers avoid
/// warnings in programs. Flag and path are one word, because only then pkg-config escapes spaces.
pub(crate) fn ucx((major, minor): (u32, u32), include: &Path, lib: &Path) -> String {
    format!(
        "prefix=${{pcfiledir}}/../..\nincludedir={}\nlibdir={}\n\n\
         Name: ucx\nDescription: The UCX that the UROM kit was built with\n\
         Version: {major}.{minor}.0\n\
         Cflags: -isystem${{includedir}}\nLibs: -L${{libdir}} -lucp -lucs\n",
        escaped(include),
        escaped(lib)
    )
}

fn escaped(path: &Path) -> String {
    path.display().to_string().replace(' ', "\\ ")
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::process::Command;

    use super::*;

    #[test]
    fn the_release_is_that_of_the_library() {
        assert_eq!(RELEASE, urom_abi::version::RELEASE);
    }

    #[test]
    fn spaces_in_a_path_to_ucx_are_escaped() {
        let directory = tempfile::tempdir().expect("a directory");
        let modules = directory.path().join("a prefix/lib/pkgconfig");
        fs::create_dir_all(&modules).expect("a directory");
        let answer = |include: &str, lib: &str| {
            let text = ucx((1, 22), Path::new(include), Path::new(lib));
            fs::write(modules.join("ucx.pc"), text).expect("a file");
            let mut command = Command::new("pkg-config");
            command.env("PKG_CONFIG_PATH", &modules).args(["--cflags", "--libs", "ucx"]);
            let output = command.output().expect("pkg-config runs");
            assert!(output.status.success(), "{output:?}");
            String::from_utf8(output.stdout).expect("a text").trim_end().to_owned()
        };
        let prefix = format!("{}/../..", modules.display().to_string().replace(' ', "\\ "));
        assert_eq!(
            answer("${prefix}/include", "${prefix}/lib"),
            format!("-isystem{prefix}/include -L{prefix}/lib -lucp -lucs")
        );
        let (include, lib) = ("-isystem/the\\ users/include", "-L/the\\ users/lib");
        assert_eq!(
            answer("/the users/include", "/the users/lib"),
            format!("{include} {lib} -lucp -lucs")
        );
    }
}
