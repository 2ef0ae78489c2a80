/* See small_store.h. */
#include "unit/small_store.h"

#include "graph/gen_store.h"
#include "io/builder.h"

#include <math.h>

int make_small_store(const char *path, uint64_t vertices, uint64_t edges, uint64_t dim,
	uint64_t classes)
{
	struct gnn_gen_opts o = {.kind = "rmat", .vertices = vertices, .edges = edges,
		.classes = classes, .feat_dim = dim, .dtype = GNN_F32, .noise = NAN, .seed = 3,
		.shuffle = true, .threads = 2};
	struct gnn_builder_opts b = {.out_path = path, .threads = 2,
		.memory_bytes = UINT64_C(256) << 20};
	struct gnn_build_report report;
	struct gnn_gen g;
	int rc = gnn_gen_init(&g, &o);

	return rc < 0 ? rc : gnn_gen_store(&g, &b, "{}", &report);
}
