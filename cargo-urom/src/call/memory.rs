//! Memory for commands: `--memory`, and its output at the end.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use urom_message::plain;

use anyhow::{Context, Result};
use serde_json::json;
use urom_abi::Quantity;
use urom_host::memory::{Access, Mmap, View};
use urom_os::named_file;

use super::CallArgs;
use crate::exit::usage;
use crate::output;
use urom_message::{Datum, Memories, size};

/// Limit of the bytes that are printed. For more, the length and a checksum are printed.
const MOST: u64 = 256;

#[derive(Clone, Debug)]
pub(super) struct MemoryOption {
    name: String,
    content: MemoryContent,
}

#[derive(Clone, Debug)]
enum MemoryContent {
    Zeros(usize),
    File(PathBuf),
}

impl FromStr for MemoryOption {
    type Err = String;

    fn from_str(text: &str) -> Result<MemoryOption, String> {
        let (name, content) = named(text)
            .ok_or("expected NAME=SIZE, such as input=4K, or NAME=@FILE; a name has letters, digits and `_`")?;
        let content = match content.strip_prefix('@') {
            Some("") => return Err("`@` does not name a file: write NAME=@FILE".to_owned()),
            Some(file) => MemoryContent::File(file.into()),
            None => {
                let len = size(content).and_then(|len| usize::try_from(len).ok());
                let len = len.ok_or_else(|| {
                    let content = content.escape_debug();
                    format!(
                        "`{content}` is not a size: write bytes, such as 4096, 4K or 1M, or @FILE for \
                         a file's bytes"
                    )
                })?;
                if len == 0 {
                    return Err("memory has at least one byte".to_owned());
                }
                MemoryContent::Zeros(len)
            }
        };
        Ok(MemoryOption { name: name.to_owned(), content })
    }
}

#[derive(Clone, Debug)]
pub(super) struct SaveOption {
    name: String,
    file: PathBuf,
}

impl FromStr for SaveOption {
    type Err = String;

    fn from_str(text: &str) -> Result<SaveOption, String> {
        let (name, file) = named(text)
            .filter(|(_, file)| !file.is_empty())
            .ok_or("expected NAME=FILE: the memory of --memory NAME=.. and where to write it")?;
        Ok(SaveOption { name: name.to_owned(), file: file.into() })
    }
}

fn named(text: &str) -> Option<(&str, &str)> {
    let (name, rest) = text.split_once('=')?;
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let begins = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    (begins && name.chars().all(is_name)).then_some((name, rest))
}

#[derive(Debug)]
pub(super) struct NamedMemory {
    pub(super) name: String,
    pub(super) map: Mmap,
    save: Option<PathBuf>,
}

#[derive(Debug)]
pub(super) struct NamedMemories(pub(super) Vec<NamedMemory>);

impl NamedMemories {
    pub(super) fn make(args: &CallArgs) -> Result<NamedMemories> {
        let (both, read_only) =
            (Access::LOCAL_READ_WRITE | Access::PCI_READ_WRITE, Access::PCI_READ_ONLY);
        let writable = args.memory.iter().map(|asked| (asked, both));
        let others = args.memory_read_only.iter();
        let others = others.map(|asked| (asked, Access::LOCAL_READ_WRITE | read_only));
        let mut all: Vec<NamedMemory> = Vec::new();
        for (MemoryOption { name, content }, access) in writable.chain(others) {
            if all.iter().any(|other| other.name == *name) {
                return Err(usage(format!(
                    "there are two memories `{name}`: each has its own name"
                )));
            }
            let map = content.make(access).with_context(|| format!("memory `{name}`"))?;
            all.push(NamedMemory { name: name.clone(), map, save: None });
        }
        for SaveOption { name, file } in &args.save {
            let Some(named) = all.iter_mut().find(|named| named.name == *name) else {
                return Err(usage(format!(
                    "--save: memory `{name}` does not exist: --memory {name}=SIZE makes it"
                )));
            };
            if named.save.replace(file.clone()).is_some() {
                return Err(usage(format!("--save: `{name}` is saved twice")));
            }
        }
        Ok(NamedMemories(all))
    }

    pub(super) fn ranges(&self) -> Memories {
        self.0.iter().map(|named| (named.name.clone(), named.map.range())).collect()
    }

