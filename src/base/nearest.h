/*
 * base/nearest.h - the word that somebody who mistyped most likely meant.
 *
 * Flow     options, config, main -> [nearest]
 * Owns     nothing
 * Lends    one of the words given
 * Thread   any thread; no state
 * Fails    NULL when there are no words
 */
#ifndef GNN_BASE_NEAREST_H
#define GNN_BASE_NEAREST_H

#include "base/decl.h"

GNN_BEGIN_DECLS

/* The first of the words with the smallest edit distance. */
const char *gnn_nearest(const char *word, const char *const *words, uint32_t count);

GNN_END_DECLS

#endif
