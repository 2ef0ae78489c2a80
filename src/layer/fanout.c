/* layer/fanout.c - how many in-edges each layer uses of a vertex; see model.h. */
#include "layer/model.h"

#include "base/units.h"
#include "layer/model_parts.h"

#include <string.h>

enum { ITEM_MAX = 24 };

/* One item of the list; 0 is "all". */
static int parse_item(const char *text, size_t bytes, uint64_t *fanout)
{
	char item[ITEM_MAX] = "";

	*fanout = 0;
	if (bytes < sizeof(item))
		memcpy(item, text, bytes);
	if (strcmp(item, "all") == 0)
		return GNN_OK;
	if (!gnn_units_parse_count(item, fanout) || *fanout == 0)
		return gnn_err(GNN_EUSAGE, "--fanout: \"%.*s\" is neither \"all\" nor a number of "
			"in-edges from 1", (int)gnn_min_u64(bytes, 40), text);
	return GNN_OK;
}

int gnn_model_set_fanout(struct gnn_model *m, const char *text, bool scale)
{
	uint64_t fanout = 0;
	uint32_t count = 0;
	const char *at = text;
	int rc;

	do {
		size_t bytes = strcspn(at, ",");

		GNN_TRY(parse_item(at, bytes, &fanout));
		if (count < m->layers)
			m->conv[m->layers - 1 - count].fanout = fanout;
		count++;
		at += bytes;
	} while (*at++ == ',');
	if (count != 1 && count != m->layers)
		GNN_FAIL(GNN_EUSAGE, "--fanout %s has %u numbers, the model has %u layers", text,
			count, m->layers);
	for (uint32_t l = 0; l < m->layers; l++) {
		struct gnn_conv *c = &m->conv[l];

		if (count == 1)
			c->fanout = fanout;
		c->scales_sums = scale && c->combine == GNN_COMBINE_SUM && !c->sample_degrees;
	}
out:
	return rc;
}
