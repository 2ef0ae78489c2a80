/* infer/score.c - see score.h. */
#include "infer/score.h"

#include "base/mem.h"
#include "io/stream.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* One split: its rows in ascending order, and what is counted of them. */
struct split {
	uint64_t *row;
	uint64_t  count;
	uint64_t  cursor;   /* rows already seen */
	uint64_t  labelled; /* seen and labelled */
	uint64_t  correct;
	float    *score;    /* ROC AUC: (columns, count), column by column */
	uint8_t  *truth;    /* likewise */
	uint64_t *hit, *predicted, *actual; /* F1: per class */
};

struct gnn_score {
	enum gnn_metric    metric;
	uint32_t           width;   /* of the result */
	uint32_t           columns; /* ROC AUC: label columns scored; F1: classes */
	bool               multi_label;
	uint64_t           label_cols;
	const struct gnn_store *store;
	struct gnn_stream *labels;
	struct gnn_piece  *piece;   /* labels at hand */
	uint64_t           piece_first, piece_rows;
	struct split       split[GNN_SPLIT_COUNT];
};

static const char *const metric_names[] = {
	[GNN_METRIC_AUTO] = "auto", [GNN_METRIC_ACCURACY] = "accuracy",
	[GNN_METRIC_ROCAUC] = "rocauc", [GNN_METRIC_F1] = "f1",
};

enum { LABEL_PIECE_ROWS = 1 << 15 };

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static uint64_t class_count(const struct gnn_store *s)
{
	uint64_t classes = 0;

	if (s->labels->rank == 2)
		return s->labels->cols;
	if (gnn_container_number(s->container, "classes", &classes) != GNN_OK)
		gnn_err_clear();
	return classes;
}

/* Whether the width of the result can be scores of the classes. */
static bool width_fits(uint64_t classes, uint32_t width, bool multi_label)
{
	return width == classes || (!multi_label && width == 1 && classes == 2);
}

/* Settles auto; GNN_SKIPPED when there is nothing to score. */
static int choose(struct gnn_score *s, enum gnn_metric metric)
{
	uint64_t classes = class_count(s->store);

	if (metric == GNN_METRIC_AUTO) {
		if (!width_fits(classes, s->width, s->multi_label))
			return GNN_SKIPPED;
		s->metric = s->multi_label ? GNN_METRIC_F1 : GNN_METRIC_ACCURACY;
		return GNN_OK;
	}
	s->metric = metric;
	if (s->multi_label && metric == GNN_METRIC_ACCURACY)
		return gnn_err(GNN_ECONFIG, "--metric accuracy needs one label a vertex, the store "
			"has %llu columns of labels; use f1 or rocauc",
			(unsigned long long)s->label_cols);
	if (!width_fits(classes, s->width, s->multi_label))
		return gnn_err(GNN_ECONFIG, "--metric %s needs a result as wide as the %llu "
			"classes of the store, the model gives %u columns", metric_names[metric],
			(unsigned long long)classes, s->width);
	if (metric == GNN_METRIC_ROCAUC && !s->multi_label && classes != 2)
		return gnn_err(GNN_ECONFIG, "--metric rocauc needs two classes or multi-label "
			"labels, the store has %llu classes", (unsigned long long)classes);
	return GNN_OK;
}

/* Of all rows of the split those of the view, by their number there. */
static void keep_view(struct split *p, const struct gnn_store *s)
{
	uint64_t kept = 0;

	for (uint64_t i = 0; i < p->count; i++)
		if (p->row[i] - s->first < s->vertices)
			p->row[kept++] = p->row[i] - s->first;
	p->count = kept;
}

static int load_split(struct gnn_score *s, struct split *p, const struct gnn_array *a)
{
	int rc;

	GNN_NEW_ARRAY(p->row, a->rows, GNN_MEM_MISC);
	p->count = a->rows;
	GNN_TRY(gnn_array_load(s->store->container, a, 0, a->bytes, p->row));
	qsort(p->row, p->count, sizeof(*p->row), by_value);
	if (p->count > 0 && p->row[p->count - 1] >= s->store->whole_vertices)
		GNN_FAIL(GNN_EDATA, "%s: row %llu, the store has %llu vertices", a->name,
			(unsigned long long)p->row[p->count - 1],
			(unsigned long long)s->store->whole_vertices);
	keep_view(p, s->store);
	if (s->metric == GNN_METRIC_ROCAUC) {
		GNN_NEW_ARRAY(p->score, p->count * s->columns, GNN_MEM_MISC);
		GNN_NEW_ARRAY(p->truth, p->count * s->columns, GNN_MEM_MISC);
	}
	if (s->metric == GNN_METRIC_F1) {
		GNN_NEW_ARRAY(p->hit, s->columns, GNN_MEM_MISC);
		GNN_NEW_ARRAY(p->predicted, s->columns, GNN_MEM_MISC);
		GNN_NEW_ARRAY(p->actual, s->columns, GNN_MEM_MISC);
	}
out:
	return rc;
}

