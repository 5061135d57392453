//! Created and destroyed objects are freed: the heap of the thread does not grow.

#[path = "../../../urom-service/tests/plugins/compile.rs"]
mod compile;

#[allow(unreachable_pub, dead_code, reason = "shared with the other tests of the library")]
#[macro_use]
#[path = "library/support.rs"]
mod support;
#[allow(unreachable_pub, dead_code, reason = "shared with the other tests of the library")]
#[path = "library/processes.rs"]
mod processes;

use std::ptr::null_mut;

use libdoca_host::MEMORY;
use processes::embedded;
use support::{Engine, OK, TestWorker};
use urom_abi::host::{Data, Dev, DevInfo, GraphInstance, SyncEventTaskGet, Task};
use urom_wire::fuzzing::Counting;
use urom_wire::fuzzing::memory::within;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const TIMES: usize = 10_000;

/// More than one turn takes at a time, and less than 10,000 turns that leave 8 bytes each.
const LIMIT: usize = 64 << 10;

const NO_DATA: Data = Data { u64: 0 };

macro_rules! m {
    ($name:ident($($arg:expr),* $(,)?)) => {
        // SAFETY: the tests pass live objects and pointers, or null.
        unsafe { (MEMORY.$name)($($arg),*) }
    };
}

macro_rules! make {
    ($call:ident!($name:ident($($arg:expr),*))) => {{
        let mut object = null_mut();
        assert_eq!($call!($name($($arg,)* &mut object)), OK);
        object
    }};
}

fn repeat(what: &str, turn: impl Fn()) {
    turn();
    println!("{what}");
    within(LIMIT, || (0..TIMES).for_each(|_| turn()));
}

fn device_list() -> *mut *mut DevInfo {
    let (mut list, mut count) = (null_mut(), 0);
    assert_eq!(c!(doca_devinfo_create_list(&mut list, &mut count)), OK);
    list
}

fn device() -> *mut Dev {
    let list = device_list();
    // SAFETY: a list has an entry.
    let info = unsafe { *list };
    let device = make!(c!(doca_dev_open(info)));
    assert_eq!(c!(doca_devinfo_destroy_list(list)), OK);
    device
}

unsafe extern "C" fn instance_ended(_: *mut GraphInstance, _: Data, _: Data) {}

unsafe extern "C" fn node_runs(_: *mut std::ffi::c_void) -> urom_abi::DocaStatus {
    OK
}

unsafe extern "C" fn task_ended(_: *mut SyncEventTaskGet, _: Data, _: Data) {}

#[test]
fn objects_without_a_service_are_freed() {
    repeat("lists of devices", || assert_eq!(c!(doca_devinfo_destroy_list(device_list())), OK));
    repeat("devices", || assert_eq!(c!(doca_dev_close(device())), OK));
    repeat("engines", || drop(Engine::new()));
    repeat("services", || {
        let service = make!(c!(doca_urom_service_create()));
        assert_eq!(c!(doca_urom_service_destroy(service)), OK);
    });
    repeat("workers", || {
        let worker = make!(c!(doca_urom_worker_create()));
        assert_eq!(c!(doca_urom_worker_destroy(worker)), OK);
    });
    repeat("domains", || {
        let domain = make!(c!(doca_urom_domain_create()));
        assert_eq!(c!(doca_urom_domain_destroy(domain)), OK);
    });
    let dev = device();
    repeat("hints about memory", || {
        let advise = make!(m!(doca_mmap_advise_create(dev)));
        assert_eq!(m!(doca_mmap_advise_destroy(advise)), OK);
    });
    assert_eq!(c!(doca_dev_close(dev)), OK);
}

