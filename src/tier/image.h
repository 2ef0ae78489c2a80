/*
 * tier/image.h - a tier program as one block of host memory, which a device takes in one copy.
 *
 * Flow     control -> tier programs -> [image] -> stage -> operations on the device
 * Owns     the block, which grows and stays for the next program
 * Lends    nothing
 * Thread   one at a time
 * Fails    GNN_EOS memory
 */
#ifndef GNN_TIER_IMAGE_H
#define GNN_TIER_IMAGE_H

#include "tier/tier_program.h"

/* What operations read of a program: its own arrays, or where a copy of the image stands. */
struct gnn_tier_lists {
	const uint64_t        *vertex, *slot, *carry, *first;
	const uint32_t        *src;
	const float           *weight; /* NULL: entries have none */
	const struct gnn_move *moves[GNN_MOVE_KINDS];
	const struct gnn_move *done;
};

enum { GNN_IMAGE_PARTS = 7 + GNN_MOVE_KINDS };

struct gnn_tier_image {
	char    *bytes;
	uint64_t capacity, used;
	uint64_t offset[GNN_IMAGE_PARTS];
	bool     weighted;
};

GNN_BEGIN_DECLS

int  gnn_tier_image_make(struct gnn_tier_image *m, const struct gnn_tier_program *p);
void gnn_tier_image_fini(struct gnn_tier_image *m); /* zeroed is fine */

struct gnn_tier_lists gnn_tier_lists_of   (const struct gnn_tier_program *p);
struct gnn_tier_lists gnn_tier_image_lists(const struct gnn_tier_image *m, const void *there);
/* The edges of a step of p, in these lists. */
struct gnn_edge_batch gnn_tier_lists_batch(const struct gnn_tier_lists *l,
	const struct gnn_tier_program *p, uint64_t step);

/* Of programs of at most so many groups and entries that begin `pinned` rows. */
uint64_t gnn_tier_image_bytes(uint64_t groups, uint64_t entries, uint64_t pinned);

GNN_END_DECLS

#endif
