/* UCX's headers; they fail with -Wextra unless they are system headers. */
#ifndef TESTS_UCX_H
#define TESTS_UCX_H

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wsign-compare"
#include <ucp/api/ucp.h>
#pragma GCC diagnostic pop

#endif /* TESTS_UCX_H */
