//! Regions on every kind of memory, and their errors.

use std::cell::RefCell;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;

use protocol::{Act, Acted, Handler, Protocol};
use ucx::Features;
use urom_pdk::memory::{Access, MemoryPath, MemoryRange};
use urom_pdk::peers::PeerWorker;
use urom_pdk::test_util::{Sent, SharedMemory, Worker};
use urom_pdk::{Region, prelude::*};

mod protocol {
    use urom_abi::memory::MemoryRange;
    use urom_abi::{urom_command, urom_notification};

    #[urom_command(plugin = "worker_regions", version = 1)]
    pub(crate) enum Command<'a> {
        #[urom(reply = Acted)]
        Act {
            from: MemoryRange,
            to: MemoryRange,
            #[urom(inline)]
            handle: &'a [u8],
        },
    }

    #[urom_notification]
    #[derive(Debug)]
    pub(crate) enum Notification {
        Acted,
    }
}

type Task<'a> = Pin<Box<dyn Future<Output = Result<()>> + 'a>>;
type Script = Rc<dyn for<'a> Fn(&'a Context, &'a PeerWorker, Act<'a>) -> Task<'a>>;

thread_local! {
    static SCRIPT: RefCell<Option<Script>> = const { RefCell::new(None) };
}

struct Regions {
    peers: PeerWorker,
}

#[urom_plugin(export = false, peers = peers)]
impl Handler for Regions {
    fn open(cx: &OpenContext) -> Result<Self> {
        Ok(Regions { peers: PeerWorker::open(cx, Features::TAG)? })
    }

    async fn act(&self, cx: &Context, cmd: Act<'_>) -> Result<Acted> {
        let script = SCRIPT.with_borrow(|script| script.clone());
        let script = script.ok_or(Error::new(DocaError::BAD_STATE, "no script"))?;
        script(cx, &self.peers, cmd).await?;
        Ok(Acted {})
    }
}

fn open() -> Worker<Protocol> {
    Worker::open::<Regions>()
}

fn act(
    worker: &Worker<Protocol>,
    from: MemoryRange,
    to: MemoryRange,
    script: impl for<'a> Fn(&'a Context, &'a PeerWorker, Act<'a>) -> Task<'a> + 'static,
) -> Sent<Acted> {
    SCRIPT.set(Some(Rc::new(script)));
    worker.send(Act { from, to, handle: &[7; 64] })
}

fn done(worker: &Worker<Protocol>, sent: Sent<Acted>) {
    if let Err(code) = worker.wait(sent) {
        panic!("{code}");
    }
}

const PATHS: [MemoryPath; 3] = [MemoryPath::MAPPED, MemoryPath::PROCESS, MemoryPath::NETWORK];

fn share(worker: &Worker<Protocol>, path: MemoryPath) -> SharedMemory {
    let bytes: Vec<u8> = (0..100).collect();
    worker.share(bytes, Access::PCI_READ_WRITE, path)
}

#[test]
fn bytes_are_copied_between_all_kinds_of_memory() {
    for from_path in PATHS {
        for to_path in PATHS {
            let worker = open();
            let (from, to) = (share(&worker, from_path), share(&worker, to_path));
            let sent = act(&worker, from.range(), to.range(), |cx, peers, cmd| {
                Box::pin(async move {
                    let [from, to] = [cx.memory(cmd.from)?, cx.memory(cmd.to)?].map(Region::from);
                    // Through the worker's own memory.
                    let own = Region::allocate(&peers.ucx()?, 50)?;
                    from.part(50..)?.copy_to(&own).await?;
                    own.copy_to(&to.part(..50)?).await?;
                    assert_eq!(to.to_bytes().await?[..50], from.to_bytes().await?[50..]);
                    Ok(())
                })
            });
            done(&worker, sent);
            assert_eq!(to.bytes()[..50], from.bytes()[50..], "{from_path:?} {to_path:?}");
        }
    }
}

