//! Sides that do nothing but call each other: a host whose worker is the handler itself.

#![allow(dead_code, reason = "each test program uses another part")]

use std::fmt;
use std::future::{Future, Ready, ready};
use std::marker::PhantomData;
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use urom_abi::DocaError;
use urom_abi::protocol::{AnswerPlace, HostSide, Now, PluginSide, Reply, Request, Serve};
use urom_abi::wire::{DecodeError, EncodeError};

/// A failure of either side.
#[derive(Debug, PartialEq)]
pub(crate) struct Failure(pub(crate) DocaError);

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

/// The plugin's side, whose contexts are numbers.
pub(crate) struct Plugin;

impl PluginSide for Plugin {
    type OpenContext = u32;
    type Context = u32;
    type Error = Failure;

    fn place(_: &u32, _: Now) -> AnswerPlace<'_> {
        None
    }
}

pub(crate) fn now<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => output,
        Poll::Pending => panic!("nothing here ever waits"),
    }
}

/// Serves one command with the context 100.
pub(crate) fn serve<P: Serve<Plugin, T>, T>(handler: &T, bytes: &[u8]) -> Result<Vec<u8>, Failure> {
    let desc = now(P::serve(handler, &100, bytes))?.into_descriptor();
    Ok(desc.expect("no place was given").payload().to_vec())
}

/// The host's side of a protocol `P` that handlers `T` serve.
#[derive(Debug)]
pub(crate) struct Host<P, T>(PhantomData<(P, T)>);

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
