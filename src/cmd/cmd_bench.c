/* cmd/cmd_bench.c - gnnrun bench: measurements of this machine and of what runs on it. */
#include "cmd/bench.h"
#include "cmd/cmd.h"

#include <string.h>

static const struct {
	const char *name;
	uint32_t    args; /* with the name */
	const char *wanted;
	int       (*run)(const struct gnn_config *c);
} benches[] = {
	{"infer", 2, "infer STORE.h5", gnn_bench_infer},
};

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
		memcpy(names + used, " ", 1);
		memcpy(names + used + 1, benches[i].name, length + 1);
		used += length + 1;
	}
	return gnn_err(GNN_EUSAGE, "there is no bench %s; there is:%s", c->args[0], names);
}
