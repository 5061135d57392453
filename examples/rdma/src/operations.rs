//! Runs every operation once, and checks each byte.

use anyhow::{Result, ensure};
use rdma_host::{Message, Opcode, Operation};
use urom_host::memory::{Inventory, Slice, View};
use urom_host::{Result as HostResult, block_on_for};

use crate::LIMIT;
use crate::other::Other;
use crate::side::Side;

const LEN: u64 = 100_000;

/// Offset of the other side's bytes for reads and atomic operations.
const THEIRS: u64 = 1 << 20;
/// Offset of this side's received bytes.
const RECEIVED: u64 = 2 << 20;
/// Offset of written bytes.
const WRITTEN: u64 = 4 << 20;

const IMMEDIATE: u32 = 0x600d_cafe;

const HEAD: [&str; 3] = ["operation", "bytes", "result"];

fn byte(at: u64, rank: u8) -> u8 {
    (at as u8).wrapping_mul(31).wrapping_add((at >> 8) as u8).wrapping_add(rank)
}

fn pattern(range: std::ops::Range<u64>, rank: u8) -> Vec<u8> {
    range.map(|at| byte(at, rank)).collect()
}

fn fill(side: &Side, at: u64, len: u64, rank: u8) -> Result<()> {
    Ok(side.memory.view().copy_from(at, &pattern(at..at + len, rank))?)
}

fn bytes(view: View<'_>) -> Result<Vec<u8>> {
    let mut bytes = vec![0; view.len() as usize];
    view.copy_to(0, &mut bytes)?;
    Ok(bytes)
}

fn done<T>(operation: impl Future<Output = HostResult<T>>) -> Result<T> {
    Ok(block_on_for(LIMIT, operation)??)
}

pub(crate) fn ask(side: &Side, other: &Other) -> Result<String> {
    let Side { rdma, memory, remote, .. } = side;
    let mut rows = Vec::new();
    let mut row = |operation: &str, bytes: u64, result: String| {
        rows.push([operation.to_owned(), bytes.to_string(), result]);
    };
    let ok = || "ok".to_owned();
    fill(side, 0, LEN, 1)?;
    other.meet()?;

    done(rdma.send(memory.slice(..LEN)))?;
    row("send, receive", LEN, ok());
    done(rdma.send_imm(memory.slice(..8), IMMEDIATE))?;
    row("send with immediate, receive", 8, ok());
    done(rdma.send(()))?;
    row("send of an empty message, receive", 0, ok());

    let inventory = Inventory::new(2)?;
    let list = inventory.take_data(memory, 10..1010)?;
    list.chain(inventory.take_data(memory, 50_000..53_000)?)?;
    done(rdma.send(&list))?;
    row("send of a list, receive into a list", 4000, ok());

    done(rdma.write(memory.slice(..LEN), remote.at(WRITTEN)))?;
    row("write", LEN, ok());
    done(rdma.write_imm(memory.slice(..LEN), remote.at(WRITTEN + LEN), IMMEDIATE))?;
    row("write with immediate, receive", LEN, ok());

    let range = RECEIVED..RECEIVED + LEN;
    done(rdma.read(remote.at(THEIRS), memory.slice(range.clone())))?;
    let read = bytes(memory.view().slice(range)?)?;
    ensure!(read == pattern(THEIRS..THEIRS + LEN, 0), "the bytes that were read are wrong");
    row("read", LEN, ok());

    let word = |bytes: &[u8]| u64::from_le_bytes(bytes.try_into().expect("eight bytes"));
    let (at, result) = (THEIRS + LEN, memory.slice(RECEIVED..RECEIVED + 8));
    let before = word(&pattern(at - 8..at, 0));
    let found = done(rdma.fetch_add(remote.at(at - 8), 5, result.clone()))?;
    ensure!(found == before, "fetch and add found {found:#x} instead of {before:#x}");
    row("fetch and add", 8, format!("found {found:#x}"));
    let now = before.wrapping_add(5);
    let found = done(rdma.compare_swap(remote.at(at - 8), now, 77, result.clone()))?;
    ensure!(found == now, "compare and swap found {found:#x} instead of {now:#x}");
    ensure!(bytes(result.view())? == now.to_le_bytes(), "the local bytes are wrong");
    row("compare and swap", 8, format!("found {found:#x}"));

    other.meet()?;
    Ok(example_common::render(HEAD, &rows))
}

pub(crate) fn answer(side: &Side, other: &Other) -> Result<()> {
    let Side { rdma, memory, .. } = side;
    fill(side, THEIRS, LEN, 0)?;
    let inventory = Inventory::new(2)?;
    let list = inventory.take(memory, RECEIVED + LEN + 8..RECEIVED + LEN + 3008)?;
    list.chain(inventory.take(memory, RECEIVED + LEN + 5000..RECEIVED + LEN + 9000)?)?;
    // All receives precede the first send.
    let long = memory.slice(RECEIVED..RECEIVED + LEN);
    let short = memory.slice(RECEIVED + LEN..RECEIVED + LEN + 8);
    let [first, second] = [long, short].map(|slice| rdma.receive(slice));
    let (third, fourth, fifth) = (rdma.receive(()), rdma.receive(list), rdma.receive(()));
    other.meet()?;

    check(first, (Opcode::Send, LEN, None), &pattern(0..LEN, 1))?;
    check(second, (Opcode::SendImm, 8, Some(IMMEDIATE)), &pattern(0..8, 1))?;
    let message = done(third)?;
    ensure!((message.opcode, message.len) == (Opcode::Send, 0), "the empty message is not empty");
    let message = done(fourth)?;
    let mut scattered = vec![0; message.len as usize];
    message.destination.gather(&mut scattered)?;
    let sent = [pattern(10..1010, 1), pattern(50_000..53_000, 1)].concat();
    ensure!(scattered == sent, "the bytes of the list are wrong");
    let message = done(fifth)?;
    ensure!(message.opcode == Opcode::WriteImm, "the immediate value came by another operation");
    ensure!(message.immediate == Some(IMMEDIATE), "the immediate value of the write is wrong");

    other.meet()?;
    for at in [WRITTEN, WRITTEN + LEN] {
        let written = bytes(memory.view().slice(at..at + LEN)?)?;
        ensure!(written == pattern(0..LEN, 1), "the bytes that were written at {at} are wrong");
    }
    let word = bytes(memory.view().slice(THEIRS + LEN - 8..THEIRS + LEN)?)?;
    ensure!(word == 77_u64.to_le_bytes(), "the atomic operations left {word:?}");
    Ok(())
}

fn check(
    receive: Operation<rdma_host::ReceiveDone, Slice>,
    expected: (Opcode, u64, Option<u32>),
    sent: &[u8],
) -> Result<()> {
    let Message { opcode, len, immediate, destination } = done(receive)?;
    ensure!((opcode, len, immediate) == expected, "{opcode:?}, {len} bytes, {immediate:?}");
    ensure!(bytes(destination.view())? == sent, "the bytes of a message are wrong");
    Ok(())
}