/* Of one row. */
static uint64_t label_bytes(const struct gnn_score *s)
{
	return s->label_cols * gnn_dtype_bytes(s->store->labels->dtype);
}

static bool has_split(const struct gnn_store *s)
{
	for (int k = 0; k < GNN_SPLIT_COUNT; k++)
		if (s->split[k] != NULL)
			return true;
	return false;
}

int gnn_score_create(struct gnn_score **out, const struct gnn_store *store, uint32_t width,
	enum gnn_metric metric, bool verify)
{
	struct gnn_score *s = NULL;
	int rc;

	*out = NULL;
	if (store->labels == NULL || !has_split(store)) {
		if (metric != GNN_METRIC_AUTO)
			return gnn_err(GNN_ECONFIG, "--metric %s needs labels and splits in the "
				"store", metric_names[metric]);
		return GNN_OK;
	}
	GNN_NEW(s, GNN_MEM_MISC);
	*s = (struct gnn_score){.store = store, .width = width,
		.multi_label = store->labels->rank == 2, .label_cols = store->labels->cols};
	rc = choose(s, metric);
	if (rc != GNN_OK)
		goto out;
	s->columns = s->multi_label ? width : s->metric == GNN_METRIC_ROCAUC ? 1 :
		(uint32_t)gnn_max_u64(width, 2);
	for (int k = 0; k < GNN_SPLIT_COUNT; k++)
		if (store->split[k] != NULL)
			GNN_TRY(load_split(s, &s->split[k], store->split[k]));
	GNN_TRY(gnn_stream_open(&s->labels, &(struct gnn_stream_opts){
		.container = store->container, .array = store->labels,
		.first_byte = store->first * label_bytes(s),
		.bytes = store->vertices * label_bytes(s),
		.piece_bytes = LABEL_PIECE_ROWS * label_bytes(s), .ahead = 1, .lent = 1,
		.verify = verify}));
	*out = s;
	s = NULL;
out:
	gnn_score_destroy(s);
	return rc < 0 ? rc : GNN_OK;
}

/* The label row of v; v never goes back. */
static int label_at(struct gnn_score *s, gnn_vid v, const void **label)
{
	uint64_t row_bytes = label_bytes(s);
	int rc = GNN_OK;

	while (s->piece == NULL || v >= s->piece_first + s->piece_rows) {
		if (s->piece != NULL)
			gnn_stream_put(s->labels, s->piece);
		s->piece = NULL;
		rc = gnn_stream_next(s->labels, &s->piece);
		if (rc != GNN_OK)
			return rc == GNN_EOF ? gnn_err(GNN_EDATA, "labels end early") : rc;
		s->piece_first = s->piece->first_byte / row_bytes - s->store->first;
		s->piece_rows = s->piece->bytes / row_bytes;
	}
	*label = (const char *)s->piece->data + (v - s->piece_first) * row_bytes;
	return rc;
}

uint32_t gnn_score_class(const float *h, uint32_t width)
{
	uint32_t best = 0;

	if (width == 1)
		return h[0] > 0.0f;
	for (uint32_t c = 1; c < width; c++)
		if (h[c] > h[best])
			best = c;
	return best;
}

static void count_columns(const struct gnn_score *s, struct split *p, const uint8_t *label,
	const float *h)
{
	for (uint32_t c = 0; c < s->columns; c++) {
		uint64_t at = c * p->count + p->labelled;

		if (s->metric == GNN_METRIC_ROCAUC) {
			p->score[at] = h[c];
			p->truth[at] = label[c];
			continue;
		}
		p->predicted[c] += h[c] > 0.0f;
		p->actual[c] += label[c] != 0;
		p->hit[c] += h[c] > 0.0f && label[c] != 0;
	}
}

