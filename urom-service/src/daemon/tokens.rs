//! Tokens: random numbers that identify the daemon's hosts to a worker.

use urom_abi::DocaError;

use urom_wire::control::Failure;
use urom_wire::key::fill_random;

pub(crate) fn draw() -> Result<u128, Failure> {
    let mut bytes = [0; 16];
    fill_random(&mut bytes).map_err(|error| {
        let text = format!(
            "the daemon can send no host to a worker, because its system does not provide random numbers: {error}"
        );
        Failure::new(DocaError::OPERATING_SYSTEM, text)
    })?;
    Ok(u128::from_le_bytes(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::daemon::args::DaemonLimits;
    use crate::daemon::fuzzing::found;
    use crate::daemon::registry::{DaemonAction, Registry};
    use urom_wire::control::{DaemonToHost, DaemonToWorker, StartWorker};

    fn wish(id: u64) -> StartWorker {
        StartWorker { id, plugins: 1, gid: 0, env: None, cpus: None }
    }

    fn none() -> Result<u128, Failure> {
        Err(Failure::new(DocaError::OPERATING_SYSTEM, "no random numbers"))
    }

    fn is_failure(action: &DaemonAction, of: (u64, u64)) -> bool {
        matches!(action, DaemonAction::ToHost(host, DaemonToHost::Failed { request, failure })
            if (*host, *request) == of && failure.code == DocaError::OPERATING_SYSTEM)
    }

    #[test]
    fn no_two_tokens_are_the_same() {
        let drawn: std::collections::HashSet<u128> = (0..1000).map(|_| draw().unwrap()).collect();
        assert_eq!(drawn.len(), 1000);
    }

    #[test]
    fn a_host_without_a_token_is_told_and_a_worker_that_nobody_is_sent_to_leaves() {
        let mut registry = Registry::new(DaemonLimits::default(), none);
        for host in [1, 2] {
            registry.start(host, host * 10, wish(7), &[found(1)]);
        }
        let actions = registry.ready(1, ([127, 0, 0, 1], 5000).into());
        let [first, second, leave, abandon] = &*actions else { panic!("{actions:?}") };
        assert!(is_failure(first, (1, 10)) && is_failure(second, (2, 20)), "{actions:?}");
        assert!(matches!(leave, DaemonAction::ToWorker(1, DaemonToWorker::Leave)), "{actions:?}");
        assert!(matches!(abandon, DaemonAction::Abandon(1)), "{actions:?}");
        assert!(matches!(
            &*registry.start(3, 30, wish(7), &[found(1)]),
            [DaemonAction::Spawn { serial: 2, .. }]
        ));
    }

    #[test]
    fn a_host_that_wants_to_join_without_a_token_is_told_and_nobody_else_suffers() {
        let mut tokens = [Ok(1), none(), none()].into_iter();
        let mut registry = Registry::new(DaemonLimits::default(), move || tokens.next().unwrap());
        registry.start(1, 10, wish(7), &[found(1)]);
        registry.start(2, 20, wish(7), &[found(1)]);
        let actions = registry.ready(1, ([127, 0, 0, 1], 5000).into());
        let [
            DaemonAction::ToWorker(1, DaemonToWorker::Expect { token: 1 }),
            DaemonAction::Expire(1, 1),
            last,
        ] = &*actions
        else {
            panic!("{actions:?}")
        };
        assert!(is_failure(last, (2, 20)), "{actions:?}");
        let actions = registry.start(3, 30, wish(7), &[found(1)]);
        assert!(is_failure(&actions[0], (3, 30)) && actions.len() == 1, "{actions:?}");
        assert_eq!(registry.expected(1, 1).len(), 1, "who has a token is sent there");
    }
}
