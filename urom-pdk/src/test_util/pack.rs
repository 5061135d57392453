//! Packs a notification like a worker, and once into a buffer that is too small.

use urom_abi::descriptor::NotificationDesc;
use urom_abi::driver::OpenPlugin;
use urom_abi::plugin::WorkerNotify;
use urom_abi::{DocaError, DocaStatus};

use super::ledger::Notification;

pub(super) const FILL: u8 = 0xee;
pub(super) const GUARD: usize = 64;

/// Longest accepted notification with its header: a larger length is uninitialized memory.
const MOST: usize = 1 << 30;

pub(super) const HEADER: usize = size_of::<WorkerNotify>();

pub(super) struct PackOutcome {
    pub(super) notification: Notification,
    pub(super) wrong: Option<String>,
}

pub(super) fn notification(
    plugin: &OpenPlugin,
    notification: NotificationDesc,
    limit: usize,
) -> PackOutcome {
    let header = *notification.header();
    let whole = usize::try_from(header.len).ok().and_then(|len| len.checked_add(HEADER));
    let Some(whole) = whole.filter(|whole| *whole <= MOST) else {
        // Such a block is unknown: it may not even be freed.
        std::mem::forget(notification);
        return failed(
            DocaError::UNEXPECTED,
            format!("its header has the length {} bytes", header.len),
        );
    };
    let mut buffer = vec![FILL; whole.max(limit) + GUARD];
    let mut call = |notification, len: usize| {
        buffer.fill(FILL);
        let packed = plugin.pack(notification, &mut buffer[..len]);
        let wrote_behind = buffer[len..].iter().any(|byte| *byte != FILL);
        let bytes = buffer[..packed.len.min(len)].to_vec();
        (packed.notification, (packed.status, packed.len, wrote_behind, bytes))
    };
    let (notification, short) = call(notification, whole - 1);
    let (_, full) = call(notification, limit);
    if short.2 || full.2 {
        let text = "notif_pack wrote behind its buffer: the length is the capacity on entry";
        return failed(DocaError::UNEXPECTED, text.into());
    }
    if whole > limit {
        // A service does not call `notif_pack` in this case.
        let notification = Notification { status: DocaStatus::TOO_BIG, bytes: Vec::new() };
        return PackOutcome { notification, wrong: None };
    }
    let (status, packed, _, bytes) = full;
    if let Err(code) = status.check() {
        let text = format!("notif_pack gave {code} though {limit} bytes hold all {whole}");
        return failed(code, text);
    }
    if packed < HEADER || packed > whole {
        let text = format!(
            "notif_pack gave a length of {packed} bytes for {whole}, header and notification"
        );
        return failed(DocaError::UNEXPECTED, text);
    }
    let mut wrong = (short.0 == DocaStatus::SUCCESS && packed == whole).then(|| {
        format!("notif_pack gave SUCCESS where {} bytes are too few for {whole}", whole - 1)
    });
    let mut copy = [0; HEADER - 4];
    copy[..8].copy_from_slice(&header.plugin_id.to_le_bytes());
    copy[8..16].copy_from_slice(&header.urom_context.to_le_bytes());
    copy[16..24].copy_from_slice(&header.len.to_le_bytes());
    copy[24..].copy_from_slice(&header.status.0.to_le_bytes());
    if bytes[..copy.len()] != copy {
        wrong = Some("notif_pack wrote a header that is not the notification's".into());
    }
    let notification = Notification { status: header.status, bytes: bytes[HEADER..].to_vec() };
    PackOutcome { notification, wrong }
}

fn failed(code: DocaError, what: String) -> PackOutcome {
    let notification = Notification { status: code.into(), bytes: Vec::new() };
    PackOutcome { notification, wrong: Some(what) }
}
