use super::beside_structures::{Done, Get, Handler, Put, Rest, Stop};
use ::urom_pdk::{Context, OpenContext, Result, urom_plugin};

pub struct Plugin;

#[urom_plugin(abort = "allowed")]
impl Handler for Plugin {
    fn open(_: &OpenContext) -> Result<Self> {
        ::core::result::Result::Ok(Self)
    }

    async fn put(&self, _: &Context, _: Put<'_>) -> Result<Done> {
        ::core::unimplemented!()
    }

    async fn get(&self, _: &Context, _: Get<'_>) -> Result<Rest> {
        ::core::unimplemented!()
    }

    async fn stop(&self, _: &Context, _: Stop) -> Result<Rest> {
        ::core::unimplemented!()
    }
}
