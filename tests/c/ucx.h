/* UCX's headers, which do not compile with -Wextra wherever they are not a system's. */
#ifndef TESTS_UCX_H
#define TESTS_UCX_H

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wsign-compare"
#include <ucp/api/ucp.h>
#pragma GCC diagnostic pop

#endif /* TESTS_UCX_H */
