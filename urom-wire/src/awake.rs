//! Deadlines that only count time while this process runs. A process that was stopped or suspended
//! should not time out its peers. A deadline has steps, and a pause of any length uses up one step.

use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use tokio::time;

const STEP: Duration = Duration::from_millis(500);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Elapsed;

/// Waits for `duration` of this process's run time.
pub async fn sleep(duration: Duration) {
    for step in steps(duration) {
        time::sleep(step).await;
    }
}

/// Waits for a future for at most `limit` of this process's run time.
pub async fn timeout<T>(limit: Duration, future: impl Future<Output = T>) -> Result<T, Elapsed> {
    tokio::select! {
        biased;
        done = future => Ok(done),
        () = sleep(limit) => Err(Elapsed),
    }
}

/// Waits for another thread's message for at most `limit` of run time.
pub fn receive<T>(from: &Receiver<T>, limit: Duration) -> Result<T, RecvTimeoutError> {
    for step in steps(limit) {
        match from.recv_timeout(step) {
            Err(RecvTimeoutError::Timeout) => {}
            result => return result,
        }
    }
    Err(RecvTimeoutError::Timeout)
}

pub fn steps(mut left: Duration) -> impl Iterator<Item = Duration> {
    std::iter::from_fn(move || {
        let step = left.min(STEP);
        left -= step;
        (!step.is_zero()).then_some(step)
    })
}

#[cfg(test)]
mod tests {
    use tokio::time::{Instant, advance};

    use super::*;

    const LIMIT: Duration = Duration::from_millis(3300);

    #[tokio::test(start_paused = true)]
    async fn a_running_process_waits_for_the_given_time() {
        let begin = Instant::now();
        assert_eq!(timeout(LIMIT, std::future::pending::<()>()).await, Err(Elapsed));
        assert_eq!(begin.elapsed(), LIMIT);
        assert_eq!(timeout(LIMIT, std::future::ready(7)).await, Ok(7));
        sleep(Duration::ZERO).await;
        assert_eq!(begin.elapsed(), LIMIT);
    }

    #[tokio::test(start_paused = true)]
    async fn a_pause_of_any_length_uses_up_one_step() {
        let wait = tokio::spawn(timeout(LIMIT, std::future::pending::<()>()));
        time::sleep(STEP / 2).await;
        let hour = Duration::from_secs(3600);
        advance(hour).await;
        let begin = Instant::now();
        assert_eq!(wait.await.unwrap(), Err(Elapsed));
        assert_eq!(begin.elapsed(), LIMIT - STEP);
    }

    #[tokio::test(start_paused = true)]
    async fn data_received_during_a_pause_is_in_time() {
        let (sender, receiver) = tokio::sync::oneshot::channel();
        let wait = tokio::spawn(timeout(STEP, receiver));
        tokio::task::yield_now().await;
        sender.send(7).unwrap();
        advance(Duration::from_secs(3600)).await;
        assert_eq!(wait.await.unwrap(), Ok(Ok(7)));
    }

    #[test]
    fn a_thread_waits_in_the_same_way() {
        let (sender, receiver) = std::sync::mpsc::channel();
        assert_eq!(receive::<u8>(&receiver, Duration::ZERO), Err(RecvTimeoutError::Timeout));
        sender.send(7).unwrap();
        assert_eq!(receive(&receiver, LIMIT), Ok(7));
        drop(sender);
        assert_eq!(receive(&receiver, LIMIT), Err(RecvTimeoutError::Disconnected));
        assert_eq!(steps(LIMIT).sum::<Duration>(), LIMIT);
        assert!(steps(LIMIT).all(|step| step <= STEP));
    }
}
