//! Raw commands that a correct host does not send, and the exact bytes of the answers.

use anyhow::{Context, Result};
use sandbox_protocol::MapParams;
use urom_host::{DocaError, DocaStatus, RawReply, block_on_for};

use super::{LIMIT, Pair, inline};

/// Length of a command without payload, and of a notification.
const COMMAND: usize = 72;
const NOTIFICATION: usize = 48;

const MEM_MAP: u64 = 0;
const TAG_SEND: u64 = 1;
const TAG_RECV: u64 = 2;

fn command(words: &[u64], data: &[u8]) -> Vec<u8> {
    let mut bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    bytes.resize(COMMAND, 0);
    bytes.extend_from_slice(data);
    bytes
}

fn ask(pair: &Pair, worker: usize, command: &[u8]) -> Result<RawReply> {
    Ok(block_on_for(LIMIT, pair.workers[worker].task(&pair.sandbox, command).submit()?)?)
}

fn notification(words: [u64; 6]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

pub(crate) fn bad_commands_among_good_ones_are_harmless(pair: Pair) -> Result<()> {
    let good = |tag| command(&[TAG_SEND, tag, 1, 1, 5, tag, 0], b"hello");
    let list = [
        (good(1), DocaStatus::SUCCESS),
        (command(&[9, 77], &[]), DocaStatus::INVALID_VALUE),
        (good(2), DocaStatus::SUCCESS),
        (command(&[3, 77], b"hello"), DocaStatus::INVALID_VALUE),
        (command(&[u64::MAX, 77], &[]), DocaStatus::INVALID_VALUE),
        (command(&[1 << 32 | TAG_SEND, 77], &[]), DocaStatus::INVALID_VALUE),
        (good(3), DocaStatus::SUCCESS),
        (good(3)[..76].to_vec(), DocaStatus::INVALID_VALUE),
        ([good(3), vec![0]].concat(), DocaStatus::INVALID_VALUE),
        (good(3)[..71].to_vec(), DocaStatus::INVALID_VALUE),
        (vec![], DocaStatus::INVALID_VALUE),
        (command(&[TAG_SEND, 77, 5, 1, 5, 1, 0], b"hello"), DocaStatus::NOT_FOUND),
        (good(4), DocaStatus::SUCCESS),
        (command(&[TAG_RECV, 77, 0, 5, 1, 0, 0], b"more"), DocaStatus::INVALID_VALUE),
        (good(5), DocaStatus::SUCCESS),
    ];
    let tasks: Vec<_> = list
        .iter()
        .map(|(bytes, _)| pair.workers[0].task(&pair.sandbox, bytes).submit())
        .collect::<Result<_, _>>()?;
    for (at, (task, (_, code))) in tasks.into_iter().zip(&list).enumerate() {
        let answer = block_on_for(LIMIT, task)?;
        assert_eq!(answer.status, *code, "command {at}");
        assert_eq!(answer.bytes.context("the plugin answers")?.len(), NOTIFICATION, "command {at}");
    }
    for tag in 1..=5 {
        assert_eq!(inline(&pair.receive(5, tag)?), b"hello");
    }
    Ok(())
}

pub(crate) fn answers_have_the_bytes_of_c_and_zeros_for_the_rest(pair: Pair) -> Result<()> {
    // A distinctive context; the plugin ignores C's pointer to the data.
    const CONTEXT: u64 = 0xdead_beef_0123_4567;
    let send = command(&[TAG_SEND, CONTEXT, 1, 0x7fff_0000_1234, 5, 6, 0], b"hello");
    for _ in 0..20 {
        let answer = ask(&pair, 0, &send)?;
        assert_eq!(answer.status, DocaStatus::SUCCESS);
        assert_eq!(
            answer.bytes.context("an answer")?,
            notification([TAG_SEND, CONTEXT, 0, 0, 0, 0])
        );
        let answer = ask(&pair, 1, &command(&[TAG_RECV, CONTEXT, 0, 100, 6, u64::MAX, 0], &[]))?;
        let mut expected = notification([TAG_RECV, CONTEXT, 1, 5, 6, 0]);
        expected.extend_from_slice(b"hello");
        assert_eq!(answer.bytes.context("an answer")?, expected);
    }
    // A failure only returns the context.
    let answer = ask(&pair, 0, &command(&[TAG_SEND, CONTEXT, 99, 1, 5, 6, 0], b"hello"))?;
    assert_eq!(answer.status, DocaError::NOT_FOUND);
    assert_eq!(answer.bytes.context("an answer")?, notification([TAG_SEND, CONTEXT, 0, 0, 0, 0]));
    // The answer has MEM_MAP's tag, and the handle is not an address.
    let params = MapParams::allocate(0, 4096);
    let map =
        command(&[MEM_MAP, CONTEXT, params.field_mask, 0, 4096, params.flags.into(), 0, 0, 0], &[]);
    let bytes = ask(&pair, 0, &map)?.bytes.context("an answer")?;
    let handle = u64::from_le_bytes(bytes[16..24].try_into()?);
    assert_ne!(handle, 0);
    assert_eq!(bytes, notification([MEM_MAP, CONTEXT, handle, 0, 0, 0]));
    Ok(())
}
