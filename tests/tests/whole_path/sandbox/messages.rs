//! Messages inside commands and answers.

use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use urom_host::{DocaError, Received, block_on_for};

use super::{ALL, LIMIT, Pair, done, inline, join, pattern, wait_with};

/// Largest answer capacity: the largest message limit of a service.
const MOST: u64 = (1 << 24) - 1;

pub(crate) fn a_message_waits_for_its_receive(pair: Pair) -> Result<()> {
    for length in [0, 1, 12, 1000, 4000] {
        assert_eq!(pair.send(7, &pattern(length)[..])?.status, 0);
        pair.settle()?;
        // The message has already arrived, so UCX completes the receive at once.
        let received = pair.receive(4000, 7)?;
        assert_eq!((received.status, received.sender_tag), (0, 7), "{length}");
        assert_eq!(inline(&received), pattern(length));
    }
    Ok(())
}

pub(crate) fn a_receive_waits_for_its_message(pair: Pair) -> Result<()> {
    for length in [0, 1, 12, 1000, 4000] {
        let receive =
            pair.sandbox.task_tag_recv(&pair.workers[1], 4000, 7, ALL).context(0xbeef).submit()?;
        // Commands of one host keep their order.
        pair.works()?;
        pair.send(7, &pattern(length)[..])?;
        assert_eq!(inline(&block_on_for(LIMIT, receive)??), pattern(length));
    }
    Ok(())
}

pub(crate) fn a_receive_past_its_deadline_takes_no_message_if_its_plugin_is_informed(
    pair: Pair,
) -> Result<()> {
    let mut late = 0;
    let all_late = |late: u64| {
        let start = Instant::now();
        while pair.workers[1].late_replies() < late {
            pair.service.progress();
            assert!(start.elapsed() < LIMIT, "the answer never came");
        }
        assert_eq!(pair.workers[1].cancelled(), 0);
    };
    for length in [0, 1, 4000] {
        let receive = pair.sandbox.task_tag_recv(&pair.workers[1], 4000, 7, ALL);
        let error =
            receive.timeout(Duration::from_millis(5)).submit()?.wait().map(drop).unwrap_err();
        assert_eq!(error.code(), DocaError::TIME_OUT, "{error}");
        late += 1;
        if pair.has_extension {
            all_late(late);
        }
        assert_eq!(pair.send(7, &pattern(length)[..])?.status, 0);
        if pair.has_extension {
            let next = done(pair.sandbox.task_tag_recv(&pair.workers[1], 4000, 7, ALL).submit())?;
            assert_eq!(inline(&next), pattern(length));
        } else {
            // Without the extension, the receive stays active, and its late answer is discarded.
            all_late(late);
        }
    }
    pair.works()
}

pub(crate) fn masks_choose_among_messages_and_senders_tags_are_reported(pair: Pair) -> Result<()> {
    for tag in [0x1_0001, 0x1_0002, 0x2_0001] {
        pair.send(tag, &tag.to_le_bytes())?;
    }
    for (tag, mask, expected) in
        [(0x2_0000, 0xf_0000, 0x2_0001_u64), (2, 0xffff, 0x1_0002), (0, 0, 0x1_0001)]
    {
        let received = done(pair.sandbox.task_tag_recv(&pair.workers[1], 8, tag, mask).submit())?;
        assert_eq!(
            (received.sender_tag, inline(&received)),
            (expected, &expected.to_le_bytes()[..])
        );
    }
    Ok(())
}

pub(crate) fn many_messages_both_ways_at_once(pair: Pair) -> Result<()> {
    for round in 0..20_u64 {
        let mut tasks = Vec::new();
        for number in 0..60 {
            let (tag, from) = (round << 32 | number, number as usize % 2);
            let data = pattern(number as usize * 64);
            let receive =
                || pair.sandbox.task_tag_recv(&pair.workers[1 - from], 4000, tag, ALL).submit();
            let early = (number % 3 == 0).then(receive).transpose()?;
            let send = pair
                .sandbox
                .task_tag_send(&pair.workers[from], 1 - from as u64, tag)
                .data(&data[..]);
            let send = send.context(tag).submit()?;
            tasks.push((early.map_or_else(receive, Ok)?, send, data));
        }
        for (receive, send, data) in tasks {
            assert_eq!(block_on_for(LIMIT, send)??.status, 0);
            assert_eq!(inline(&block_on_for(LIMIT, receive)??), data);
        }
    }
    Ok(())
}

