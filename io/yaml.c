/* io/yaml.c - see yaml.h. */
#include "io/yaml.h"

#include "base/mem.h"
#include "io/file.h"

#include <stdlib.h>
#include <string.h>
#include <yaml.h>

enum { FILE_BYTES_MAX = 1 << 20 };

struct gnn_yaml {
	yaml_document_t document;
	bool loaded;
	char *text;
};

int gnn_yaml_open(struct gnn_yaml **out, const char *path)
{
	struct gnn_yaml *y = NULL;
	yaml_parser_t parser;
	bool parsing = false;
	uint64_t bytes;
	int rc = GNN_OK;

	*out = NULL;
	GNN_NEW(y, GNN_MEM_MISC);
	GNN_TRY(gnn_file_slurp(path, FILE_BYTES_MAX, &y->text, &bytes));
	if (!yaml_parser_initialize(&parser))
		GNN_FAIL(GNN_EOS, "%s: no memory to read it", path);
	parsing = true;
	yaml_parser_set_input_string(&parser, (const unsigned char *)y->text, bytes);
	if (!yaml_parser_load(&parser, &y->document))
		GNN_FAIL(GNN_EDATA, "%s:%zu: no YAML: %s", path, parser.problem_mark.line + 1,
			parser.problem != NULL ? parser.problem : "it cannot be read");
	y->loaded = true;
	*out = y;
	y = NULL;
out:
	if (parsing)
		yaml_parser_delete(&parser);
	gnn_yaml_close(y);
	return rc;
}

void gnn_yaml_close(struct gnn_yaml *y)
{
	if (y == NULL)
		return;
	if (y->loaded)
		yaml_document_delete(&y->document);
	gnn_mem_free(y->text);
	gnn_mem_free(y);
}

int gnn_yaml_root(struct gnn_yaml *y)
{
	return yaml_document_get_root_node(&y->document) != NULL ? 1 : 0;
}

static yaml_node_t *node_at(struct gnn_yaml *y, int node, yaml_node_type_t type)
{
	yaml_node_t *n = node > 0 ? yaml_document_get_node(&y->document, node) : NULL;

	return n != NULL && n->type == type ? n : NULL;
}

int gnn_yaml_get(struct gnn_yaml *y, int map, const char *key)
{
	yaml_node_t *n = node_at(y, map, YAML_MAPPING_NODE);

	if (n == NULL)
		return 0;
	for (yaml_node_pair_t *p = n->data.mapping.pairs.start; p < n->data.mapping.pairs.top;
		p++) {
		const char *have = gnn_yaml_text(y, p->key);

		if (have != NULL && strcmp(have, key) == 0)
			return p->value;
	}
	return 0;
}

int gnn_yaml_item(struct gnn_yaml *y, int list, uint32_t i)
{
	yaml_node_t *n = node_at(y, list, YAML_SEQUENCE_NODE);

	if (n == NULL || i >= n->data.sequence.items.top - n->data.sequence.items.start)
		return 0;
	return n->data.sequence.items.start[i];
}

const char *gnn_yaml_text(struct gnn_yaml *y, int node)
{
	yaml_node_t *n = node_at(y, node, YAML_SCALAR_NODE);

	return n != NULL ? (const char *)n->data.scalar.value : NULL;
}

bool gnn_yaml_number(struct gnn_yaml *y, int node, uint64_t *value)
{
	const char *text = gnn_yaml_text(y, node);
	char *end;

	if (text == NULL || text[0] < '0' || text[0] > '9')
		return false;
	*value = strtoull(text, &end, 10);
	return *end == '\0';
}
