/*
 * base/clock.h - monotonic time.
 *
 * Flow     all modules -> [clock]
 * Owns     nothing
 * Lends    nothing
 * Thread   any thread
 * Fails    never
 */
#ifndef GNN_BASE_CLOCK_H
#define GNN_BASE_CLOCK_H

#include "base/decl.h"

GNN_BEGIN_DECLS

uint64_t gnn_clock_ns(void); /* CLOCK_MONOTONIC */

static inline double gnn_clock_s_since(uint64_t start_ns)
{
	return (double)(gnn_clock_ns() - start_ns) * 1e-9;
}

GNN_END_DECLS

#endif
