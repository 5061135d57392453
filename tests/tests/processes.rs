//! What only separate processes can show: a worker or a daemon that dies, stops, or ends.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use rustix::process::{Pid, Signal, kill_process};
use urom_abi::DocaError;
use urom_host::gather::InProcess;
use urom_host::{Host, Service, State, Worker, block_on_for};
use urom_tests::{PluginDirectory, Uromd};

/// Longer than anything here takes.
const LIMIT: Duration = Duration::from_secs(30);

struct Setting {
    // In the order in which they must go.
    worker: Worker,
    faulty: faulty_protocol::Client<Host>,
    service: Service,
    daemon: Uromd,
    _plugins: PluginDirectory,
}

fn setting() -> Result<Setting> {
    let plugins = PluginDirectory::with(&["worker_graph", "worker_faulty"])?;
    let daemon = Uromd::start_with(plugins.variable(), |command| command.args(["-l", "10"]))?;
    let service = Service::builder().address(daemon.address()).connect()?;
    let faulty = service.plugin::<faulty_protocol::Protocol>()?;
    let worker = service.worker().plugin(&faulty).start().wait()?;
    Ok(Setting { worker, faulty, service, daemon, _plugins: plugins })
}

impl Setting {
    fn worker_pid(&self) -> Result<Pid> {
        let pid = self.faulty.task_pid(&self.worker).submit()?.wait()?.pid;
        Pid::from_raw(i32::try_from(pid)?).ok_or_else(|| anyhow::anyhow!("no process has id 0"))
    }

    /// Does `harm` while tasks are in flight: each must end once, within `limit`, with `code`; the next worker works.
    fn in_flight_during(
        &self,
        harm: impl FnOnce() -> Result<()>,
        limit: Duration,
        code: DocaError,
    ) -> Result<()> {
        let tasks: Vec<_> = (0..20)
            .map(|_| self.faulty.task_hang(&self.worker).submit())
            .collect::<Result<_, _>>()?;
        harm()?;
        let start = Instant::now();
        for task in tasks {
            let ended = block_on_for(limit, task)?;
            assert_eq!(ended.map(drop).map_err(|error| error.code()), Err(code));
        }
        assert!(start.elapsed() < limit, "{:?}", start.elapsed());
        while self.worker.state()? != State::Idle {
            ensure!(
                start.elapsed() < limit,
                "the worker's context is still {:?}",
                self.worker.state()?
            );
            self.service.progress();
        }
        assert_eq!(self.worker.in_flight()?, 0);
        let late = self
            .faulty
            .task_echo(&self.worker, 1)
            .submit()
            .map(drop)
            .expect_err("the worker is gone");
        assert!(
            matches!(late.code(), DocaError::BAD_STATE | DocaError::CONNECTION_RESET),
            "{late}"
        );
        assert!(self.worker.failure().is_some(), "it says why");
        Ok(())
    }

    fn next_worker_works(&self) -> Result<()> {
        let next = self.service.worker().plugin(&self.faulty).start().wait()?;
        assert_eq!(self.faulty.task_echo(&next, 8).submit()?.wait()?.data, 8);
        Ok(())
    }
}

#[test]
fn a_worker_killed_in_mid_flight_ends_every_task_with_an_error_and_the_next_one_starts()
-> Result<()> {
    let setting = setting()?;
    let pid = setting.worker_pid()?;
    let kill = || Ok(kill_process(pid, Signal::KILL)?);
    setting.in_flight_during(kill, Duration::from_secs(1), DocaError::CONNECTION_RESET)?;
    setting.next_worker_works()
}

#[test]
fn a_plugin_that_aborts_takes_down_its_worker_and_nothing_else() -> Result<()> {
    let setting = setting()?;
    let crash = || {
        drop(setting.faulty.task_crash(&setting.worker).submit()?);
        Ok(())
    };
    setting.in_flight_during(crash, Duration::from_secs(1), DocaError::CONNECTION_RESET)?;
    setting.next_worker_works()
}

#[test]
fn a_worker_that_is_stopped_is_given_up_within_five_seconds() -> Result<()> {
    let setting = setting()?;
    let pid = setting.worker_pid()?;
    let stop = || Ok(kill_process(pid, Signal::STOP)?);
    setting.in_flight_during(stop, Duration::from_secs(5), DocaError::TIME_OUT)?;
    kill_process(pid, Signal::KILL)?;
    Ok(())
}

#[test]
fn a_worker_blocked_by_its_plugin_is_not_taken_for_dead() -> Result<()> {
    let setting = setting()?;
    let stalled = setting.faulty.task_stall(&setting.worker, 6_000).submit()?;
    let other = setting.service.worker().plugin(&setting.faulty).start().wait()?;
    assert_eq!(
        setting.faulty.task_echo(&other, 2).submit()?.wait()?.data,
        2,
        "others are not affected"
    );
    block_on_for(Duration::from_secs(20), stalled)??;
    Ok(())
}

