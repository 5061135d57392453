/*
 * ucs_cpu_set_t: from UCX's headers if they are in the include path, else an equal definition.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef UROM_CPU_SET_H_
#define UROM_CPU_SET_H_

#ifdef __has_include
#if __has_include(<ucs/type/cpu_set.h>)
#include <ucs/type/cpu_set.h>
#endif
#endif

#ifndef UCS_TYPE_CPU_SET_H
#define UCS_TYPE_CPU_SET_H

#include <stddef.h>

#define UCS_CPU_SETSIZE 1024

/* CPU c is bit c % 64 of word c / 64. */
typedef struct {
	unsigned long ucs_bits[UCS_CPU_SETSIZE / (8 * sizeof(unsigned long))];
} ucs_cpu_set_t;

static inline void ucs_cpu_set_clear(ucs_cpu_set_t *set)
{
	size_t word;

	for (word = 0; word < sizeof(*set) / sizeof(set->ucs_bits[0]); word++)
		set->ucs_bits[word] = 0;
}

static inline void ucs_cpu_set_change(size_t cpu, ucs_cpu_set_t *set, int add)
{
	const size_t bits = 8 * sizeof(set->ucs_bits[0]);

	if (cpu >= UCS_CPU_SETSIZE)
		return;
	if (add)
		set->ucs_bits[cpu / bits] |= 1UL << (cpu % bits);
	else
		set->ucs_bits[cpu / bits] &= ~(1UL << (cpu % bits));
}

/* CPUs from 1024 on are never in a set. */
static inline int ucs_cpu_is_set(int cpu, const ucs_cpu_set_t *set)
{
	const int bits = 8 * (int)sizeof(set->ucs_bits[0]);

	return cpu >= 0 && cpu < UCS_CPU_SETSIZE &&
	       ((set->ucs_bits[cpu / bits] >> (cpu % bits)) & 1) != 0;
}

#define UCS_CPU_ZERO(set) ucs_cpu_set_clear(set)
#define UCS_CPU_SET(cpu, set) ucs_cpu_set_change((size_t)(cpu), (set), 1)
#define UCS_CPU_CLR(cpu, set) ucs_cpu_set_change((size_t)(cpu), (set), 0)

#endif /* UCS_TYPE_CPU_SET_H */

#endif /* UROM_CPU_SET_H_ */
