/*
 * train/state.h - everything that a training goes on from, in one file that is replaced whole.
 *
 * Flow     train -> [state] -> DIR/state.safetensors -> [state] -> train
 * Owns     weights of the best epoch, the table of epochs, earlier weights of the first layer
 * Lends    nothing
 * Thread   one caller
 * Fails    GNN_ECONFIG a checkpoint of another graph, configuration, version or number of ranks;
 *          GNN_EDATA one that is damaged; GNN_ECREAT, GNN_EIO while writing; as comm
 */
#ifndef GNN_TRAIN_STATE_H
#define GNN_TRAIN_STATE_H

#include "mpi/comm.h"
#include "train/opts.h"

struct gnn_train_state {
	uint64_t step;       /* done */
	uint64_t best_epoch; /* place in the table, if there is one */
	bool     has_best, finished, stopped_early;
	uint64_t way;        /* of train/ways.h, where it was measured */
	struct gnn_epoch_report *epoch;
	uint64_t epoch_count, epoch_room;
	struct gnn_epoch_report current; /* of the epoch at work */
	float   *best;       /* (floats) host */
	struct gnn_history history; /* of the first layer, where embeddings need it */
	struct gnn_decision  *share;   /* decisions of the hybrid */
	uint64_t           share_count;
	struct gnn_decision *late; /* super-batches that were late */
	uint64_t           late_count;
};

/* What a checkpoint is of. */
struct gnn_state_key {
	const char *folder;
	const char *settings;
	uint64_t    graph;   /* gnn_source.identity */
	uint32_t    ranks;   /* that train: as many go on */
};

GNN_BEGIN_DECLS

int  gnn_state_init(struct gnn_train_state *s, uint64_t floats);
void gnn_state_fini(struct gnn_train_state *s);
int  gnn_state_add (struct gnn_train_state *s); /* `current` into the table */

int gnn_state_save(const struct gnn_train_state *s, const struct gnn_state_key *key,
	struct gnn_net *n, struct gnn_optim *p, struct gnn_backend *b);
/* GNN_SKIPPED when there is no checkpoint. */
int gnn_state_load(struct gnn_train_state *s, const struct gnn_state_key *key,
	struct gnn_net *n, struct gnn_optim *p, struct gnn_backend *b);
/* What rank 0 has, on all ranks. */
int gnn_state_spread(struct gnn_train_state *s, struct gnn_comm *c, struct gnn_net *n,
	struct gnn_optim *p, struct gnn_backend *b);

GNN_END_DECLS

#endif
