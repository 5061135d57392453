/*
 * Sync events without a service: every function, waiting threads, and two processes that share
 * events. Environment: UROM_DEVICE=virtual0. The second process is this program with two exported
 * events in hexadecimal as arguments.
 */
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include "every_sync_event.h"

#define TURNS 50

typedef doca_error_t wait_function(struct doca_sync_event *event, uint64_t value, uint64_t mask);

struct waiting {
	struct doca_sync_event *event;
	wait_function *wait;
	uint64_t value, mask;
	pthread_t thread;
};

static void *waits(void *argument)
{
	struct waiting *waiting = argument;

	MUST(waiting->wait(waiting->event, waiting->value, waiting->mask));
	return NULL;
}

/* Each kind of wait, ended by each kind of change in another thread. */
static void waits_of_threads(struct doca_dev *dev)
{
	static struct {
		wait_function *wait;
		uint64_t value, mask;
	} kinds[] = {
		{doca_sync_event_wait_gt, 9, EVERY_BIT},  {doca_sync_event_wait_gt_yield, 9, EVERY_BIT},
		{doca_sync_event_wait_eq, 2, 0xf},        {doca_sync_event_wait_eq_yield, 2, 0xf},
		{doca_sync_event_wait_neq, 8, EVERY_BIT}, {doca_sync_event_wait_neq_yield, 8, EVERY_BIT},
	};
	static uint64_t counter;
	struct doca_sync_event *event = own_event(dev);
	struct waiting waiting[6];
	uint64_t before;
	size_t i;
	int change;

	MUST(doca_sync_event_set_addr(event, &counter));
	for (change = 0; change < 3; change++) {
		counter = 8;
		MUST(doca_sync_event_start(event));
		for (i = 0; i < 6; i++) {
			waiting[i].event = event;
			waiting[i].wait = kinds[i].wait;
			waiting[i].value = kinds[i].value;
			waiting[i].mask = kinds[i].mask;
			INSIST(pthread_create(&waiting[i].thread, NULL, waits, &waiting[i]) == 0);
		}
		if (change == 0)
			MUST(doca_sync_event_update_set(event, 18));
		else if (change == 1)
			MUST(doca_sync_event_update_add(event, 10, &before));
		else /* none of the library's */
			__atomic_store_n(&counter, 18, __ATOMIC_RELEASE);
		for (i = 0; i < 6; i++)
			INSIST(pthread_join(waiting[i].thread, NULL) == 0);
		MUST(doca_sync_event_stop(event));
	}
	MUST(doca_sync_event_destroy(event));
}

static void hex_of(const uint8_t *bytes, size_t len, char *hex)
{
	size_t i;

	for (i = 0; i < len; i++)
		sprintf(hex + 2 * i, "%02x", bytes[i]);
}

static struct doca_sync_event *event_of(const char *hex, struct doca_dev *dev)
{
	struct doca_sync_event *event;
	uint8_t bytes[64];
	unsigned int byte;
	size_t i;

	for (i = 0; i < sizeof(bytes); i++) {
		INSIST(sscanf(hex + 2 * i, "%2x", &byte) == 1);
		bytes[i] = (uint8_t)byte;
	}
	MUST(doca_sync_event_create_from_export(dev, bytes, sizeof(bytes), &event));
	MUST(doca_sync_event_start(event));
	return event;
}

static int other_process(char **arguments, struct doca_dev *dev)
{
	struct doca_sync_event *asks = event_of(arguments[1], dev);
	struct doca_sync_event *answers = event_of(arguments[2], dev);
	uint64_t turn, before;

	for (turn = 0; turn < TURNS; turn++) {
		if (turn % 2)
			MUST(doca_sync_event_wait_gt(asks, turn, EVERY_BIT));
		else
			MUST(doca_sync_event_wait_gt_yield(asks, turn, EVERY_BIT));
		MUST(doca_sync_event_update_add(answers, 1, &before));
		INSIST(before == turn);
	}
	EXPECT(NOT_PERMITTED, doca_sync_event_update_set(asks, 0));
	EXPECT(NOT_PERMITTED, doca_sync_event_get(answers, &before));
	MUST(doca_sync_event_stop(asks));
	MUST(doca_sync_event_destroy(asks));
	MUST(doca_sync_event_stop(answers));
	MUST(doca_sync_event_destroy(answers));
	MUST(doca_dev_close(dev));
	return 0;
}

/* Under valgrind, /proc/self/exe is valgrind. */
static void two_processes(struct doca_dev *dev, const char *program)
{
	struct doca_sync_event *asks, *answers;
	char of_asks[129], of_answers[129];
	const uint8_t *bytes;
	uint64_t turn;
	size_t len;
	int status;
	pid_t other;

	MUST(doca_sync_event_create(&asks));
	MUST(doca_sync_event_add_publisher_location_cpu(asks, dev));
	MUST(doca_sync_event_add_subscriber_location_remote_pci(asks));
	MUST(doca_sync_event_start(asks));
	MUST(doca_sync_event_export_to_remote_pci(asks, dev, &bytes, &len));
	hex_of(bytes, len, of_asks);
	MUST(doca_sync_event_create(&answers));
	MUST(doca_sync_event_add_publisher_location_remote_net(answers));
	MUST(doca_sync_event_add_subscriber_location_cpu(answers, dev));
	MUST(doca_sync_event_start(answers));
	MUST(doca_sync_event_export_to_remote_net(answers, &bytes, &len));
	hex_of(bytes, len, of_answers);

	other = fork();
	INSIST(other >= 0);
	if (other == 0) {
		execl(program, "sync_event_calls", of_asks, of_answers, (char *)NULL);
		_exit(127);
	}
	for (turn = 0; turn < TURNS; turn++) {
		MUST(doca_sync_event_update_set(asks, turn + 1));
		MUST(doca_sync_event_wait_eq(answers, turn + 1, EVERY_BIT));
	}
	INSIST(waitpid(other, &status, 0) == other);
	IS(0, status);
	end_event(asks);
	end_event(answers);
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
	if (argc == 3)
		return other_process(argv, dev);
	/* The second round reuses memory of the first. */
	for (round = 0; round < 2; round++)
		every_sync_event_call(dev);
	waits_of_threads(dev);
	two_processes(dev, argv[0]);
	MUST(doca_dev_close(dev));
	puts("done");
	return conclusion();
}
