//! Turns of a plugin: some commands each, until all are answered.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use sandbox_protocol::{TagRecv, TagSend};
use serde::{Deserialize, Serialize};
use urom_abi::Data;
use urom_abi::protocol::Request;

use super::callgrind;
use crate::driven::{CAPACITY, Plugin};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum TurnWork {
    Loopback,
    /// Of the sandbox plugin: receives, and as many sends to the same worker.
    Exchange,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum HandOver {
    /// `call` if the plugin has it, as in a worker of this kit.
    Kit,
    /// `worker_cmd`, as in NVIDIA's worker.
    Doca,
}

pub(super) fn run(
    file: &Path,
    work: TurnWork,
    way: HandOver,
    commands: usize,
    turns: usize,
) -> Result<()> {
    let mut plugin = Plugin::open(file)?;
    let messages = match work {
        TurnWork::Loopback => vec![encoded(&graph_protocol::Loopback { data: 7 })?],
        TurnWork::Exchange => {
            plugin.join_itself()?;
            let (tag, tag_mask) = (7, u64::MAX);
            let receive = TagRecv { context: 1, buffer: 0, count: 64, tag, tag_mask, memh_id: 0 };
            let send = TagSend { context: 2, dest: 0, data: Data::Inline(&[7; 64]), tag };
            vec![encoded(&receive)?, encoded(&send)?]
        }
    };
    let mut packed = vec![0u8; CAPACITY];
    callgrind::codec_counted_rounds(turns, &mut || {
        let mut left = commands;
        for message in &messages {
            for token in 0..commands / messages.len() {
                let token = token as u64;
                match way {
                    HandOver::Doca => plugin.give(token, message)?,
                    HandOver::Kit if plugin.call(token, message, &mut packed)?.is_some() => {
                        left -= 1
                    }
                    HandOver::Kit => {}
                }
            }
        }
        plugin.open.deliver(|_| ())?;
        while left > 0 {
            plugin.open.progress()?;
            while let Some(answer) = plugin.open.notification() {
                plugin.open.pack(answer, &mut packed).status.check()?;
                let status = u32::from_ne_bytes([packed[24], packed[25], packed[26], packed[27]]);
                ensure!(status == 0, "a command failed with status {status}");
                left = left.checked_sub(1).context("the plugin answered too often")?;
            }
        }
        Ok(())
    })
}

fn encoded(command: &impl Request) -> Result<Vec<u8>> {
    let mut bytes = vec![0; CAPACITY];
    let length = command.encode(&mut bytes)?;
    bytes.truncate(length);
    Ok(bytes)
}
