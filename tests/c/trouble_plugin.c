/*
 * A plugin that misbehaves on request, or always if one of these macros is defined:
 *
 *   OPEN_CRASHES, CLOSE_CRASHES
 *   OPEN_FAILS    with its state left in the context
 *   ADDR_FAILS, ADDR_GROWS (its second length is longer), ADDR_HUGE
 */
#include "plugin.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <time.h>

#include "trouble.h"

#define SEEKERS 2

struct state {
	ucs_list_link_t ready;
	struct urom_worker_ctx *ctx;
	uint64_t slow;
	pthread_t seekers[SEEKERS];
	atomic_bool seeking;
	uint64_t member;
	_Atomic uint64_t found, missed, other;
};

static void crash(void)
{
	/* Volatile: the compiler may otherwise drop this access. */
	*(volatile int *)8 = 1;
}

static doca_error_t trouble_open(struct urom_worker_ctx *ctx)
{
	struct state *state = calloc(1, sizeof(*state));

#ifdef OPEN_CRASHES
	crash();
#endif
	if (state == NULL)
		return DOCA_ERROR_NO_MEMORY;
	ucs_list_head_init(&state->ready);
	state->ctx = ctx;
	ctx->plugin_ctx = state;
#ifdef OPEN_FAILS
	/* Leaves a dangling pointer in the context. */
	free(state);
	return DOCA_ERROR_DRIVER;
#endif
	return DOCA_SUCCESS;
}

static void stop_seeking(struct state *state)
{
	int at;

	if (!atomic_exchange(&state->seeking, false))
		return;
	for (at = 0; at < SEEKERS; ++at)
		pthread_join(state->seekers[at], NULL);
}

static void trouble_close(struct urom_worker_ctx *ctx)
{
	struct state *state = ctx->plugin_ctx;

#ifdef CLOSE_CRASHES
	crash();
#endif
	stop_seeking(state);
	free_answers(&state->ready);
	free(state);
	ctx->plugin_ctx = NULL;
}

static doca_error_t trouble_addr(struct urom_worker_ctx *ctx, void *addr, size_t *addr_len)
{
	static const char address[] = "here I am";
	size_t capacity = *addr_len;

	(void)ctx;
	*addr_len = sizeof(address);
#if defined(ADDR_FAILS)
	return DOCA_ERROR_INITIALIZATION;
#elif defined(ADDR_HUGE)
	*addr_len = SIZE_MAX / 2;
#elif defined(ADDR_GROWS)
	*addr_len = capacity + 1000;
#endif
	if (capacity < sizeof(address))
		return DOCA_ERROR_INVALID_VALUE;
	memcpy(addr, address, sizeof(address));
	return DOCA_SUCCESS;
}

static void *seek(void *argument)
{
	struct state *state = argument;

	while (atomic_load(&state->seeking)) {
		void *address;
		doca_error_t code =
			doca_urom_worker_domain_addr_lookup(state->ctx, state->member, &address);

		if (code == DOCA_SUCCESS && strcmp(address, "here I am") == 0)
			++state->found;
		else if (code == DOCA_ERROR_NOT_FOUND)
			++state->missed;
		else
			++state->other;
		/* These busy threads would otherwise starve the worker. */
		sched_yield();
	}
	return NULL;
}

static void queue(struct state *state, struct urom_worker_notif_desc *answer)
{
	ucs_list_add_tail(&state->ready, &answer->entry);
}

/* Answers a command with its own bytes; `note` marks later trouble in the answer. */
static struct urom_worker_notif_desc *echo(const struct urom_worker_cmd_desc *command,
					   uint32_t note)
{
	struct urom_worker_notif_desc *answer = answer_to(command, command->worker_cmd.len);

	if (answer == NULL)
		abort();
	memcpy(answer->worker_notif.plugin_notif, command->worker_cmd.plugin_cmd,
	       command->worker_cmd.len);
	answer->worker_notif.reserved = note;
	return answer;
}

