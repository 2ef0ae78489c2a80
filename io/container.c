/* io/container.c - see container.h. */
#include "io/container.h"

#include "base/log.h"
#include "base/mem.h"
#include "io/container_h5.h"
#include "io/file.h"
#include "io/store_schema.h"
#include "io/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

struct gnn_container {
	struct gnn_container_opts opts; /* path and format are the container's own */
	struct gnn_layout layout;
	struct gnn_pub *pub;             /* while writing what it made, else NULL */
	char *joined;                    /* while writing what another made: the temporary */
	uint8_t *sealed[GNN_ARRAYS_MAX]; /* while writing: (blocks) 1 when on the disk */
	struct stat seen;                /* while reading: the file that was opened */
	void *map;                       /* of the file, or NULL */
	pthread_mutex_t map_lock;        /* streams of several threads may ask for it */
};

/* --- layout --- */

struct gnn_layout_attr *gnn_layout_attr(struct gnn_layout *l, const char *name)
{
	for (uint32_t i = 0; i < l->attr_count; i++)
		if (strcmp(l->attr[i].name, name) == 0)
			return &l->attr[i];
	return NULL;
}

void gnn_layout_fini(struct gnn_layout *l)
{
	for (uint32_t i = 0; i < l->array_count; i++)
		gnn_mem_free(l->sums[i]);
	for (uint32_t i = 0; i < l->attr_count; i++)
		gnn_mem_free(l->attr[i].text);
	memset(l, 0, sizeof(*l));
}

static int add_attr(struct gnn_layout *l, const struct gnn_attr *a, uint64_t text_bytes)
{
	struct gnn_layout_attr *to = &l->attr[l->attr_count];
	int rc = GNN_OK;

	GNN_ASSERT(l->attr_count < GNN_ATTRS_MAX && strlen(a->name) < sizeof(to->name));
	GNN_ASSERT(gnn_layout_attr(l, a->name) == NULL);
	memcpy(to->name, a->name, strlen(a->name));
	to->number = a->number;
	to->is_real = a->real != NULL;
	to->real = a->real != NULL ? *a->real : 0.0;
	if (a->text != NULL) {
		GNN_ASSERT(strlen(a->text) <= text_bytes && text_bytes <= GNN_PROVENANCE_MAX);
		GNN_NEW_ARRAY(to->text, text_bytes + 1, GNN_MEM_MISC);
		memcpy(to->text, a->text, strlen(a->text));
		to->text_bytes = text_bytes;
	}
	l->attr_count++;
out:
	return rc;
}

static int add_array(struct gnn_layout *l, const struct gnn_array *a)
{
	struct gnn_array *to = &l->array[l->array_count];
	int rc = GNN_OK;

	GNN_ASSERT(l->array_count < GNN_ARRAYS_MAX && (a->rank == 1 || a->rank == 2));
	GNN_ASSERT(a->rank == 2 || a->cols == 1);
	for (uint32_t i = 0; i < l->array_count; i++)
		if (strcmp(l->array[i].name, a->name) == 0)
			return gnn_err(GNN_EBUG, "array %s is there twice", a->name);
	*to = *a;
	if (!gnn_array_measure(to))
		return gnn_err(GNN_EDATA,
			"array %s of %" PRIu64 " x %" PRIu64 " items: no file holds it", a->name,
			a->rows, a->cols);
	GNN_NEW_ARRAY(l->sums[l->array_count], gnn_array_blocks(to), GNN_MEM_IO);
	l->array_count++;
out:
	return rc;
}

/* --- writing --- */

static int new_container(struct gnn_container **out, const struct gnn_container_opts *o)
{
	struct gnn_container *c = NULL;
	int rc = GNN_OK;

	GNN_NEW(c, GNN_MEM_MISC);
	pthread_mutex_init(&c->map_lock, NULL);
	c->opts = *o;
	c->opts.path = gnn_mem_text(o->path);
	c->opts.format = o->format != NULL ? gnn_mem_text(o->format) : NULL;
	if (c->opts.path == NULL || (o->format != NULL && c->opts.format == NULL)) {
		rc = GNN_EOS;
		goto out;
	}
	*out = c;
	c = NULL;
out:
	gnn_container_close(c);
	return rc;
}

