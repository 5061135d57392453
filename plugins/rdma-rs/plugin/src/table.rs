//! The instances of a worker, by numbers with a generation, and the messages for them.

use std::cell::RefCell;
use std::rc::Rc;

use rdma_protocol::Access;
use slotmap::{DefaultKey, Key, KeyData, SlotMap};
use tokio::sync::Semaphore;
use ucx::{Data, Message, Worker};
use urom_pdk::{Tasks, prelude::*};

use crate::LIMITS;
use crate::caller::Caller;
use crate::connection::{Base, Connection};
use crate::failure::Failure;
use crate::instance::Instance;
use crate::message::{self, CONTROL, Control, REQUEST, RESPONSE, Request, Response, Route};
use crate::transfers::Activity;

pub(crate) struct Table {
    instances: RefCell<SlotMap<DefaultKey, Rc<Instance>>>,
    pub(crate) activity: Rc<Activity>,
    rooms: Rc<Semaphore>,
}

/// How many parts of operations may be in memory of the worker at a time, each up to
/// [`LONGEST_PART`](crate::request::LONGEST_PART).
const ROOMS: usize = 8;

impl Default for Table {
    fn default() -> Table {
        let rooms = Rc::new(Semaphore::new(ROOMS));
        Table { instances: RefCell::default(), activity: Rc::default(), rooms }
    }
}

impl Table {
    /// Adds an instance of the host of a command, and gives its number.
    pub(crate) fn create(&self, cx: &Context, permissions: Access, tasks: &Tasks) -> Result<u64> {
        let mut instances = self.instances.borrow_mut();
        let owned = instances.values().filter(|instance| instance.owner == cx.dest_id()).count();
        if owned >= LIMITS.instances as usize {
            let text = format!("a host has {} instances at most", LIMITS.instances);
            return Err(Error::new(DocaError::FULL, text));
        }
        let base = Base {
            permissions,
            memories: cx.memories(),
            receives: Rc::default(),
            tasks: tasks.clone(),
            activity: Rc::clone(&self.activity),
            rooms: Rc::clone(&self.rooms),
        };
        let of = |key: DefaultKey| Instance::new(key.data().as_ffi(), cx.dest_id(), base);
        Ok(instances.insert_with_key(of).data().as_ffi())
    }

    /// The instance with this number.
    fn get(&self, handle: u64) -> Option<Rc<Instance>> {
        let (instances, key) = (self.instances.borrow(), KeyData::from_ffi(handle));
        // Two numbers make one key, and only one of them was given out.
        instances.get(key.into()).filter(|_| key.as_ffi() == handle).cloned()
    }

    /// The instance with this number, of this host.
    pub(crate) fn find(&self, owner: u64, handle: u64) -> Result<Rc<Instance>> {
        self.get(handle).filter(|instance| instance.owner == owner).ok_or_else(|| {
            let text = format!("this host has no instance {handle:#x}");
            Error::new(DocaError::INVALID_VALUE, text)
        })
    }

    /// Gives the connection, if there was one, whose bytes may still move.
    pub(crate) fn destroy(&self, handle: u64, why: &'static str) -> Option<Rc<Connection>> {
        let instance = self.instances.borrow_mut().remove(KeyData::from_ffi(handle).into());
        instance?.stop(why)
    }

    /// Destroys the instances of a host that has left.
    pub(crate) fn forget(&self, owner: u64) {
        self.destroy_all("its host has left", |instance| instance.owner == owner);
    }

    pub(crate) fn clear(&self, why: &'static str) {
        self.destroy_all(why, |_| true);
    }

    fn destroy_all(&self, why: &'static str, which: impl Fn(&Instance) -> bool) {
        let all = self.instances.borrow();
        let handles: Vec<_> =
            all.values().filter(|it| which(it)).map(|instance| instance.handle).collect();
        drop(all);
        handles.into_iter().for_each(|handle| drop(self.destroy(handle, why)));
    }

    /// Brings every instance that others may know to ERROR: nothing arrives any more.
    pub(crate) fn cut(&self, failure: &Failure) {
        let all: Vec<_> = self.instances.borrow().values().cloned().collect();
        all.iter().for_each(|instance| instance.cut(failure));
    }

    /// Has the worker give messages to these instances.
    pub(crate) fn listen(self: &Rc<Self>, worker: &Worker) -> ucx::Result<()> {
        let (this, ucx) = (Rc::downgrade(self), worker.downgrade());
        worker.set_am_handler(CONTROL, move |message: Message<'_>| {
            let Some(this) = this.upgrade() else { return };
            let control = message::read(message.header);
            if let (Some(control), Data::Eager(data)) = (control, message.data)
                && let Some(ucx) = ucx.upgrade()
            {
                this.control(&ucx, &control, data);
            }
        })?;
        let this = Rc::downgrade(self);
        worker.set_am_handler(REQUEST, move |message: Message<'_>| {
            if let Some((this, request)) =
                this.upgrade().zip(message::read::<Request>(message.header))
            {
                this.receive(request.route, |connection| {
                    connection.on_request(request, message.data)
                });
            }
        })?;
        let this = Rc::downgrade(self);
        worker.set_am_handler(RESPONSE, move |message: Message<'_>| {
            if let Some((this, response)) =
                this.upgrade().zip(message::read::<Response>(message.header))
            {
                this.receive(response.route, |connection| {
                    connection.on_response(response, message.data)
                });
            }
        })
    }

    /// Gives a message to the connection that it is of; nobody else's is looked at.
    fn receive(&self, route: Route, take: impl FnOnce(&Connection) -> Result<()>) {
        let connection = self.get(route.instance).and_then(|it| it.connection_of(route));
        if let Some(connection) = connection
            && let Err(error) = take(&connection)
        {
            connection.fail(Failure::from(&error));
        }
    }

    fn control(&self, ucx: &Worker, control: &Control, data: &[u8]) {
        let route = control.route;
        let instance = self.get(route.instance);
        let connection = instance.as_ref().and_then(|instance| instance.connection_of(route));
        match (control.word, connection) {
            (Control::HELLO, Some(connection)) => {
                connection.is_there();
                connection.say_welcome();
            }
            (Control::WELCOME, Some(connection)) => connection.is_there(),
            (Control::BYE, Some(connection)) => {
                let why = format!("the other end has left: {}", message::reason(data));
                connection.fail(Failure::new(DocaError::CONNECTION_RESET, why));
            }
            (Control::HELLO, None) => {
                let caller = Caller::new(ucx, *control, data);
                match instance {
                    Some(instance) => instance.called(caller),
                    None => caller.turn_away(),
                }
            }
            (Control::BYE, None) => instance.iter().for_each(|it| it.caller_left(route)),
            _ => {}
        }
    }
}
