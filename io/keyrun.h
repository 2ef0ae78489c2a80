/*
 * io/keyrun.h - runs of sorted keys: coded, cut into pieces, each under a checksum.
 *
 * Flow     extsort, idset, keymerge -> [keyrun] -> scratch -> keymerge
 * Owns     a run owns its list of pieces; a writer one group of keys
 * Lends    nothing
 * Thread   one caller a writer; a run is read when its writer has been closed
 * Fails    GNN_EIO a piece does not read back as it was written; as scratch
 *
 * Groups of GNN_KEY_GROUP keys stand in a piece one after the other: their code (io/keys.h), then
 * their weights. A group does not cross the border of a piece; the last one may be smaller. Every
 * piece can be decoded by itself, and the list says its first key, so that a merge knows the order
 * in which it will want the pieces of all runs.
 */
#ifndef GNN_IO_KEYRUN_H
#define GNN_IO_KEYRUN_H

#include "io/keys.h"
#include "io/scratch.h"

struct gnn_piece_entry {
	struct gnn_place place;
	uint64_t first_major, first_minor;
	uint32_t bytes;
	uint32_t count; /* keys */
};

struct gnn_keyrun {
	struct gnn_piece_entry *piece;
	uint32_t count, room; /* of pieces */
	bool     wide;
	bool     weighted;
	uint8_t  end;         /* of the keys */
	uint64_t keys;
};

/* A list of runs; earlier runs hold what came earlier in the input. */
struct gnn_keyruns {
	struct gnn_keyrun *run;
	uint32_t count, room;
};

/* A place in a piece that is being decoded. */
struct gnn_piece_cursor {
	const uint8_t *at;
	uint32_t left; /* keys */
	gnn_key  last; /* of the run's own width */
};

struct gnn_keyrun_writer;

GNN_BEGIN_DECLS

static inline gnn_key gnn_piece_first(const struct gnn_piece_entry *e)
{
	return gnn_key_make(e->first_major, e->first_minor);
}

/* Gives the pieces back to the scratch; the run is empty then. */
void gnn_keyrun_fini(struct gnn_keyrun *run, struct gnn_scratch *s);

/* Sets list->run[at] and makes all before it, if they are new, empty. */
int  gnn_keyruns_reach(struct gnn_keyruns *list, uint32_t at);
void gnn_keyruns_fini (struct gnn_keyruns *list, struct gnn_scratch *s);
/* The smallest end that holds every run. */
uint32_t gnn_keyruns_end(const struct gnn_keyruns *list);
/* Runs with a piece in the file, which needs a buffer to be read into. */
uint32_t gnn_keyruns_in_file(const struct gnn_keyruns *list);

int gnn_keyrun_writer_open (struct gnn_keyrun_writer **out, struct gnn_scratch *s);
/* Begins a run, which is set empty first; it must stay where it is until end. */
void gnn_keyrun_writer_begin(struct gnn_keyrun_writer *w, struct gnn_keyrun *run, uint32_t end,
	bool weighted);
/* Keys of the run's width, ascending from call to call too. */
int gnn_keyrun_writer_push (struct gnn_keyrun_writer *w, const void *key, const float *weight,
	uint64_t count);
int gnn_keyrun_writer_end  (struct gnn_keyrun_writer *w);
/* Waits for the disk: only now can runs be read. Sets it to NULL. */
int gnn_keyrun_writer_close(struct gnn_keyrun_writer **w);

/* Checks a piece that has been read, and goes to its start. */
int gnn_piece_open(struct gnn_piece_cursor *c, const struct gnn_keyrun *run, uint32_t number,
	const uint8_t *piece);
/* Decodes the next group, with room for GNN_KEY_GROUP; returns its keys, 0 at the end. */
uint32_t gnn_piece_decode(struct gnn_piece_cursor *c, const struct gnn_keyrun *run, void *key,
	float *weight);

GNN_END_DECLS

#endif