static int plan(struct gnn_container *c, const struct gnn_array *arrays, uint32_t array_count,
	const struct gnn_attr *attrs, uint32_t attr_count)
{
	const struct gnn_attr format = {.name = GNN_ATTR_FORMAT, .text = c->opts.format};
	const struct gnn_attr version = {.name = GNN_ATTR_VERSION, .number = GNN_CONTAINER_VERSION};
	const struct gnn_attr provenance = {.name = GNN_ATTR_PROVENANCE, .text = "{}"};
	int rc = GNN_OK;

	GNN_TRY(add_attr(&c->layout, &format, strlen(format.text)));
	GNN_TRY(add_attr(&c->layout, &version, 0));
	for (uint32_t i = 0; i < attr_count; i++)
		GNN_TRY(add_attr(&c->layout, &attrs[i],
			attrs[i].text != NULL ? gnn_max_u64(strlen(attrs[i].text), 1) : 0));
	GNN_TRY(add_attr(&c->layout, &provenance, GNN_PROVENANCE_MAX));
	for (uint32_t i = 0; i < array_count; i++) {
		GNN_TRY(add_array(&c->layout, &arrays[i]));
		GNN_NEW_ARRAY(c->sealed[i], gnn_array_blocks(&c->layout.array[i]), GNN_MEM_IO);
	}
out:
	return rc;
}

/* Bytes that the arrays take, without HDF5's own. */
static uint64_t bulk_bytes(const struct gnn_layout *l)
{
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < l->array_count; i++)
		bytes += gnn_align_up(l->array[i].bytes, GNN_PAGE_BYTES);
	return bytes;
}

int gnn_container_create(struct gnn_container **out, const struct gnn_container_opts *o,
	const struct gnn_array *arrays, uint32_t array_count, const struct gnn_attr *attrs,
	uint32_t attr_count)
{
	struct gnn_container *c = NULL;
	int rc = GNN_OK;

	*out = NULL;
	GNN_ASSERT(o->path != NULL && o->format != NULL && array_count <= GNN_ARRAYS_MAX);
	GNN_TRY(new_container(&c, o));
	GNN_TRY(plan(c, arrays, array_count, attrs, attr_count));
	GNN_TRY(gnn_pub_begin(&c->pub, o->path));
	/*
	 * HDF5 closes a file without an error when the disk is full, so the space is asked for
	 * before it writes anything; making the file gives it back, and it is asked for again.
	 */
	GNN_TRY(gnn_pub_reserve(c->pub, bulk_bytes(&c->layout)));
	GNN_TRY(gnn_layout_create(gnn_pub_temp(c->pub), &c->layout));
	GNN_TRY(gnn_pub_reserve(c->pub, c->layout.file_bytes));
	*out = c;
	c = NULL;
out:
	gnn_container_close(c);
	return rc;
}

int gnn_container_set_provenance(struct gnn_container *c, const char *json)
{
	struct gnn_layout_attr *a = gnn_layout_attr(&c->layout, GNN_ATTR_PROVENANCE);

	GNN_ASSERT(c->pub != NULL && a != NULL && a->text_bytes == GNN_PROVENANCE_MAX);
	if (strlen(json) > a->text_bytes) {
		gnn_log(GNN_LOG_WARN, "store",
			"%s: the provenance of %zu bytes is left out, %d fit", c->opts.path,
			strlen(json), GNN_PROVENANCE_MAX);
		json = "{\"omitted\":\"too long\"}";
	}
	memset(a->text, 0, a->text_bytes);
	memcpy(a->text, json, strlen(json));
	return GNN_OK;
}

