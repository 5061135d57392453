//! The graph plugin: answers a loopback command.