#[test]
fn memory_is_freed() {
    let mut bytes = [0_u64; 8];
    let start: *mut std::ffi::c_void = bytes.as_mut_ptr().cast();
    repeat("maps, inventories, pools and buffers", || {
        let map = make!(m!(doca_mmap_create()));
        assert_eq!(m!(doca_mmap_set_memrange(map, start, 64)), OK);
        assert_eq!(m!(doca_mmap_start(map)), OK);
        let inventory = make!(m!(doca_buf_inventory_create(2)));
        assert_eq!(m!(doca_buf_inventory_start(inventory)), OK);
        let pool = make!(m!(doca_buf_pool_create(1, 8, map)));
        assert_eq!(m!(doca_buf_pool_start(pool)), OK);
        let of_pool = make!(m!(doca_buf_pool_buf_alloc(pool)));
        let buf =
            make!(m!(doca_buf_inventory_buf_get_by_args(inventory, map, start, 64, start, 8)));
        for buf in [buf, of_pool] {
            assert_eq!(m!(doca_buf_dec_refcount(buf, null_mut())), OK);
        }
        assert_eq!(m!(doca_buf_pool_destroy(pool)), OK);
        assert_eq!(m!(doca_buf_inventory_destroy(inventory)), OK);
        assert_eq!(m!(doca_mmap_destroy(map)), OK);
    });
}

#[test]
fn sync_events_and_graphs_are_freed() {
    let (engine, dev) = (Engine::new(), device());
    repeat("sync events with a task", || {
        let event = make!(m!(doca_sync_event_create()));
        assert_eq!(m!(doca_sync_event_add_publisher_location_remote_pci(event)), OK);
        assert_eq!(m!(doca_sync_event_add_subscriber_location_cpu(event, dev)), OK);
        let (done, failed) = (Some(task_ended as _), Some(task_ended as _));
        assert_eq!(m!(doca_sync_event_task_get_set_conf(event, done, failed, 1)), OK);
        let ctx = m!(doca_sync_event_as_ctx(event));
        assert_eq!(c!(doca_pe_connect_ctx(engine.0, ctx)), OK);
        assert_eq!(c!(doca_ctx_start(ctx)), OK);
        let mut value = 0;
        let get = make!(m!(doca_sync_event_task_get_alloc_init(event, &mut value, NO_DATA)));
        let task: *mut Task = m!(doca_sync_event_task_get_as_doca_task(get));
        assert_eq!(c!(doca_task_submit(task)), OK);
        assert_eq!(engine.next(), 1);
        // SAFETY: a task of the test.
        assert_eq!(unsafe { libdoca_host::task_release(task) }, OK);
        assert_eq!(c!(doca_ctx_stop(ctx)), OK);
        assert_eq!(m!(doca_sync_event_destroy(event)), OK);
    });
    let service = make!(c!(doca_urom_service_create()));
    let ctx = c!(doca_urom_service_as_ctx(service));
    assert_eq!(c!(doca_pe_connect_ctx(engine.0, ctx)), OK);
    repeat("graphs with nodes and an instance", || {
        let graph = make!(m!(doca_graph_create(engine.0)));
        let ended = Some(instance_ended as _);
        assert_eq!(m!(doca_graph_set_conf(graph, ended, ended, 1)), OK);
        make!(m!(doca_graph_node_create_from_user(graph, Some(node_runs))));
        make!(m!(doca_graph_node_create_from_ctx(graph, ctx)));
        assert_eq!(m!(doca_graph_start(graph)), OK);
        let instance = make!(m!(doca_graph_instance_create(graph)));
        assert_eq!(m!(doca_graph_instance_destroy(instance)), OK);
        assert_eq!(m!(doca_graph_stop(graph)), OK);
        assert_eq!(m!(doca_graph_destroy(graph)), OK);
    });
    assert_eq!(c!(doca_urom_service_destroy(service)), OK);
    assert_eq!(c!(doca_dev_close(dev)), OK);
}

#[test]
fn commands_queries_and_runs_of_workers_are_freed() {
    let (_plugins, engine, service) = embedded();
    repeat("queries", || {
        let query = make!(c!(doca_urom_service_get_workers_by_gid_task_allocate(service.raw)));
        assert_eq!(c!(doca_urom_service_get_workers_by_gid_task_release(query)), OK);
    });
    let run = || {
        let worker = TestWorker::start(service.raw, &engine, 1, 64);
        let task = || make!(c!(doca_urom_worker_cmd_task_allocate_init(worker.raw, 1)));
        for task in [(); 64].map(|()| task()) {
            assert_eq!(c!(doca_urom_worker_cmd_task_release(task)), OK);
        }
        worker.end(&engine);
    };
    run();
    // A run has 256 KiB of tasks. A few KiB count although the control thread frees them.
    within(200 * (16 << 10), || (0..200).for_each(|_| run()));
}
