/* base/decl.c - see decl.h. */
#include "base/decl.h"

static const struct {
	const char *name;
	uint32_t bytes;
} dtypes[GNN_DTYPE_COUNT] = {
	[GNN_F32] = {"f32", 4}, [GNN_F16] = {"f16", 2}, [GNN_BF16] = {"bf16", 2},
	[GNN_U8] = {"u8", 1},   [GNN_U32] = {"u32", 4}, [GNN_U64] = {"u64", 8},
	[GNN_I64] = {"i64", 8},
};

uint32_t gnn_dtype_bytes(enum gnn_dtype t)
{
	GNN_ASSERT(t < GNN_DTYPE_COUNT);
	return dtypes[t].bytes;
}

const char *gnn_dtype_name(enum gnn_dtype t)
{
	GNN_ASSERT(t < GNN_DTYPE_COUNT);
	return dtypes[t].name;
}
