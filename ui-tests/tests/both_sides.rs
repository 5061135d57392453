//! The generated client and handler, with sides that only call each other.

#[path = "forms_protocol/mod.rs"]
mod forms;

use std::fmt;
use std::future::{Future, Ready, ready};
use std::marker::PhantomData;
use std::num::NonZeroU64;
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use sandbox_protocol::{
    Client, Handler, MapParams, MemMap, MemMapped, Protocol, TagReceived, TagRecv, TagSend, TagSent,
};
use urom_abi::protocol::{
    AnswerBuffer, HostSide, Now, PluginSide, Protocol as _, Reply, Request, Serve,
};
use urom_abi::wire::{DecodeError, EncodeError};
use urom_abi::{Data, DocaError, Elements, Payload, Received, Registered};

#[derive(Debug, PartialEq)]
struct Failure(DocaError);

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

impl std::error::Error for Failure {}

impl From<DecodeError> for Failure {
    fn from(error: DecodeError) -> Failure {
        Failure(error.into())
    }
}

impl From<EncodeError> for Failure {
    fn from(error: EncodeError) -> Failure {
        Failure(error.into())
    }
}

struct Plugin;

impl PluginSide for Plugin {
    type OpenContext = u32;
    type Context = u32;
    type Error = Failure;

    fn answer_buffer(_: &u32, _: Now) -> AnswerBuffer<'_> {
        None
    }
}

fn now<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => output,
        Poll::Pending => panic!("nothing here ever waits"),
    }
}

fn serve<P: Serve<Plugin, T>, T>(handler: &T, bytes: &[u8]) -> Result<Vec<u8>, Failure> {
    let desc = now(P::serve(handler, &100, bytes))?.into_descriptor();
    Ok(desc.expect("no buffer was given").payload().to_vec())
}

#[derive(Debug)]
struct Host<P, T>(PhantomData<(P, T)>);

impl<P: Serve<Plugin, T>, T: 'static> HostSide for Host<P, T> {
    type Plugin = &'static str;
    type Worker = T;
    type Error = Failure;
    type Completion<R: Reply> = Ready<Result<R, Failure>>;
    type Handle = ();

    fn submit<C: Request>(
        _: &&'static str,
        worker: &T,
        command: &C,
        deadline: Option<Duration>,
    ) -> Result<Self::Completion<C::Reply>, Failure> {
        if deadline == Some(Duration::ZERO) {
            return Err(Failure(DocaError::TIME_OUT));
        }
        let mut bytes = vec![0; command.encoded_len().unwrap()];
        command.encode(&mut bytes)?;
        let answer = serve::<P, T>(worker, &bytes);
        Ok(ready(answer.and_then(|bytes| Ok(C::Reply::decode(&bytes[..], &command.echo())?))))
    }

    fn submit_with<C: Request, F>(
        plugin: &&'static str,
        worker: &T,
        command: &C,
        deadline: Option<Duration>,
        callback: F,
    ) -> Result<(), Failure>
    where
        F: FnOnce(Result<C::Reply, Failure>) + 'static,
    {
        callback(now(Self::submit(plugin, worker, command, deadline)?));
        Ok(())
    }
}

/// Receives bytes as its tag requires, and answers with the length of the sent bytes.
struct Echoes;

impl Handler<Plugin> for Echoes {
    fn open(cx: &u32) -> Result<Self, Failure> {
        if *cx == 0 { Err(Failure(DocaError::NOT_FOUND)) } else { Ok(Echoes) }
    }

    async fn mem_map(&self, _: &u32, cmd: MemMap<'_>) -> Result<MemMapped, Failure> {
        Ok(MemMapped { memh_id: cmd.exported_memh.len() as u64 + cmd.map_params.length })
    }

    async fn tag_send(&self, _: &u32, cmd: TagSend<'_>) -> Result<TagSent, Failure> {
        let status = match cmd.data {
            Data::Inline(bytes) => bytes.len() as i8,
            Data::Registered(memory) => -(memory.len as i8),
        };
        Ok(TagSent { status })
    }

