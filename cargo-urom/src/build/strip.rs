//! Removes what serves debuggers only, for any machine and without its tools.

use anyhow::Result;
use object::build::elf::Builder;

use crate::elf::is_for_debuggers;

/// The same shared object without symbol table and debug information. What a process sees of it is
/// unchanged: dynamic symbols, build id and the kit's description stay.
///
/// # Errors
/// The file is no ELF file, or has something that cannot be written again.
pub(super) fn strip(bytes: &[u8]) -> Result<Vec<u8>> {
    let mut builder = Builder::read(bytes)?;
    for section in &mut builder.sections {
        section.delete =
            !section.is_alloc() && is_for_debuggers(section.name.as_slice(), section.sh_type);
    }
    builder.symbols.iter_mut().for_each(|symbol| symbol.delete = true);
    let mut stripped = Vec::new();
    builder.delete_orphans();
    builder.write(&mut stripped)?;
    Ok(stripped)
}
