//! Removes the symbol table and debug information, without tools of the target.

use anyhow::Result;
use object::build::elf::Builder;

use crate::elf::is_for_debuggers;

/// Keeps dynamic symbols, build id and the kit's description.
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
