//! Tests of the levels that a backend takes.

use super::*;

fn backends() -> &'static Backends {
    Box::leak(Box::new(Backends::new()))
}

fn nowhere() -> Sink {
    Sink::descriptor(i32::MAX).unwrap()
}

fn taken(backends: &'static Backends, kind: BackendKind) -> Vec<u32> {
    let taken =
        Level::ALL.into_iter().filter(|level| backends.takers(kind, *level).next().is_some());
    taken.map(Level::number).collect()
}

#[test]
fn without_a_backend_warnings_and_worse_are_taken_within_the_global_limits() {
    let backends = backends();
    assert_eq!(taken(backends, BackendKind::Program), [20, 30, 40]);
    assert_eq!(taken(backends, BackendKind::Sdk), [20, 30, 40]);
    backends.set_global_limit(LevelBound::Lower, 70).unwrap();
    backends.set_global_limit(LevelBound::Upper, 30).unwrap();
    assert_eq!(taken(backends, BackendKind::Program), [30, 40]);
    assert_eq!(taken(backends, BackendKind::Sdk), [20, 30, 40]);
    backends.set_global_limit(LevelBound::Lower, 10).unwrap();
    backends.set_global_sdk_limit(30).unwrap();
    assert_eq!(taken(backends, BackendKind::Program), []);
    assert_eq!(taken(backends, BackendKind::Sdk), [20, 30]);
}

#[test]
fn a_backend_of_one_kind_leaves_the_other_kind_where_it_was() {
    let backends = backends();
    backends.create(BackendKind::Sdk, nowhere());
    assert_eq!(taken(backends, BackendKind::Sdk), [20, 30, 40, 50]);
    assert_eq!(taken(backends, BackendKind::Program), [20, 30, 40]);
}

#[test]
fn the_two_standard_backends_share_the_levels_and_come_once() {
    let backends = backends();
    backends.create_standard().unwrap();
    backends.create_standard().unwrap();
    backends.set_global_limit(LevelBound::Lower, 70).unwrap();
    assert_eq!(taken(backends, BackendKind::Program), [20, 30, 40, 50, 60, 70]);
    for level in Level::ALL {
        assert_eq!(backends.takers(BackendKind::Program, level).count(), 1, "{level:?}");
    }
    backends.set_global_limit(LevelBound::Lower, 30).unwrap();
    assert_eq!(taken(backends, BackendKind::Program), [20, 30]);
    backends.set_global_limit(LevelBound::Upper, 30).unwrap();
    assert_eq!(taken(backends, BackendKind::Program), [30]);
}

#[test]
fn global_limits_narrow_those_of_a_backend_unless_they_are_strict() {
    let backends = backends();
    let own = backends.create(BackendKind::Program, nowhere());
    assert_eq!(taken(backends, BackendKind::Program), [20, 30, 40, 50]);
    backends.set_limit(own, LevelBound::Lower, 70, false).unwrap();
    assert_eq!(taken(backends, BackendKind::Program), [20, 30, 40, 50]);
    backends.set_limit(own, LevelBound::Lower, 40, false).unwrap();
    backends.set_limit(own, LevelBound::Upper, 30, false).unwrap();
    assert_eq!(taken(backends, BackendKind::Program), [30, 40]);
    backends.set_limit(own, LevelBound::Lower, 70, true).unwrap();
    assert_eq!(taken(backends, BackendKind::Program), [30, 40, 50, 60, 70]);
    backends.set_global_limit(LevelBound::Upper, 50).unwrap();
    assert_eq!(taken(backends, BackendKind::Program), [50, 60, 70]);
    backends.set_limit(own, LevelBound::Upper, 20, true).unwrap();
    assert_eq!(taken(backends, BackendKind::Program), [20, 30, 40, 50, 60, 70]);
}

#[test]
fn of_an_sdk_backends_own_level_and_the_global_one_the_last_counts() {
    let backends = backends();
    let own = backends.create(BackendKind::Sdk, nowhere());
    backends.set_sdk_level(own, 70).unwrap();
    assert_eq!(taken(backends, BackendKind::Sdk), [20, 30, 40, 50, 60, 70]);
    backends.set_global_sdk_limit(30).unwrap();
    assert_eq!(taken(backends, BackendKind::Sdk), [20, 30]);
    backends.set_sdk_level(own, 40).unwrap();
    assert_eq!(taken(backends, BackendKind::Sdk), [20, 30, 40]);
    assert_eq!(backends.global_sdk_limit(), 30);
}

#[test]
fn the_global_limits_begin_as_documented() {
    let backends = backends();
    assert_eq!(backends.global_limit(LevelBound::Lower), 50);
    assert_eq!(backends.global_limit(LevelBound::Upper), 20);
    assert_eq!(backends.global_sdk_limit(), 50);
}

#[test]
fn an_unknown_backend_or_level_is_refused_and_changes_nothing() {
    let backends = backends();
    let (program, sdk) = (
        backends.create(BackendKind::Program, nowhere()),
        backends.create(BackendKind::Sdk, nowhere()),
    );
    let refused = Err(DocaError::INVALID_VALUE);
    for wrong in [ptr::null(), sdk, ptr::dangling()] {
        assert_eq!(backends.set_limit(wrong, LevelBound::Lower, 10, true), refused);
    }
    for wrong in [ptr::null(), program, ptr::dangling()] {
        assert_eq!(backends.set_sdk_level(wrong, 10), refused);
    }
    for level in [0, 9, 71, u32::MAX] {
        assert_eq!(
            backends.set_limit(program, LevelBound::Lower, level, false),
            refused,
            "{level}"
        );
        assert_eq!(backends.set_sdk_level(sdk, level), refused, "{level}");
        assert_eq!(backends.set_global_limit(LevelBound::Upper, level), refused, "{level}");
        assert_eq!(backends.set_global_sdk_limit(level), refused, "{level}");
    }
    assert_eq!(taken(backends, BackendKind::Program), [20, 30, 40, 50]);
    assert_eq!(taken(backends, BackendKind::Sdk), [20, 30, 40, 50]);
}

#[test]
fn threads_that_make_backends_lose_none() {
    let backends = backends();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..25 {
                    backends.create(BackendKind::Program, nowhere());
                }
            });
        }
    });
    assert_eq!(backends.takers(BackendKind::Program, Level::Info).count(), 100);
}
