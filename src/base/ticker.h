/*
 * base/ticker.h - a thread that calls a function every so often until it is stopped.
 *
 * Flow     progress, usage -> [ticker] -> their tick
 * Owns     the thread
 * Lends    nothing
 * Thread   start and stop by one thread; the function runs on the ticker's own
 * Fails    GNN_EOS no memory, no thread
 */
#ifndef GNN_BASE_TICKER_H
#define GNN_BASE_TICKER_H

#include "base/err.h"

struct gnn_ticker;
typedef void (*gnn_tick_fn)(void *arg);

GNN_BEGIN_DECLS

/* The first call comes after `seconds`; the wall clock may jump. */
int  gnn_ticker_start(struct gnn_ticker **out, const char *name, double seconds, gnn_tick_fn tick,
	void *arg);
/* No call is on its way any more when it returns. NULL inside is fine; sets it to NULL. */
void gnn_ticker_stop (struct gnn_ticker **ticker);

GNN_END_DECLS

#endif
