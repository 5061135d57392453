//! The five protocols as values, for [`check`](crate::check).

use std::fmt::Debug;

use urom_abi::describe;
use urom_abi::descriptor::NotificationDesc;
use urom_abi::protocol::{Protocol, Reply, Request};
use urom_abi::wire::{DecodeError, EncodeError};

use crate::incoming::{self, Arrived};

pub type Again = Result<Vec<u8>, DecodeError>;

pub struct Subject {
    pub description: &'static describe::Protocol,
    pub command: fn(&[u8]) -> Again,
    /// Readers of one kind of command, in the description's order.
    pub commands: &'static [fn(&[u8]) -> Again],
    pub notification: fn(&[u8]) -> Again,
    /// Readers of one kind of notification, as the answer to a command with this echoed field.
    pub replies: &'static [fn(&[u8], u64) -> Again],
    pub refusal: fn(&[u8]) -> Vec<u8>,
}

pub static SUBJECTS: [&Subject; 5] = [&GRAPH, &SANDBOX, &RDMO, &UCC, &RDMA];

pub trait Sent: Request {
    const SUBJECT: &'static Subject;
    /// Checks that `bytes` are read as this value, by its structure and by the protocol's enum.
    fn is_read_from(&self, bytes: &[u8]);
}

/// A notification structure. Every echoed field is one number.
pub trait Answered: Reply + Clone + Debug + PartialEq {
    const SUBJECT: &'static Subject;
    fn echo(value: u64) -> Self::Echo;
}

/// Writes a message with its own `encode` and `len`; checks that too small buffers stay unchanged.
pub fn written(
    len: Option<usize>,
    encode: impl Fn(&mut [u8]) -> Result<usize, EncodeError>,
) -> Vec<u8> {
    let len = len.expect("a message in memory has a length");
    for capacity in [0, len / 2, len.saturating_sub(1)] {
        let mut short = vec![0xee; capacity];
        match encode(&mut short) {
            Err(EncodeError::TooBig { need, capacity: found, .. }) => {
                assert_eq!((need, found), (len, capacity))
            }
            other => panic!("{len} bytes into {capacity}: {other:?}"),
        }
        assert_eq!(short, vec![0xee; capacity], "something was written though not all fits");
    }
    let mut out = vec![0xee; len];
    assert_eq!(encode(&mut out), Ok(len));
    out
}

fn answered<R: Answered>(bytes: &[u8], echo: u64) -> Again {
    let echo = R::echo(echo);
    let copied = R::decode(bytes, &echo);
    let in_place = R::decode(Arrived::new(bytes), &echo);
    assert_eq!(copied, in_place);
    let again =
        copied?.into_descriptor(&echo).expect("what was read can be written").payload().to_vec();
    let in_place = in_place?.into_descriptor(&echo).expect("what was read can be written");
    assert_eq!(in_place.payload(), again);
    assert_eq!(incoming::living(), 0, "a notification that was taken over is given back");
    Ok(again)
}

fn refused<P: Protocol>(bytes: &[u8]) -> Vec<u8> {
    P::refusal(bytes).as_ref().map(NotificationDesc::payload).expect("the C heap suffices").to_vec()
}

/// Passes every message of every protocol to a macro.
#[macro_export]
macro_rules! every_message {
    ($with:ident) => {
        $with! {
            GRAPH = graph_protocol { Loopback; LoopbackDone }
        }
        $with! {
            SANDBOX = sandbox_protocol {
                MemMap<'_>, TagSend<'_>, TagRecv;
                MemMapped { context }, TagSent { context }, TagReceived { context }
            }
        }
        $with! {
            RDMO = rdmo_protocol {
                ClientInit<'_>, RqCreate<'_>, RqDestroy, MrReg<'_>, MrDereg;
                ClientInitialized, RqCreated, RqDestroyed, MrRegistered, MrDeregistered
            }
        }
        $with! {
            UCC = test_protocols::ucc {
                LibCreate<'_>, LibDestroy, ContextCreate<'_>, ContextDestroy, TeamCreate, Coll<'_>,
                CreatePassiveDataChannel<'_>;
                LibCreated { dpu_worker_id }, LibDestroyed { dpu_worker_id },
                ContextCreated { dpu_worker_id }, ContextDestroyed { dpu_worker_id },
                TeamCreated { dpu_worker_id }, CollDone { dpu_worker_id },
                ChannelCreated { dpu_worker_id }
            }
        }
        $with! {
            RDMA = rdma_protocol {
                Create, Destroy, Start, Stop, Export, Connect<'_>, Query, Receive<'_>, Send<'_>,
                SendImm<'_>, Write<'_>, WriteImm<'_>, Read<'_>, CompareSwap, FetchAdd;
                Created, Destroyed, Started, Stopped, Exported, Connected, StateIs, ReceiveDone, Sent,
                Written, ReadDone, Swapped, Added
            }
        }
    };
}

macro_rules! subject {
    ($name:ident = $module:path {
        $($command:ident $(<$life:lifetime>)?),*;
        $($reply:ident $({ $echo:ident })?),*
    }) => {
        #[doc = concat!("The protocol of `", stringify!($module), "`.")]
        pub static $name: Subject = {
            use $module as this;
            Subject {
                description: <this::Protocol as Protocol>::DESCRIPTION,
                command: |bytes| {
                    let command = this::Command::decode(bytes)?;
                    Ok(written(command.encoded_len(), |out| command.encode(out)))
                },
                commands: &[$(|bytes| {
                    let command = this::$command::decode(bytes)?;
                    let _ = command.echo();
                    Ok(written(Request::encoded_len(&command), |out| Request::encode(&command, out)))
                }),*],
                notification: |bytes| {
                    let notification = this::Notification::decode(bytes)?;
                    Ok(written(notification.encoded_len(), |out| notification.encode(out)))
                },
                replies: &[$(answered::<this::$reply>),*],
                refusal: refused::<this::Protocol>,
            }
        };

        $(const _: () = {
            use $module as this;
            impl Sent for this::$command $(<$life>)? {
                const SUBJECT: &'static Subject = &$name;
                fn is_read_from(&self, bytes: &[u8]) {
                    let whole = this::Command::from(self.clone());
                    assert_eq!(this::$command::decode(bytes).as_ref(), Ok(self));
                    assert_eq!(this::Command::decode(bytes), Ok(whole));
                }
            }
        };)*

        $(const _: () = {
            use $module as this;
            impl Answered for this::$reply {
                const SUBJECT: &'static Subject = &$name;
                fn echo(_value: u64) -> Self::Echo {
                    Self::Echo { $($echo: _value)? }
                }
            }
        };)*
    };
}

every_message!(subject);
