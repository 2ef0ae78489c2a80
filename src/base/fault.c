/* base/fault.c - see fault.h. */
#include "base/fault.h"

#include "base/rng.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { RULES_MAX = 16, NAME_MAX_BYTES = 48, SITE_CRASH = GNN_FAULT_SITE_COUNT,
	SITE_SIGNAL, SLOW_US = 50000 };

#define SITE(name)    (1u << GNN_FAULT_##name)
#define SITES_OF_IO   (SITE(READ) | SITE(WRITE))
#define SITES_OF_FILE                                                                        \
	(SITES_OF_IO | SITE(OPEN) | SITE(RESERVE) | SITE(FSYNC) | SITE(CLOSE) | SITE(RENAME))

static const char *const site_names[SITE_SIGNAL + 1] = {
	[GNN_FAULT_ALLOC] = "alloc",     [GNN_FAULT_OPEN] = "open",   [GNN_FAULT_READ] = "read",
	[GNN_FAULT_WRITE] = "write",     [GNN_FAULT_RESERVE] = "reserve",
	[GNN_FAULT_FSYNC] = "fsync",     [GNN_FAULT_CLOSE] = "close", [GNN_FAULT_RENAME] = "rename",
	[GNN_FAULT_RING] = "ring",       [GNN_FAULT_PIN] = "pin",
	[GNN_FAULT_IN_PLACE] = "in-place", [GNN_FAULT_STAGED] = "staged",
	[GNN_FAULT_REUSE] = "reuse",     [GNN_FAULT_EMBED] = "embed",
	[GNN_FAULT_ROWS] = "rows",       [GNN_FAULT_BOTTOM] = "bottom",
	[GNN_FAULT_SAMPLE] = "sample",   [GNN_FAULT_SAMPLE_THERE] = "sample-there",
	[GNN_FAULT_WIDE] = "wide",       [SITE_CRASH] = "crash",
	[SITE_SIGNAL] = "signal",
};

/* What can happen, and the sites at which it can. */
static const struct {
	const char *name;
	enum gnn_fault_action action;
	int errnum;
	uint32_t sites;
} actions[] = {
	{"fail", GNN_FAULT_FAIL, 0, SITE(ALLOC) | SITE(PIN) | SITE(WIDE)},
	{"short", GNN_FAULT_SHORT, 0, SITES_OF_IO},
	{"eof", GNN_FAULT_ENDS, 0, SITE(READ)},
	{"flip", GNN_FAULT_FLIP, 0, SITES_OF_IO},
	{"stale", GNN_FAULT_STALE, 0, SITE(REUSE)},
	{"slow", GNN_FAULT_SLOW, 0, SITES_OF_FILE | SITE(IN_PLACE) | SITE(STAGED) | SITE(EMBED) |
		SITE(ROWS) | SITE(BOTTOM) | SITE(SAMPLE) | SITE(SAMPLE_THERE)},
	{"eio", GNN_FAULT_ERRNO, EIO, SITES_OF_FILE},
	{"enodata", GNN_FAULT_ERRNO, ENODATA, SITE(READ)},
	{"eagain", GNN_FAULT_ERRNO, EAGAIN, SITES_OF_IO | SITE(RING)},
	{"eintr", GNN_FAULT_ERRNO, EINTR, SITES_OF_FILE},
	{"einval", GNN_FAULT_ERRNO, EINVAL, SITES_OF_FILE | SITE(RING)},
	{"enospc", GNN_FAULT_ERRNO, ENOSPC, SITES_OF_FILE},
	{"edquot", GNN_FAULT_ERRNO, EDQUOT, SITES_OF_FILE},
	{"efbig", GNN_FAULT_ERRNO, EFBIG, SITE(WRITE) | SITE(RESERVE)},
	{"eopnotsupp", GNN_FAULT_ERRNO, EOPNOTSUPP, SITE(RESERVE) | SITE(RING)},
	{"eacces", GNN_FAULT_ERRNO, EACCES, SITE(OPEN) | SITE(RENAME)},
	{"erofs", GNN_FAULT_ERRNO, EROFS, SITE(OPEN) | SITE(RENAME)},
	{"emfile", GNN_FAULT_ERRNO, EMFILE, SITE(OPEN) | SITE(RING)},
	{"eperm", GNN_FAULT_ERRNO, EPERM, SITE(OPEN) | SITE(RING)},
	{"enosys", GNN_FAULT_ERRNO, ENOSYS, SITE(RESERVE) | SITE(RING)},
	{"enomem", GNN_FAULT_ERRNO, ENOMEM, SITES_OF_FILE | SITE(RING)},
};

