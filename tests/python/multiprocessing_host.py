"""A host in Python that forks by multiprocessing after it has connected.

Its argument is libdoca_urom.so; the environment names the service. In the children the parent's
objects are refused with BAD_STATE, and what they connect themselves works.
"""

import ctypes
import multiprocessing
import os
import sys
import time

SUCCESS, BAD_STATE, IN_PROGRESS = 0, 18, 26
RUNNING = 2
LIMIT = 20

doca = ctypes.CDLL(sys.argv[1])
common = ctypes.CDLL(os.path.join(os.path.dirname(sys.argv[1]), "libdoca_common.so"))
Pointer = ctypes.c_void_p


def find(name):
    """A function of one of the two libraries; pointers are passed as such."""
    try:
        return getattr(doca, name)
    except AttributeError:
        return getattr(common, name)


def call(name, *arguments):
    return find(name)(*arguments)


def must(name, *arguments):
    code = call(name, *arguments)
    assert code == SUCCESS, f"{name} gives {code} in process {os.getpid()}"


def pointer_of(name, *arguments):
    function = find(name)
    function.restype = Pointer
    return Pointer(function(*arguments))


find("doca_pe_progress").restype = ctypes.c_uint8
find("urom_ctx_get_failure").restype = ctypes.c_size_t


class PluginInfo(ctypes.Structure):
    _fields_ = [("id", ctypes.c_uint64), ("version", ctypes.c_uint64), ("name", ctypes.c_char * 48)]


class Host:
    """A service, a worker with the graph plugin, and their engine."""

    def __init__(self):
        devices, count = ctypes.POINTER(Pointer)(), ctypes.c_uint32()
        must("doca_devinfo_create_list", ctypes.byref(devices), ctypes.byref(count))
        self.device, self.engine = Pointer(), Pointer()
        last = Pointer(devices[count.value - 1])
        must("doca_dev_open", last, ctypes.byref(self.device))
        must("doca_devinfo_destroy_list", devices)
        must("doca_pe_create", ctypes.byref(self.engine))
        self.service, self.worker = Pointer(), Pointer()
        must("doca_urom_service_create", ctypes.byref(self.service))
        context = pointer_of("doca_urom_service_as_ctx", self.service)
        must("doca_pe_connect_ctx", self.engine, context)
        must("doca_urom_service_set_dev", self.service, self.device)
        must("doca_ctx_start", context)
        plugins, count = ctypes.POINTER(PluginInfo)(), ctypes.c_size_t()
        must(
            "doca_urom_service_get_plugins_list",
            self.service,
            ctypes.byref(plugins),
            ctypes.byref(count),
        )
        self.plugin = ctypes.c_uint64(plugins[0].id)
        must("doca_urom_worker_create", ctypes.byref(self.worker))
        must("doca_urom_worker_set_service", self.worker, self.service)
        context = pointer_of("doca_urom_worker_as_ctx", self.worker)
        must("doca_pe_connect_ctx", self.engine, context)
        must("doca_urom_worker_set_id", self.worker, ctypes.c_uint64(2**64 - 1))
        must("doca_urom_worker_set_plugins", self.worker, self.plugin)
        must("doca_urom_worker_set_max_inflight_tasks", self.worker, ctypes.c_uint32(16))
        assert call("doca_ctx_start", context) == IN_PROGRESS
        state = ctypes.c_int(0)
        self.progress_until(
            lambda: call("doca_ctx_get_state", context, ctypes.byref(state)) or state.value == RUNNING
        )

    def progress_until(self, done):
        end = time.monotonic() + LIMIT
        while not done():
            assert time.monotonic() < end, "nothing comes"
            call("doca_pe_progress", self.engine)

    def command(self, data):
        """A loopback command that is not submitted."""
        task, buffer = Pointer(), None
        name = "doca_urom_worker_cmd_task_allocate_init"
        must(name, self.worker, self.plugin, ctypes.byref(task))
        buffer = pointer_of("doca_urom_worker_cmd_task_get_payload", task)
        address = Pointer()
        must("doca_buf_get_data", buffer, ctypes.byref(address))
        (ctypes.c_uint64 * 2).from_address(address.value)[:] = [0, data]
        must("doca_buf_set_data", buffer, address, ctypes.c_size_t(16))
        return task, pointer_of("doca_urom_worker_cmd_task_as_task", task)

    def answer(self, task, generic):
        self.progress_until(lambda: call("doca_task_get_status", generic) != IN_PROGRESS)
        must("doca_task_get_status", generic)
        buffer = pointer_of("doca_urom_worker_cmd_task_get_response", task)
        address = Pointer()
        must("doca_buf_get_data", buffer, ctypes.byref(address))
        data = (ctypes.c_uint64 * 2).from_address(address.value)[1]
        must("doca_urom_worker_cmd_task_release", task)
        return data

    def loopback(self, data):
        task, generic = self.command(data)
        must("doca_task_submit", generic)
        return self.answer(task, generic)


def refused(host, task, generic):
    """Everything of the parent's is refused at once."""
    begin = time.monotonic()
    assert call("doca_task_submit", generic) == BAD_STATE
    assert call("doca_task_get_status", generic) == BAD_STATE
    assert call("doca_urom_worker_cmd_task_release", task) == BAD_STATE
    assert call("doca_urom_worker_destroy", host.worker) == BAD_STATE
    assert call("doca_urom_service_destroy", host.service) == BAD_STATE
    assert call("doca_pe_destroy", host.engine) == BAD_STATE
    assert call("doca_dev_close", host.device) == BAD_STATE
    assert call("doca_pe_progress", host.engine) == 0
    text = ctypes.create_string_buffer(200)
    call("urom_ctx_get_failure", host.worker, text, ctypes.c_size_t(200))
    assert text.value.startswith(b"made before fork, in process %d" % os.getppid()), text.value
    assert time.monotonic() - begin < 1


def child(number, host, task, generic, results):
    refused(host, task, generic)
    own = Host()
    results.put((number, [own.loopback(number << 8 | data) for data in range(50)]))


def main():
    fork = multiprocessing.get_context("fork")
    host = Host()
    results = fork.Queue()
    ready = host.command(99)
    flight = [host.command(data) for data in range(4)]
    for _, generic in flight:
        must("doca_task_submit", generic)
    children = [
        fork.Process(target=child, args=(number, host, *ready, results)) for number in range(4)
    ]
    for process in children:
        process.start()
    assert [host.answer(*command) for command in flight] == [0, 1, 2, 3]
    for data in range(100):
        assert host.loopback(data) == data
    for _ in children:
        number, answers = results.get(timeout=LIMIT)
        assert answers == [number << 8 | data for data in range(50)], answers
    for process in children:
        process.join(LIMIT)
        assert process.exitcode == 0, process.exitcode
    assert host.loopback(7) == 7
    print("done")


main()
