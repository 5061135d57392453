//! The instances of a worker, and their messages.

use std::rc::Rc;

use ucx::{AmData, WeakWorker};
use urom_pdk::peers::ReceiveNow;
use urom_pdk::{DocaStatus, HostLimits, PerHost, prelude::*};

use crate::LIMITS;
use crate::caller::RdmaCaller;
use crate::connection::RdmaConnection;
use crate::error::of_peer;
use crate::instance::RdmaInstance;
use crate::message::{RdmaMessage, Route};

pub(crate) struct Instances(pub(crate) PerHost<RdmaInstance>);

impl Instances {
    pub(crate) fn new(cx: &OpenContext) -> Rc<Instances> {
        let limits = HostLimits { values: LIMITS.instances as usize, bytes: 0 };
        Rc::new(Instances(PerHost::new(cx, "RDMA instance", limits)))
    }

    fn connection(&self, route: Route) -> Option<RdmaConnection> {
        self.0.find_any(route.instance)?.connection(|it| it.is_meant_by(route))
    }

    /// Passes a message to its connection. Messages of unknown connections are ignored.
    fn pass(&self, route: Route, take: impl FnOnce(&RdmaConnection) -> Result<()>) {
        if let Some(connection) = self.connection(route)
            && let Err(error) = take(&connection)
        {
            connection.link.fail(&error);
        }
    }
}

impl ReceiveNow for Instances {
    type Message<'a> = RdmaMessage<'a>;

    fn receive_now(
        &self,
        worker: &WeakWorker,
        message: Self::Message<'_>,
        data: AmData<'_>,
    ) -> Result<()> {
        match message {
            RdmaMessage::Ask { request } => {
                self.pass(request.route, |it| it.responder.on_request(request, data));
            }
            RdmaMessage::Bytes { route, number, at } => {
                self.pass(route, |it| it.requester.on_bytes(number, at, data));
            }
            RdmaMessage::Answer { route, number, result, code, why } => self.pass(route, |it| {
                let Err(code) = DocaStatus(code).check() else {
                    return it.requester.on_answer(number, result);
                };
                it.requester.fail(number, of_peer(code, "the other end", why));
                Ok(())
            }),
            RdmaMessage::Bye { route, why } => match self.connection(route) {
                Some(connection) => {
                    let what = "the other end has left";
                    connection.link.fail(&of_peer(DocaError::CONNECTION_RESET, what, why));
                }
                None => {
                    self.0.find_any(route.instance).iter().for_each(|it| it.caller_left(route));
                }
            },
            RdmaMessage::Hello { route, sender } => match (self.connection(route), data) {
                (Some(connection), _) => connection.requester.start(),
                (None, AmData::Eager(address)) => {
                    let caller = RdmaCaller::new(worker, route, sender, address);
                    match self.0.find_any(route.instance) {
                        Some(instance) => instance.called(caller),
                        None => caller.turn_away(),
                    }
                }
                (None, AmData::Rendezvous(_)) => {}
            },
        }
        Ok(())
    }
}
