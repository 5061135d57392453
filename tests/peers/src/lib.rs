//! Tests for plugins with peers: see `tests/`.
