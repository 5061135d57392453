//! Measures the kit against raw UCX.
