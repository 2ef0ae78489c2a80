/* infer/identity.c - see identity.h. */
#define XXH_STATIC_LINKING_ONLY /* the state of a hash in place */
#include "infer/identity.h"

#include "base/mem.h"
#include "io/file.h"
#include "io/store_schema.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <xxhash.h>

enum { PIECE_BYTES = 256 << 10 };

static void put_hash(struct gnn_manifest *m, const char *name, uint64_t hash)
{
	char text[GNN_RUN_ID_BYTES];

	snprintf(text, sizeof(text), "%016" PRIx64, hash);
	gnn_manifest_fact(m, name, text);
}

static int hash_store(struct gnn_manifest *m, const struct gnn_store *s)
{
	uint64_t hash;
	int rc;

	GNN_TRY(gnn_store_hash(s, &hash));
	put_hash(m, "store", hash);
out:
	return rc;
}

static int hash_model(struct gnn_manifest *m, const char *path)
{
	struct gnn_file *file = NULL;
	XXH3_state_t hash;
	char *piece = NULL;
	uint64_t got;
	int rc;

	XXH3_64bits_reset(&hash);
	GNN_NEW_ARRAY(piece, PIECE_BYTES, GNN_MEM_IO);
	GNN_TRY(gnn_file_open(&file, path));
	do {
		GNN_TRY(gnn_file_read(file, piece, PIECE_BYTES, &got));
		XXH3_64bits_update(&hash, piece, got);
	} while (got == PIECE_BYTES);
	put_hash(m, "model", XXH3_64bits_digest(&hash));
out:
	gnn_file_close(file);
	gnn_mem_free(piece);
	return rc;
}

int gnn_identity_collect(struct gnn_manifest *m, const struct gnn_infer_opts *o)
{
	int rc;

	gnn_manifest_fact(m, "program", GNN_VERSION);
	GNN_TRY(hash_store(m, o->store));
	if (o->model_path != NULL)
		GNN_TRY(hash_model(m, o->model_path));
	gnn_manifest_fact(m, "--backend", o->backend->ops->name);
	gnn_manifest_fact(m, "--save-layers", o->save_layers ? "on" : "off");
	for (uint32_t i = 0; i < o->fact_count; i++)
		gnn_manifest_fact(m, o->fact[i].name, o->fact[i].value);
out:
	return rc;
}

static const char *value_of(const struct gnn_manifest *m, const char *name)
{
	for (uint32_t i = 0; i < m->fact_count; i++)
		if (strcmp(m->fact[i].name, name) == 0)
			return m->fact[i].value;
	return "not recorded";
}

int gnn_identity_same_plan(const struct gnn_manifest *then, const struct gnn_infer_opts *o)
{
	if (o->plan != GNN_PLAN_AUTO && o->plan != then->plan)
		return gnn_err(GNN_ECONFIG, "--resume: --plan has changed since the run that was "
			"stopped; give the old one, or leave --resume away to begin anew");
	return GNN_OK;
}

int gnn_identity_same_shards(const struct gnn_manifest *then, const struct gnn_infer_opts *o)
{
	for (uint32_t l = 0; l < then->layer_count && o->shards != 0; l++)
		if (then->shards[l] > o->shards || (l == 0 && then->plan == GNN_PLAN_RESIDENT))
			return gnn_err(GNN_ECONFIG, "--resume: --shards was %u when the run was "
				"stopped and is %u now; give the old one, or leave --resume away "
				"to begin anew", then->shards[l], o->shards);
	return GNN_OK;
}

int gnn_identity_compare(const struct gnn_manifest *then, const struct gnn_manifest *now)
{
	for (uint32_t i = 0; i < now->fact_count; i++) {
		const struct gnn_fact *f = &now->fact[i];
		const char *old = value_of(then, f->name);

		if (strcmp(old, f->value) != 0)
			return gnn_err(GNN_ECONFIG, "--resume: %s has changed since the run that "
				"was stopped: it was %s and is %s now; leave --resume away to "
				"begin anew", f->name, old, f->value);
	}
	return GNN_OK;
}

void gnn_identity_id(const struct gnn_manifest *m, char id[GNN_RUN_ID_BYTES])
{
	XXH3_state_t hash;

	XXH3_64bits_reset(&hash);
	for (uint32_t i = 0; i < m->fact_count; i++) {
		XXH3_64bits_update(&hash, m->fact[i].name, strlen(m->fact[i].name) + 1);
		XXH3_64bits_update(&hash, m->fact[i].value, strlen(m->fact[i].value) + 1);
	}
	snprintf(id, GNN_RUN_ID_BYTES, "%016" PRIx64, (uint64_t)XXH3_64bits_digest(&hash));
}

bool gnn_identity_is_done(const struct gnn_infer_opts *o, const char *id)
{
	struct gnn_container *c = NULL;
	const char *found;
	bool done = false;

	if (!gnn_file_exists(o->out_path))
		return false;
	if (gnn_container_open(&c, &(struct gnn_container_opts){.path = o->out_path,
		.format = GNN_FORMAT_RESULT, .engine = GNN_DIO_AUTO}) == GNN_OK) {
		found = gnn_container_text(c, GNN_ATTR_RUN);
		done = found != NULL && strcmp(found, id) == 0;
	}
	gnn_err_clear();
	gnn_container_close(c);
	return done;
}