int gnn_container_set_number(struct gnn_container *c, const char *name, uint64_t value)
{
	struct gnn_layout_attr *a = gnn_layout_attr(&c->layout, name);

	GNN_ASSERT(c->pub != NULL);
	if (a == NULL || a->text != NULL)
		return gnn_err(GNN_EBUG, "%s: no number %s was given when it was made",
			c->opts.path, name);
	a->number = value;
	return GNN_OK;
}

const char *gnn_container_temp(const struct gnn_container *c)
{
	return c->joined != NULL ? c->joined : gnn_pub_temp(c->pub);
}

int gnn_container_join(struct gnn_container **out, const struct gnn_container_opts *o,
	const char *temp)
{
	struct gnn_container *c = NULL;
	int rc = GNN_OK;

	*out = NULL;
	GNN_TRY(new_container(&c, o));
	c->joined = gnn_mem_text(temp);
	if (c->joined == NULL) {
		rc = GNN_EOS;
		goto out;
	}
	GNN_TRY(gnn_layout_read(temp, o->format, &c->layout));
	for (uint32_t i = 0; i < c->layout.array_count; i++)
		GNN_NEW_ARRAY(c->sealed[i], gnn_array_blocks(&c->layout.array[i]), GNN_MEM_IO);
	*out = c;
	c = NULL;
out:
	gnn_container_close(c);
	return rc;
}

int gnn_container_sync(const struct gnn_container *c)
{
	const char *path = gnn_container_temp(c);
	int fd = gnn_sys_open(path, O_RDONLY), rc = GNN_OK;

	if (fd < 0)
		return gnn_sys_open_failed(GNN_EIO, -fd, path);
	if (fsync(fd) < 0)
		rc = gnn_err_sys(GNN_EIO, errno, "%s: cannot be brought to the disk", path);
	gnn_sys_close(fd);
	return rc;
}

void gnn_container_block_done(
	struct gnn_container *c, const struct gnn_array *a, uint64_t block, uint64_t sum)
{
	uint64_t i = (uint64_t)(a - c->layout.array);

	GNN_ASSERT(i < c->layout.array_count && block < gnn_array_blocks(a));
	c->layout.sums[i][block] = sum;
	c->sealed[i][block] = 1;
}

static int check_sealed(const struct gnn_container *c)
{
	for (uint32_t i = 0; i < c->layout.array_count; i++) {
		uint64_t blocks = gnn_array_blocks(&c->layout.array[i]);
		const uint8_t *missing = blocks == 0 ? NULL : memchr(c->sealed[i], 0, blocks);

		if (missing != NULL)
			return gnn_err(GNN_EBUG,
				"%s: block %" PRIu64 " of %" PRIu64 " of array %s was not written",
				c->opts.path, (missing - c->sealed[i]), blocks,
				c->layout.array[i].name);
	}
	return GNN_OK;
}

static bool reads_back(const struct gnn_container *c, const struct gnn_array *found,
	const uint64_t *sums)
{
	const struct gnn_array *wrote = gnn_container_find(c, found->name);

	if (wrote == NULL || wrote->offset != found->offset || wrote->bytes != found->bytes)
		return false;
	return wrote->bytes == 0 ||
		memcmp(sums, c->layout.sums[wrote - c->layout.array],
			gnn_array_blocks(wrote) * sizeof(uint64_t)) == 0;
}

/* HDF5 says what it finds in the finished file, before anybody sees it under its name. */
static int read_back(const struct gnn_container *c, struct gnn_layout *found)
{
	int rc = GNN_OK;

	GNN_TRY(gnn_layout_read(gnn_pub_temp(c->pub), c->opts.format, found));
	if (found->array_count != c->layout.array_count ||
		found->file_bytes != c->layout.file_bytes)
		GNN_FAIL(GNN_EIO,
			"%s: %u arrays in %" PRIu64 " bytes were written, %u in %" PRIu64
			" are there",
			c->opts.path, c->layout.array_count, c->layout.file_bytes,
			found->array_count, found->file_bytes);
	for (uint32_t i = 0; i < found->array_count; i++)
		if (!reads_back(c, &found->array[i], found->sums[i]))
			GNN_FAIL(GNN_EIO, "%s: array %s does not read back as it was written",
				c->opts.path, found->array[i].name);
out:
	return rc;
}

