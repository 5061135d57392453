/*
 * A gate between a host and its worker, a thread of the same process: the host gives the worker a
 * number of turns, and the worker waits after the last. So each side begins after the other's work,
 * and callgrind does not count waiting.
 *
 * callgrind switches the collection for each thread. A dump contains the instructions of all
 * threads since the previous dump.
 */
#ifndef BENCH_GATE_H
#define BENCH_GATE_H

#include <semaphore.h>
#include <stdio.h>
#if __has_include(<valgrind/callgrind.h>)
#include <valgrind/callgrind.h>
#else /* Then there is no callgrind, either. */
#define CALLGRIND_TOGGLE_COLLECT
#define CALLGRIND_DUMP_STATS_AT(name) (void)(name)
#endif

/* Turns in which a worker answers 64 commands: with fewer, the host waits for ever. A worker
 * does not fall asleep in twice as many idle turns, which would make a turn cost more. */
#define GATE_TURNS 8
/* Rounds with each number of commands in flight: a worker does some things once in 64 turns. */
#define GATE_ROUNDS 64
/* Warm-up rounds, for the growth of buffers. */
#define GATE_WARM_UP 8

struct gate {
	sem_t worker; /* wakes the worker's thread */
	sem_t host;   /* wakes the host's */
	unsigned int turns; /* the worker's, from now on; 0 ends the rounds */
};

/* Submits `count` commands, or takes `count` answers, which have all arrived. */
typedef void gate_work(void *host, unsigned int count);

static inline void gate_collect(void)
{
	CALLGRIND_TOGGLE_COLLECT;
}

static inline void gate_wait(sem_t *semaphore)
{
	while (sem_wait(semaphore) != 0)
		;
}

static inline void gate_init(struct gate *gate)
{
	sem_init(&gate->worker, 0, 0);
	sem_init(&gate->host, 0, 0);
}

static inline void gate_dump(const char *what, unsigned int count, int round)
{
	char name[32] = "warm-up";

	if (round >= 0)
		snprintf(name, sizeof(name), "%s/%u", what, count);
	CALLGRIND_DUMP_STATS_AT(name);
}

static inline void gate_turns(struct gate *gate, unsigned int turns)
{
	gate->turns = turns;
	sem_post(&gate->worker);
	if (turns != 0)
		gate_wait(&gate->host);
}

/* Runs all rounds of a host whose worker is at the gate, then releases the worker. */
static inline void gate_rounds(struct gate *gate, gate_work *submit, gate_work *take, void *host)
{
	gate_wait(&gate->host);
	for (unsigned int count = 1; count <= 64; count *= 8)
		for (int round = -GATE_WARM_UP; round < GATE_ROUNDS; round++) {
			gate_collect();
			submit(host, count);
			gate_collect();
			gate_dump("submit", count, round);
			gate_turns(gate, GATE_TURNS);
			gate_dump("worker", count, round);
			gate_collect();
			take(host, count);
			gate_collect();
			gate_dump("take", count, round);
			gate_turns(gate, GATE_TURNS);
			gate_dump("idle", count, round);
		}
	gate_turns(gate, 0);
}

#endif /* BENCH_GATE_H */
