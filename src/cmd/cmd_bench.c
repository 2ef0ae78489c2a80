/* cmd/cmd_bench.c - gnnrun bench: measurements of this machine and of what runs on it. */
#include "base/units.h"
#include "cmd/bench.h"
#include "cmd/cmd.h"

#include <string.h>

static const struct {
	const char *name;
	uint32_t    args; /* with the name */
	const char *wanted;
	int       (*run)(const struct gnn_config *c);
} benches[] = {
	{"io", 2, "io STORE.h5", gnn_bench_io},
	{"aggregate", 1, "aggregate", gnn_bench_aggregate},
	{"collective", 1, "collective", gnn_bench_collective},
	{"gather", 1, "gather", gnn_bench_gather},
	{"infer", 2, "infer STORE.h5", gnn_bench_infer},
	{"train", 2, "train STORE.h5", gnn_bench_train},
};

int gnn_bench_list(struct gnn_bench_list *out, const char *option, const char *text)
{
	char word[32];

	*out = (struct gnn_bench_list){.count = 0};
	for (const char *at = text;; at++) {
		size_t length = strcspn(at, ",");

		if (length == 0 || length >= sizeof(word) || out->count == GNN_BENCH_LIST_MAX)
			break;
		memcpy(word, at, length);
		word[length] = '\0';
		if (!gnn_units_parse_size(word, &out->value[out->count]) ||
			out->value[out->count] == 0)
			break;
		out->count++;
		at += length;
		if (*at == '\0')
			return GNN_OK;
	}
	return gnn_err(GNN_EUSAGE, "--%s %s: wanted up to %d sizes above 0 with commas between",
		option, text, GNN_BENCH_LIST_MAX);
}

int gnn_cmd_bench(const struct gnn_config *c)
{
	char names[256] = "";
	size_t used = 0;

	for (size_t i = 0; i < GNN_COUNT_OF(benches); i++) {
		size_t length = strlen(benches[i].name);

		if (strcmp(c->args[0], benches[i].name) == 0) {
			if (c->arg_count != benches[i].args)
				return gnn_err(GNN_EUSAGE, "usage: gnnrun bench %s [--option "
					"value ...]", benches[i].wanted);
			return benches[i].run(c);
		}
		GNN_ASSERT(used + length + 2 < sizeof(names));
		names[used] = ' ';
		memcpy(names + used + 1, benches[i].name, length + 1);
		used += length + 1;
	}
	return gnn_err(GNN_EUSAGE, "there is no bench %s; there is:%s", c->args[0], names);
}
