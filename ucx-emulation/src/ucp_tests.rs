use super::*;

macro_rules! same_layout {
    ($own:ty, $theirs:ty: $($field:ident),*) => {
        assert_eq!(size_of::<$own>(), size_of::<$theirs>());
        $(assert_eq!(offset_of!($own, $field), offset_of!($theirs, $field));)*
    };
}

#[test]
fn structures_and_constants_are_those_of_ucx() {
    same_layout!(MapParams, ucx_sys::ucp_mem_map_params:
        field_mask, address, length, flags, prot, memory_type, exported_memh_buffer);
    same_layout!(PackParams, ucx_sys::ucp_memh_pack_params: field_mask, flags);
    same_layout!(Attributes, ucx_sys::ucp_mem_attr: field_mask, address, length, mem_type);
    assert_eq!(offset_of!(ucx_sys::ucp_params, field_mask), 0);
    assert_eq!(offset_of!(ucx_sys::ucp_params, features), 8);
    // The structures of later releases are larger, but less than twice as large.
    assert!(size_of::<ucx_sys::ucp_params>() * 2 <= PARAMS_WORDS * 8);

    for (own, theirs) in [
        (PARAM_FEATURES, ucx_sys::UCP_PARAM_FIELD_FEATURES),
        (FEATURE_EXPORTED_MEMH, ucx_sys::UCP_FEATURE_EXPORTED_MEMH),
        (MAP_ADDRESS, ucx_sys::UCP_MEM_MAP_PARAM_FIELD_ADDRESS),
        (MAP_LENGTH, ucx_sys::UCP_MEM_MAP_PARAM_FIELD_LENGTH),
        (MAP_EXPORTED, ucx_sys::UCP_MEM_MAP_PARAM_FIELD_EXPORTED_MEMH_BUFFER),
        (PACK_FLAGS, ucx_sys::UCP_MEMH_PACK_PARAM_FIELD_FLAGS),
        (PACK_EXPORT, ucx_sys::UCP_MEMH_PACK_FLAG_EXPORT),
        (ATTRIBUTE_ADDRESS, ucx_sys::UCP_MEM_ATTR_FIELD_ADDRESS),
        (ATTRIBUTE_LENGTH, ucx_sys::UCP_MEM_ATTR_FIELD_LENGTH),
    ] {
        assert_eq!(own, u64::from(theirs));
    }
    assert_eq!(NO_MEMORY, ucx_sys::UCS_ERR_NO_MEMORY.0);
    assert_eq!(UNREACHABLE, ucx_sys::UCS_ERR_UNREACHABLE.0);
    assert_eq!(UNSUPPORTED, ucx_sys::UCS_ERR_UNSUPPORTED.0);
}
