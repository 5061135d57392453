//! The generated client and handler, over sides that do nothing but call each other.

mod kinds;
mod sides;

use kinds::{
    Arrays, Client, Counted, Finished, Floats, Handler, Measured, Nothing, Protocol, Signed,
};
use kinds::{Point, Segment, Structures, Unsigned};
use sides::{Failure, Plugin, now};
use urom_abi::DocaError;
use urom_abi::protocol::{Protocol as _, Serve};

/// The handler: remembers what it was opened with.
struct Calculator(u32);

impl Handler<Plugin> for Calculator {
    fn open(cx: &u32) -> Result<Self, Failure> {
        if *cx == 0 { Err(Failure(DocaError::NOT_FOUND)) } else { Ok(Calculator(*cx)) }
    }

    async fn unsigned(&self, cx: &u32, cmd: Unsigned) -> Result<Counted, Failure> {
        Ok(Counted { count: self.0 + cx + u32::from(cmd.a), last: [cmd.e; 3] })
    }

    async fn signed(&self, _: &u32, _: Signed) -> Result<Measured, Failure> {
        Err(Failure(DocaError::NOT_SUPPORTED))
    }

    async fn floats(&self, _: &u32, cmd: Floats) -> Result<Measured, Failure> {
        let point = Point { x: cmd.a, y: cmd.a };
        Ok(Measured { segment: Segment { from: point, to: point, weight: cmd.b } })
    }

    async fn arrays(&self, _: &u32, cmd: Arrays) -> Result<Counted, Failure> {
        Ok(Counted {
            count: cmd.words.concat().iter().map(|word| u32::from(*word)).sum(),
            last: [0; 3],
        })
    }

    async fn structures(&self, _: &u32, cmd: Structures) -> Result<Measured, Failure> {
        Ok(Measured { segment: cmd.one })
    }

    async fn nothing(&self, _: &u32, _: Nothing) -> Result<Finished, Failure> {
        Ok(Finished)
    }
}

fn serve(handler: &Calculator, bytes: &[u8]) -> Result<Vec<u8>, Failure> {
    sides::serve::<Protocol, Calculator>(handler, bytes)
}

type Host = sides::Host<Protocol, Calculator>;

fn client() -> Client<Host> {
    Protocol::client::<Host>("found")
}

#[test]
fn commands_reach_their_handlers_and_answers_their_tasks() {
    let (client, worker) = (client(), Calculator(1));
    let counted = client.task_unsigned(&worker, 2, 0, 0, 0, 9).context(77).submit().unwrap();
    assert_eq!(now(counted), Ok(Counted { count: 103, last: [9; 3] }));
    let counted = client.task_arrays(&worker, [0; 5], [[1, 2, 3], [4, 5, 6]], []).submit().unwrap();
    assert_eq!(now(counted), Ok(Counted { count: 21, last: [0; 3] }));
    let point = Point { x: 1.0, y: 2.0 };
    let segment = Segment { from: point, to: point, weight: 0.5 };
    let measured = client.task_structures(&worker, segment, [point; 2]).submit().unwrap();
    assert_eq!(now(measured), Ok(Measured { segment }));
    assert_eq!(now(client.task_nothing(&worker).submit().unwrap()), Ok(Finished));
}

#[test]
fn a_callback_gets_what_a_future_gets() {
    let (client, worker) = (client(), Calculator(1));
    let seen = std::rc::Rc::new(std::cell::Cell::new(None));
    let see = seen.clone();
    client.task_floats(&worker, 1.0, 2.0).submit_with(move |answer| see.set(Some(answer))).unwrap();
    assert_eq!(seen.take().unwrap().unwrap().segment.weight, 2.0);
}

#[test]
fn failures_are_the_handlers_own_or_say_what_is_wrong_with_the_bytes() {
    let (client, worker) = (client(), Calculator(1));
    let signed = client.task_signed(&worker, 0, 0, 0, 0).submit().unwrap();
    assert_eq!(now(signed), Err(Failure(DocaError::NOT_SUPPORTED)));
    for wrong in [&[][..], &[0; 7], &[9; 48], &[0; 47], &[0; 49]] {
        assert_eq!(serve(&worker, wrong), Err(Failure(DocaError::INVALID_VALUE)), "{wrong:?}");
    }
}

#[test]
fn what_a_handler_leaves_out_has_defaults() {
    let opened = <Protocol as Serve<Plugin, Calculator>>::open(&5).unwrap();
    assert_eq!(opened.0, 5);
    assert!(<Protocol as Serve<Plugin, Calculator>>::open(&0).is_err());
    assert_eq!(<Protocol as Serve<Plugin, Calculator>>::address(&opened), Ok(Vec::new()));
    assert!(!<Protocol as Serve<Plugin, Calculator>>::progress(&opened));
}

#[test]
fn a_client_is_cheap_to_hand_around_and_knows_its_plugin() {
    let client = client();
    let other = client.clone();
    assert_eq!((*client.plugin(), *other.plugin()), ("found", "found"));
    assert_eq!(format!("{other:?}"), "Client(worker_kinds)");
}