/* Operations `first` to `last`, or every `every`-th: counted, or drawn by hash when seeded. */
struct rule {
	int site;
	struct gnn_fault fault;
	uint64_t first, last;
	uint64_t every; /* 0: first to last */
	bool seeded;
	uint64_t seed;
	char point[NAME_MAX_BYTES];
	atomic_uint_fast64_t point_hits;
};

static struct rule rules[RULES_MAX]; /* written before threads start, then constant */
static atomic_uint_fast32_t rule_count;
static atomic_uint_fast64_t counts[GNN_FAULT_SITE_COUNT];

/* Decimal digits only; moves *at behind them. */
static bool scan_number(const char **at, uint64_t *value)
{
	char *end;

	if (**at < '0' || **at > '9')
		return false;
	errno = 0;
	*value = strtoull(*at, &end, 10);
	*at = end;
	return errno == 0;
}

static bool scan_site(const char **at, struct rule *r)
{
	size_t len = strcspn(*at, ":,");

	for (int s = 0; s <= SITE_SIGNAL; s++) {
		if (strlen(site_names[s]) == len && strncmp(site_names[s], *at, len) == 0) {
			r->site = s;
			*at += len;
			return *(*at)++ == ':';
		}
	}
	return false;
}

static bool is_of_points(const struct rule *r)
{
	return r->site == SITE_CRASH || r->site == SITE_SIGNAL;
}

static bool scan_action(const char **at, struct rule *r)
{
	size_t len = strcspn(*at, "@%,");
	const char *word = *at;

	*at += len;
	if (is_of_points(r)) {
		if (len == 0 || len >= sizeof(r->point))
			return false;
		memcpy(r->point, word, len);
		return true;
	}
	for (size_t a = 0; a < GNN_COUNT_OF(actions); a++) {
		if (strlen(actions[a].name) == len && strncmp(actions[a].name, word, len) == 0) {
			r->fault = (struct gnn_fault){actions[a].action, actions[a].errnum};
			return (actions[a].sites >> r->site & 1) != 0;
		}
	}
	return false;
}

/* "@n", "@n-m", "%k" or "%k=seed". */
static bool scan_when(const char **at, struct rule *r)
{
	char mark = **at;

	if (mark != '@' && mark != '%')
		return false;
	(*at)++;
	if (mark == '%') {
		if (!scan_number(at, &r->every) || r->every == 0)
			return false;
		r->seeded = **at == '=';
		if (!r->seeded)
			return true;
		(*at)++;
		return scan_number(at, &r->seed);
	}
	if (!scan_number(at, &r->first) || r->first == 0)
		return false;
	r->last = r->first;
	if (**at != '-')
		return true;
	(*at)++;
	return scan_number(at, &r->last) && r->last >= r->first;
}

int gnn_fault_parse(const char *spec)
{
	const char *at = spec;
	uint32_t count = 0;

	gnn_fault_clear();
	if (spec == NULL || spec[0] == '\0')
		return GNN_OK;
	for (;;) {
		const char *start = at;

		if (count == RULES_MAX)
			return gnn_err(GNN_EUSAGE, "--faults: more than %d rules", RULES_MAX);
		memset(&rules[count], 0, sizeof(rules[count]));
		if (!scan_site(&at, &rules[count]) || !scan_action(&at, &rules[count]) ||
			!scan_when(&at, &rules[count]) || (*at != ',' && *at != '\0'))
			return gnn_err(GNN_EUSAGE,
				"--faults: cannot read '%.*s'; wanted site:action@n[-m] or "
				"site:action%%k[=seed], such as read:eio@17",
				(int)strcspn(start, ","), start);
		count++;
		if (*at++ == '\0')
			break;
	}
	atomic_store(&rule_count, count);
	return GNN_OK;
}

