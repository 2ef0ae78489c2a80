/* io/store_features.c - features that stay in another store; see store.h. */
#define XXH_STATIC_LINKING_ONLY /* the state of a hash in place */
#include "io/store.h"

#include "base/mem.h"
#include "io/store_schema.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

/* The length of the folder's part of a path, the slash included. */
static int folder_bytes(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash == NULL ? 0 : (int)(slash + 1 - path);
}

int gnn_store_features_path(const struct gnn_store *s, char path[GNN_STORE_PATH_BYTES])
{
	const char *own = gnn_container_path(s->container), *text;
	int n;

	if (s->feature_rank == NULL) {
		n = snprintf(path, GNN_STORE_PATH_BYTES, "%s", own);
	} else {
		text = gnn_container_text(s->container, GNN_ATTR_FEATURES_STORE);
		if (text == NULL)
			return gnn_err(GNN_EDATA, "%s: dataset %s is there, attribute %s is "
				"missing", own, GNN_STORE_FEATURE_RANK, GNN_ATTR_FEATURES_STORE);
		n = snprintf(path, GNN_STORE_PATH_BYTES, "%.*s%s",
			text[0] == '/' ? 0 : folder_bytes(own), own, text);
	}
	return n < GNN_STORE_PATH_BYTES ? GNN_OK : gnn_err(GNN_EDATA, "%s: the name of the store "
		"that has its features is too long", own);
}

/* The folder of a path, whatever links lead there. */
static int real_folder(const char *path, char to[PATH_MAX])
{
	char folder[GNN_STORE_PATH_BYTES];

	snprintf(folder, sizeof(folder), "%.*s.", folder_bytes(path), path);
	return realpath(folder, to) != NULL ? GNN_OK :
		gnn_err_sys(GNN_ECREAT, errno, "the folder of %s", path);
}

int gnn_store_features_text(const struct gnn_store *s, const char *path,
	char text[GNN_STORE_PATH_BYTES])
{
	char from[GNN_STORE_PATH_BYTES], mine[PATH_MAX], theirs[PATH_MAX], whole[PATH_MAX];
	bool beside;
	int rc;

	GNN_TRY(gnn_store_features_path(s, from));
	GNN_TRY(real_folder(path, mine));
	GNN_TRY(real_folder(from, theirs));
	if (realpath(from, whole) == NULL)
		return gnn_err_sys(GNN_ENOENT, errno, "%s", from);
	beside = strcmp(mine, theirs) == 0;
	snprintf(text, GNN_STORE_PATH_BYTES, "%s", beside ? from + folder_bytes(from) : whole);
out:
	return rc;
}

static int hash_array(struct gnn_container *c, const struct gnn_array *a, uint64_t *hash)
{
	const uint64_t shape[] = {(uint64_t)a->dtype, a->rows, a->cols};
	const uint64_t *sums;
	XXH3_state_t state;
	uint64_t count;
	int rc;

	GNN_TRY(gnn_container_checksums(c, a, &sums, &count));
	XXH3_64bits_reset(&state);
	XXH3_64bits_update(&state, shape, sizeof(shape));
	XXH3_64bits_update(&state, sums, count * sizeof(*sums));
	*hash = XXH3_64bits_digest(&state);
out:
	return rc;
}

int gnn_store_features_hash(const struct gnn_store *s, uint64_t *hash)
{
	if (s->feature_rank != NULL)
		return gnn_container_number(s->container, GNN_ATTR_FEATURES_HASH, hash);
	return hash_array(s->container, s->features, hash);
}

int gnn_store_check_own(const struct gnn_store *s)
{
	const char *path = gnn_container_path(s->container);
	const char *text = gnn_container_text(s->container, GNN_ATTR_FEATURES_STORE);

	if (s->feature_rank == NULL)
		return GNN_OK;
	return gnn_err(GNN_ECONFIG, "%s leaves its features in %s, in the order there, from where "
		"only infer takes them, by one rank on the CPU; a store that gnnrun reorder makes "
		"with --features relabel has them in its own", path,
		text != NULL ? text : "another store");
}

static int check_same(const struct gnn_store *s, struct gnn_container *c,
	const struct gnn_array *a)
{
	const char *own = gnn_container_path(s->container), *path = gnn_container_path(c);
	uint64_t wanted, found;
	int rc;

	if (a == NULL || a->rank != 2 || a->rows != s->whole_vertices)
		return gnn_err(GNN_EDATA, "%s, which should have the features of %s, has none of "
			"%" PRIu64 " rows", path, own, s->whole_vertices);
	GNN_TRY(gnn_store_features_hash(s, &wanted));
	GNN_TRY(hash_array(c, a, &found));
	if (found != wanted)
		rc = gnn_err(GNN_EDATA, "%s: its features are not those that %s was made with "
			"(hash %016" PRIx64 " found, %016" PRIx64 " wanted): reorder it again",
			path, own, found, wanted);
out:
	return rc;
}

int gnn_store_attach(struct gnn_store *s)
{
	const char *own = gnn_container_path(s->container);
	struct gnn_container_opts o = *gnn_container_options(s->container);
	char path[GNN_STORE_PATH_BYTES];
	struct gnn_container *c = NULL;
	const struct gnn_array *a;
	int rc;

	if (s->feature_rank == NULL || s->features != NULL)
		return GNN_OK;
	GNN_TRY(gnn_store_features_path(s, path));
	o.path = path;
	o.format = GNN_FORMAT_STORE;
	rc = gnn_container_open(&c, &o);
	if (rc < 0)
		return gnn_err_place(rc, "the features of %s", own);
	a = gnn_container_find(c, GNN_STORE_FEATURES);
	GNN_TRY(check_same(s, c, a));
	s->features = a;
	s->features_in = c;
	c = NULL;
out:
	gnn_container_close(c);
	return rc;
}
