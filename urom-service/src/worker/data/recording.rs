//! The begin and the end of a recording.

use tracing::{error, info};
use urom_recording::RecordingHeader;
use urom_wire::control::RecordingTarget;

use super::DataThread;
use crate::worker::recorder::Recorder;

impl DataThread {
    /// Ends a recording, and begins another if there is a target. A worker that cannot record goes
    /// on: its hosts need it.
    pub(super) fn record(&self, target: Option<&RecordingTarget>) {
        if self.hosts.end_recording() {
            info!("the recording has ended");
        }
        let mut core = self.core.borrow_mut();
        let is_recorded = |name: &str| target.is_some_and(|target| target.has(name));
        let mut plugins = Vec::new();
        for (plugin, file) in core.plugins_mut().iter_mut().zip(&self.files) {
            let is_recorded = is_recorded(&plugin.name);
            plugin.set_recorded(is_recorded);
            plugins.extend(is_recorded.then(|| plugin.recorded(file)));
        }
        let Some(target) = target.filter(|_| !plugins.is_empty()) else { return };
        let (service, worker) = (env!("CARGO_PKG_VERSION").to_owned(), self.id.0);
        let header = RecordingHeader { started: 0, service, worker, group: self.gid, plugins };
        match Recorder::begin(target, header) {
            Ok(recorder) => self.hosts.record(recorder),
            Err(error) => {
                let directory = target.directory.display();
                error!("commands are not recorded: no file in {directory}: {error}");
                core.plugins_mut().iter_mut().for_each(|plugin| plugin.set_recorded(false));
            }
        }
    }
}