static void count_class(const struct gnn_score *s, struct split *p, uint64_t label, const float *h)
{
	uint64_t best = gnn_score_class(h, s->width);

	p->correct += best == label;
	if (s->metric == GNN_METRIC_ROCAUC) {
		p->score[p->labelled] = s->width == 1 ? h[0] : h[1] - h[0];
		p->truth[p->labelled] = label == 1;
	}
	if (s->metric == GNN_METRIC_F1) {
		p->predicted[best]++;
		p->actual[label]++;
		p->hit[best] += best == label;
	}
}

static int score_row(struct gnn_score *s, struct split *p, gnn_vid v, const float *h)
{
	const void *label = NULL;
	int rc;

	GNN_TRY(label_at(s, v, &label));
	if (s->multi_label) {
		count_columns(s, p, label, h);
	} else {
		int64_t value = *(const int64_t *)label;

		if (value < 0)
			return GNN_OK; /* unlabelled */
		if ((uint64_t)value >= gnn_max_u64(s->width, 2))
			return gnn_err(GNN_EDATA, "labels: vertex %llu has class %lld, the result "
				"has %u columns", (unsigned long long)(s->store->first + v),
				(long long)value, s->width);
		count_class(s, p, (uint64_t)value, h);
	}
	p->labelled++;
out:
	return rc;
}

int gnn_score_rows(struct gnn_score *s, gnn_vid first, uint64_t rows, const float *h)
{
	int rc = GNN_OK;

	for (;;) {
		struct split *p = NULL;

		/* The split whose next row is the smallest: labels are read once, in order. */
		for (int k = 0; k < GNN_SPLIT_COUNT; k++) {
			struct split *q = &s->split[k];

			if (q->cursor < q->count &&
				(p == NULL || q->row[q->cursor] < p->row[p->cursor]))
				p = q;
		}
		if (p == NULL || p->row[p->cursor] >= first + rows)
			return rc;
		GNN_TRY(score_row(s, p, p->row[p->cursor],
			h + (p->row[p->cursor] - first) * s->width));
		p->cursor++;
	}
out:
	return rc;
}

struct scored {
	float   score;
	uint8_t truth;
};

static int by_score(const void *a, const void *b)
{
	float x = ((const struct scored *)a)->score, y = ((const struct scored *)b)->score;

	return (x > y) - (x < y);
}

int gnn_score_auc(const float *score, const uint8_t *label, uint64_t n, double *auc)
{
	struct scored *sorted = NULL;
	uint64_t positives = 0;
	double rank_sum = 0.0;
	int rc;

	*auc = NAN;
	GNN_NEW_ARRAY(sorted, n, GNN_MEM_MISC);
	for (uint64_t i = 0; i < n; i++) {
		sorted[i] = (struct scored){score[i], label[i]};
		if (isnan(score[i]))
			goto out; /* no order, no area */
		positives += label[i];
	}
	qsort(sorted, n, sizeof(*sorted), by_score);
	for (uint64_t i = 0, end; i < n; i = end) {
		for (end = i + 1; end < n && sorted[end].score == sorted[i].score; end++)
			;
		/* Ranks i+1 .. end are tied: each takes their mean. */
		for (uint64_t k = i; k < end; k++)
			if (sorted[k].truth)
				rank_sum += ((double)i + 1.0 + (double)end) / 2.0;
	}
	if (positives > 0 && positives < n)
		*auc = (rank_sum - (double)positives * ((double)positives + 1.0) / 2.0) /
			((double)positives * (double)(n - positives));
out:
	gnn_mem_free(sorted);
	return rc;
}

static int mean_auc(const struct gnn_score *s, const struct split *p, double *figure)
{
	double sum = 0.0;
	uint32_t defined = 0;
	int rc = GNN_OK;

	for (uint32_t c = 0; c < s->columns; c++) {
		double auc;

		GNN_TRY(gnn_score_auc(p->score + c * p->count, p->truth + c * p->count, p->labelled,
			&auc));
		if (isnan(auc))
			continue;
		sum += auc;
		defined++;
	}
	*figure = defined > 0 ? sum / defined : NAN;
out:
	return rc;
}

static double f1_of(uint64_t hit, uint64_t predicted, uint64_t actual)
{
	return predicted + actual > 0 ? 2.0 * (double)hit / (double)(predicted + actual) : 0.0;
}

