//! Cargo's lists of sources: `libNAME.d` beside a library, `NAME.d` beside its copy.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use urom_os::named_file;

/// Size limit of a list in bytes.
pub(super) const MOST: usize = 16 << 20;

/// Returns the contents of `NAME.d` for the copy `NAME.so` of a library: cargo's list of sources,
/// rewritten for the copy. `None` without a list from cargo.
///
/// Give the copy the library's modification time: a source may change between the two.
pub fn list_of_copy(library: &Path, copy: &Path) -> Option<Vec<u8>> {
    let library = library.canonicalize().ok()?;
    let list = named_file::read(&library.with_extension("d"), MOST).ok()?;
    let sources = sources(&list, &library)?;
    let mut list = escaped(&std::path::absolute(copy).ok()?);
    list.push(b':');
    for source in sources {
        list.push(b' ');
        list.extend(escaped(&source));
    }
    list.push(b'\n');
    Some(list)
}

fn escaped(path: &Path) -> Vec<u8> {
    path.as_os_str().as_bytes().iter().fold(Vec::new(), |mut name, byte| {
        name.extend((*byte == b' ').then_some(b'\\'));
        name.push(*byte);
        name
    })
}

/// Returns the source files of a library from a list: a make rule with escaped spaces.
pub(super) fn sources(list: &[u8], library: &Path) -> Option<Vec<PathBuf>> {
    let rule = list.split(|byte| *byte == b'\n').next()?;
    let mut names = vec![Vec::new()];
    let mut bytes = rule.iter();
    while let Some(&byte) = bytes.next() {
        match byte {
            b'\\' if bytes.as_slice().first() == Some(&b' ') => {
                bytes.next();
                names.last_mut()?.push(b' ');
            }
            b' ' => names.push(Vec::new()),
            _ => names.last_mut()?.push(byte),
        }
    }
    let mut names = names.into_iter();
    let target = names.next()?;
    let target = target.strip_suffix(b":").map(OsStr::from_bytes).map(Path::new)?;
    let base = base_of(target, library)?;
    Some(names.map(OsString::from_vec).map(|name| base.join(name)).collect())
}

/// Returns the base directory of the names in a list for `target`, if the list belongs to
/// `library`: cargo leaves out the directory in `build.dep-info-basedir`.
fn base_of<'a>(target: &Path, library: &'a Path) -> Option<&'a Path> {
    // One list covers all kinds of the library and names one, such as `libNAME.rlib`.
    let is_library = |target: &Path| target.with_extension("") == library.with_extension("");
    if target.is_absolute() {
        return is_library(&target.canonicalize().ok()?).then_some(library.parent()?);
    }
    library.ancestors().skip(1).find(|base| is_library(&base.join(target)))
}
