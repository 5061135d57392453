/*
 * Domains for C hosts whose participants share one thread: each has one worker, and they exchange
 * data through memory.
 */
#ifndef TESTS_DOMAIN_H
#define TESTS_DOMAIN_H

#include "host.h"

#define MOST_PARTICIPANTS 8

struct gather;

struct participant {
	struct gather *gather;
	uint32_t index;
	const void *mine;
	void *all;
	size_t length;
	bool done;
	unsigned int requests, freed;
};

struct gather {
	struct participant participants[MOST_PARTICIPANTS];
	uint32_t count, arrived;
};

static inline void open_gather(struct gather *gather, uint32_t count)
{
	memset(gather, 0, sizeof(*gather));
	INSIST(count <= MOST_PARTICIPANTS);
	gather->count = count;
	for (uint32_t index = 0; index < count; index++) {
		gather->participants[index].gather = gather;
		gather->participants[index].index = index;
	}
}

static inline doca_error_t gather_begin(void *mine, void *all, size_t length, void *info,
					void **request)
{
	struct participant *own = info;
	struct gather *gather = own->gather;

	own->mine = mine;
	own->all = all;
	own->length = length;
	own->done = false;
	own->requests++;
	*request = own;
	if (++gather->arrived < gather->count)
		return DOCA_SUCCESS;
	/* The last participant copies for all: the buffers stay valid until the others see
	 * `done`. */
	gather->arrived = 0;
	for (uint32_t to = 0; to < gather->count; to++) {
		struct participant *receiver = &gather->participants[to];

		for (uint32_t from = 0; from < gather->count; from++) {
			INSIST(gather->participants[from].length == length);
			memcpy((char *)receiver->all + from * length,
			       gather->participants[from].mine, length);
		}
		receiver->done = true;
	}
	return DOCA_SUCCESS;
}

static inline doca_error_t gather_test(void *request)
{
	const struct participant *own = request;

	return own->done ? DOCA_SUCCESS : DOCA_ERROR_IN_PROGRESS;
}

static inline doca_error_t gather_free(void *request)
{
	struct participant *own = request;

	own->freed++;
	return DOCA_SUCCESS;
}

static inline void close_gather(const struct gather *gather)
{
	for (uint32_t index = 0; index < gather->count; index++)
		INSIST(gather->participants[index].freed == gather->participants[index].requests);
}

/* Begins to start a domain with one worker, whose id is the participant's index. */
static inline struct doca_urom_domain *begin_domain(struct doca_pe *pe, struct gather *gather,
						    uint32_t index, struct doca_urom_worker *worker)
{
	struct doca_urom_domain_oob_coll oob = {
		.allgather = gather_begin,
		.req_test = gather_test,
		.req_free = gather_free,
		.coll_info = &gather->participants[index],
		.n_oob_indexes = gather->count,
		.oob_index = index,
	};
	uint64_t id = index;
	struct doca_urom_domain *domain;
	struct doca_ctx *ctx;

	MUST(doca_urom_domain_create(&domain));
	ctx = doca_urom_domain_as_ctx(domain);
	MUST(doca_pe_connect_ctx(pe, ctx));
	MUST(doca_urom_domain_set_oob(domain, &oob));
	MUST(doca_urom_domain_set_workers(domain, &id, &worker, 1));
	EXPECT(DOCA_ERROR_IN_PROGRESS, doca_ctx_start(ctx));
	INSIST(state_of(ctx) == DOCA_CTX_STATE_STARTING);
	return domain;
}

static inline void end_domain(struct doca_urom_domain *domain)
{
	struct doca_ctx *ctx = doca_urom_domain_as_ctx(domain);

	/* This stop is synchronous, unlike a worker's. */
	MUST(doca_ctx_stop(ctx));
	INSIST(state_of(ctx) == DOCA_CTX_STATE_IDLE);
	MUST(doca_urom_domain_destroy(domain));
}

#endif /* TESTS_DOMAIN_H */
