/* The gate for hosts in Rust. */
#include "gate.h"

struct gate *bench_gate(void);
void bench_gate_rounds(gate_work *submit, gate_work *take, void *host);

static struct gate gate;

struct gate *bench_gate(void)
{
	gate_init(&gate);
	return &gate;
}

void bench_gate_rounds(gate_work *submit, gate_work *take, void *host)
{
	gate_rounds(&gate, submit, take, host);
}
