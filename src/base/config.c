/* base/config.c - see config.h. */
#include "base/config.h"

#include "base/mem.h"

#include <string.h>

struct gnn_text {
	struct gnn_text *next;
	char text[];
};

int gnn_config_keep(struct gnn_config *c, const char *front, const char *text, const char **kept)
{
	size_t front_bytes = strlen(front), text_bytes = strlen(text) + 1;
	struct gnn_text *t;
	void *block;

	*kept = NULL;
	if (gnn_mem_new(&block, 1, sizeof(*t) + front_bytes + text_bytes, GNN_MEM_MISC) < 0)
		return GNN_EOS;
	t = block;
	memcpy(t->text, front, front_bytes);
	memcpy(t->text + front_bytes, text, text_bytes);
	t->next = c->text_;
	c->text_ = t;
	*kept = t->text;
	return GNN_OK;
}

void gnn_config_fini(struct gnn_config *c)
{
	while (c->text_ != NULL) {
		struct gnn_text *first = c->text_;

		c->text_ = first->next;
		gnn_mem_free(first);
	}
}
