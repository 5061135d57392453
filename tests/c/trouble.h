/*
 * Commands of the troublesome plugin: the first 8 bytes of a command. The next 8 bytes are a
 * number.
 */
#ifndef TESTS_TROUBLE_H
#define TESTS_TROUBLE_H

#include <stdint.h>

enum trouble {
	TROUBLE_NONE,    /* answers with the command's own bytes */
	TROUBLE_NEVER,   /* never answers */
	TROUBLE_TWICE,   /* answers twice */
	TROUBLE_CONTEXT, /* answers something that is not in flight, then this */
	TROUBLE_DEST,    /* answers to another connection, then to this */
	TROUBLE_TYPE,    /* answers in another plugin's name */
	TROUBLE_FAIL, /* answers with DRIVER, and returns it: the rest of the list stays where it is
		       */
	TROUBLE_FAIL_SILENTLY, /* does not answer, and returns DRIVER: as above */
	TROUBLE_LEAVE,         /* leaves the command on the list, and returns DRIVER */
	TROUBLE_BIG,           /* answers with so many bytes */
	TROUBLE_PACK_FAILS,    /* answers, and fails to pack that */
	TROUBLE_PACK_LITTLE,   /* answers, and says that less than a header was packed */
	TROUBLE_PACK_MORE,     /* answers, and says that more was packed than there is */
	TROUBLE_PACK_HUGE,     /* answers, and says that more was packed than the buffer has */
	TROUBLE_SLOW, /* answers, and blocks the next so many calls of progress for 200 ms each */
	TROUBLE_SEEK, /* answers, and looks a member up from threads of its own until the end */
	TROUBLE_SEEK_FOUND,     /* answers once the member was found */
	TROUBLE_SEEK_END,       /* answers with a struct sought */
	TROUBLE_CRASH,          /* crashes at once */
	TROUBLE_CRASH_PROGRESS, /* crashes in progress */
	TROUBLE_CRASH_PACK,     /* answers, and crashes when that is packed */
};

struct sought {
	uint64_t found, missed, other;
};

#endif /* TESTS_TROUBLE_H */
