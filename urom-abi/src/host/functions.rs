//! The list of all functions of the host's C interface. The table, the exports of `libdoca_urom.so`
//! and `libdoca_common.so`, and the loader of other libraries are generated from it.

/// Calls a macro with every function of [`Api`](crate::host::Api), as
/// `fn name(argument: Type, ...) -> Type;` with its documentation: the exports of `libdoca_urom` in
/// `urom { .. }`, then the exports of `libdoca_common` in `core { .. }`.
///
/// The caller imports the types of [`host`](crate::host), and `DocaStatus`, `PluginInfo`, `CpuSet`,
/// `c_char`, `c_int` and `c_void`.
#[doc(hidden)]
#[macro_export]
macro_rules! host_functions {
    ($callback:ident) => {
        $callback! {
            urom {
                /// Creates an idle service context.
                fn doca_urom_service_create(service: *mut *mut Service) -> DocaStatus;
                /// Destroys a service: `NOT_PERMITTED` when not idle, `IN_USE` with workers.
                fn doca_urom_service_destroy(service: *mut Service) -> DocaStatus;
                /// Sets the message limit in bytes, headers included; 4096 by default.
                fn doca_urom_service_set_max_comm_msg_size(service: *mut Service, size: usize) -> DocaStatus;
                /// Sets the maximum number of workers of this context: a power of two.
                fn doca_urom_service_set_max_workers(service: *mut Service, count: u32) -> DocaStatus;
                /// Sets the device, which is required and selects the line of the service file.
                fn doca_urom_service_set_dev(service: *mut Service, dev: *mut Dev) -> DocaStatus;
                /// Returns the service as a context, valid as long as the service. NULL for NULL.
                fn doca_urom_service_as_ctx(service: *mut Service) -> *mut Ctx;
                /// Returns the plugins, valid while running, or `BAD_STATE`; `NOT_FOUND` if none.
                fn doca_urom_service_get_plugins_list(
                    service: *mut Service,
                    plugins: *mut *const PluginInfo,
                    count: *mut usize,
                ) -> DocaStatus;
                /// Returns the CPUs that workers can use.
                fn doca_urom_service_get_cpuset(service: *mut Service, cpus: *mut CpuSet) -> DocaStatus;

                /// Allocates a query without a group and a callback.
                fn doca_urom_service_get_workers_by_gid_task_allocate(service: *mut Service, task: *mut *mut GidTask) -> DocaStatus;
                /// Allocates a query.
                fn doca_urom_service_get_workers_by_gid_task_allocate_init(
                    service: *mut Service,
                    gid: u32,
                    callback: Option<GidTaskCallback>,
                    task: *mut *mut GidTask,
                ) -> DocaStatus;
                /// Releases a query, also inside its callback: `NOT_PERMITTED` while in flight.
                fn doca_urom_service_get_workers_by_gid_task_release(task: *mut GidTask) -> DocaStatus;
                /// Sets the group.
                fn doca_urom_service_get_workers_by_gid_task_set_gid(task: *mut GidTask, gid: u32);
                /// Sets the callback.
                fn doca_urom_service_get_workers_by_gid_task_set_cb(task: *mut GidTask, callback: Option<GidTaskCallback>);
                /// Returns the query as a task.
                fn doca_urom_service_get_workers_by_gid_task_as_task(task: *mut GidTask) -> *mut Task;
                /// Returns the number of workers found; 0 before completion.
                fn doca_urom_service_get_workers_by_gid_task_get_workers_count(task: *mut GidTask) -> usize;
                /// Returns the ids, valid until release; NULL before completion or if empty.
                fn doca_urom_service_get_workers_by_gid_task_get_worker_ids(task: *mut GidTask) -> *const u64;

                /// Creates an idle worker context.
                fn doca_urom_worker_create(worker: *mut *mut Worker) -> DocaStatus;
                /// Destroys a worker: `IN_USE` when not idle.
                fn doca_urom_worker_destroy(worker: *mut Worker) -> DocaStatus;
                /// Sets the service to spawn on. Another thread may progress that service.
                fn doca_urom_worker_set_service(worker: *mut Worker, service: *mut Service) -> DocaStatus;
                /// Sets the worker's id, or `DOCA_UROM_WORKER_ID_ANY`.
                fn doca_urom_worker_set_id(worker: *mut Worker, id: u64) -> DocaStatus;
                /// Sets the plugins to load: their ids or-ed together.
                fn doca_urom_worker_set_plugins(worker: *mut Worker, mask: u64) -> DocaStatus;
                /// Sets the worker's CPUs: a subset of the service's CPUs.
                fn doca_urom_worker_set_cpuset(worker: *mut Worker, cpus: CpuSet) -> DocaStatus;
                /// Sets the worker's group; 0 by default.
                fn doca_urom_worker_set_gid(worker: *mut Worker, gid: u32) -> DocaStatus;
                /// Sets the maximum number of allocated command tasks.
                fn doca_urom_worker_set_max_inflight_tasks(worker: *mut Worker, count: u32) -> DocaStatus;
                /// Sets `NAME=value` strings for the worker's environment; copied.
                fn doca_urom_worker_set_env(worker: *mut Worker, env: *const *mut c_char, count: usize) -> DocaStatus;
                /// Returns the worker's id. A generated id is available once the worker runs.
                fn doca_urom_worker_get_id(worker: *mut Worker, id: *mut u64) -> DocaStatus;
                /// Returns the worker's group.
                fn doca_urom_worker_get_gid(worker: *mut Worker, gid: *mut u32) -> DocaStatus;
                /// Returns the worker as a context. NULL for NULL.
                fn doca_urom_worker_as_ctx(worker: *mut Worker) -> *mut Ctx;

                /// Allocates a command task: `NO_MEMORY` at the maximum, `BAD_STATE` if stopped.
                fn doca_urom_worker_cmd_task_allocate(worker: *mut Worker, task: *mut *mut CmdTask) -> DocaStatus;
                /// Allocates a command task for one plugin id.
                fn doca_urom_worker_cmd_task_allocate_init(worker: *mut Worker, plugin: u64, task: *mut *mut CmdTask) -> DocaStatus;
                /// Releases a task, also inside its callback: `NOT_PERMITTED` while in flight.
                fn doca_urom_worker_cmd_task_release(task: *mut CmdTask) -> DocaStatus;
                /// Sets the plugin.
                fn doca_urom_worker_cmd_task_set_plugin(task: *mut CmdTask, plugin: u64);
                /// Sets the callback.
                fn doca_urom_worker_cmd_task_set_cb(task: *mut CmdTask, callback: Option<CmdTaskCallback>);
                /// Returns the command's buffer, whose data length is initially the capacity.
                fn doca_urom_worker_cmd_task_get_payload(task: *mut CmdTask) -> *mut Buf;
                /// Returns the notification's bytes, writable, until release; NULL without one.
                fn doca_urom_worker_cmd_task_get_response(task: *mut CmdTask) -> *mut Buf;
                /// Returns 32 bytes of user data in the task, 8-aligned, valid until release.
                fn doca_urom_worker_cmd_task_get_user_data(task: *mut CmdTask) -> *mut c_void;
                /// Returns the command as a task.
                fn doca_urom_worker_cmd_task_as_task(task: *mut CmdTask) -> *mut Task;

                /// Creates an idle domain context.
                fn doca_urom_domain_create(domain: *mut *mut Domain) -> DocaStatus;
                /// Destroys a domain: `NOT_PERMITTED` when not idle.
                fn doca_urom_domain_destroy(domain: *mut Domain) -> DocaStatus;
                /// Sets the number of buffers: at least 1. A second call removes all buffers.
                fn doca_urom_domain_set_buffers_count(domain: *mut Domain, count: usize) -> DocaStatus;
                /// Adds a buffer with its packed memory handle and remote key, which are copied.
                /// `BAD_STATE` before the count is set, `FULL` beyond it.
                fn doca_urom_domain_add_buffer(
                    domain: *mut Domain,
                    buffer: *mut c_void,
                    buffer_len: usize,
                    memh: *mut c_void,
                    memh_len: usize,
                    mkey: *mut c_void,
                    mkey_len: usize,
                ) -> DocaStatus;
                /// Sets the out-of-band communication; copies only the structure.
                fn doca_urom_domain_set_oob(domain: *mut Domain, oob: *mut OobColl) -> DocaStatus;
                /// Sets this process's workers, with unique ids in the domain; copies both arrays.
                fn doca_urom_domain_set_workers(
                    domain: *mut Domain,
                    domain_worker_ids: *mut u64,
                    workers: *mut *mut Worker,
                    count: usize,
                ) -> DocaStatus;
                /// Returns the domain as a context. NULL for NULL. It starts asynchronously.
                fn doca_urom_domain_as_ctx(domain: *mut Domain) -> *mut Ctx;
            }
            core {
                /// Starts a context: `SUCCESS` when running, `IN_PROGRESS` while starting.
                fn doca_ctx_start(ctx: *mut Ctx) -> DocaStatus;
                /// Stops a context: `SUCCESS` when idle, `IN_PROGRESS` while stopping.
                fn doca_ctx_stop(ctx: *mut Ctx) -> DocaStatus;
                /// Returns the state.
                fn doca_ctx_get_state(ctx: *const Ctx, state: *mut CtxState) -> DocaStatus;
                /// Sets the context data of callbacks.
                fn doca_ctx_set_user_data(ctx: *mut Ctx, data: Data) -> DocaStatus;
                /// Returns the context data of callbacks.
                fn doca_ctx_get_user_data(ctx: *const Ctx, data: *mut Data) -> DocaStatus;
                /// Sets the callback for state changes.
                fn doca_ctx_set_state_changed_cb(ctx: *mut Ctx, callback: Option<StateChangedCallback>) -> DocaStatus;
                /// Returns the number of the context's tasks in flight.
                fn doca_ctx_get_num_inflight_tasks(ctx: *const Ctx, count: *mut usize) -> DocaStatus;

                /// Creates a progress engine.
                fn doca_pe_create(pe: *mut *mut Pe) -> DocaStatus;
                /// Destroys it: `IN_USE` while a context is connected.
                fn doca_pe_destroy(pe: *mut Pe) -> DocaStatus;
                /// Connects an idle context. Only destroying the context disconnects it.
                fn doca_pe_connect_ctx(pe: *mut Pe, ctx: *mut Ctx) -> DocaStatus;
                /// Runs at most one callback. Returns 1 when a task completed or a context started
                /// or stopped, else 0. A context lost while tasks of other contexts are in flight
                /// does not count, so a host can treat 1 as the end of its task.
                fn doca_pe_progress(pe: *mut Pe) -> u8;
                /// Returns the number of tasks in flight in all contexts.
                fn doca_pe_get_num_inflight_tasks(pe: *const Pe, count: *mut usize) -> DocaStatus;
                /// Returns the engine's file descriptor, readable after a requested notification.
                fn doca_pe_get_notification_handle(pe: *const Pe, handle: *mut c_int) -> DocaStatus;
                /// Arms the handle for one event, including a pending event.
                fn doca_pe_request_notification(pe: *mut Pe) -> DocaStatus;
                /// Clears the handle after it fired. Then progress until nothing is left.
                fn doca_pe_clear_notification(pe: *mut Pe, handle: c_int) -> DocaStatus;

                /// Submits a task. Unless it fails, the library owns the task until its callback.
                fn doca_task_submit(task: *mut Task) -> DocaStatus;
                /// Returns the result of a completed task.
                fn doca_task_get_status(task: *const Task) -> DocaStatus;
                /// Sets the task data of the callback.
                fn doca_task_set_user_data(task: *mut Task, data: Data);
                /// Returns the task data of the callback.
                fn doca_task_get_user_data(task: *const Task) -> Data;
                /// Returns the task's context.
                fn doca_task_get_ctx(task: *const Task) -> *mut Ctx;

                /// Returns the start of a buffer's data.
                fn doca_buf_get_data(buf: *const Buf, data: *mut *mut c_void) -> DocaStatus;
                /// Returns the length of a buffer's data.
                fn doca_buf_get_data_len(buf: *const Buf, len: *mut usize) -> DocaStatus;
                /// Sets both, within the buffer's memory: `INVALID_VALUE` outside it.
                fn doca_buf_set_data(buf: *mut Buf, data: *mut c_void, len: usize) -> DocaStatus;

                /// Lists devices: `NOT_FOUND` without devices.
                fn doca_devinfo_create_list(list: *mut *mut *mut DevInfo, count: *mut u32) -> DocaStatus;
                /// Frees a list. Opened devices stay valid.
                fn doca_devinfo_destroy_list(list: *mut *mut DevInfo) -> DocaStatus;
                /// Returns the InfiniBand device name; `size` is at least 64.
                fn doca_devinfo_get_ibdev_name(info: *const DevInfo, name: *mut c_char, size: u32) -> DocaStatus;
                /// Returns the PCI address, `dddd:bb:dd.f` and a NUL: 13 bytes.
                fn doca_devinfo_get_pci_addr_str(info: *const DevInfo, address: *mut c_char) -> DocaStatus;
                /// Opens a device.
                fn doca_dev_open(info: *mut DevInfo, dev: *mut *mut Dev) -> DocaStatus;
                /// Closes a device: `IN_USE` while a service uses it.
                fn doca_dev_close(dev: *mut Dev) -> DocaStatus;
            }
        }
    };
}

