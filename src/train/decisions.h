/*
 * train/decisions.h - what a training decided by the clock, as a file from which it is repeated.
 *
 * Flow     hybrid, late -> [decisions] -> file -> [decisions] -> hybrid, late
 * Owns     nothing
 * Lends    nothing
 * Thread   one caller
 * Fails    GNN_ENOENT, GNN_EDATA no such log; GNN_ECONFIG one of another training; as file
 *
 * A line "HEAD NUMBER", the number one that another training has not, then lines "AT VALUE".
 */
#ifndef GNN_TRAIN_DECISIONS_H
#define GNN_TRAIN_DECISIONS_H

#include "base/decl.h"
#include "base/err.h"

/* From, or in, a super-batch. */
struct gnn_decision {
	uint64_t at, value;
};

struct gnn_decisions_kind {
	const char *option; /* "--hybrid" */
	const char *head;   /* "gnnrun-hybrid 1" */
	const char *number; /* "hot vertices": what the number counts */
};

GNN_BEGIN_DECLS

int gnn_decisions_write(const char *path, const struct gnn_decisions_kind *kind, uint64_t number,
	const struct gnn_decision *log, uint64_t count);
/* *log is freed by the caller. */
int gnn_decisions_read (const char *path, const struct gnn_decisions_kind *kind, uint64_t number,
	struct gnn_decision **log, uint64_t *count);

GNN_END_DECLS

#endif