#[test]
fn a_killed_daemon_is_noticed_and_its_workers_end() -> Result<()> {
    let setting = setting()?;
    let pid = setting.worker_pid()?;
    let worker = rustix::process::pidfd_open(pid, rustix::process::PidfdFlags::empty())?;
    setting.daemon.signal(Signal::KILL)?;
    let mut set = [rustix::event::PollFd::new(&worker, rustix::event::PollFlags::IN)];
    let limit = rustix::event::Timespec { tv_sec: 5, tv_nsec: 0 };
    ensure!(
        rustix::event::poll(&mut set, Some(&limit))? == 1,
        "the worker outlived its daemon by 5 s"
    );
    let error = setting
        .service
        .worker()
        .plugin(&setting.faulty)
        .start()
        .wait()
        .map(drop)
        .expect_err("nobody there");
    assert_ne!(error.code(), DocaError::SUCCESS);
    Ok(())
}

#[test]
fn a_daemon_told_to_stop_ends_everything_in_order() -> Result<()> {
    let setting = setting()?;
    let pending = setting.faulty.task_hang(&setting.worker).submit()?;
    let Setting { worker, service, daemon, .. } = setting;
    assert!(daemon.stop()?.success());
    let ended =
        block_on_for(Duration::from_secs(5), pending)?.map(drop).expect_err("the worker is gone");
    assert!(matches!(ended.code(), DocaError::SHUTDOWN | DocaError::CONNECTION_RESET), "{ended}");
    drop(worker);
    drop(service);
    Ok(())
}

#[test]
fn a_worker_ends_when_its_last_host_has_left() -> Result<()> {
    let setting = setting()?;
    let pid = setting.worker_pid()?;
    let worker = rustix::process::pidfd_open(pid, rustix::process::PidfdFlags::empty())?;
    let Setting { worker: context, .. } = setting;
    context.stop().wait()?;
    let mut set = [rustix::event::PollFd::new(&worker, rustix::event::PollFlags::IN)];
    let limit = rustix::event::Timespec { tv_sec: 5, tv_nsec: 0 };
    ensure!(
        rustix::event::poll(&mut set, Some(&limit))? == 1,
        "nobody uses the worker, and it lives on"
    );
    Ok(())
}

#[test]
fn a_worker_that_dies_fails_the_start_of_its_domain_and_of_the_next_but_leaves_a_running_one_to_be_stopped()
-> Result<()> {
    let setting = setting()?;
    let mut group = InProcess::group(2);
    let mut starts = [0, 1].map(|id| {
        let domain = setting.service.domain().worker(id, &setting.worker);
        domain.gather(group.remove(0)).start()
    });
    let running = starts
        .iter_mut()
        .map(|start| block_on_for(LIMIT, start))
        .collect::<Result<Result<Vec<_>, _>, _>>()??;
    let mut group = InProcess::group(2);
    let starting =
        setting.service.domain().worker(2, &setting.worker).gather(group.remove(0)).start();
    block_on_for(LIMIT, setting.faulty.task_crash(&setting.worker).submit()?)?
        .map(drop)
        .expect_err("it crashed");
    let healthy = setting.service.worker().plugin(&setting.faulty).start().wait()?;
    let other = setting.service.domain().worker(3, &healthy).gather(group.remove(0)).start();
    let alone = InProcess::group(1).remove(0);
    let next = setting.service.domain().worker(4, &setting.worker).gather(alone).start();
    for start in [starting, next] {
        let error = block_on_for(LIMIT, start)?.map(drop).expect_err("the worker is gone");
        assert!(error.to_string().contains("worker"), "{error}");
    }
    // A domain runs everywhere or nowhere, and everybody hears why.
    let error = block_on_for(LIMIT, other)?.map(drop).expect_err("the other participant failed");
    assert!(error.to_string().contains("participant 0 of the domain failed"), "{error}");
    running.into_iter().try_for_each(|domain| Ok(domain.stop()?))
}

#[test]
fn a_worker_is_shown_as_what_it_is() -> Result<()> {
    let setting = setting()?;
    let process = format!("/proc/{}", setting.worker_pid()?.as_raw_nonzero());
    let command_line = std::fs::read(format!("{process}/cmdline"))?;
    assert!(command_line.starts_with(b"uromd\0worker\0--id\0auto-1\0"), "{command_line:?}");
    assert_eq!(std::fs::read_to_string(format!("{process}/comm"))?, "uromd-worker\n");
    Ok(())
}
