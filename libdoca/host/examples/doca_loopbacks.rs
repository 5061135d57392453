//! What a command costs a host in instructions, call by call: loopbacks of the graph plugin through
//! the table of DOCA's functions, in a shape that callgrind can count.
//!
//! ```text
//! UROM_PLUGIN_PATH=DIRECTORY uromd &
//! valgrind --tool=callgrind --toggle-collect='*::measured' doca_loopbacks ADDRESS IN-FLIGHT COUNT
//! ```
//!
//! Only what `measured` calls is counted: setting up is not, and in the pauses for the worker to
//! answer nothing happens. So the figures of two runs differ by how often progress found nothing,
//! which is printed, and by how the worker put its answers together. With 0 in flight COUNT calls
//! of progress that find nothing are all that is measured. The difference between a run of N and
//! one of 2 N is what N cost. `callgrind_annotate --inclusive=yes` names the calls.

use std::cell::Cell;
use std::ffi::{CString, c_void};
use std::ptr::null_mut;
use std::time::Duration;

use libdoca_host::api;
use urom_abi::DocaError;
use urom_abi::host::{CmdTask, CtxState, Data, Pe, Worker};

/// How long the worker has for its answers. Under valgrind the host is slow and the worker, a
/// process of its own, is not.
const PAUSE: Duration = Duration::from_millis(30);

/// A loopback command of the graph plugin: its type, and the data that comes back.
type Loopback = [u64; 2];

thread_local! {
    static COMPLETED: Cell<u64> = const { Cell::new(0) };
    static IDLE: Cell<u64> = const { Cell::new(0) };
}

/// Calls a function of the table.
macro_rules! c {
    ($name:ident($($arg:expr),* $(,)?)) => {{
        let function = api().$name;
        // SAFETY: this program gives live objects and places.
        unsafe { function($($arg),*) }
    }};
}

fn ok(code: DocaError) {
    assert_eq!(code, DocaError::SUCCESS);
}

unsafe extern "C" fn on_complete(task: *mut CmdTask, sent: Data, _: Data) {
    let as_task = c!(doca_urom_worker_cmd_task_as_task(task));
    ok(c!(doca_task_get_status(as_task)));
    let response = c!(doca_urom_worker_cmd_task_get_response(task));
    let (mut data, mut len) = (null_mut(), 0);
    ok(c!(doca_buf_get_data(response, &mut data)));
    ok(c!(doca_buf_get_data_len(response, &mut len)));
    assert_eq!(len, size_of::<Loopback>());
    // SAFETY: the response has that many bytes.
    let [_, got] = unsafe { data.cast::<Loopback>().read_unaligned() };
    // SAFETY: `submit` set the number.
    assert_eq!(got, unsafe { sent.u64 });
    ok(c!(doca_urom_worker_cmd_task_release(task)));
    COMPLETED.set(COMPLETED.get() + 1);
}

fn submit(worker: *mut Worker, plugin: u64, value: u64) {
    let mut task = null_mut();
    ok(c!(doca_urom_worker_cmd_task_allocate_init(worker, plugin, &mut task)));
    let payload = c!(doca_urom_worker_cmd_task_get_payload(task));
    let mut data = null_mut::<c_void>();
    ok(c!(doca_buf_get_data(payload, &mut data)));
    // SAFETY: the payload has room for thousands of bytes.
    unsafe { data.cast::<Loopback>().write_unaligned([0, value]) };
    ok(c!(doca_buf_set_data(payload, data, size_of::<Loopback>())));
    c!(doca_urom_worker_cmd_task_set_cb(task, Some(on_complete)));
    let task = c!(doca_urom_worker_cmd_task_as_task(task));
    c!(doca_task_set_user_data(task, Data { u64: value }));
    ok(c!(doca_task_submit(task)));
}

