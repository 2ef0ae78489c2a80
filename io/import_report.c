/* io/import_report.c - see import_report.h. */
#include "io/import_report.h"

#include <stdarg.h>
#include <stdio.h>

static void warn(struct gnn_import_report *r, const char *fmt, ...) GNN_PRINTF(2, 3);

static void warn(struct gnn_import_report *r, const char *fmt, ...)
{
	va_list ap;

	if (r->warning_count == GNN_IMPORT_WARNINGS_MAX)
		return;
	va_start(ap, fmt);
	vsnprintf(r->warning[r->warning_count++], GNN_IMPORT_WARNING_BYTES, fmt, ap);
	va_end(ap);
}

static void warn_edges(struct gnn_import_report *r, const struct gnn_import_opts *o)
{
	const struct gnn_edge_counts *e = &r->edges;
	uint64_t nodes = r->build.vertices - r->build.isolated;

	if (e->edges_stated && e->stated_edges != e->edges)
		warn(r, "the file's own heading states %llu edges, %llu were read",
			(unsigned long long)e->stated_edges, (unsigned long long)e->edges);
	if (e->nodes_stated && e->stated_nodes != nodes)
		warn(r, "the file's own heading states %llu vertices, %llu have edges",
			(unsigned long long)e->stated_nodes, (unsigned long long)nodes);
	if (e->from_one && !o->remap)
		warn(r, "KONECT's ids begin at 1, so vertex 0 has no edges; --remap makes them "
			"begin at 0");
	if (e->each_once && !o->undirected)
		warn(r,
			"the graph is undirected and lists each edge once; --undirected adds the "
			"reverse edges");
	if (e->skipped_columns > 0)
		warn(r, "up to %llu further columns a line were not read",
			(unsigned long long)e->skipped_columns);
	if (e->edges == 0)
		warn(r, "no edges were found");
}

static void warn_labels(struct gnn_import_report *r, bool byte_labels)
{
	const struct gnn_labels_counts *c = &r->labels;

	if (c->zero_tail >= GNN_LABELS_TAIL && c->rows_of[0] < c->labelled)
		warn(r,
			"the last %llu rows of the labels are all 0: is the file longer than what "
			"was labelled?",
			(unsigned long long)c->zero_tail);
	if (byte_labels && c->classes > 200 && c->rows_of[255] > 0)
		warn(r, "%llu labels are 255, which is a class here; use -1 if it means unlabelled",
			(unsigned long long)c->rows_of[255]);
	if (c->unlabelled_train > 0)
		warn(r, "%llu vertices of train are unlabelled; training leaves them out",
			(unsigned long long)c->unlabelled_train);
	if (c->ids_unknown > 0)
		warn(r, "%llu labels are of ids that no edge has; they were left out",
			(unsigned long long)c->ids_unknown);
}

void gnn_import_warn(struct gnn_import_report *r, const struct gnn_import_opts *o, bool byte_labels)
{
	warn_edges(r, o);
	if (r->has_labels)
		warn_labels(r, byte_labels);
	if (r->features.nan + r->features.inf > 0)
		warn(r, "features hold %llu NaN and %llu infinite values, kept as they are",
			(unsigned long long)r->features.nan, (unsigned long long)r->features.inf);
}
