//! Every function of the host's C interface, once, for all that is made of the list: the table, the
//! exports of `libdoca_urom.so` and `libdoca_common.so`, and what loads another library.

/// Calls a macro with every function of [`Api`](crate::host::Api), as
/// `fn name(argument: Type, ...) -> Type;` with its documentation: those that `libdoca_urom`
/// exports as `urom { .. }`, then those of `libdoca_common` as `core { .. }`.
///
/// The types are named as in [`host`](crate::host): whoever calls this imports them, and
/// `DocaError`, `PluginInfo`, `CpuSet`, `c_char`, `c_int` and `c_void`.
#[doc(hidden)]
#[macro_export]
macro_rules! host_functions {
    ($callback:ident) => {
        $callback! {
            urom {
                /// Creates an idle service context.
                fn doca_urom_service_create(service: *mut *mut Service) -> DocaError;
                /// Destroys it: `NOT_PERMITTED` when not idle, `IN_USE` while workers are attached.
                fn doca_urom_service_destroy(service: *mut Service) -> DocaError;
                /// The largest message in bytes, headers included; 4096 by default.
                fn doca_urom_service_set_max_comm_msg_size(service: *mut Service, size: usize) -> DocaError;
                /// How many workers this context may hold: a power of two.
                fn doca_urom_service_set_max_workers(service: *mut Service, count: u32) -> DocaError;
                /// The device whose PCI address selects the line of the service file: a service
                /// does not start without one.
                fn doca_urom_service_set_dev(service: *mut Service, dev: *mut Dev) -> DocaError;
                /// The service as a context; valid as long as the service. NULL for NULL.
                fn doca_urom_service_as_ctx(service: *mut Service) -> *mut Ctx;
                /// The plugins found: `BAD_STATE` when not running, `NOT_FOUND` when there are
                /// none. The array lives as long as the service runs.
                fn doca_urom_service_get_plugins_list(
                    service: *mut Service,
                    plugins: *mut *const PluginInfo,
                    count: *mut usize,
                ) -> DocaError;
                /// The CPUs workers may be given.
                fn doca_urom_service_get_cpuset(service: *mut Service, cpus: *mut CpuSet) -> DocaError;

                /// Allocates a query without group and callback.
                fn doca_urom_service_get_workers_by_gid_task_allocate(service: *mut Service, task: *mut *mut GidTask) -> DocaError;
                /// Allocates a query.
                fn doca_urom_service_get_workers_by_gid_task_allocate_init(
                    service: *mut Service,
                    gid: u32,
                    callback: Option<GidTaskCallback>,
                    task: *mut *mut GidTask,
                ) -> DocaError;
                /// Releases a query, also inside its callback: `NOT_PERMITTED` while it is in
                /// flight.
                fn doca_urom_service_get_workers_by_gid_task_release(task: *mut GidTask) -> DocaError;
                /// Sets the group.
                fn doca_urom_service_get_workers_by_gid_task_set_gid(task: *mut GidTask, gid: u32);
                /// Sets the callback.
                fn doca_urom_service_get_workers_by_gid_task_set_cb(task: *mut GidTask, callback: Option<GidTaskCallback>);
                /// The query as a task.
                fn doca_urom_service_get_workers_by_gid_task_as_task(task: *mut GidTask) -> *mut Task;
                /// How many workers were found; 0 before completion.
                fn doca_urom_service_get_workers_by_gid_task_get_workers_count(task: *mut GidTask) -> usize;
                /// Their ids, the task's own memory until it is released; NULL before completion,
                /// and when there are none.
                fn doca_urom_service_get_workers_by_gid_task_get_worker_ids(task: *mut GidTask) -> *const u64;

                /// Creates an idle worker context.
                fn doca_urom_worker_create(worker: *mut *mut Worker) -> DocaError;
                /// Destroys it: `IN_USE` when not idle.
                fn doca_urom_worker_destroy(worker: *mut Worker) -> DocaError;
                /// The service to spawn on; it may be progressed by another thread.
                fn doca_urom_worker_set_service(worker: *mut Worker, service: *mut Service) -> DocaError;
                /// The worker's id, or `DOCA_UROM_WORKER_ID_ANY`.
                fn doca_urom_worker_set_id(worker: *mut Worker, id: u64) -> DocaError;
                /// Which plugins it loads: their ids or-ed together.
                fn doca_urom_worker_set_plugins(worker: *mut Worker, mask: u64) -> DocaError;
                /// The CPUs it may use: a subset of the service's.
                fn doca_urom_worker_set_cpuset(worker: *mut Worker, cpus: CpuSet) -> DocaError;
                /// Its group; 0 by default.
                fn doca_urom_worker_set_gid(worker: *mut Worker, gid: u32) -> DocaError;
                /// How many command tasks may be allocated at a time.
                fn doca_urom_worker_set_max_inflight_tasks(worker: *mut Worker, count: u32) -> DocaError;
                /// `NAME=value` strings for its environment; copied.
                fn doca_urom_worker_set_env(worker: *mut Worker, env: *const *mut c_char, count: usize) -> DocaError;
                /// The worker's id, generated if need be once it runs.
                fn doca_urom_worker_get_id(worker: *mut Worker, id: *mut u64) -> DocaError;
                /// Its group.
                fn doca_urom_worker_get_gid(worker: *mut Worker, gid: *mut u32) -> DocaError;
                /// The worker as a context. NULL for NULL.
                fn doca_urom_worker_as_ctx(worker: *mut Worker) -> *mut Ctx;

                /// Allocates a command task without a plugin: `NO_MEMORY` when as many as may be in
                /// flight are allocated, `BAD_STATE` when the worker does not run.
                fn doca_urom_worker_cmd_task_allocate(worker: *mut Worker, task: *mut *mut CmdTask) -> DocaError;
                /// Allocates a command task for one plugin id.
                fn doca_urom_worker_cmd_task_allocate_init(worker: *mut Worker, plugin: u64, task: *mut *mut CmdTask) -> DocaError;
                /// Releases a task, also inside its callback: `NOT_PERMITTED` while it is in
                /// flight.
                fn doca_urom_worker_cmd_task_release(task: *mut CmdTask) -> DocaError;
                /// Sets the plugin.
                fn doca_urom_worker_cmd_task_set_plugin(task: *mut CmdTask, plugin: u64);
                /// Sets the callback.
                fn doca_urom_worker_cmd_task_set_cb(task: *mut CmdTask, callback: Option<CmdTaskCallback>);
                /// The command's buffer. Its data length is the capacity at first, and what is sent
                /// once it is set.
                fn doca_urom_worker_cmd_task_get_payload(task: *mut CmdTask) -> *mut Buf;
                /// The notification's bytes, writable, from completion to release; NULL when the
                /// task ended without one.
                fn doca_urom_worker_cmd_task_get_response(task: *mut CmdTask) -> *mut Buf;
                /// 32 bytes of the caller's inside the task, 8-aligned, until release.
                fn doca_urom_worker_cmd_task_get_user_data(task: *mut CmdTask) -> *mut c_void;
                /// The command as a task.
                fn doca_urom_worker_cmd_task_as_task(task: *mut CmdTask) -> *mut Task;

                /// Creates an idle domain context.
                fn doca_urom_domain_create(domain: *mut *mut Domain) -> DocaError;
                /// Destroys it: `NOT_PERMITTED` when not idle.
                fn doca_urom_domain_destroy(domain: *mut Domain) -> DocaError;
                /// How many buffers `doca_urom_domain_add_buffer` will add: at least one. Called
                /// again it begins anew, without buffers.
                fn doca_urom_domain_set_buffers_count(domain: *mut Domain, count: usize) -> DocaError;
                /// Adds a buffer, by its address and length in bytes, with its packed memory handle
                /// and remote key; both are copied. `BAD_STATE` before the count is set, `FULL`
                /// beyond it.
                fn doca_urom_domain_add_buffer(
                    domain: *mut Domain,
                    buffer: *mut c_void,
                    buffer_len: usize,
                    memh: *mut c_void,
                    memh_len: usize,
                    mkey: *mut c_void,
                    mkey_len: usize,
                ) -> DocaError;
                /// How the domain's processes exchange bytes; the structure is copied, what it
                /// points to is not.
                fn doca_urom_domain_set_oob(domain: *mut Domain, oob: *mut OobColl) -> DocaError;
                /// This process's workers, each with an id that is unique in the whole domain; both
                /// arrays are copied.
                fn doca_urom_domain_set_workers(
                    domain: *mut Domain,
                    domain_worker_ids: *mut u64,
                    workers: *mut *mut Worker,
                    count: usize,
                ) -> DocaError;
                /// The domain as a context. Its start is always `IN_PROGRESS`, its stop `SUCCESS`.
                /// NULL for NULL.
                fn doca_urom_domain_as_ctx(domain: *mut Domain) -> *mut Ctx;
            }
            core {
                /// Starts a context: `SUCCESS` when it runs, `IN_PROGRESS` when it will.
                fn doca_ctx_start(ctx: *mut Ctx) -> DocaError;
                /// Stops a context: `SUCCESS` when it is idle, `IN_PROGRESS` when it will be.
                fn doca_ctx_stop(ctx: *mut Ctx) -> DocaError;
                /// The state.
                fn doca_ctx_get_state(ctx: *const Ctx, state: *mut CtxState) -> DocaError;
                /// Sets what callbacks get as context data.
                fn doca_ctx_set_user_data(ctx: *mut Ctx, data: Data) -> DocaError;
                /// What callbacks get as context data.
                fn doca_ctx_get_user_data(ctx: *const Ctx, data: *mut Data) -> DocaError;
                /// Sets what is called after each change of state.
                fn doca_ctx_set_state_changed_cb(ctx: *mut Ctx, callback: Option<StateChangedCallback>) -> DocaError;
                /// How many of the context's tasks are submitted and not complete.
                fn doca_ctx_get_num_inflight_tasks(ctx: *const Ctx, count: *mut usize) -> DocaError;

                /// Creates a progress engine.
                fn doca_pe_create(pe: *mut *mut Pe) -> DocaError;
                /// Destroys it: `IN_USE` while a context is connected.
                fn doca_pe_destroy(pe: *mut Pe) -> DocaError;
                /// Connects an idle context; only destroying the context ends that.
                fn doca_pe_connect_ctx(pe: *mut Pe, ctx: *mut Ctx) -> DocaError;
                /// 1 when a task completed or a context ran or stopped, else 0. At most one
                /// callback a call. A context that is lost while tasks of others are in flight does
                /// not count, so a host can take 1 for the end of its task.
                fn doca_pe_progress(pe: *mut Pe) -> u8;
                /// How many tasks of all contexts are in flight.
                fn doca_pe_get_num_inflight_tasks(pe: *const Pe, count: *mut usize) -> DocaError;
                /// A file descriptor that becomes readable after a request for notification; the
                /// engine's own.
                fn doca_pe_get_notification_handle(pe: *const Pe, handle: *mut c_int) -> DocaError;
                /// Arms the handle for one event. Anything that is ready already makes it readable
                /// at once.
                fn doca_pe_request_notification(pe: *mut Pe) -> DocaError;
                /// Clears the handle after it fired; then progress until nothing is left.
                fn doca_pe_clear_notification(pe: *mut Pe, handle: c_int) -> DocaError;

                /// Submits a task: the library owns it until its callback. After an error it is
                /// still the caller's.
                fn doca_task_submit(task: *mut Task) -> DocaError;
                /// The result of a completed task.
                fn doca_task_get_status(task: *const Task) -> DocaError;
                /// Sets what the callback gets as task data.
                fn doca_task_set_user_data(task: *mut Task, data: Data);
                /// What the callback gets as task data.
                fn doca_task_get_user_data(task: *const Task) -> Data;
                /// The context a task belongs to.
                fn doca_task_get_ctx(task: *const Task) -> *mut Ctx;

                /// Where a buffer's data begins.
                fn doca_buf_get_data(buf: *const Buf, data: *mut *mut c_void) -> DocaError;
                /// How long a buffer's data is.
                fn doca_buf_get_data_len(buf: *const Buf, len: *mut usize) -> DocaError;
                /// Sets both, within the buffer's memory: `INVALID_VALUE` outside of it.
                fn doca_buf_set_data(buf: *mut Buf, data: *mut c_void, len: usize) -> DocaError;

                /// Lists devices: `NOT_FOUND` when there are none.
                fn doca_devinfo_create_list(list: *mut *mut *mut DevInfo, count: *mut u32) -> DocaError;
                /// Frees a list; opened devices live on.
                fn doca_devinfo_destroy_list(list: *mut *mut DevInfo) -> DocaError;
                /// The InfiniBand device name; `size` is at least 64.
                fn doca_devinfo_get_ibdev_name(info: *const DevInfo, name: *mut c_char, size: u32) -> DocaError;
                /// The PCI address, `dddd:bb:dd.f` and a NUL: 13 bytes.
                fn doca_devinfo_get_pci_addr_str(info: *const DevInfo, address: *mut c_char) -> DocaError;
                /// Opens a device.
                fn doca_dev_open(info: *mut DevInfo, dev: *mut *mut Dev) -> DocaError;
                /// Closes a device: `IN_USE` while a service uses it.
                fn doca_dev_close(dev: *mut Dev) -> DocaError;
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
            /// Names the service's address (`host:port`, NUL-terminated) instead of the
            /// environment; `@file` is the file of `uromd --address-file`, which is read now. Idle
            /// contexts only. `origin` says where the address came from, for
            /// error messages; it may be NULL.
            fn urom_service_set_address(
                service: *mut Service,
                address: *const c_char,
                origin: *const c_char,
            ) -> DocaError;
            /// Asks for the embedded service, with `plugin_path` (as `UROM_PLUGIN_PATH`; NULL: that
            /// variable, else the place of the running program). Idle only.
            fn urom_service_set_embedded(service: *mut Service, plugin_path: *const c_char) -> DocaError;
            /// Lets a service start without a device: any line of the service file that is for this
            /// host will do. Idle only.
            fn urom_service_set_any_device(service: *mut Service) -> DocaError;
            /// Names the file with the key that a daemon asks for (NUL-terminated), in place of
            /// `UROM_KEY_FILE`. It is read when the context starts. Idle only.
            fn urom_service_set_key_file(service: *mut Service, path: *const c_char) -> DocaError;
            /// The fingerprint of a plugin's description, by the plugin's id. `NOT_FOUND` for a
            /// plugin without a description, in C; `INVALID_VALUE` for what is no plugin's id.
            /// Running services only.
            fn urom_service_get_plugin_fingerprint(
                service: *mut Service,
                plugin: u64,
                fingerprint: *mut u64,
            ) -> DocaError;
            /// A plugin's description without documentation, as `urom_abi::describe::section` has
            /// it. `length` is how many bytes there is room for, and becomes how many the
            /// description has: `TOO_BIG` when that is more. The daemon is asked, and the call
            /// blocks for 4.5 s at most. Running services only.
            fn urom_service_get_plugin_description(
                service: *mut Service,
                plugin: u64,
                bytes: *mut c_void,
                length: *mut usize,
            ) -> DocaError;
            /// Why a context failed to start or left RUNNING, or a domain refused a setting, as a
            /// code: `SUCCESS` when nothing failed since the last start.
            fn urom_ctx_get_failure_code(ctx: *const Ctx) -> DocaError;
            /// The same as text: writes at most `capacity` bytes, no NUL, and returns the text's
            /// whole length; 0 when nothing failed.
            fn urom_ctx_get_failure(ctx: *const Ctx, text: *mut c_char, capacity: usize) -> usize;
            /// What the worker has said last of its plugins: whether one of them has not returned
            /// from a call for 5 s or longer. Needs no progress. `BAD_STATE` unless the worker
            /// runs.
            fn urom_worker_get_health(worker: *mut Worker, health: *mut WorkerHealth) -> DocaError;
            /// Where a command task's end can be read without a call. The place is the task's for
            /// as long as the caller has the task, and what is there means something from each
            /// completion on until the task is submitted or released. NULL for what is no task of
            /// the caller's.
            fn urom_worker_cmd_task_get_end(task: *mut CmdTask) -> *const CmdTaskEnd;
            /// Why a completed command failed, in the words of its plugin or its worker, as
            /// [`urom_ctx_get_failure`](Extensions::urom_ctx_get_failure) does for a context: at
            /// most 2,048 bytes of UTF-8 on one line; 0 when nobody said so. NVIDIA's service says
            /// nothing.
            fn urom_worker_cmd_task_get_failure(
                task: *const CmdTask,
                text: *mut c_char,
                capacity: usize,
            ) -> usize;
            /// Gives each later command of this task up so many nanoseconds after its submit: the
            /// first progress after that completes it with `TIME_OUT`. While answers come, progress
            /// reads the clock after 64 of them in a row. 0 is for ever, as after the task's
            /// allocation. The plugin learns the time. `NOT_PERMITTED` for a task in flight,
            /// `INVALID_VALUE` for another object or a released task.
            fn urom_worker_cmd_task_set_deadline(task: *mut CmdTask, nanoseconds: u64) -> DocaError;
            /// Gives a command up: the next progress completes it with `SKIPPED`, or a later one if
            /// other events are ready. `BAD_STATE` unless it is in flight and unanswered.
            fn urom_worker_cmd_task_cancel(task: *mut CmdTask) -> DocaError;
            /// Gives a command up and releases its task, which does not complete. `BAD_STATE` as
            /// [`urom_worker_cmd_task_cancel`](Extensions::urom_worker_cmd_task_cancel), and for a
            /// graph's task.
            fn urom_worker_cmd_task_forget(task: *mut CmdTask) -> DocaError;
            /// [`CMD_TASK_AREA`](super::CMD_TASK_AREA) bytes of the caller's inside the task,
            /// 64-aligned. They begin with DOCA's user data, and are zero after the allocation.
            /// They stay until the worker is started again or destroyed, also after the release,
            /// unless the task is allocated again. NULL if `task` is NULL or another object.
            fn urom_worker_cmd_task_get_area(task: *mut CmdTask) -> *mut c_void;
            /// How many commands of a worker are given up and unanswered, and how many late answers
            /// came since the worker's last start.
            fn urom_worker_get_given_up(worker: *mut Worker, given_up: *mut GivenUp) -> DocaError;
            /// Leaves a stopping worker to its engine, which destroys it when it is idle. The
            /// destruction of the engine waits for that, for 10 s at most. `IN_USE` while it runs,
            /// or has tasks that are not released.
            fn urom_worker_leave(worker: *mut Worker) -> DocaError;
            /// Shares memory with the plugins of a running worker, which name it by its number. The
            /// memory stays where it is until
            /// [`urom_worker_unshare_memory`](Extensions::urom_worker_unshare_memory) has called
            /// back, also for a worker that is idle again: ask before it is started again or
            /// destroyed. `done` is called with `data` if the result is `SUCCESS`. `BAD_STATE`
            /// unless the worker runs. `urom_extensions.h` has the codes that `done` is told.
            fn urom_worker_share_memory(
                worker: *mut Worker,
                memory: *const OfferedMemory,
                done: Option<MemoryCallback>,
                data: *mut c_void,
            ) -> DocaError;
            /// Ends that: no command that is submitted later finds the memory. `done` is called
            /// when those that use it are done with it. For a worker that was stopped or lost that
            /// is when it has closed what it used, which may be after it was destroyed here. `done`
            /// is told `NOT_FOUND` for a number that is not shared with the worker. Anything else
            /// but `SUCCESS` means that nobody knows: the memory stays.
            fn urom_worker_unshare_memory(
                worker: *mut Worker,
                memory: u64,
                done: Option<MemoryCallback>,
                data: *mut c_void,
            ) -> DocaError;
            /// As `doca_pe_progress`, but it looks several times before it finds that nothing has
            /// come, which takes some 100 ns; and the commands that are ready behind what it
            /// delivers complete as well, up to 64 in a call and in the order of their answers. How
            /// much it delivered.
            fn urom_pe_progress_many(pe: *mut Pe) -> u32;
            /// Makes the notification handle readable within so many nanoseconds, if a notification
            /// is requested by then. Of several times the first counts; ask again after it.
            fn urom_pe_wake_within(pe: *mut Pe, nanoseconds: u64) -> DocaError;
        }
    };
}
