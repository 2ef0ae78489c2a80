/*
 * io/provenance.h - what a store says of where it comes from.
 *
 * Flow     options, report -> [provenance] -> container
 * Owns     nothing
 * Lends    nothing
 * Thread   one caller
 * Fails    GNN_EOS memory
 *
 * JSON: {"command":"import","layout":"folder","inputs":[{"role","name","bytes","xxh3"}],
 * "options":{...}}. Names are without their folders, hashes 16 hexadecimal digits; options that
 * have their default are left out.
 */
#ifndef GNN_IO_PROVENANCE_H
#define GNN_IO_PROVENANCE_H

#include "io/import_report.h"

GNN_BEGIN_DECLS

int gnn_provenance_text(char **text, const struct gnn_import_opts *o,
	const struct gnn_import_report *r);

GNN_END_DECLS

#endif