static doca_error_t run(struct state *state, const struct urom_worker_cmd_desc *command)
{
	struct urom_worker_notif_desc *answer;
	uint64_t words[2] = {0, 0};
	int at;

	if (command->worker_cmd.len >= sizeof(words))
		memcpy(words, command->worker_cmd.plugin_cmd, sizeof(words));
	answer = echo(command, (uint32_t)words[0]);
	switch (words[0]) {
	case TROUBLE_NEVER:
		free(answer);
		return DOCA_SUCCESS;
	case TROUBLE_FAIL_SILENTLY:
		free(answer);
		return DOCA_ERROR_DRIVER;
	case TROUBLE_CRASH:
		crash();
		break;
	case TROUBLE_TWICE:
		queue(state, echo(command, 0));
		break;
	case TROUBLE_CONTEXT:
		answer->worker_notif.urom_context += UINT64_C(1) << 32;
		queue(state, answer);
		answer = echo(command, 0);
		answer->worker_notif.urom_context = UINT64_MAX;
		queue(state, answer);
		answer = echo(command, 0);
		break;
	case TROUBLE_DEST:
		answer->dest_id ^= 1;
		queue(state, answer);
		answer = echo(command, 0);
		answer->dest_id = UINT64_MAX;
		queue(state, answer);
		answer = echo(command, 0);
		break;
	case TROUBLE_TYPE:
		answer->worker_notif.type <<= 1;
		break;
	case TROUBLE_FAIL:
		answer->worker_notif.status = DOCA_ERROR_DRIVER;
		queue(state, answer);
		return DOCA_ERROR_DRIVER;
	case TROUBLE_BIG:
		free(answer);
		answer = answer_to(command, words[1]);
		break;
	case TROUBLE_SLOW:
		state->slow = words[1];
		break;
	case TROUBLE_SEEK:
		stop_seeking(state);
		state->member = words[1];
		atomic_store(&state->seeking, true);
		for (at = 0; at < SEEKERS; ++at)
			if (pthread_create(&state->seekers[at], NULL, seek, state) != 0)
				abort();
		while (atomic_load(&state->missed) == 0)
			sched_yield();
		break;
	case TROUBLE_SEEK_FOUND:
		while (atomic_load(&state->found) == 0)
			sched_yield();
		break;
	case TROUBLE_SEEK_END: {
		stop_seeking(state);
		const struct sought sought = {state->found, state->missed, state->other};

		free(answer);
		answer = answer_to(command, sizeof(sought));
		memcpy(answer->worker_notif.plugin_notif, &sought, sizeof(sought));
		break;
	}
	default:
		break;
	}
	queue(state, answer);
	return DOCA_SUCCESS;
}

static doca_error_t trouble_worker_cmd(struct urom_worker_ctx *ctx, ucs_list_link_t *cmd_list)
{
	while (!ucs_list_is_empty(cmd_list)) {
		struct urom_worker_cmd_desc *command = first_command(cmd_list);
		doca_error_t result;

		if (command->worker_cmd.len >= 1 &&
		    command->worker_cmd.plugin_cmd[0] == TROUBLE_LEAVE)
			return DOCA_ERROR_DRIVER;
		ucs_list_del(&command->entry);
		result = run(ctx->plugin_ctx, command);
		free(command);
		if (result != DOCA_SUCCESS)
			return result;
	}
	return DOCA_SUCCESS;
}

/* Spins for 200 ms, like a plugin that waits inside progress. */
static void dawdle(void)
{
	struct timespec begin, now;

	clock_gettime(CLOCK_MONOTONIC, &begin);
	do
		clock_gettime(CLOCK_MONOTONIC, &now);
	while ((now.tv_sec - begin.tv_sec) * 1000 + (now.tv_nsec - begin.tv_nsec) / 1000000 < 200);
}

static doca_error_t trouble_progress(struct urom_worker_ctx *ctx, ucs_list_link_t *notif_list)
{
	struct state *state = ctx->plugin_ctx;
	ucs_list_link_t *entry;

	if (state->slow > 0) {
		--state->slow;
		dawdle();
	}
	for (entry = state->ready.next; entry != &state->ready; entry = entry->next)
		if (((struct urom_worker_notif_desc *)entry)->worker_notif.reserved ==
		    TROUBLE_CRASH_PROGRESS)
			crash();
	return hand_over(&state->ready, notif_list);
}

static doca_error_t trouble_pack(struct urom_worker_notify *answer, size_t *packed_len,
				 void *packed)
{
	size_t capacity = *packed_len;
	doca_error_t result;

	if (answer->reserved == TROUBLE_PACK_FAILS)
		return DOCA_ERROR_DRIVER;
	if (answer->reserved == TROUBLE_CRASH_PACK)
		crash();
	result = pack_answer(answer, packed_len, packed);
	if (answer->reserved == TROUBLE_PACK_LITTLE)
		*packed_len = sizeof(*answer) - 1;
	else if (answer->reserved == TROUBLE_PACK_MORE)
		*packed_len += 100;
	else if (answer->reserved == TROUBLE_PACK_HUGE)
		*packed_len = capacity + 1;
	return result;
}

EXPORT_PLUGIN(trouble, 1, trouble_pack)