    async fn tag_recv(&self, _: &u32, cmd: TagRecv) -> Result<TagReceived, Failure> {
        if cmd.count > 4096 {
            return Err(Failure(DocaError::TOO_BIG));
        }
        let data = if cmd.memh_id == 0 {
            let mut data = TagReceived::payload(cmd.count as usize)?;
            data.fill(cmd.tag as u8);
            Received::Inline(data)
        } else {
            Received::Registered { len: cmd.count }
        };
        Ok(TagReceived { data, sender_tag: cmd.tag, status: 0 })
    }
}

fn client() -> Client<Host<Protocol, Echoes>> {
    Protocol::client("sandbox")
}

#[test]
fn data_is_a_setter_that_takes_bytes_or_memory() {
    let (client, worker) = (client(), Echoes);
    let sent = |task: Result<Ready<Result<TagSent, Failure>>, Failure>| {
        now(task.unwrap()).map(|sent| sent.status)
    };
    assert_eq!(sent(client.task_tag_send(&worker, 1, 2).submit()), Ok(0));
    assert_eq!(sent(client.task_tag_send(&worker, 1, 2).data(b"hello").context(9).submit()), Ok(5));
    let owned = Vec::from([0; 7]);
    assert_eq!(sent(client.task_tag_send(&worker, 1, 2).data(&owned[..]).submit()), Ok(7));
    let memory = Registered { memory: NonZeroU64::MIN, address: 0, len: 9 };
    assert_eq!(sent(client.task_tag_send(&worker, 1, 2).data(memory).submit()), Ok(-9));
}

#[test]
fn the_result_of_submit_borrows_nothing_of_the_payload() {
    let (client, worker) = (client(), Echoes);
    let mapped = {
        let handle = Vec::from([1, 2, 3]);
        let params = MapParams::allocate(0, 100);
        client.task_mem_map(&worker, params).exported_memh(&handle[..]).submit().unwrap()
    };
    assert_eq!(now(mapped), Ok(MemMapped { memh_id: 103 }));
}

#[test]
fn received_data_is_the_answers_own() {
    let (client, worker) = (client(), Echoes);
    let received = now(client.task_tag_recv(&worker, 3, 7, 0).submit().unwrap()).unwrap();
    assert_eq!(received.data, Payload::from(&[7u8; 3]).into());
    let registered =
        client.task_tag_recv(&worker, 3, 7, 0).memh_id(1).buffer(0x1000).submit().unwrap();
    assert_eq!(now(registered).unwrap().data, Received::Registered { len: 3 });
    let refused = client.task_tag_recv(&worker, u64::MAX, 7, 0).submit().unwrap();
    assert_eq!(now(refused).unwrap_err(), Failure(DocaError::TOO_BIG));
}

#[test]
fn a_callback_gets_what_a_future_gets() {
    let (client, worker) = (client(), Echoes);
    let seen = std::rc::Rc::new(std::cell::Cell::new(None));
    let see = seen.clone();
    let task = client.task_tag_send(&worker, 1, 2).data(b"hello");
    task.submit_with(move |answer| see.set(Some(answer))).unwrap();
    assert_eq!(seen.take().unwrap(), Ok(TagSent { status: 5 }));
}

#[test]
fn fields_that_a_handler_omits_have_defaults() {
    let open = <Protocol as Serve<Plugin, Echoes>>::open;
    assert!(open(&0).is_err());
    let opened = open(&5).unwrap();
    assert_eq!(<Protocol as Serve<Plugin, Echoes>>::address(&opened), Ok(Vec::new()));
    assert!(!<Protocol as Serve<Plugin, Echoes>>::progress(&opened));
}