pub(crate) fn a_receive_that_is_pending_ends_with_its_worker(pair: Pair) -> Result<()> {
    pair.works()?;
    let Pair { domain, workers: [sender, receiver], sandbox, service, has_extension } = pair;
    let receive = |count| sandbox.task_tag_recv(&receiver, count, 1, ALL).submit();
    let tasks = [0, 100, 1 << 20].map(receive);
    domain.stop_blocking()?;
    let mut stopping = std::pin::pin!(receiver.stop());
    for task in tasks {
        let error = wait_with(task?, || service.progress())?.err().context("no message came")?;
        assert_eq!(error.code(), DocaError::SHUTDOWN, "{error}");
    }
    block_on_for(LIMIT, &mut stopping)??;
    let workers = [sender, service.worker().plugin(&sandbox).start().wait()?];
    let domain = join(&service, &workers)?;
    Pair { domain, workers, sandbox, service, has_extension }.works()
}

pub(crate) fn a_new_worker_is_found_under_the_id_of_one_that_is_gone(mut pair: Pair) -> Result<()> {
    for _ in 0..3 {
        pair.works()?;
        let Pair { domain, workers: [sender, receiver], sandbox, service, has_extension } = pair;
        domain.stop_blocking()?;
        block_on_for(LIMIT, receiver.stop())??;
        let workers = [sender, service.worker().plugin(&sandbox).max_inflight(128).start().wait()?];
        let domain = join(&service, &workers)?;
        pair = Pair { domain, workers, sandbox, service, has_extension };
    }
    pair.works()
}

pub(crate) fn a_sent_message_arrives_though_its_worker_stops(pair: Pair) -> Result<()> {
    let data = pattern(4000);
    let sends = (0..100_u64)
        .map(|tag| pair.sandbox.task_tag_send(&pair.workers[0], 1, tag).data(&data[..]).submit());
    for send in sends.collect::<Vec<_>>() {
        assert_eq!(block_on_for(LIMIT, send?)??.status, 0);
    }
    let Pair { domain, workers: [sender, receiver], sandbox, .. } = pair;
    domain.stop_blocking()?;
    block_on_for(LIMIT, sender.stop())??;
    for tag in 0..100 {
        let received = done(sandbox.task_tag_recv(&receiver, 4000, tag, ALL).submit())?;
        assert_eq!(inline(&received), data, "{tag}");
    }
    Ok(())
}

pub(crate) fn the_answer_to_a_receive_may_have_more_capacity_than_a_message(
    pair: Pair,
) -> Result<()> {
    for count in [4096, 1 << 20, MOST] {
        let receive = pair.sandbox.task_tag_recv(&pair.workers[1], count, 9, ALL).submit()?;
        pair.send(9, &pattern(3000)[..])?;
        let received = block_on_for(LIMIT, receive)??;
        assert!(matches!(received.data, Received::Inline(_)));
        assert_eq!(inline(&received), pattern(3000));
    }
    pair.works()
}

pub(crate) fn a_capacity_that_no_answer_has_is_too_big_and_takes_no_message(
    pair: Pair,
) -> Result<()> {
    assert_eq!(pair.send(9, &pattern(3000)[..])?.status, 0);
    pair.settle()?;
    for count in [MOST + 1, 1 << 30, 1 << 60, u64::MAX - 48, u64::MAX] {
        let receive = pair.sandbox.task_tag_recv(&pair.workers[1], count, 9, ALL).submit()?;
        let error = block_on_for(LIMIT, receive)?.err().context("no answer is that long")?;
        assert_eq!(error.code(), DocaError::TOO_BIG, "{count:#x}: {error}");
    }
    assert_eq!(inline(&pair.receive(3000, 9)?), pattern(3000));
    pair.works()
}
