//! Raw bindings to UCX (ucp), committed per target.
