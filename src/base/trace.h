/*
 * base/trace.h - spans of threads and stages as a Chrome trace, for ui.perfetto.dev.
 *
 * Flow     stage, main, hot loops at chunk grain -> [trace] -> F.json
 * Owns     the file of --trace and a buffer
 * Lends    nothing
 * Thread   open and close by main; spans from any thread
 * Fails    GNN_ECREAT from open; GNN_EIO from close when a write failed
 *
 * Costs one load when off. The file is an array of events that readers accept unterminated, so
 * that of a killed run shows too, but for its last second. Names are literals of the code.
 */
#ifndef GNN_BASE_TRACE_H
#define GNN_BASE_TRACE_H

#include "base/err.h"

GNN_BEGIN_DECLS

int      gnn_trace_open  (const char *path);
void     gnn_trace_thread(const char *name); /* names the calling thread's lane */
uint64_t gnn_trace_begin (void);             /* when the span begins; 0 when tracing is off */
void     gnn_trace_end   (uint64_t begun, const char *name);
int      gnn_trace_close (void);

GNN_END_DECLS

#endif