int gnn_container_commit(struct gnn_container **container)
{
	struct gnn_container *c = *container;
	struct gnn_layout *found = NULL;
	int rc = GNN_OK;

	GNN_ASSERT(c->pub != NULL);
	GNN_TRY(check_sealed(c));
	GNN_TRY(gnn_layout_seal(gnn_pub_temp(c->pub), &c->layout));
	/* The last direct write was padded to a page. */
	if (ftruncate(gnn_pub_fd(c->pub), (off_t)c->layout.file_bytes) < 0) {
		rc = gnn_err_sys(GNN_EIO, errno, "%s: cannot be cut to %" PRIu64 " bytes",
			c->opts.path, c->layout.file_bytes);
		goto out;
	}
	GNN_NEW(found, GNN_MEM_MISC);
	GNN_TRY(read_back(c, found));
	GNN_TRY(gnn_pub_commit(&c->pub));
out:
	if (found != NULL)
		gnn_layout_fini(found);
	gnn_mem_free(found);
	gnn_container_close(c);
	*container = NULL;
	return rc;
}

/* --- reading --- */

/* Says what kind of nothing a path is before HDF5 gets to see it. */
static int check_signature(const char *path)
{
	static const unsigned char signature[8] = {0x89, 'H', 'D', 'F', '\r', '\n', 0x1a, '\n'};
	struct gnn_file *f = NULL;
	unsigned char first[sizeof(signature)];
	uint64_t got;
	int rc = GNN_OK;

	GNN_TRY(gnn_file_open(&f, path));
	GNN_TRY(gnn_file_read(f, first, sizeof(first), &got));
	if (got < sizeof(first) || memcmp(first, signature, sizeof(first)) != 0)
		GNN_FAIL(GNN_EDATA, "%s: not an HDF5 file; gnnrun import makes a store", path);
out:
	gnn_file_close(f);
	return rc;
}

int gnn_container_open(struct gnn_container **out, const struct gnn_container_opts *o)
{
	struct gnn_container *c = NULL;
	int rc = GNN_OK;

	*out = NULL;
	GNN_ASSERT(o->path != NULL);
	GNN_TRY(check_signature(o->path));
	GNN_TRY(new_container(&c, o));
	if (stat(o->path, &c->seen) < 0) {
		rc = gnn_err_sys(GNN_ENOENT, errno, "%s", o->path);
		goto out;
	}
	GNN_TRY(gnn_layout_read(o->path, o->format, &c->layout));
	GNN_TRY(gnn_container_check_same(c));
	*out = c;
	c = NULL;
out:
	gnn_container_close(c);
	return rc;
}

int gnn_container_check_same(const struct gnn_container *c)
{
	struct stat now;

	if (stat(c->opts.path, &now) < 0)
		return gnn_err_sys(GNN_EDATA, errno, "%s", c->opts.path);
	if (now.st_dev != c->seen.st_dev || now.st_ino != c->seen.st_ino ||
		now.st_size != c->seen.st_size || now.st_mtim.tv_sec != c->seen.st_mtim.tv_sec ||
		now.st_mtim.tv_nsec != c->seen.st_mtim.tv_nsec)
		return gnn_err(GNN_EDATA,
			"%s: was replaced or changed while it was in use; start again",
			c->opts.path);
	return GNN_OK;
}

uint64_t gnn_container_bytes(const struct gnn_container *c)
{
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < c->layout.array_count; i++)
		bytes += c->layout.array[i].bytes;
	return bytes;
}

uint32_t gnn_container_count(const struct gnn_container *c)
{
	return c->layout.array_count;
}

const struct gnn_array *gnn_container_at(const struct gnn_container *c, uint32_t i)
{
	GNN_ASSERT(i < c->layout.array_count);
	return &c->layout.array[i];
}

