/* cmd/train_job.c - see train_job.h. */
#include "cmd/train_job.h"

#include "base/setting.h"
#include "base/units.h"

#include <math.h>
#include <string.h>

_Static_assert((int)GNN_OPT_SAMPLER_LABOR == (int)GNN_SAMPLE_LABOR &&
	(int)GNN_OPT_ADAMW == (int)GNN_ADAMW && (int)GNN_OPT_SGD == (int)GNN_SGD &&
	(int)GNN_OPT_SCHEDULE_LINEAR == (int)GNN_SCHEDULE_LINEAR &&
	(int)GNN_OPT_SCHEDULE_COSINE == (int)GNN_SCHEDULE_COSINE &&
	(int)GNN_OPT_SCHEDULE_STEP == (int)GNN_SCHEDULE_STEP &&
	(int)GNN_OPT_HOT_DEGREE == (int)GNN_HOT_DEGREE &&
	(int)GNN_OPT_HOT_WINDOW == (int)GNN_HOT_WINDOW,
	"the choices are the module's");

/* Aggregates are never stale; of stale rows this many cost no accuracy on any graph tried. */
#define HOT_RATIO       .2
#define HOT_RATIO_STALE .02

/* The next word of a list, up to a comma; false behind the last. */
static bool next_word(const char **text, char *word, size_t bytes)
{
	const size_t length = strcspn(*text, ",");

	if (**text == '\0' || length >= bytes)
		return false;
	memcpy(word, *text, length);
	word[length] = '\0';
	*text += length + ((*text)[length] == ',');
	return true;
}

/* One number for every layer, or a list as long as the layers. */
static int check_length(const char *option, uint32_t found, uint64_t layers)
{
	if (found != 1 && found != layers)
		return gnn_err(GNN_EUSAGE, "--%s has %u numbers: wanted one, or one for each of "
			"%llu layers", option, found, (unsigned long long)layers);
	return GNN_OK;
}

static int read_fanout(struct gnn_train_opts *o, const struct gnn_config *c)
{
	const char *text = c->fanouts;
	uint32_t count = 0;
	char word[32];
	int rc;

	for (; count < GNN_NET_LAYERS_MAX && next_word(&text, word, sizeof(word)); count++) {
		if (strcmp(word, "all") == 0)
			o->fanout[count] = GNN_FANOUT_ALL;
		else if (!gnn_units_parse_count(word, &o->fanout[count]) ||
			o->fanout[count] == 0)
			return gnn_err(GNN_EUSAGE, "--fanout wants numbers from 1, or all, such as "
				"5,10; found '%.60s'", c->fanouts);
	}
	if (*text != '\0')
		return gnn_err(GNN_EUSAGE, "--fanout wants numbers from 1, or all, one for each of "
			"%llu layers; found '%.60s'", (unsigned long long)c->layers, c->fanouts);
	GNN_TRY(check_length("fanout", count, c->layers));
	for (uint32_t l = count; l < c->layers; l++)
		o->fanout[l] = o->fanout[0];
out:
	return rc;
}

static int read_weight_decay(struct gnn_train_opts *o, const struct gnn_config *c)
{
	double *decay = o->optim.weight_decay;
	const char *text = c->weight_decay;
	uint32_t count = 0;
	bool good = true;
	char word[32];
	int rc;

	for (; count < GNN_NET_LAYERS_MAX && next_word(&text, word, sizeof(word)); count++)
		good &= gnn_units_parse_real(word, &decay[count]) && decay[count] >= 0;
	if (!good || *text != '\0')
		return gnn_err(GNN_EUSAGE, "--weight-decay wants numbers from 0 such as 5e-4,0; "
			"found '%.60s'", c->weight_decay);
	GNN_TRY(check_length("weight-decay", count, c->layers));
	for (uint32_t l = count; l < c->layers; l++)
		decay[l] = decay[0];
out:
	return rc;
}

