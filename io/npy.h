/*
 * io/npy.h - the header of a npy file: element type, order and shape.
 *
 * Flow     bytes -> [npy] -> ndarray
 * Owns     nothing
 * Lends    nothing
 * Thread   any thread; no state
 * Fails    GNN_EDATA what is no header: names file, found, wanted
 *
 * Versions 1 to 3, headers of any length, keys in any order and spacing. The header is a Python
 * literal: {'descr': '<f4', 'fortran_order': False, 'shape': (3, 2), }.
 */
#ifndef GNN_IO_NPY_H
#define GNN_IO_NPY_H

#include "base/err.h"
#include "io/numtype.h"

enum {
	GNN_NPY_RANK_MAX = 8, GNN_NPY_DESCR_MAX = 24, GNN_NPY_START_BYTES = 12,
	GNN_NPY_HEADER_BYTES_MAX = 16 << 20,
};

struct gnn_npy {
	enum gnn_num type;  /* GNN_NUM_OTHER: see descr */
	bool     swapped;   /* big-endian */
	bool     fortran;   /* the first index runs fastest */
	uint32_t rank;
	uint64_t shape[GNN_NPY_RANK_MAX];
	uint64_t count;     /* the product of the shape */
	char     descr[GNN_NPY_DESCR_MAX]; /* as found, for messages */
};

GNN_BEGIN_DECLS

bool gnn_npy_is(const void *start, uint64_t bytes); /* by the magic */

/*
 * From the first GNN_NPY_START_BYTES (less, when the file is shorter): where the header text
 * begins and how long it is.
 */
int gnn_npy_start(const void *start, uint64_t bytes, const char *name, uint64_t *text_at,
	uint64_t *text_bytes);

int gnn_npy_parse(const char *text, uint64_t bytes, const char *name, struct gnn_npy *out);

GNN_END_DECLS

#endif
