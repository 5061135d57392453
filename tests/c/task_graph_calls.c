/*
 * Sync event tasks and graphs without a service: every function, a typical graph, and programs that
 * sleep until a counter changes. Environment: UROM_DEVICE=virtual0. The second process is this
 * program with an exported event in hexadecimal as argument.
 */
#include <poll.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include "every_graph.h"

#define INSTANCES 4
#define TURNS 20

/*
 * ---- A typical graph ----
 *
 * A node adds to the event `asks`, a user node answers by another event, a node waits for the
 * answer, and a user node compares it. Several instances run at once, repeatedly.
 */

struct round {
	struct doca_sync_event *asks, *answers;
	uint64_t asked, turn;
	unsigned int compared;
};

static unsigned int left, finished;

static doca_error_t answer(void *cookie)
{
	struct round *round = cookie;

	return doca_sync_event_update_set(round->answers, round->asked + 1);
}

static doca_error_t compare_round(void *cookie)
{
	struct round *round = cookie;

	round->compared++;
	return round->asked == round->turn ? DOCA_SUCCESS : DOCA_ERROR_UNEXPECTED;
}

static void round_over(struct doca_graph_instance *instance, union doca_data of_instance,
		       union doca_data of_graph)
{
	struct round *round = of_instance.ptr;

	INSIST(of_graph.u64 == 99);
	++finished;
	round->turn++;
	if (left > 0) {
		--left;
		MUST(doca_graph_instance_submit(instance));
	}
}

static void round_failed(struct doca_graph_instance *instance, union doca_data of_instance,
			 union doca_data of_graph)
{
	(void)instance, (void)of_instance, (void)of_graph;
	INSIST(!"a round fails");
}

static void sleep_on(struct doca_pe *pe)
{
	struct pollfd bell = {.events = POLLIN};

	MUST(doca_pe_get_notification_handle(pe, &bell.fd));
	MUST(doca_pe_request_notification(pe));
	INSIST(poll(&bell, 1, 60000) == 1);
	MUST(doca_pe_clear_notification(pe, bell.fd));
}

static void rounds(struct doca_dev *dev)
{
	struct doca_graph_node *ask, *reply, *wait, *check;
	struct doca_sync_event_task_notify_add *add[INSTANCES];
	struct doca_sync_event_task_wait_neq *neq[INSTANCES];
	struct doca_graph_instance *instances[INSTANCES];
	struct doca_sync_event *asks[INSTANCES], *answers[INSTANCES];
	struct round all[INSTANCES] = {0};
	struct doca_graph *graphs[INSTANCES];
	union doca_data data = {.u64 = 99};
	struct doca_pe *pe;
	int at;

	MUST(doca_pe_create(&pe));
	left = INSTANCES * (TURNS - 1);
	for (at = 0; at < INSTANCES; at++) {
		struct round *round = &all[at];

		round->asks = asks[at] = event_with_tasks(dev, pe);
		round->answers = answers[at] = event_with_tasks(dev, pe);
		MUST(doca_graph_create(pe, &graphs[at]));
		MUST(doca_graph_set_conf(graphs[at], round_over, round_failed, 1));
		MUST(doca_graph_set_user_data(graphs[at], data));
		MUST(doca_graph_node_create_from_ctx(graphs[at], doca_sync_event_as_ctx(asks[at]),
						     &ask));
		MUST(doca_graph_node_create_from_user(graphs[at], answer, &reply));
		MUST(doca_graph_node_create_from_ctx(graphs[at],
						     doca_sync_event_as_ctx(answers[at]), &wait));
		MUST(doca_graph_node_create_from_user(graphs[at], compare_round, &check));
		MUST(doca_graph_add_dependency(graphs[at], ask, reply));
		MUST(doca_graph_add_dependency(graphs[at], wait, check));
		MUST(doca_graph_add_dependency(graphs[at], ask, check));
		MUST(doca_graph_start(graphs[at]));
		MUST(doca_sync_event_task_notify_add_alloc_init(asks[at], 1, &round->asked, data,
								&add[at]));
		MUST(doca_sync_event_task_wait_neq_alloc_init(answers[at], 0, EVERY_BIT, data,
							      &neq[at]));
		MUST(doca_graph_instance_create(graphs[at], &instances[at]));
		MUST(doca_graph_instance_set_ctx_node_data(
			instances[at], ask, doca_sync_event_task_notify_add_as_doca_task(add[at])));
		MUST(doca_graph_instance_set_user_node_data(instances[at], reply, round));
		MUST(doca_graph_instance_set_ctx_node_data(
			instances[at], wait, doca_sync_event_task_wait_neq_as_doca_task(neq[at])));
		MUST(doca_graph_instance_set_user_node_data(instances[at], check, round));
		MUST(doca_graph_instance_set_user_data(instances[at],
						       (union doca_data){.ptr = round}));
		MUST(doca_graph_instance_submit(instances[at]));
	}
	while (finished < INSTANCES * TURNS) {
		sleep_on(pe);
		while (doca_pe_progress(pe))
			;
	}
	for (at = 0; at < INSTANCES; at++) {
		IS(all[at].turn, all[at].compared);
		IS(all[at].turn, counter_of(asks[at]));
		MUST(doca_graph_instance_destroy(instances[at]));
		MUST(doca_graph_stop(graphs[at]));
		MUST(doca_graph_destroy(graphs[at]));
		doca_task_free(doca_sync_event_task_notify_add_as_doca_task(add[at]));
		doca_task_free(doca_sync_event_task_wait_neq_as_doca_task(neq[at]));
		end_event(asks[at]);
		end_event(answers[at]);
	}
	MUST(doca_pe_destroy(pe));
}