const struct gnn_array *gnn_container_find(const struct gnn_container *c, const char *name)
{
	for (uint32_t i = 0; i < c->layout.array_count; i++)
		if (strcmp(c->layout.array[i].name, name) == 0)
			return &c->layout.array[i];
	return NULL;
}

const char *gnn_container_path(const struct gnn_container *c)
{
	return c->opts.path;
}

const char *gnn_container_format(const struct gnn_container *c)
{
	return gnn_container_text(c, GNN_ATTR_FORMAT);
}

const char *gnn_container_provenance(const struct gnn_container *c)
{
	const char *text = gnn_container_text(c, GNN_ATTR_PROVENANCE);

	return text != NULL ? text : "";
}

uint32_t gnn_container_attr_count(const struct gnn_container *c)
{
	return c->layout.attr_count;
}

struct gnn_attr gnn_container_attr_at(const struct gnn_container *c, uint32_t i)
{
	GNN_ASSERT(i < c->layout.attr_count);
	return (struct gnn_attr){.name = c->layout.attr[i].name, .text = c->layout.attr[i].text,
		.number = c->layout.attr[i].number};
}

const char *gnn_container_text(const struct gnn_container *c, const char *name)
{
	for (uint32_t i = 0; i < c->layout.attr_count; i++)
		if (strcmp(c->layout.attr[i].name, name) == 0)
			return c->layout.attr[i].text;
	return NULL;
}

int gnn_container_number(const struct gnn_container *c, const char *name, uint64_t *out)
{
	for (uint32_t i = 0; i < c->layout.attr_count; i++) {
		if (strcmp(c->layout.attr[i].name, name) == 0 && c->layout.attr[i].text == NULL) {
			*out = c->layout.attr[i].number;
			return GNN_OK;
		}
	}
	return gnn_err(GNN_EDATA, "%s: the attribute %s is missing", c->opts.path, name);
}

int gnn_container_checksums(
	struct gnn_container *c, const struct gnn_array *a, const uint64_t **sums, uint64_t *count)
{
	GNN_ASSERT(a >= c->layout.array && a < c->layout.array + c->layout.array_count);
	*sums = c->layout.sums[a - c->layout.array];
	*count = gnn_array_blocks(a);
	return GNN_OK;
}

const struct gnn_container_opts *gnn_container_options(const struct gnn_container *c)
{
	return &c->opts;
}

static int map_file(struct gnn_container *c)
{
	int fd = gnn_sys_open(c->opts.path, O_RDONLY);
	void *map;

	if (fd < 0)
		return gnn_sys_open_failed(GNN_ENOENT, -fd, c->opts.path);
	map = mmap(NULL, (size_t)c->seen.st_size, PROT_READ, MAP_SHARED, fd, 0);
	gnn_sys_close(fd);
	if (map == MAP_FAILED)
		return gnn_err_sys(GNN_EOS, errno, "%s: cannot be mapped", c->opts.path);
	c->map = map;
	return gnn_container_check_same(c);
}

int gnn_container_map(struct gnn_container *c, const char **base, uint64_t *bytes)
{
	int rc = GNN_OK;

	pthread_mutex_lock(&c->map_lock);
	if (c->map == NULL)
		rc = map_file(c);
	pthread_mutex_unlock(&c->map_lock);
	*base = c->map;
	*bytes = (uint64_t)c->seen.st_size;
	return rc;
}

void gnn_container_close(struct gnn_container *c)
{
	if (c == NULL)
		return;
	if (c->map != NULL)
		munmap(c->map, (size_t)c->seen.st_size);
	pthread_mutex_destroy(&c->map_lock);
	gnn_pub_abort(c->pub);
	gnn_layout_fini(&c->layout);
	for (uint32_t i = 0; i < GNN_ARRAYS_MAX; i++)
		gnn_mem_free(c->sealed[i]);
	gnn_mem_free(c->joined);
	gnn_mem_free((void *)c->opts.path);
	gnn_mem_free((void *)c->opts.format);
	gnn_mem_free(c);
}
