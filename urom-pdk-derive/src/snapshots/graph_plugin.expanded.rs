use graph_protocol::{Handler, Loopback, LoopbackDone};
use urom_pdk::prelude::*;
struct Graph;
impl Handler<::urom_pdk::Side> for Graph {
    fn open(_cx: &OpenContext) -> Result<Self> {
        Ok(Graph)
    }
    async fn loopback(&self, _cx: &Context, cmd: Loopback) -> Result<LoopbackDone> {
        Ok(LoopbackDone { data: cmd.data })
    }
}
#[cfg(panic = "abort")]
::core::compile_error! {
    "a plugin built with `panic = \"abort\"` takes the whole worker down when a handler panics: build with `panic = \"unwind\"`, or accept it with `#[urom_plugin(abort = \"allowed\")]`"
}
impl ::urom_pdk::__private::Exported for Graph {
    const PARTS: ::urom_pdk::__private::PluginParts = ::urom_pdk::__private::parts::<
        Graph,
        _,
    >(<Graph as Handler<::urom_pdk::Side>>::__made_by_urom_command);
}
const _: () = {
    const _: ::urom_pdk::__private::GetIfaceFn = urom_plugin_get_iface;
    const _: ::urom_pdk::__private::GetVersionFn = urom_plugin_get_version;
    const _: &::urom_pdk::__private::PluginExtension = &UROM_PLUGIN_EXTENSION;
    #[cfg_attr(not(test), unsafe(export_name = "urom_plugin_extension"))]
    static UROM_PLUGIN_EXTENSION: ::urom_pdk::__private::PluginExtension = ::urom_pdk::__private::extension::<
        Graph,
        _,
    >(<Graph as Handler<::urom_pdk::Side>>::__made_by_urom_command);
    const __PROTOCOL: &::urom_pdk::__private::describe::Protocol = ::urom_pdk::__private::protocol(
        <Graph as Handler<::urom_pdk::Side>>::__made_by_urom_command,
    );
    const __BUILD: &::urom_pdk::__private::section::Build = &::urom_pdk::__private::build(
        ::core::cfg!(panic = "abort"),
    );
    const __LEN: ::core::primitive::usize = ::urom_pdk::__private::section::len(
        __PROTOCOL,
        __BUILD,
    );
    #[cfg_attr(not(test), unsafe(link_section = ".urom.description"))]
    static __DESCRIPTION: [::core::primitive::u8; __LEN] = ::urom_pdk::__private::section::array(
        __PROTOCOL,
        __BUILD,
    );
    #[cfg_attr(not(test), unsafe(no_mangle))]
    unsafe extern "C" fn urom_plugin_get_iface(
        __iface: *mut ::urom_pdk::__private::PluginIface,
    ) -> ::urom_pdk::__private::DocaStatus {
        ::urom_pdk::__private::keep(&__DESCRIPTION);
        unsafe {
            ::urom_pdk::__private::get_iface::<
                Graph,
                _,
            >(<Graph as Handler<::urom_pdk::Side>>::__made_by_urom_command, __iface)
        }
    }
    #[cfg_attr(not(test), unsafe(no_mangle))]
    unsafe extern "C" fn urom_plugin_get_version(
        __version: *mut ::core::primitive::u64,
    ) -> ::urom_pdk::__private::DocaStatus {
        unsafe {
            ::urom_pdk::__private::get_version(
                <Graph as Handler<::urom_pdk::Side>>::__made_by_urom_command,
                __version,
            )
        }
    }
};
#[cfg(test)]
mod tests;
