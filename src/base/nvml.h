/*
 * base/nvml.h - how busy a GPU is, as its driver's management library says, where there is one.
 *
 * Flow     libnvidia-ml -> [nvml] -> usage
 * Owns     the library, while it is open
 * Lends    nothing
 * Thread   one caller
 * Fails    GNN_SKIPPED without the library or the device; no text
 */
#ifndef GNN_BASE_NVML_H
#define GNN_BASE_NVML_H

#include "base/err.h"

struct gnn_nvml {
	void *library; /* NULL: not open */
	void *device;
	int (*shutdown)(void);
	int (*memory)(void *device, void *to);
	int (*utilisation)(void *device, void *to);
};

GNN_BEGIN_DECLS

int  gnn_nvml_open (struct gnn_nvml *n, const char *bus_id); /* "0000:3b:00.0" */
void gnn_nvml_close(struct gnn_nvml *n);                     /* all zero is fine */
/* Bytes of the device in use, by anyone, and the share of time in which a kernel ran; or NaN. */
void gnn_nvml_read (const struct gnn_nvml *n, double *used_bytes, double *busy);

GNN_END_DECLS

#endif
