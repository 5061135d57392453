//! Operating systems of BlueFields and their libraries. Incomplete, so only for warnings.

use crate::elf::GlibcVersion;

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Image {
    pub(crate) name: &'static str,
    pub(crate) title: &'static str,
    pub(crate) glibc: GlibcVersion,
    /// Libraries in addition to [`COMMON`].
    libraries: &'static str,
}

/// The operating systems that DOCA supports.
pub(crate) static IMAGES: [Image; 5] = [
    image("ubuntu-22.04", "Ubuntu 22.04", GlibcVersion(2, 35), OPENSSL_3),
    image("ubuntu-24.04", "Ubuntu 24.04", GlibcVersion(2, 39), OPENSSL_3),
    image("debian-12", "Debian 12", GlibcVersion(2, 36), OPENSSL_3),
    image("oracle-8", "Oracle Linux 8", GlibcVersion(2, 28), OPENSSL_1),
    image("oracle-9", "Oracle Linux 9", GlibcVersion(2, 34), OPENSSL_3),
];

const fn image(
    name: &'static str,
    title: &'static str,
    glibc: GlibcVersion,
    libraries: &'static str,
) -> Image {
    Image { name, title, glibc, libraries }
}

const OPENSSL_1: &str = "libcrypto.so.1.1 libssl.so.1.1";
const OPENSSL_3: &str = "libcrypto.so.3 libssl.so.3";

/// Libraries of all images: glibc, the compilers' libraries, UCX, the drivers, DOCA.
const COMMON: &str = "ld-linux-aarch64.so.1 libc.so.6 libdl.so.2 libm.so.6 libpthread.so.0 \
    libresolv.so.2 librt.so.1 libutil.so.1 libgcc_s.so.1 libstdc++.so.6 libgomp.so.1 libz.so.1 \
    libucm.so.0 libucp.so.0 libucs.so.0 libuct.so.0 libucs_signal.so.0 \
    libibumad.so.3 libibverbs.so.1 libmlx5.so.1 librdmacm.so.1 libnl-3.so.200 libnl-route-3.so.200 \
    libnuma.so.1 \
    libdoca_argp.so.2 libdoca_common.so.2 libdoca_urom.so.2";

impl Image {
    pub(crate) fn named(name: &str) -> Result<&'static Image, String> {
        IMAGES.iter().find(|image| image.name == name).ok_or_else(|| {
            let names = IMAGES.iter().map(|image| image.name).collect::<Vec<_>>();
            format!("expected one of {}", names.join(", "))
        })
    }

    pub(crate) fn has(&self, library: &str) -> bool {
        let mut names = COMMON.split(' ').chain(self.libraries.split(' '));
        names.any(|name| name == library)
    }
}

pub(crate) fn is_of_the_build_machine(library: &str) -> bool {
    const NAMES: [&str; 6] =
        ["libstd-", "librustc_driver-", "libasan.so", "liblsan.so", "libtsan.so", "libubsan.so"];
    NAMES.iter().any(|name| library.starts_with(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_image_is_found_by_its_name_or_the_error_lists_the_names() {
        assert_eq!(Image::named("debian-12").map(|image| image.glibc), Ok(GlibcVersion(2, 36)));
        let error = Image::named("debian").unwrap_err();
        assert!(IMAGES.iter().all(|image| error.contains(image.name)), "{error}");
    }

    #[test]
    fn openssl_is_that_of_the_image() {
        let has = |image: &str, library| Image::named(image).unwrap().has(library);
        assert!(has("oracle-8", "libssl.so.1.1") && !has("oracle-8", "libssl.so.3"));
        assert!(has("ubuntu-24.04", "libssl.so.3") && has("ubuntu-24.04", "libucp.so.0"));
        assert!(!has("ubuntu-24.04", "libasan.so.8") && is_of_the_build_machine("libasan.so.8"));
        assert!(
            is_of_the_build_machine("libstd-0123.so") && !is_of_the_build_machine("libstdc++.so.6")
        );
    }
}