/// What is counted: so many commands, then progress until all are answered and it found nothing so
/// often.
#[inline(never)]
fn measured(
    pe: *mut Pe,
    worker: *mut Worker,
    plugin: u64,
    values: std::ops::Range<u64>,
    idle: u64,
) {
    let (goal, mut quiet) = (values.end, 0);
    if !values.is_empty() {
        for value in values {
            submit(worker, plugin, value);
        }
        // Sends what waits for company.
        quiet += u64::from(c!(doca_pe_progress(pe)) == 0);
        std::thread::sleep(PAUSE);
    }
    while COMPLETED.get() < goal || quiet < idle {
        quiet += u64::from(c!(doca_pe_progress(pe)) == 0);
    }
    IDLE.set(IDLE.get() + quiet);
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [address, in_flight, count] = &arguments[..] else {
        eprintln!("usage: doca_loopbacks ADDRESS IN-FLIGHT COUNT");
        std::process::exit(2);
    };
    let in_flight: u32 = in_flight.parse().expect("IN-FLIGHT is a number");
    let count: u64 = count.parse().expect("COUNT is a number");
    let address = CString::new(address.as_str()).expect("an argument has no NUL");
    let extensions = api().extensions.expect("the built-in library has its extensions");

    let (mut pe, mut service, mut worker) = (null_mut(), null_mut(), null_mut());
    ok(c!(doca_pe_create(&mut pe)));
    ok(c!(doca_urom_service_create(&mut service)));
    // SAFETY: a live service and C strings.
    ok(unsafe {
        (extensions.urom_service_set_address)(service, address.as_ptr(), c"ADDRESS".as_ptr())
    });
    let ctx = c!(doca_urom_service_as_ctx(service));
    ok(c!(doca_pe_connect_ctx(pe, ctx)));
    ok(c!(doca_ctx_start(ctx)));
    let (mut plugins, mut listed) = (std::ptr::null(), 0);
    ok(c!(doca_urom_service_get_plugins_list(service, &mut plugins, &mut listed)));
    // SAFETY: the library's list.
    let plugins = unsafe { std::slice::from_raw_parts(plugins, listed) };
    let graph = plugins.iter().find(|plugin| plugin.name() == Some("worker_graph"));
    let graph = graph.expect("the service has the graph plugin").id;

    ok(c!(doca_urom_worker_create(&mut worker)));
    let worker_ctx = c!(doca_urom_worker_as_ctx(worker));
    ok(c!(doca_urom_worker_set_service(worker, service)));
    ok(c!(doca_pe_connect_ctx(pe, worker_ctx)));
    ok(c!(doca_urom_worker_set_id(worker, urom_abi::WORKER_ID_ANY)));
    ok(c!(doca_urom_worker_set_max_inflight_tasks(worker, in_flight.max(1))));
    ok(c!(doca_urom_worker_set_plugins(worker, graph)));
    assert_eq!(c!(doca_ctx_start(worker_ctx)), DocaError::IN_PROGRESS);
    let mut state = CtxState::STARTING;
    while state == CtxState::STARTING {
        c!(doca_pe_progress(pe));
        ok(c!(doca_ctx_get_state(worker_ctx, &mut state)));
    }
    assert_eq!(state, CtxState::RUNNING);

    let mut sent = 0;
    while in_flight != 0 && sent < count {
        let next = count.min(sent + u64::from(in_flight));
        measured(pe, worker, graph, sent..next, 0);
        sent = next;
    }
    if in_flight == 0 {
        measured(pe, worker, graph, 0..0, count);
    }
    println!("{sent} loopbacks, every value checked; progress found nothing {} times", IDLE.get());

    assert_eq!(c!(doca_ctx_stop(worker_ctx)), DocaError::IN_PROGRESS);
    while state != CtxState::IDLE {
        c!(doca_pe_progress(pe));
        ok(c!(doca_ctx_get_state(worker_ctx, &mut state)));
    }
    ok(c!(doca_urom_worker_destroy(worker)));
    ok(c!(doca_ctx_stop(ctx)));
    ok(c!(doca_urom_service_destroy(service)));
    ok(c!(doca_pe_destroy(pe)));
}
