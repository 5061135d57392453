//! C structures that start as all zero bytes, as UCX's field masks expect.

use crate::bindings as sys;

/// A structure that all zero bytes represent.
///
/// # Safety
/// Every field must be an integer, a raw pointer, an optional function pointer, or made of these.
pub unsafe trait Zeroed: Sized {
    /// The structure with every byte zero, so with an empty field mask.
    fn zeroed() -> Self {
        // SAFETY: whoever implements the trait promises that zero bytes are a value.
        unsafe { std::mem::zeroed() }
    }
}

macro_rules! zeroed {
    ($($name:ident),* $(,)?) => {
        $(
            // SAFETY: bindgen's structure: integers, raw pointers, optional function pointers and
            // unions of these.
            unsafe impl Zeroed for sys::$name {}
        )*
    };
}

zeroed!(
    ucp_params_t,
    ucp_worker_params_t,
    ucp_worker_attr_t,
    ucp_worker_address_attr_t,
    ucp_ep_params_t,
    ucp_ep_attr_t,
    ucp_am_handler_param_t,
    ucp_request_param_t,
    ucp_mem_map_params_t,
    ucp_mem_attr_t,
    ucp_memh_pack_params_t,
    ucp_memh_buffer_release_params_t,
    ucp_tag_recv_info,
);