void gnn_fault_clear(void)
{
	atomic_store(&rule_count, 0);
	for (int s = 0; s < GNN_FAULT_SITE_COUNT; s++)
		atomic_store(&counts[s], 0);
}

static bool strikes(const struct rule *r, uint64_t n)
{
	if (r->every == 0)
		return n >= r->first && n <= r->last;
	if (r->seeded)
		return gnn_rng_u64(r->seed, (uint64_t)r->site, n) % r->every == 0;
	return n % r->every == 0;
}

struct gnn_fault gnn_fault_next(enum gnn_fault_site site)
{
	uint64_t n;
	uint32_t count = (uint32_t)atomic_load_explicit(&rule_count, memory_order_acquire);

	GNN_ASSERT(site < GNN_FAULT_SITE_COUNT);
	n = atomic_fetch_add_explicit(&counts[site], 1, memory_order_relaxed) + 1;
	for (uint32_t i = 0; i < count; i++)
		if (rules[i].site == (int)site && strikes(&rules[i], n))
			return rules[i].fault;
	return (struct gnn_fault){GNN_FAULT_NONE, 0};
}

void gnn_fault_dawdle(enum gnn_fault_site site)
{
	if (gnn_fault_next(site).action == GNN_FAULT_SLOW)
		usleep(SLOW_US);
}

bool gnn_fault_named(enum gnn_fault_site site)
{
	uint32_t count = (uint32_t)atomic_load_explicit(&rule_count, memory_order_acquire);

	for (uint32_t i = 0; i < count; i++)
		if (rules[i].site == (int)site)
			return true;
	return false;
}

uint64_t gnn_fault_count(enum gnn_fault_site site)
{
	GNN_ASSERT(site < GNN_FAULT_SITE_COUNT);
	return atomic_load(&counts[site]);
}

static const char *const crash_points[] = {
	"pub.before_fsync", "pub.before_rename", "pub.after_rename", /* of any file published */
	"infer.layer_begun",      /* its files are open, nothing is read */
	"infer.pass_done",        /* all is absorbed, nothing of it sealed */
	"infer.shard_finished",   /* its rows are handed on, not yet brought to the disk */
	"infer.files_sealed",     /* brought to the disk, the manifest is the old one */
	"infer.manifest_written", /* the new one is there, what it replaces too */
	"infer.layer_done",       /* the layer's input is removed */
	"infer.rows_copied",      /* into the result, which is not published */
	"infer.published",        /* the result is there, and the scratch folder still */
	"regroup.taken",          /* rows of other ranks are copied, no manifest names them */
	"permute.part",           /* full runs of features in another order are sealed */
	"permute.done",           /* all of them are */
	"reorder.ordered",        /* the ranks are kept, no row is read */
	"reorder.rows_sealed",    /* runs of features are on the disk, and it is known */
	"reorder.published",      /* the store is there, and what was kept still */
	"step", "checkpoint",     /* of training: a step is done; all is in the new folder */
	NULL,
};

const char *const *gnn_crash_points(void)
{
	return crash_points;
}

static bool is_listed(const char *name)
{
	for (size_t i = 0; crash_points[i] != NULL; i++)
		if (strcmp(crash_points[i], name) == 0)
			return true;
	return false;
}

void gnn_crash_point(const char *name)
{
	uint32_t count = (uint32_t)atomic_load_explicit(&rule_count, memory_order_acquire);

	GNN_ASSERT(count == 0 || is_listed(name));
	for (uint32_t i = 0; i < count; i++) {
		if (!is_of_points(&rules[i]) || strcmp(rules[i].point, name) != 0)
			continue;
		if (strikes(&rules[i], atomic_fetch_add(&rules[i].point_hits, 1) + 1))
			raise(rules[i].site == SITE_CRASH ? SIGKILL : SIGUSR1);
	}
}
