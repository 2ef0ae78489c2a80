/*
 * io/keys.h - edges as packed sort keys, major end above minor end: radix sort and codec.
 *
 * Flow     extsort, keymerge -> [keys] -> sorted keys, coded bytes
 * Owns     nothing
 * Lends    nothing
 * Thread   any thread; no state
 * Fails    never: callers bring memory, and bytes whose checksum was right
 *
 * A key is major << end | minor, `end` being the bits that the ids need: no gap costs sorting and
 * coding. It is 8 bytes while that is at most 32, else 16 bytes with an end of 64. Both widths are
 * one text, compiled twice (keys.inc); gnn_keys() gives the functions of a width. With an end of 0
 * a key is an id by itself. Weights are a second array that is moved along.
 *
 * The code of a group of up to GNN_KEY_GROUP ascending keys: half a byte for each key, the length
 * of its difference to the key before (15: 16 bytes), then these differences without their leading
 * zero bytes. A key then takes 4 to 5 bytes on disk where the graph has a hundred million
 * vertices, and less where it is smaller.
 */
#ifndef GNN_IO_KEYS_H
#define GNN_IO_KEYS_H

#include "base/decl.h"

typedef unsigned __int128 gnn_key; /* the wide key, and any key (end 64) to compare */

enum {
	GNN_KEY_END_NARROW = 32, /* the largest end of 8-byte keys; wide ones have an end of 64 */
	GNN_KEY_GROUP = 64,
	GNN_KEY_SLACK = 16, /* bytes behind a code that decoding may read and encoding may write */
	GNN_KEY_GROUP_BYTES = GNN_KEY_GROUP / 2 + GNN_KEY_GROUP * 16, /* of a code at most */
};

/* Two arrays of keys and weights that a sort goes back and forth between. */
struct gnn_key_sort {
	void    *key, *spare_key;
	float   *weight, *spare_weight; /* NULL: none */
	uint64_t count;                 /* < 2^32 */
	uint32_t low;                   /* bits from here on count: 0, or `end` for majors alone */
};

struct gnn_key_ops {
	uint32_t bytes; /* of a key */

	void (*pack)(void *key, uint32_t end, const uint64_t *major, const uint64_t *minor,
		uint64_t count);
	/* Each edge and behind it its reverse, unless it is a self-loop. Returns the keys made. */
	uint64_t (*pack_both)(void *key, uint32_t end, const uint64_t *major,
		const uint64_t *minor, uint64_t count);
	/* `minor` may be `key` itself. */
	void (*unpack)(const void *key, uint32_t end, uint64_t *major, uint64_t *minor,
		uint64_t count);
	gnn_key (*at)  (const void *key, uint32_t end, uint64_t i); /* with an end of 64 */
	void    (*move)(void *key, uint32_t end, uint32_t to, uint64_t count); /* another end */
	void    (*swap)(void *key, uint32_t end, uint64_t count); /* major for minor */

	void (*sort)(const struct gnn_key_sort *s); /* stable; the result is in key and weight */
	/* Keeps the first of equal keys. Returns the keys left. */
	uint64_t (*unique)(void *key, float *weight, uint64_t count);
	/* The distinct majors of sorted keys from *at on, up to `room`; moves *at. */
	uint64_t (*majors)(const void *key, uint32_t end, uint64_t count, uint64_t *at,
		uint64_t *to, uint64_t room);
	/* Of sorted keys, how many are < bound, or <= bound; the bound has an end of 64. */
	uint64_t (*upto)(const void *key, uint32_t end, uint64_t count, gnn_key bound,
		bool inclusive);

	/* `last` is the key before, of this width, and becomes the last one. Return the bytes. */
	uint32_t (*encode)(void *last, const void *key, uint32_t count, uint8_t *to);
	uint32_t (*decode)(void *last, const uint8_t *from, uint32_t count, void *key);
};

GNN_BEGIN_DECLS

const struct gnn_key_ops *gnn_keys(bool wide);

/* Keys of 8 bytes, at the start of a block with room for 16 each, become keys of 16, end 64. */
void gnn_keys_widen(void *key, uint32_t end, uint64_t count);

/* The end for ids of which `bits` is the union; 64 means wide keys. */
uint32_t gnn_keys_end(uint64_t bits);

static inline gnn_key gnn_key_make(uint64_t major, uint64_t minor)
{
	return (gnn_key)major << 64 | minor;
}

GNN_END_DECLS

#endif