/* One number is of all layers but the last, which has one head. */
static int read_heads(struct gnn_train_opts *o, const struct gnn_config *c)
{
	uint32_t list[GNN_SETTING_LIST_MAX], count = 0;
	int rc = GNN_OK;

	if (c->heads != NULL && c->arch != GNN_ARCH_GAT)
		return gnn_err(GNN_EUSAGE, "%s has no heads",
			gnn_arch_name((enum gnn_arch)c->arch));
	if (c->heads != NULL && !gnn_settings_parse_list(c->heads, 1, 1 << 16, list, &count))
		return gnn_err(GNN_EUSAGE, "--heads wants numbers such as 8,1; found '%.60s'",
			c->heads);
	if (count > 0)
		GNN_TRY(check_length("heads", count, c->layers));
	for (uint32_t l = 0; l < c->layers; l++) {
		const bool alone = count == 0 || (count == 1 && l + 1 == c->layers && l > 0);

		o->shape.heads[l] = alone ? 1 : list[count == 1 ? 0 : l];
	}
out:
	return rc;
}

int gnn_train_read_batches(struct gnn_train_opts *o, const struct gnn_config *c)
{
	int rc;

	if (c->dependency > 1 && c->sampler != GNN_OPT_SAMPLER_LABOR)
		return gnn_err(GNN_ECONFIG, "--batch-dependency is of --sampler labor");
	GNN_TRY(read_fanout(o, c));
	GNN_TRY(read_heads(o, c));
	o->threads = (uint32_t)c->threads;
	o->shape.arch = (enum gnn_arch)c->arch;
	o->shape.layers = (uint32_t)c->layers;
	for (uint32_t l = 0; l < c->layers; l++)
		o->shape.channels[l] = (uint32_t)c->hidden;
	o->dropout = c->dropout;
	o->sampling = (enum gnn_sampling)c->sampler;
	o->dependency = c->dependency;
	o->batch_size = c->batch_size;
	o->pipeline = c->pipeline == GNN_OPT_ON;
	o->super_batch = c->super_batch;
	o->hot_ratio = !isnan(c->hot_ratio) ? c->hot_ratio :
		c->reuse == GNN_OPT_REUSE_EMBEDDINGS ? HOT_RATIO_STALE : HOT_RATIO;
	o->hot_policy = (enum gnn_hot_policy)c->hot_policy;
	o->seed = c->seed;
out:
	return rc;
}

int gnn_train_read_learning(struct gnn_train_opts *o, const struct gnn_config *c)
{
	int rc;

	GNN_TRY(read_weight_decay(o, c));
	o->epochs = c->epochs;
	o->optim.kind = (enum gnn_optimizer)c->optimizer;
	o->optim.schedule = (enum gnn_schedule)c->schedule;
	o->optim.lr = c->lr;
	o->optim.momentum = c->momentum;
	o->optim.clip = isnan(c->clip) ? 0 : c->clip;
	o->eval_every = c->eval_every;
	o->patience = c->patience;
	o->metric = (enum gnn_metric)c->metric;
out:
	return rc;
}

struct gnn_table_wish gnn_train_wish(enum gnn_opt_orchestration orchestration)
{
	static const struct gnn_table_wish of[] = {
		[GNN_OPT_ORCHESTRATION_AUTO] = {GNN_WISH_AUTO, GNN_SAMPLE_AUTO, false},
		[GNN_OPT_STEP_CPU] = {GNN_WISH_STAGED, GNN_SAMPLE_HOST, false},
		[GNN_OPT_STEP_GPU_SAMPLE] = {GNN_WISH_STAGED, GNN_SAMPLE_DEVICE, false},
		[GNN_OPT_STEP_GPU_GATHER] = {GNN_WISH_DEVICE, GNN_SAMPLE_HOST, false},
		[GNN_OPT_STEP_GPU] = {GNN_WISH_DEVICE, GNN_SAMPLE_DEVICE, false},
		[GNN_OPT_LAYER] = {GNN_WISH_STAGED, GNN_SAMPLE_AUTO, false},
	};

	return of[orchestration];
}

enum gnn_gather_wish gnn_train_told_gather(const struct gnn_config *c)
{
	static const enum gnn_gather_wish wishes[] = {
		[GNN_OPT_GATHER_AUTO] = GNN_WISH_AUTO,
		[GNN_OPT_GATHER_STAGED] = GNN_WISH_STAGED,
		[GNN_OPT_GATHER_ZERO_COPY] = GNN_WISH_ZERO_COPY,
		[GNN_OPT_GATHER_BOTH] = GNN_WISH_BOTH,
	};

	return wishes[c->gather];
}