/// Calls a macro with every function of [`Extensions`](crate::host::Extensions), as
/// [`host_functions!`](crate::host_functions) does.
#[doc(hidden)]
#[macro_export]
macro_rules! host_extensions {
    ($callback:ident) => {
        $callback! {
            /// Sets the service's address (`host:port` or `@file`, NUL-terminated) instead of the
            /// environment, and its source for error messages (may be NULL). Idle only.
            fn urom_service_set_address(
                service: *mut Service,
                address: *const c_char,
                origin: *const c_char,
            ) -> DocaStatus;
            /// Selects the embedded service. A NULL `plugin_path` is `UROM_PLUGIN_PATH`. Idle only.
            fn urom_service_set_embedded(service: *mut Service, plugin_path: *const c_char) -> DocaStatus;
            /// Lets a service start without a device. Idle only.
            fn urom_service_set_any_device(service: *mut Service) -> DocaStatus;
            /// Sets the file of the daemon's key (NUL-terminated), not `UROM_KEY_FILE`. Idle only.
            fn urom_service_set_key_file(service: *mut Service, path: *const c_char) -> DocaStatus;
            /// Returns the fingerprint of a plugin's description. Running services only.
            fn urom_service_get_plugin_fingerprint(
                service: *mut Service,
                plugin: u64,
                fingerprint: *mut u64,
            ) -> DocaStatus;
            /// Returns a plugin's description without documentation. `length` is the capacity and
            /// receives the length. Blocks for at most 4.5 s. Running services only.
            fn urom_service_get_plugin_description(
                service: *mut Service,
                plugin: u64,
                bytes: *mut c_void,
                length: *mut usize,
            ) -> DocaStatus;
            /// Returns the code of a context's failure since its last start, else `SUCCESS`.
            fn urom_ctx_get_failure_code(ctx: *const Ctx) -> DocaStatus;
            /// Writes the same failure as text without a NUL and returns the full length.
            fn urom_ctx_get_failure(ctx: *const Ctx, text: *mut c_char, capacity: usize) -> usize;
            /// Returns the worker's last report on its plugins. `BAD_STATE` unless the worker runs.
            fn urom_worker_get_health(worker: *mut Worker, health: *mut WorkerHealth) -> DocaStatus;
            /// Returns the address of a command task's result, valid while the caller owns the
            /// task. Its contents are valid from each completion until a submit or the release.
            fn urom_worker_cmd_task_get_end(task: *mut CmdTask) -> *const CmdTaskEnd;
            /// Writes the reason why a completed command failed as text without a NUL, and returns
            /// the full length: at most 2,048 bytes of UTF-8 on one line; 0 without a reason.
            fn urom_worker_cmd_task_get_failure(
                task: *const CmdTask,
                text: *mut c_char,
                capacity: usize,
            ) -> usize;
            /// Sets a timeout in nanoseconds after submit for later commands of this task, which
            /// then complete with `TIME_OUT`. 0, the default, disables it.
            fn urom_worker_cmd_task_set_deadline(task: *mut CmdTask, nanoseconds: u64) -> DocaStatus;
            /// Cancels a command, which a later progress completes with `SKIPPED`.
            fn urom_worker_cmd_task_cancel(task: *mut CmdTask) -> DocaStatus;
            /// Cancels a command and releases its task, which does not complete.
            fn urom_worker_cmd_task_forget(task: *mut CmdTask) -> DocaStatus;
            /// Returns [`CMD_TASK_AREA`](super::CMD_TASK_AREA) bytes in the task for the caller,
            /// 64-aligned, valid also after the release until the task is allocated again or the
            /// worker starts again or is destroyed. They begin with DOCA's user data.
            fn urom_worker_cmd_task_get_area(task: *mut CmdTask) -> *mut c_void;
            /// Returns the counts of a worker's cancelled commands.
            fn urom_worker_get_cancelled(worker: *mut Worker, cancelled: *mut Cancelled) -> DocaStatus;
            /// Transfers a stopping worker to its engine, which destroys it when it is idle.
            fn urom_worker_leave(worker: *mut Worker) -> DocaStatus;
            /// Shares memory with the plugins of a running worker. The memory must stay valid until
            /// the callback of
            /// [`urom_worker_unshare_memory`](Extensions::urom_worker_unshare_memory). On
            /// `SUCCESS`, `done` will be called with `data`.
            fn urom_worker_share_memory(
                worker: *mut Worker,
                memory: *const OfferedMemory,
                done: Option<MemoryCallback>,
                data: *mut c_void,
            ) -> DocaStatus;
            /// Stops sharing memory. After `done` received `SUCCESS` or `NOT_FOUND`, the memory is
            /// not in use; after other codes it must stay valid.
            fn urom_worker_unshare_memory(
                worker: *mut Worker,
                memory: u64,
                done: Option<MemoryCallback>,
                data: *mut c_void,
            ) -> DocaStatus;
            /// As `doca_pe_progress`, but polls for about 100 ns, and completes up to 64 ready
            /// commands. Returns the number of events delivered.
            fn urom_pe_progress_many(pe: *mut Pe) -> u32;
            /// Makes the notification handle readable within this time, if requested by then.
            fn urom_pe_wake_within(pe: *mut Pe, nanoseconds: u64) -> DocaStatus;
        }
    };
}
