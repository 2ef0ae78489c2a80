/*
 * io/safetensors.h - named tensors in one file, in the safetensors layout.
 *
 * Flow     file -> [safetensors] -> model;  trainer, seeded model -> [safetensors] -> file
 * Owns     the open file and its parsed header
 * Lends    tensor descriptions, names and metadata, until close
 * Thread   one caller
 * Fails    GNN_ENOENT no such file; GNN_EDATA a header that lies, a file cut short, an element
 *          type that is no number; GNN_ECREAT, GNN_EIO while writing
 *
 * 8 bytes of header length, a JSON header, then the data, which the tensors must cover without
 * gap or overlap. Reader and writer hold to the same largest header.
 */
#ifndef GNN_IO_SAFETENSORS_H
#define GNN_IO_SAFETENSORS_H

#include "base/err.h"

enum { GNN_SAFETENSORS_HEADER_MAX = 100000000, GNN_TENSOR_RANK_MAX = 8 };

/* A tensor of an open file. */
struct gnn_tensor {
	const char *name;
	const char *dtype;  /* as the file says: "F32" ... */
	uint32_t    rank;
	uint64_t    shape[GNN_TENSOR_RANK_MAX];
	uint64_t    count;  /* items */
	uint64_t    bytes;
	uint64_t    offset; /* of the first byte in the file */
};

/* A tensor to be written; everything is borrowed. */
struct gnn_tensor_out {
	const char    *name;
	enum gnn_dtype dtype;
	uint32_t       rank;
	uint64_t       shape[GNN_TENSOR_RANK_MAX];
	const void    *data;
};

struct gnn_tensor_text {
	const char *key;
	const char *value;
};

struct gnn_tensors_out {
	const struct gnn_tensor_out  *tensor; /* names are distinct */
	uint32_t                      tensor_count;
	const struct gnn_tensor_text *metadata;
	uint32_t                      metadata_count;
};

struct gnn_safetensors;

GNN_BEGIN_DECLS

int      gnn_safetensors_open (struct gnn_safetensors **out, const char *path);
uint32_t gnn_safetensors_count(const struct gnn_safetensors *s);
/* In the order of the data. */
const struct gnn_tensor *gnn_safetensors_at  (const struct gnn_safetensors *s, uint32_t i);
const struct gnn_tensor *gnn_safetensors_find(const struct gnn_safetensors *s, const char *name);
/* The i-th text of __metadata__, in the order of the file; false past the last. */
bool gnn_safetensors_metadata(const struct gnn_safetensors *s, uint32_t i,
	struct gnn_tensor_text *out);
/* F32 as it is, F16 and BF16 widened, F64 rounded; another type is GNN_EDATA. */
int  gnn_safetensors_read_f32(struct gnn_safetensors *s, const struct gnn_tensor *t, float *to);
void gnn_safetensors_close   (struct gnn_safetensors *s); /* NULL is fine */

/* Publishes the file at `path`; every tensor begins at a multiple of its item size. */
int  gnn_safetensors_write(const char *path, const struct gnn_tensors_out *content);

GNN_END_DECLS

#endif