/* ---- Sleeping ---- */

struct changer {
	struct doca_sync_event *event;
	uint64_t *counter; /* of a store that is none of the library's */
	int begin[2];
};

/* Changes the event when the other thread is about to sleep. */
static void *change(void *argument)
{
	struct changer *changer = argument;
	uint64_t before;
	char byte;

	while (read(changer->begin[0], &byte, 1) == 1) {
		if (changer->counter != NULL)
			__atomic_fetch_add(changer->counter, 1, __ATOMIC_RELEASE);
		else
			MUST(doca_sync_event_update_add(changer->event, 1, &before));
	}
	return NULL;
}

/* A sleeping program wakes for each awaited change and for no other. */
static void sleeps_until_a_thread_changes_it(struct doca_dev *dev, int with_a_store)
{
	static uint64_t counter;
	struct doca_sync_event_task_wait_eq *tasks[PER_KIND];
	struct doca_sync_event *event = own_event(dev);
	struct changer changer = {.event = event, .counter = with_a_store ? &counter : NULL};
	struct pollfd bell = {.events = POLLIN};
	pthread_t thread;
	struct doca_pe *pe;
	uint64_t turn;
	int at;

	counter = 0;
	MUST(doca_pe_create(&pe));
	configure_tasks(event, DOCA_SUCCESS);
	MUST(doca_pe_connect_ctx(pe, doca_sync_event_as_ctx(event)));
	MUST(doca_sync_event_set_addr(event, &counter));
	MUST(doca_sync_event_start(event));
	MUST(doca_pe_get_notification_handle(pe, &bell.fd));
	INSIST(pipe(changer.begin) == 0);
	INSIST(pthread_create(&thread, NULL, change, &changer) == 0);
	for (at = 0; at < PER_KIND; at++)
		MUST(doca_sync_event_task_wait_eq_alloc_init(event, 0, EVERY_BIT, number(3),
							     &tasks[at]));
	for (turn = 1; turn <= TURNS; turn++) {
		/* One task for this change, and one for a value that never comes. */
		doca_sync_event_task_wait_eq_set_wait_val(tasks[0], turn);
		doca_sync_event_task_wait_eq_set_wait_val(tasks[1], UINT64_MAX);
		MUST(doca_task_submit((void *)tasks[0]));
		if (turn == 1)
			MUST(doca_task_submit((void *)tasks[1]));
		IS(0, doca_pe_progress(pe));
		MUST(doca_pe_request_notification(pe));
		INSIST(poll(&bell, 1, 0) == 0);
		INSIST(write(changer.begin[1], "", 1) == 1);
		INSIST(poll(&bell, 1, 60000) == 1);
		MUST(doca_pe_clear_notification(pe, bell.fd));
		ends(pe, tasks[0], DOCA_SUCCESS, 3);
	}
	/* A change between submit and request, and a change before the submit. */
	doca_sync_event_task_wait_eq_set_wait_val(tasks[0], TURNS + 1);
	MUST(doca_task_submit((void *)tasks[0]));
	__atomic_store_n(&counter, TURNS + 1, __ATOMIC_RELEASE);
	sleep_on(pe);
	ends(pe, tasks[0], DOCA_SUCCESS, 3);
	MUST(doca_task_submit((void *)tasks[0]));
	sleep_on(pe);
	ends(pe, tasks[0], DOCA_SUCCESS, 3);
	MUST(doca_pe_request_notification(pe));
	doca_sync_event_task_wait_eq_set_wait_val(tasks[0], TURNS + 2);
	MUST(doca_task_submit((void *)tasks[0]));
	INSIST(poll(&bell, 1, 60000) == 1);
	MUST(doca_pe_clear_notification(pe, bell.fd));
	IS(0, doca_pe_progress(pe));
	IS(DOCA_ERROR_IN_PROGRESS, doca_ctx_stop(doca_sync_event_as_ctx(event)));
	sleep_on(pe);
	IS(1, doca_pe_progress(pe));
	IS(DOCA_ERROR_SHUTDOWN, seen.status);
	IS(1, doca_pe_progress(pe));
	for (at = 0; at < PER_KIND; at++)
		doca_task_free((void *)tasks[at]);
	sleep_on(pe);
	IS(1, doca_pe_progress(pe));
	close(changer.begin[1]);
	INSIST(pthread_join(thread, NULL) == 0);
	close(changer.begin[0]);
	MUST(doca_sync_event_destroy(event));
	MUST(doca_pe_destroy(pe));
}