/* Multi-label: over all cells at once. Else the mean over the classes that occur. */
static double f1_figure(const struct gnn_score *s, const struct split *p)
{
	uint64_t hit = 0, predicted = 0, actual = 0, occurring = 0;
	double sum = 0.0;

	for (uint32_t c = 0; c < s->columns; c++) {
		hit += p->hit[c];
		predicted += p->predicted[c];
		actual += p->actual[c];
		if (p->predicted[c] + p->actual[c] > 0) {
			sum += f1_of(p->hit[c], p->predicted[c], p->actual[c]);
			occurring++;
		}
	}
	if (s->multi_label)
		return f1_of(hit, predicted, actual);
	return occurring > 0 ? sum / (double)occurring : NAN;
}

/* A new (columns, all) matrix from those (columns, labelled) of each rank. */
static int join_columns(const struct gnn_score *s, const struct split *p,
	const struct gnn_share *share, const void *from, uint64_t item_bytes, uint64_t all,
	void **out)
{
	void *column = NULL;
	uint64_t bytes;
	int rc;

	GNN_TRY(gnn_mem_new(out, gnn_max_u64(all * s->columns, 1), item_bytes, GNN_MEM_MISC));
	for (uint32_t c = 0; c < s->columns; c++) {
		GNN_TRY(gnn_share_collect(share, (const char *)from + c * p->count * item_bytes,
			p->labelled * item_bytes, &column, &bytes));
		memcpy((char *)*out + c * all * item_bytes, column, bytes);
		gnn_comm_keep(share->comm, column);
		column = NULL;
	}
out:
	gnn_comm_keep(share->comm, column);
	return rc;
}

/* The scores that each rank has become those of all. */
static int join_scores(const struct gnn_score *s, struct split *p, const struct gnn_share *share,
	uint64_t all)
{
	void *score = NULL, *truth = NULL;
	int rc;

	GNN_TRY(join_columns(s, p, share, p->score, sizeof(*p->score), all, &score));
	GNN_TRY(join_columns(s, p, share, p->truth, sizeof(*p->truth), all, &truth));
	gnn_mem_free(p->score);
	gnn_mem_free(p->truth);
	p->score = score;
	p->truth = truth;
	p->count = all;
	return rc;
out:
	gnn_mem_free(score);
	gnn_mem_free(truth);
	return rc;
}

/* What each rank counted becomes what all did. */
static int join(const struct gnn_score *s, struct split *p, const struct gnn_share *share)
{
	uint64_t counts[] = {p->labelled, p->correct};
	uint64_t *classes[] = {p->hit, p->predicted, p->actual};
	int rc;

	GNN_TRY(gnn_comm_reduce_u64(share->comm, GNN_REDUCE_SUM, counts, 2));
	if (s->metric == GNN_METRIC_ROCAUC)
		GNN_TRY(join_scores(s, p, share, counts[0]));
	for (uint32_t k = 0; k < GNN_COUNT_OF(classes) && classes[k] != NULL; k++)
		GNN_TRY(gnn_comm_reduce_u64(share->comm, GNN_REDUCE_SUM, classes[k], s->columns));
	p->labelled = counts[0];
	p->correct = counts[1];
out:
	return rc;
}

int gnn_score_end(struct gnn_score *s, const struct gnn_share *share,
	double figure[GNN_SPLIT_COUNT])
{
	int rc = GNN_OK;

	for (int k = 0; k < GNN_SPLIT_COUNT; k++) {
		struct split *p = &s->split[k];

		figure[k] = NAN;
		if (share != NULL && s->store->split[k] != NULL)
			GNN_TRY(join(s, p, share));
		if (p->labelled == 0)
			continue;
		if (s->metric == GNN_METRIC_ACCURACY)
			figure[k] = (double)p->correct / (double)p->labelled;
		else if (s->metric == GNN_METRIC_F1)
			figure[k] = f1_figure(s, p);
		else
			GNN_TRY(mean_auc(s, p, &figure[k]));
	}
out:
	return rc;
}

const char *gnn_score_name(const struct gnn_score *s)
{
	return metric_names[s->metric];
}

void gnn_score_destroy(struct gnn_score *s)
{
	if (s == NULL)
		return;
	if (s->piece != NULL)
		gnn_stream_put(s->labels, s->piece);
	gnn_stream_close(s->labels);
	for (int k = 0; k < GNN_SPLIT_COUNT; k++) {
		struct split *p = &s->split[k];

		gnn_mem_free(p->row);
		gnn_mem_free(p->score);
		gnn_mem_free(p->truth);
		gnn_mem_free(p->hit);
		gnn_mem_free(p->predicted);
		gnn_mem_free(p->actual);
	}
	gnn_mem_free(s);
}
