//! A recorded plugin, whose description names messages and fields.

use urom_abi::describe::{Protocol, section};
use urom_message::{Datum, decode, plain};
use urom_recording::RecordedPlugin;

use crate::description::sane::sane;

pub(crate) struct ShownPlugin {
    pub(crate) id: u64,
    pub(crate) name: String,
    pub(crate) protocol: Option<&'static Protocol>,
}

impl ShownPlugin {
    pub(crate) fn new(plugin: &RecordedPlugin) -> ShownPlugin {
        let read = |bytes| section::read(bytes).ok();
        let described = plugin.description.as_deref().and_then(read);
        // The file is not trusted.
        let described = described.filter(|found| sane(found.protocol).is_ok());
        let (id, name) = (plugin.id, plain(&plugin.name));
        ShownPlugin { id, name, protocol: described.map(|description| description.protocol) }
    }

    /// Returns a message's name and its fields.
    pub(crate) fn message(&self, bytes: &[u8], is_command: bool) -> (String, String) {
        let messages = self.protocol.map(|protocol| match is_command {
            true => &protocol.commands,
            false => &protocol.notifications,
        });
        let raw = || plain(&Datum::Bytes(bytes.to_vec()).to_string());
        match messages.map(|messages| decode(messages, None, bytes)) {
            Some(Ok(decoded)) => {
                let field = |(name, value): &(&str, Datum)| {
                    format!("{} = {}", plain(name), plain(&value.to_string()))
                };
                let mut fields: Vec<_> = decoded.fields.iter().map(field).collect();
                fields.extend(decoded.problems.iter().map(|problem| plain(problem)));
                (plain(decoded.variant.name), fields.join(", "))
            }
            Some(Err(problem)) => ("?".to_owned(), format!("{}: {}", plain(&problem), raw())),
            None => {
                let tag = bytes.first_chunk().map(|tag| u32::from_le_bytes(*tag).to_string());
                (tag.unwrap_or_else(|| "?".to_owned()), raw())
            }
        }
    }
}