static int other_process(const char *hex, struct doca_dev *dev)
{
	struct doca_sync_event *event;
	uint8_t bytes[64];
	unsigned int byte;
	char start;
	size_t i;

	for (i = 0; i < sizeof(bytes); i++) {
		INSIST(sscanf(hex + 2 * i, "%2x", &byte) == 1);
		bytes[i] = (uint8_t)byte;
	}
	MUST(doca_sync_event_create_from_export(dev, bytes, sizeof(bytes), &event));
	MUST(doca_sync_event_start(event));
	INSIST(read(STDIN_FILENO, &start, 1) == 1);
	MUST(doca_sync_event_update_set(event, 7));
	MUST(doca_sync_event_stop(event));
	MUST(doca_sync_event_destroy(event));
	MUST(doca_dev_close(dev));
	return 0;
}

/* Under valgrind, /proc/self/exe is valgrind. */
static void sleeps_until_a_process_changes_it(struct doca_dev *dev, const char *program)
{
	struct doca_sync_event_task_wait_eq *task;
	struct doca_sync_event *event;
	struct doca_pe *pe;
	const uint8_t *bytes;
	char hex[129];
	int begin[2], status;
	size_t i, len;
	pid_t other;

	MUST(doca_pe_create(&pe));
	MUST(doca_sync_event_create(&event));
	MUST(doca_sync_event_add_publisher_location_remote_pci(event));
	MUST(doca_sync_event_add_subscriber_location_cpu(event, dev));
	configure_tasks(event, DOCA_SUCCESS);
	MUST(doca_pe_connect_ctx(pe, doca_sync_event_as_ctx(event)));
	MUST(doca_sync_event_start(event));
	MUST(doca_sync_event_export_to_remote_pci(event, dev, &bytes, &len));
	for (i = 0; i < len; i++)
		sprintf(hex + 2 * i, "%02x", bytes[i]);
	INSIST(pipe(begin) == 0);
	other = fork();
	INSIST(other >= 0);
	if (other == 0) {
		dup2(begin[0], STDIN_FILENO);
		execl(program, "task_graph_calls", hex, (char *)NULL);
		_exit(127);
	}
	MUST(doca_sync_event_task_wait_eq_alloc_init(event, 7, EVERY_BIT, number(4), &task));
	MUST(doca_task_submit((void *)task));
	IS(0, doca_pe_progress(pe));
	INSIST(write(begin[1], "", 1) == 1);
	sleep_on(pe);
	ends(pe, task, DOCA_SUCCESS, 4);
	INSIST(waitpid(other, &status, 0) == other);
	IS(0, status);
	close(begin[0]);
	close(begin[1]);
	doca_task_free((void *)task);
	end_event(event);
	MUST(doca_pe_destroy(pe));
}

int main(int argc, char **argv)
{
	struct doca_devinfo **list;
	struct doca_dev *dev;
	uint32_t count;
	int round;

	MUST(doca_devinfo_create_list(&list, &count));
	MUST(doca_dev_open(list[count - 1], &dev));
	MUST(doca_devinfo_destroy_list(list));
	if (argc == 2)
		return other_process(argv[1], dev);
	/* The second round reuses memory of the first. */
	for (round = 0; round < 2; round++) {
		every_task_call(dev);
		every_graph_call(dev);
	}
	rounds(dev);
	sleeps_until_a_thread_changes_it(dev, 0);
	sleeps_until_a_thread_changes_it(dev, 1);
	sleeps_until_a_process_changes_it(dev, argv[0]);
	MUST(doca_dev_close(dev));
	puts("done");
	return conclusion();
}
