macro_rules! every_name {
    ($make:ident) => {
        $make! {
            Build Clone Command Context Data Debug DocaStatus Done Elements Exported Get GetIfaceFn
            GetVersionFn Handler MOST Notification Ok OpenContext Option PARTS Payload Plugin
            PluginExtension PluginIface PluginParts Protocol Put Received Rest Result Side Stop
            UROM_PLUGIN_EXTENSION a addr also array beside_structures bool build bytes cfg cfg_attr
            checked_mul clone codec constants context core count data derive describe echo
            export_name extension flag fmt get get_iface get_version header inline keep key len
            link_section n no_mangle none not open option optional panic parts payload plugin
            primitive protocol put received reply result section size stop str tag test text u16 u32
            unimplemented unless urom urom_abi urom_command urom_notification urom_pdk urom_plugin
            urom_plugin_get_iface urom_plugin_get_version usize values version when with word worker
        }
    };
}
