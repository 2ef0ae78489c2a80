/*
 * io/store_schema.h - the names inside stores and results, in one place for all who use them.
 *
 * Flow     included by builder, store, infer, info
 * Owns     nothing
 * Lends    nothing
 * Thread   constants only
 * Fails    never
 *
 * Shapes and types stand in docs/formats.md; store.c holds them as a table and checks them.
 */
#ifndef GNN_IO_STORE_SCHEMA_H
#define GNN_IO_STORE_SCHEMA_H

#define GNN_FORMAT_STORE  "gnnrun-store"
#define GNN_FORMAT_RESULT "gnnrun-result"

/* Attributes of the root. */
#define GNN_ATTR_FORMAT     "format"
#define GNN_ATTR_VERSION    "version"
#define GNN_ATTR_VERTICES   "vertices"
#define GNN_ATTR_EDGES      "edges"
#define GNN_ATTR_RUN        "run"     /* of a result: store, model and options, as one hash */
#define GNN_ATTR_PROVENANCE "provenance"

/* Numbers of the root that save info a reading of the topology; --verify checks them. */
#define GNN_ATTR_MAX_IN_DEGREE  "max_in_degree"
#define GNN_ATTR_MAX_OUT_DEGREE "max_out_degree"
#define GNN_ATTR_ISOLATED       "isolated"   /* vertices without any edge */
#define GNN_ATTR_SELF_LOOPS     "self_loops" /* edges */
#define GNN_ATTR_DUPLICATES     "duplicates" /* edges with an equal one before them */
#define GNN_ATTR_CLASSES        "classes"    /* with labels only */

/* Attributes of the group /order: which order, and its metrics. */
#define GNN_ATTR_ORDER             "order/name"
#define GNN_ATTR_ORDER_RUN         "order/run"         /* store, order and options, as one hash */
#define GNN_ATTR_ORDER_BOOTSTRAP   "order/bootstrap"   /* of taurus */
#define GNN_ATTR_ORDER_ITERATIONS  "order/iterations"  /* of taurus */
#define GNN_ATTR_ORDER_SPAN        "order/span"
#define GNN_ATTR_ORDER_SPAN_BEFORE "order/span_before" /* of the store that was reordered */
#define GNN_ATTR_ORDER_DISPERSION  "order/dispersion"
#define GNN_ATTR_ORDER_BANDWIDTH   "order/bandwidth"
#define GNN_ATTR_ORDER_PEAK        "order/peak_active"
#define GNN_ATTR_ORDER_MEAN        "order/mean_active"
/* Of a store that leaves its features in another one: where that is, and a hash of them. */
#define GNN_ATTR_FEATURES_STORE    "order/features_store"
#define GNN_ATTR_FEATURES_HASH     "order/features_hash"

/* Arrays of a store. */
#define GNN_STORE_OUT_OFFSETS   "topology/out/offsets"
#define GNN_STORE_OUT_NEIGHBORS "topology/out/neighbors"
#define GNN_STORE_OUT_WEIGHTS   "topology/out/weights"
#define GNN_STORE_IN_OFFSETS    "topology/in/offsets"
#define GNN_STORE_IN_NEIGHBORS  "topology/in/neighbors"
#define GNN_STORE_IN_WEIGHTS    "topology/in/weights"
#define GNN_STORE_SELF_LOOPS    "topology/self_loops"
#define GNN_STORE_FEATURES      "features"
#define GNN_STORE_LABELS        "labels"
#define GNN_STORE_SPLIT_TRAIN   "split/train"
#define GNN_STORE_SPLIT_VALID   "split/valid"
#define GNN_STORE_SPLIT_TEST    "split/test"
#define GNN_STORE_ORIGINAL_ID   "order/original_id"
#define GNN_STORE_EXTERNAL_ID   "order/external_id"
#define GNN_STORE_FEATURE_RANK  "order/feature_rank"

/* Arrays of a result. */
#define GNN_RESULT_EMBEDDINGS  "embeddings"
#define GNN_RESULT_EXTERNAL_ID "external_id"
#define GNN_RESULT_PREDICTION  "prediction"
#define GNN_RESULT_LAYER       "layer/%u" /* counted from 1 */

#endif
