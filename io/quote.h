/*
 * io/quote.h - foreign bytes made fit for a message.
 *
 * Flow     importers -> [quote] -> error text
 * Owns     nothing
 * Lends    nothing
 * Thread   any thread
 * Fails    never
 */
#ifndef GNN_IO_QUOTE_H
#define GNN_IO_QUOTE_H

#include "base/decl.h"

enum { GNN_QUOTE_MAX = 96 };

GNN_BEGIN_DECLS

/* 'text', unprintable bytes as \xNN, cut with ... after some 40 characters. */
void gnn_quote(const char *from, uint64_t bytes, char to[GNN_QUOTE_MAX]);

GNN_END_DECLS

#endif
