//! Compares the resources of a lane's processes between rounds.

use std::collections::BTreeMap;

use anyhow::{Context, Result, ensure};
use rustix::process::Pid;

use crate::process::END;
use crate::vitals::{Vitals, connections, descriptors, kinds, orphaned, until, vitals};

/// Allowed growth of a process over all rounds, in KiB: UCX keeps some memory. The suite `turnover`
/// finds smaller leaks.
const TOLERANCE: u64 = 1024;

pub(super) type Everybody = [(&'static str, Pid); 5];

#[derive(Debug)]
struct Watched {
    name: &'static str,
    pid: Pid,
    first: Vitals,
    kinds: BTreeMap<String, usize>,
}

#[derive(Debug, Default)]
pub(super) struct Watch {
    known: Vec<Watched>,
}

impl Watch {
    pub(super) fn remember(&mut self, now: Everybody) -> Result<()> {
        self.known.retain(|watched| now.iter().any(|(_, pid)| *pid == watched.pid));
        for (name, pid) in now {
            if self.known.iter().all(|watched| watched.pid != pid) {
                self.known.push(Watched { name, pid, first: vitals(pid)?, kinds: kinds(pid)? });
            }
        }
        Ok(())
    }

    /// Checks that older processes have their first resources, and that rings of dead processes are
    /// unmapped.
    pub(super) fn compare(&self, there: Everybody) -> Result<()> {
        let living = there.map(|(_, pid)| pid);
        for (name, pid) in there {
            until(
                END,
                "it unmaps the rings of the dead",
                || Ok(orphaned(pid, &living)?.is_empty()),
            )
            .with_context(|| format!("{name} has mapped the rings {:?}", orphaned(pid, &living)))?;
        }
        for watched in
            self.known.iter().filter(|watched| there.iter().any(|(_, pid)| *pid == watched.pid))
        {
            let Watched { name, pid, first, kinds: before } = watched;
            // UCX closes some first connections only when it makes new ones, so the count may be
            // lower.
            until(END, "its descriptors are closed", || Ok(descriptors(*pid)? <= first.descriptors))
                .with_context(|| {
                    let (now, sockets) = (kinds(*pid), connections(*pid));
                    format!(
                        "{name} had {first} at first ({before:?}), and now has {now:?}, over TCP {sockets:?}"
                    )
                })?;
            let now = vitals(*pid)?;
            ensure!(
                now.memory <= first.memory + TOLERANCE,
                "{name} grew: {first} at first, {now} now, where {TOLERANCE} KiB more are tolerated"
            );
        }
        Ok(())
    }
}