#[test]
fn bytes_outside_are_refused_with_the_addresses() {
    let worker = open();
    let memory = share(&worker, MemoryPath::MAPPED);
    let sent = act(&worker, memory.range(), memory.range(), |cx, peers, cmd| {
        Box::pin(async move {
            let own = Region::allocate(&peers.ucx()?, 100)?;
            for region in [Region::from(cx.memory(cmd.from)?), own] {
                let region = region.with_address(0x1000);
                assert_eq!(region.at(0x1000 + 99, 1)?.address(), 0x1063);
                for (at, len) in
                    [(0x1000, 101), (0xfff, 1), (0x1064, 1), (0x1001, u64::MAX), (0, 1)]
                {
                    let refused = region.at(at, len).unwrap_err();
                    assert_eq!(refused.code(), DocaError::INVALID_VALUE, "{len} at {at:#x}");
                    let text = format!("{len} bytes at {at:#x} are not in the 100 at 0x1000");
                    assert!(refused.to_string().starts_with(&text), "{refused}");
                }
                assert!(region.part(101..).is_err() && region.part(..101).is_err());
                assert_eq!(region.part(100..)?.len(), 0);
                let outside = region.read(99, &mut [0; 2]).await.unwrap_err();
                assert_eq!(outside.code(), DocaError::INVALID_VALUE);
                let outside = region.write(u64::MAX, &[0; 2]).await.unwrap_err();
                assert_eq!(outside.code(), DocaError::INVALID_VALUE);
            }
            Ok(())
        })
    });
    done(&worker, sent);
}

#[test]
fn memory_to_read_is_not_written() {
    for path in PATHS {
        let worker = open();
        let memory = worker.share([1; 16], Access::PCI_READ_ONLY, path);
        let sent = act(&worker, memory.range(), memory.range(), |cx, _, cmd| {
            Box::pin(async move {
                let region = Region::from(cx.memory(cmd.from)?);
                let refused = DocaError::NOT_PERMITTED;
                assert_eq!(region.check_write().unwrap_err().code(), refused);
                assert_eq!(region.write(0, &[2]).await.unwrap_err().code(), refused);
                assert_eq!(region.put(0, vec![2]).await.unwrap_err().code(), refused);
                assert_eq!(region.fetch_add(0, 1).await.unwrap_err().code(), refused);
                Ok(())
            })
        });
        done(&worker, sent);
        assert_eq!(memory.bytes(), [1; 16]);
    }
}

#[test]
fn numbers_change_in_one_step() {
    for path in PATHS {
        let worker = open();
        let memory = worker.share(5_u64.to_le_bytes(), Access::PCI_READ_WRITE, path);
        let sent = act(&worker, memory.range(), memory.range(), |cx, peers, cmd| {
            Box::pin(async move {
                let region = Region::from(cx.memory(cmd.from)?);
                assert_eq!(region.fetch_add(0, 2).await?, 5);
                assert_eq!(region.compare_swap(0, 7, 9).await?, 7);
                assert_eq!(region.compare_swap(0, 7, 11).await?, 9);
                let own = Region::allocate(&peers.ucx()?, 8)?;
                assert_eq!(own.fetch_add(0, 1).await.unwrap_err().code(), DocaError::NOT_SUPPORTED);
                Ok(())
            })
        });
        done(&worker, sent);
        assert_eq!(memory.bytes(), 9_u64.to_le_bytes());
    }
}

#[test]
fn handles_that_are_not_of_the_command_or_no_handles_are_refused() {
    let worker = open();
    let memory = share(&worker, MemoryPath::MAPPED);
    let sent = act(&worker, memory.range(), memory.range(), |cx, peers, cmd| {
        Box::pin(async move {
            let ucx = peers.ucx()?;
            let foreign = Region::import(cx, &ucx, &[7; 64]).unwrap_err();
            assert_eq!(foreign.code(), DocaError::INVALID_VALUE);
            let no_device = Region::import(cx, &ucx, cmd.handle).unwrap_err();
            assert_eq!(no_device.code(), DocaError::DRIVER);
            Ok(())
        })
    });
    done(&worker, sent);
}

#[test]
fn memory_that_is_freed_during_an_operation_fails_the_operation_alone() {
    let worker = open();
    let memory = share(&worker, MemoryPath::NETWORK);
    memory.pause();
    let sent = act(&worker, memory.range(), memory.range(), |cx, _, cmd| {
        Box::pin(async move { Region::from(cx.memory(cmd.from)?).to_bytes().await.map(drop) })
    });
    worker.progress();
    assert_eq!(memory.in_flight(), 1);
    memory.unshare();
    memory.resume();
    // The plugin must close opened memory.
    done(&worker, sent);
    assert_eq!(memory.opened(), 0);
    let other = share(&worker, MemoryPath::MAPPED);
    let sent = act(&worker, other.range(), other.range(), |cx, _, cmd| {
        Box::pin(async move { Region::from(cx.memory(cmd.from)?).to_bytes().await.map(drop) })
    });
    done(&worker, sent);
}
