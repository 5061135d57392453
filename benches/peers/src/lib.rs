//! An alternative to a UROM plugin: a unary gRPC call with tonic.
//!
//! Server and client run on one thread each, which is the fastest for one request at a time. They
//! sleep in the kernel between messages, as every program on these libraries does.

use std::convert::Infallible;
use std::future::{Ready, ready};
use std::net::SocketAddr;
use std::task::{Context as TaskContext, Poll};

use anyhow::{Context, Result, ensure};
use tonic::body::Body;
use tonic::codegen::{BoxFuture, Service, http};
use tonic::server::UnaryService;
use tonic::transport::server::TcpIncoming;
use tonic::transport::{Channel, Endpoint, Server};
use tonic::{Request, Response, Status};
use tonic_prost::ProstCodec;

use tokio::runtime::{Builder, Runtime};

/// A connected client.
#[derive(Debug)]
pub struct Client {
    runtime: Runtime,
    channel: Channel,
}

fn runtime() -> Result<Runtime> {
    Builder::new_current_thread().enable_all().build().context("cannot start a tokio runtime")
}

/// A request of 64 bytes, which must be echoed.
fn message(number: u64) -> [u8; 64] {
    let mut bytes = [0x5a; 64];
    bytes[..8].copy_from_slice(&number.to_le_bytes());
    bytes
}

const METHOD: http::uri::PathAndQuery =
    http::uri::PathAndQuery::from_static("/urom.bench.Echo/Echo");

#[derive(Clone, PartialEq, prost::Message)]
struct Payload {
    #[prost(bytes = "vec", tag = "1")]
    data: Vec<u8>,
}

#[derive(Clone, Debug)]
struct Echo;

impl UnaryService<Payload> for Echo {
    type Response = Payload;
    type Future = Ready<Result<Response<Payload>, Status>>;

    fn call(&mut self, request: Request<Payload>) -> Self::Future {
        ready(Ok(Response::new(request.into_inner())))
    }
}

impl Service<http::Request<Body>> for Echo {
    type Response = http::Response<Body>;
    type Error = Infallible;
    type Future = BoxFuture<Self::Response, Infallible>;

    fn poll_ready(&mut self, _: &mut TaskContext<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        Box::pin(async {
            let mut grpc = tonic::server::Grpc::new(ProstCodec::<Payload, Payload>::default());
            Ok(grpc.unary(Echo, request).await)
        })
    }
}

/// Answers at a free port of this machine until the process ends. Calls `ready` with the address
/// once clients can connect.
pub fn serve(ready: impl FnOnce(SocketAddr)) -> Result<()> {
    runtime()?.block_on(async {
        let incoming = TcpIncoming::bind(([127, 0, 0, 1], 0).into())
            .context("cannot listen on loopback")?
            .with_nodelay(Some(true));
        ready(incoming.local_addr()?);
        Ok(Server::builder().serve_with_incoming(Echo, incoming).await?)
    })
}

impl Client {
    /// Connects to a server.
    pub fn at(address: SocketAddr) -> Result<Client> {
        let runtime = runtime()?;
        let endpoint = Endpoint::from_shared(format!("http://{address}"))?.tcp_nodelay(true);
        let channel = runtime.block_on(endpoint.connect());
        let channel = channel.with_context(|| format!("no tonic service at {address}"))?;
        Ok(Client { runtime, channel })
    }

    /// Makes `count` unary calls, one after the other.
    pub fn round_trips(&mut self, count: u64) -> Result<()> {
        let mut grpc = tonic::client::Grpc::new(self.channel.clone());
        self.runtime.block_on(async {
            for number in 0..count {
                let data = message(number).to_vec();
                grpc.ready().await?;
                let codec = ProstCodec::<Payload, Payload>::default();
                let answer = grpc.unary(Request::new(Payload { data }), METHOD, codec).await?;
                ensure!(
                    answer.get_ref().data == message(number),
                    "call {number} came back changed"
                );
            }
            Ok(())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_call_is_answered() {
        let (listening, wait) = std::sync::mpsc::channel();
        std::thread::spawn(move || serve(|address| listening.send(address).unwrap()));
        let address = wait.recv().unwrap();
        for _ in 0..2 {
            Client::at(address).unwrap().round_trips(100).unwrap();
        }
    }

    #[test]
    fn a_client_without_a_server_names_the_address() {
        let address = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let error = Client::at(address).unwrap_err();
        assert!(error.to_string().contains(&address.to_string()), "{error:#}");
    }
}