#[test]
fn a_clone_of_a_client_has_the_same_plugin() {
    let client = client();
    let other = client.clone();
    assert_eq!((*client.plugin(), *other.plugin()), ("sandbox", "sandbox"));
    assert_eq!(format!("{other:?}"), "Client(worker_sandbox)");
}

struct Forms;

impl forms::Handler<Plugin> for Forms {
    fn open(_: &u32) -> Result<Self, Failure> {
        Ok(Forms)
    }

    async fn beside(&self, _: &u32, cmd: forms::Beside<'_>) -> Result<forms::Done, Failure> {
        assert_eq!((cmd.first, cmd.second.to_vec()), (&b"ab"[..], vec![1, 2]));
        Ok(forms::Done {})
    }

    async fn apart(&self, _: &u32, _: forms::Apart<'_>) -> Result<forms::Done, Failure> {
        Ok(forms::Done {})
    }

    async fn nested(&self, _: &u32, cmd: forms::Nested<'_>) -> Result<forms::Done, Failure> {
        cmd.data.map(|_| forms::Done {}).ok_or(Failure(DocaError::NOT_FOUND))
    }

    async fn given(&self, _: &u32, _: forms::Given<'_>) -> Result<forms::Done, Failure> {
        Ok(forms::Done {})
    }

    async fn maybe(&self, _: &u32, _: forms::Maybe<'_>) -> Result<forms::Done, Failure> {
        Ok(forms::Done {})
    }

    async fn optional(&self, _: &u32, cmd: forms::Optional<'_>) -> Result<forms::Done, Failure> {
        let set = (cmd.number, cmd.color, cmd.bytes, cmd.array, cmd.elements.to_vec(), cmd.maybe);
        let expected = (5, forms::Color::White, &b"xy"[..], b"abc", vec![1, 2], Some(&b"z"[..]));
        if set == expected { Ok(forms::Done {}) } else { Err(Failure(DocaError::INVALID_VALUE)) }
    }

    async fn empty(&self, _: &u32, cmd: forms::Empty) -> Result<forms::Owned, Failure> {
        Ok(forms::Owned {
            numbers: Payload::from(vec![cmd.worker.into()]),
            maybe: None,
            color: forms::Color::Black,
            as_many: None,
        })
    }
}

#[test]
fn arguments_and_setters_convert_what_they_are_given() {
    let client = forms::Protocol::client::<Host<forms::Protocol, Forms>>("forms");
    let beside = client.task_beside(&Forms, b"ab", 0, &[1u16, 2]).worker(7).submit().unwrap();
    assert_eq!(now(beside), Ok(forms::Done {}));
    let nested = |data: Option<&[u8]>| {
        now(client.task_nested(&Forms, forms::Outer::default(), data).submit().unwrap())
    };
    assert_eq!(nested(Some(b"")), Ok(forms::Done {}));
    assert_eq!(nested(None), Err(Failure(DocaError::NOT_FOUND)));

    let unset = client.task_optional(&Forms).submit().unwrap();
    assert_eq!(now(unset), Err(Failure(DocaError::INVALID_VALUE)));
    let set = client
        .task_optional(&Forms)
        .number(5)
        .color(forms::Color::White)
        .bytes(b"xy")
        .array(b"abc")
        .elements(Elements::from(&[1u16, 2]))
        .maybe(&b"z"[..]);
    assert_eq!(now(set.submit().unwrap()), Ok(forms::Done {}));
    let empty = now(client.task_empty(&Forms).worker(3).submit().unwrap()).unwrap();
    assert_eq!(empty.numbers.to_vec(), [3]);
}

#[test]
fn a_payload_that_contradicts_its_fields_is_not_submitted() {
    let client = forms::Protocol::client::<Host<forms::Protocol, Forms>>("forms");
    let table = Elements::from(&[1u64]);
    let task = client.task_given(&Forms, 1, 2, b"i", table, &[0u16; 3], b"UROM", b"", b"c");
    assert_eq!(task.submit().unwrap_err(), Failure(DocaError::INVALID_VALUE));
}
