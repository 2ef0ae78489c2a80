/*
 * infer/rates.h - how fast this machine reads, writes, transforms and adds: a short measurement.
 *
 * Flow     store, backend -> [rates] -> estimate
 * Owns     nothing; one set of disk figures a process, taken once
 * Lends    nothing
 * Thread   one caller
 * Fails    GNN_EIO, GNN_EOS; GNN_ECREAT the probe file
 */
#ifndef GNN_INFER_RATES_H
#define GNN_INFER_RATES_H

#include "infer/opts.h"
#include "infer/program.h"

struct gnn_rates {
	double read_bytes_s, write_bytes_s; /* of direct I/O, several requests in flight */
	double page_bytes_s;      /* of reading single pages */
	double control_entries_s; /* grouped by the control thread; infinite where it does not */
};

struct gnn_layer_rates {
	double message_rows_s;  /* through the message program, from what the input is made of */
	double finish_rows_s;   /* through the finish program */
	double entry_floats_s;  /* message columns added to states at random */
	double move_floats_s;   /* of states moved, on to the host where that is elsewhere */
};

GNN_BEGIN_DECLS

/* `seconds` at most for each of the two; writes beside the output, reads the features. */
int gnn_rates_disk (struct gnn_rates *r, const struct gnn_infer_opts *o, double seconds);
/* `here`: whether the control thread groups edges. */
int gnn_rates_control(double *entries_s, const struct gnn_infer_opts *o,
	const struct gnn_degrees *d, bool here, double seconds);
int gnn_rates_layer(struct gnn_layer_rates *r, const struct gnn_infer_opts *o, uint32_t layer,
	uint64_t memory_bytes, uint64_t chunk_rows, double seconds);

GNN_END_DECLS

#endif
