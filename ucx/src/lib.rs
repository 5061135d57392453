//! Safe UCX: contexts, workers, endpoints, active messages, tags, memory.