    /// Prints or saves each memory. A failed save does not prevent the others.
    pub(super) fn report(&self, is_json: bool) -> Result<()> {
        let report = |named: &NamedMemory| match &named.save {
            Some(file) => save(named, file),
            None if is_json => output::json(&named.json()),
            None => output::result(&format!("memory {} = {}\n", named.name, plain(&named.text()))),
        };
        self.0.iter().map(report).fold(Ok(()), Result::and)
    }
}

impl MemoryContent {
    fn make(&self, access: Access) -> Result<Mmap> {
        match self {
            MemoryContent::Zeros(len) => Ok(Mmap::allocate(*len, access)?),
            MemoryContent::File(file) => {
                let bytes = named_file::read(file, 1 << 32)
                    .with_context(|| format!("cannot read {}", file.display()))?;
                if bytes.is_empty() {
                    anyhow::bail!("{} is empty, and memory has at least one byte", file.display());
                }
                let map = Mmap::allocate(bytes.len(), access)?;
                map.view().copy_from(0, &bytes)?;
                Ok(map)
            }
        }
    }
}

impl NamedMemory {
    fn look(&self) -> Result<Vec<u8>, u32> {
        let view = self.map.view();
        if view.len() > MOST {
            let mut checksum = crc32fast::Hasher::new();
            pieces(view, |piece| checksum.update(piece));
            return Err(checksum.finalize());
        }
        let mut bytes = Vec::new();
        pieces(view, |piece| bytes.extend_from_slice(piece));
        Ok(bytes)
    }

    fn text(&self) -> String {
        match self.look() {
            Ok(bytes) => Datum::Bytes(bytes).to_string(),
            Err(crc32) => {
                format!("({}, CRC-32 {crc32:08x})", Quantity(self.map.len() as usize, "byte"))
            }
        }
    }

    fn json(&self) -> serde_json::Value {
        let (bytes, crc32) = match self.look() {
            Ok(bytes) => (Some(Datum::Bytes(bytes).json()), None),
            Err(crc32) => (None, Some(format!("{crc32:08x}"))),
        };
        json!({ "memory": self.name, "len": self.map.len(), "bytes": bytes, "crc32": crc32 })
    }
}

fn pieces(view: View<'_>, mut take: impl FnMut(&[u8])) {
    let mut buffer = vec![0_u8; 64 << 10];
    let Ok(mut chunks) = view.chunks(&mut buffer) else { return };
    while let Some(piece) = chunks.next_chunk() {
        take(piece);
    }
}

fn save(named: &NamedMemory, file: &Path) -> Result<()> {
    let what = || format!("cannot save memory `{}` in {}", named.name, file.display());
    let mut out = File::create(file).with_context(what)?;
    let mut written = Ok(());
    pieces(named.map.view(), |piece| {
        if written.is_ok() {
            written = out.write_all(piece);
        }
    });
    written.with_context(what)?;
    let len = Quantity(named.map.len() as usize, "byte");
    output::progress("Saved", &format!("memory `{}`, {len}, in {}", named.name, file.display()));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_has_a_name_and_a_size_or_a_file() {
        for (text, len) in [("a=1", 1), ("in_2=4K", 4096), ("_x=0x10", 16)] {
            let MemoryOption { name, content } = text.parse().unwrap();
            assert_eq!(Some(name.as_str()), text.split('=').next());
            assert!(matches!(content, MemoryContent::Zeros(found) if found == len), "{content:?}");
        }
        let MemoryOption { content, .. } = "a=@b=c,d".parse().unwrap();
        assert!(matches!(content, MemoryContent::File(file) if file == Path::new("b=c,d")));
    }

    #[test]
    fn an_invalid_memory_option_is_refused_with_the_reason() {
        for (text, part) in [
            ("a", "expected NAME=SIZE"),
            ("=4", "expected NAME=SIZE"),
            ("1a=4", "a name has letters"),
            ("a.b=4", "a name has letters"),
            ("a=", "`` is not a size"),
            ("a=x", "`x` is not a size: write bytes, such as 4096, 4K or 1M"),
            ("a=-1", "is not a size"),
            ("a=0", "at least one byte"),
            ("a=0K", "at least one byte"),
            ("a=@", "does not name a file"),
            ("a=99999999999G", "is not a size"),
        ] {
            let why = text.parse::<MemoryOption>().unwrap_err();
            assert!(why.contains(part), "{text}: {why}");
        }
        for text in ["a", "a=", "=b", "a[0..1]=b"] {
            assert!(
                text.parse::<SaveOption>().unwrap_err().contains("expected NAME=FILE"),
                "{text}"
            );
        }
    }
}
