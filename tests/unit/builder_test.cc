// The builder against a naive one in memory: every option, tiny memories, all that is stored.
#include "unit/builder_fixture.h"

#include "io/builder_memory.h"

namespace
{

using namespace builder_test;
using BuilderTest = BuilderFixture;

TEST_F(BuilderTest, SmallestGraphs)
{
	for (const Options &o : every_option()) {
		check({}, o);
		check({{0, 0, 1}}, o);
		check({{0, 1, 1}}, o);
		check({{7, 3, 1}}, o);
		check({{3, 3, 1}, {3, 3, 2}, {3, 3, 3}}, o);
		check({{0, 1, 1}, {1, 0, 2}, {0, 1, 3}, {1, 0, 4}}, o);
	}
}

TEST_F(BuilderTest, StatedVerticesAreAFloor)
{
	for (Options o : every_option()) {
		o.vertices = 5;
		check({}, o);
		check({{1, 2, 1}}, o);
		check({{1, 9, 1}}, o);
	}
}

TEST_F(BuilderTest, RandomGraphsInMemory)
{
	const Edges edges = random_edges(30000, 2000, 1);

	for (const Options &o : every_option()) {
		check(edges, o);
		EXPECT_EQ(report.scratch_bytes, 0u);
		EXPECT_EQ(report.run_count, 0u);
	}
}

TEST_F(BuilderTest, RandomGraphsWithoutWideRegisters)
{
	const Edges edges = random_edges(30000, 2000, 1);
	const Edges few = random_edges(3000, 50, 3);

	for (const Options &o : every_option())
		for (const Edges *e : {&edges, &few}) {
			gnn_fault_clear();
			ASSERT_EQ(gnn_fault_parse("wide:fail%1"), GNN_OK);
			check(*e, o);
			EXPECT_EQ(report.run_count, 0u);
		}
}

TEST_F(BuilderTest, RandomGraphsThroughManyRuns)
{
	const Edges edges = random_edges(40000, 3000, 2, 5, 17);

	for (Options o : every_option()) {
		o.memory = 128 << 10;
		check(edges, o);
		EXPECT_GT(report.scratch_bytes, 0u);
		EXPECT_GT(report.run_count, 16u); /* a merge takes 4 at a time: three levels */
	}
}

/* Ids get longer while edges come: blocks are laid out by what is known, and again at the end. */
TEST_F(BuilderTest, GrowingIdsInMemory)
{
	Edges edges;

	for (uint64_t i = 0; i < 40000; i++)
		edges.push_back({i, gnn_mix64(i) % (i + 1), 1.0f * i});
	for (Options o : every_option()) {
		o.memory = 8 << 20;
		o.threads = 3;
		check(edges, o);
		EXPECT_EQ(report.scratch_bytes, 0u);
		/* Laid out anew, the largest bucket may be all: that needs room. */
		EXPECT_TRUE(report.run_count == 0 || o.remap);
	}
}

/* What sorting in memory takes beside the edges may be more than the work's memory: of the rest. */
TEST_F(BuilderTest, ManyVerticesInMemory)
{
	const Edges edges = {{0, 1, 1}, {42000000, 2, 2}, {0, 1, 3}};
	struct gnn_mem_stats before;

	gnn_mem_stats(&before);
	for (uint64_t memory : {512 << 20, 1 << 30}) {
		gnn_mem_limit(before.held_bytes + memory);
		ASSERT_EQ(build(edges, {.memory = memory, .threads = 1}), GNN_OK) << gnn_err_text();
		EXPECT_EQ(report.vertices, 42000001u);
		EXPECT_EQ(report.edges_stored, 3u);
		EXPECT_EQ(report.duplicates, 1u);
		EXPECT_EQ(report.isolated, 42000001u - 4);
		EXPECT_EQ(report.run_count == 0, memory == 1 << 30);
		EXPECT_EQ(report.scratch_bytes, 0u);
	}
}

/* Equal edges come in many batches, to several threads: their weights tell the order. */
TEST_F(BuilderTest, EqualEdgesKeepTheirOrderInMemory)
{
	Edges edges;

	for (uint64_t i = 0; i < 60000; i++)
		edges.push_back({gnn_mix64(i) % 40, gnn_mix64(2 * i + 1) % 50, 1.0f * i});
	for (Options o : every_option()) {
		o.memory = 16 << 20;
		o.threads = 3;
		check(edges, o);
		EXPECT_EQ(report.run_count, 0u);
	}
}

/* What was distributed in memory goes into runs when there is no end of it. */
TEST_F(BuilderTest, MemoryThatOverflows)
{
	Edges edges = random_edges(40000, 3000, 8, 5, 17);

	for (Options o : every_option()) {
		o.memory = 2 << 20;
		check(edges, o);
		EXPECT_GT(report.run_count, 0u);
	}
}

/* A bucket that does not fit the cache, by source and by destination. */
TEST_F(BuilderTest, HubsInMemory)
{
	Edges edges;

	for (uint64_t i = 0; i < 80000; i++)
		edges.push_back(i % 2 ? Edge{5, gnn_mix64(i) % 9999, 1.0f * i} :
			Edge{gnn_mix64(i) % 9999, 9, 1.0f * i});
	check(edges, {});
	EXPECT_EQ(report.run_count, 0u);
	check(edges, {.weighted = true, .threads = 1});
	check(edges, {.undirected = true, .dedup = true, .threads = 5});
}

TEST_F(BuilderTest, WideKeysInMemory)
{
	Edges edges = random_edges(9000, 3000, 9);

	edges.push_back({1 << 22, 1, 1});
	for (bool weighted : {false, true}) {
		check(edges, {.weighted = weighted, .memory = 512 << 20});
		EXPECT_EQ(report.run_count, 0u);
	}
}

TEST_F(BuilderTest, EqualEdgesAlone)
{
	Edges edges;

	for (int i = 0; i < 30000; i++)
		edges.push_back({4, 2, static_cast<float>(i)});
	for (Options o : every_option()) {
		o.memory = 128 << 10;
		check(edges, o);
	}
}

TEST_F(BuilderTest, SortedAndReversedInputs)
{
	Edges up = random_edges(9000, 40000, 3);
	std::stable_sort(up.begin(), up.end(),
		[](const Edge &a, const Edge &b) { return a.src < b.src; });
	const Edges down(up.rbegin(), up.rend());

	for (uint64_t memory : {128 << 10, 64 << 20})
		for (Options o : every_option()) {
			o.memory = memory;
			check(up, o);
			check(down, o);
		}
}

TEST_F(BuilderTest, StarsBothWays)
{
	Edges edges;

	for (uint64_t i = 0; i < 20000; i++)
		edges.push_back(i % 2 ? Edge{5, i, 1.0f * i} : Edge{i, 9, 1.0f * i});
	for (Options o : every_option()) {
		o.memory = 128 << 10;
		check(edges, o);
	}
}

/* Ids around 2^32 and at the end of 64 bits: wide keys, and rows from a sorted list. */
TEST_F(BuilderTest, SparseIdsAreRemapped)
{
	Edges edges = random_edges(9000, 700, 4);
	const Edges high = random_edges(9000, 3000, 5, 1, (uint64_t(1) << 32) - 1500);
	const Edges far = random_edges(9000, 900, 6, 0x0123456789abcdu, 12345);

	edges.insert(edges.end(), high.begin(), high.end());
	edges.insert(edges.end(), far.begin(), far.end());
	edges.push_back({UINT64_MAX, 0, 1});
	edges.push_back({0, UINT64_MAX, 2});
	edges.push_back({UINT64_MAX, UINT64_MAX, 3});
	edges.push_back({UINT64_MAX - 1, UINT64_MAX, 4});
	for (uint64_t memory : {128 << 10, 1 << 20, 64 << 20})
		for (Options o : every_option()) {
			if (!o.remap)
				continue;
			o.memory = memory;
			check(edges, o);
		}
}

TEST_F(BuilderTest, ThreadsAndMemoryDoNotChangeTheFile)
{
	const Edges edges = random_edges(30000, 2500, 7);
	Options o;
	o.weighted = true;
	const Graph wanted = naive(edges, o);

	for (uint32_t threads : {1, 2, 3, 8})
		for (uint64_t memory : {128 << 10, 400 << 10, 2 << 20, 256 << 20})
			for (auto engine : {GNN_DIO_AUTO, GNN_DIO_PREAD}) {
				o.threads = threads;
				o.memory = memory;
				o.engine = engine;
				SCOPED_TRACE(describe(o));
				ASSERT_EQ(build(edges, o), GNN_OK) << gnn_err_text();
				ASSERT_EQ(read(), wanted);
			}
}

/* The budget is that of the whole process: a byte more than the builder was given is refused. */
TEST_F(BuilderTest, KeepsInsideItsMemory)
{
	const Edges edges = random_edges(700000, 150000, 14);
	const Edges far = random_edges(700000, 150000, 15, 0x100000001u);

	for (Options o : every_option()) {
		struct gnn_mem_stats before;
		gnn_mem_stats(&before);
		if (o.dedup)
			continue;
		SCOPED_TRACE(describe(o));
		o.memory = GNN_BUILDER_HOST_MIN;
		o.threads = o.undirected ? 8 : 2;
		gnn_mem_limit(before.held_bytes + o.memory);
		ASSERT_EQ(build(o.remap ? far : edges, o), GNN_OK) << gnn_err_text();
		EXPECT_GT(report.scratch_bytes, 0u);
	}
}

/* Runs are not sorted differently by what came before: ids grow in the middle of the input. */
TEST_F(BuilderTest, IdsThatGrow)
{
	Edges edges = random_edges(4000, 10, 8);

	for (uint64_t scale : {300, 5000, 70000})
		for (const Edge &e : random_edges(4000, scale, scale))
			edges.push_back(e);
	for (uint64_t memory : {128 << 10, 64 << 20})
		for (Options o : every_option()) {
			o.memory = memory;
			check(edges, o);
		}
}

/* --- what is refused --- */

TEST_F(BuilderTest, HugeIdsNeedRemap)
{
	Options o;
	const uint64_t limit = uint64_t(1) << 48;

	EXPECT_EQ(build({{1, 2, 0}, {3, limit, 0}}, o), GNN_EDATA);
	const std::string text = gnn_err_text();
	EXPECT_NE(text.find("edge number 2, 3 > 281474976710656"), std::string::npos) << text;
	EXPECT_NE(text.find("--remap"), std::string::npos) << text;
	EXPECT_TRUE(files().empty());
	o.remap = true;
	check({{1, 2, 0}, {3, limit, 0}}, o);
}

TEST_F(BuilderTest, OutputThatCannotBeMadeIsRefusedFirst)
{
	Options o;
	struct gnn_builder *b = nullptr;

	store = folder / "no" / "such" / "folder.h5";
	const struct gnn_builder_opts opts = opts_of(o);
	EXPECT_EQ(gnn_builder_create(&b, &opts), GNN_ECREAT);
	EXPECT_EQ(b, nullptr);
}

TEST_F(BuilderTest, ScratchGoesWhereItIsToldAndHasNoName)
{
	Options o;
	struct gnn_builder *b = nullptr;
	struct gnn_builder_opts opts;
	const Edges edges = random_edges(40000, 3000, 9);

	o.memory = 128 << 10;
	opts = opts_of(o);
	ASSERT_EQ(gnn_builder_create(&b, &opts), GNN_OK);
	ASSERT_EQ(add_all(b, edges, false), GNN_OK);
	EXPECT_TRUE(files().empty()); /* more than half of the runs are in the file by now */
	gnn_builder_destroy(b);
	EXPECT_TRUE(files().empty());

	opts.scratch = "/no/such/folder";
	ASSERT_EQ(gnn_builder_create(&b, &opts), GNN_OK);
	int rc = add_all(b, edges, false);
	uint64_t vertices;
	if (rc == GNN_OK)
		rc = gnn_builder_seal(b, 0, &vertices);
	EXPECT_EQ(rc, GNN_ECREAT);
	EXPECT_NE(std::string(gnn_err_text()).find("--scratch"), std::string::npos)
		<< gnn_err_text();
	gnn_builder_destroy(b);
}

/* --- features, labels, splits --- */

struct Matrix {
	struct gnn_rows_source source; /* first: the builder gives it back */
	std::vector<uint8_t> data;
	uint64_t at;
	int failure;
};

int read_matrix(struct gnn_rows_source *s, uint64_t rows, void *to)
{
	Matrix *m = reinterpret_cast<Matrix *>(s);
	const uint64_t bytes = rows * s->cols * gnn_dtype_bytes(s->dtype);

	if (m->failure < 0)
		return gnn_err(m->failure, "the matrix ends too early");
	memcpy(to, m->data.data() + m->at, bytes);
	m->at += bytes;
	return GNN_OK;
}

Matrix matrix(uint64_t rows, uint64_t cols, enum gnn_dtype dtype)
{
	Matrix m = {{rows, cols, dtype, read_matrix, nullptr}, {}, 0, GNN_OK};

	m.data.resize(rows * cols * gnn_dtype_bytes(dtype));
	for (uint64_t i = 0; i < m.data.size(); i++)
		m.data[i] = static_cast<uint8_t>(gnn_rng_u64(11, cols, i) % 7);
	return m;
}

struct PartsTest : BuilderFixture {
	Edges edges = random_edges(5000, 1000, 12);
	Options o;
	struct gnn_builder *b = nullptr;
	struct gnn_builder_parts parts = {};

	void TearDown() override
	{
		gnn_builder_destroy(b);
		BuilderFixture::TearDown();
	}
	void start()
	{
		const struct gnn_builder_opts opts = opts_of(o);
		uint64_t vertices;

		ASSERT_EQ(gnn_builder_create(&b, &opts), GNN_OK);
		ASSERT_EQ(add_all(b, edges, false), GNN_OK);
		ASSERT_EQ(gnn_builder_seal(b, 1003, &vertices), GNN_OK);
		ASSERT_EQ(vertices, 1003u);
	}
	uint64_t number(struct gnn_container *c, const char *name)
	{
		uint64_t n = UINT64_MAX;

		EXPECT_EQ(gnn_container_number(c, name, &n), GNN_OK) << name;
		return n;
	}
};

int tell_provenance(void *with, const char **json)
{
	const Matrix *m = static_cast<const Matrix *>(with);

	EXPECT_EQ(m->at, m->data.size()); /* it has been read to the end */
	*json = "{\"late\":1}";
	return GNN_OK;
}

TEST_F(PartsTest, EverythingIsStored)
{
	const std::vector<uint64_t> train = {5, 3, 999}, valid = {1002}, test;
	Matrix features = matrix(1003, 33, GNN_F16), labels = matrix(1003, 1, GNN_I64);
	std::vector<int64_t> label(1003);

	for (int64_t v = 0; v < 1003; v++)
		label[v] = v % 5 == 0 ? -1 : v % 42;
	memcpy(labels.data.data(), label.data(), labels.data.size());
	start();
	parts.features = &features.source;
	parts.labels = &labels.source;
	parts.split[0] = train.data();
	parts.split_count[0] = train.size();
	parts.split[1] = valid.data();
	parts.split_count[1] = valid.size();
	parts.split[2] = train.data(); /* an empty split, but a split */
	parts.provenance = "{\"early\":1}";
	parts.provenance_at_end = tell_provenance;
	parts.with = &features;
	ASSERT_EQ(gnn_builder_finish(b, &parts, &report), GNN_OK) << gnn_err_text();

	struct gnn_container *c = open();
	ASSERT_NE(c, nullptr);
	const struct gnn_array *f = gnn_container_find(c, GNN_STORE_FEATURES);
	EXPECT_EQ(f->rank, 2u);
	EXPECT_EQ(f->cols, 33u);
	EXPECT_EQ(f->dtype, GNN_F16);
	std::vector<uint8_t> data(f->bytes);
	ASSERT_EQ(gnn_array_load(c, f, 0, f->bytes, data.data()), GNN_OK);
	EXPECT_EQ(data, features.data);
	EXPECT_EQ(gnn_container_find(c, GNN_STORE_LABELS)->rank, 1u);
	EXPECT_EQ(load<int64_t>(c, GNN_STORE_LABELS), label);
	EXPECT_EQ(load<uint64_t>(c, GNN_STORE_SPLIT_TRAIN), train);
	EXPECT_EQ(load<uint64_t>(c, GNN_STORE_SPLIT_VALID), valid);
	EXPECT_EQ(load<uint64_t>(c, GNN_STORE_SPLIT_TEST), test);
	EXPECT_NE(gnn_container_find(c, GNN_STORE_SPLIT_TEST), nullptr);
	EXPECT_STREQ(gnn_container_provenance(c), "{\"late\":1}");
	EXPECT_EQ(number(c, GNN_ATTR_CLASSES), 42u);
	EXPECT_EQ(number(c, GNN_ATTR_MAX_IN_DEGREE), report.max_in_degree);
	EXPECT_EQ(number(c, GNN_ATTR_MAX_OUT_DEGREE), report.max_out_degree);
	EXPECT_EQ(number(c, GNN_ATTR_ISOLATED), report.isolated);
	EXPECT_EQ(number(c, GNN_ATTR_SELF_LOOPS), report.self_loops);
	EXPECT_EQ(number(c, GNN_ATTR_DUPLICATES), report.duplicates);
	gnn_container_close(c);
}

TEST_F(PartsTest, DuplicatesOfADedupedStoreAreNone)
{
	o.dedup = true;
	start();
	ASSERT_EQ(gnn_builder_finish(b, &parts, &report), GNN_OK) << gnn_err_text();
	EXPECT_GT(report.duplicates, 0u);
	struct gnn_container *c = open();
	EXPECT_EQ(number(c, GNN_ATTR_DUPLICATES), 0u);
	gnn_container_close(c);
}

TEST_F(PartsTest, MultiLabelsAreAMatrix)
{
	Matrix labels = matrix(1003, 17, GNN_U8);

	start();
	parts.labels = &labels.source;
	ASSERT_EQ(gnn_builder_finish(b, &parts, &report), GNN_OK) << gnn_err_text();
	struct gnn_container *c = open();
	EXPECT_EQ(gnn_container_find(c, GNN_STORE_LABELS)->cols, 17u);
	EXPECT_EQ((load<uint8_t>(c, GNN_STORE_LABELS)), labels.data);
	EXPECT_EQ(number(c, GNN_ATTR_CLASSES), 17u);
	gnn_container_close(c);
}

TEST_F(PartsTest, RowsMustFitTheVertices)
{
	Matrix features = matrix(1002, 3, GNN_F32);

	start();
	parts.features = &features.source;
	EXPECT_EQ(gnn_builder_finish(b, &parts, &report), GNN_EDATA);
	EXPECT_STREQ(gnn_err_text(), "features: 1002 rows for 1003 vertices");
	EXPECT_TRUE(files().empty());
}

TEST_F(PartsTest, AFailingSourceLeavesNothing)
{
	Matrix features = matrix(1003, 3, GNN_F32);

	features.failure = GNN_EDATA;
	start();
	parts.features = &features.source;
	EXPECT_EQ(gnn_builder_finish(b, &parts, &report), GNN_EDATA);
	EXPECT_STREQ(gnn_err_text(), "the matrix ends too early");
	gnn_builder_destroy(b);
	b = nullptr;
	EXPECT_TRUE(files().empty());
}

/* --- rows of external ids --- */

TEST_F(BuilderTest, RowsOfExternalIds)
{
	/* In the bitmap alone; in the list in memory; in the list on the disk, piece by piece. */
	const struct {
		uint64_t stride, vertices, memory;
	} cases[] = {{3, 5000, 64 << 20}, {0x100000001u, 5000, 64 << 20},
		{0x100000001u, 30000, 128 << 10}};

	for (const auto &k : cases) {
		const Edges edges = random_edges(40000, k.vertices, 13, k.stride, 7);
		Options o;
		o.remap = true;
		o.memory = k.memory;
		const Graph wanted = naive(edges, o);
		const struct gnn_builder_opts opts = opts_of(o);
		struct gnn_builder *b = nullptr;
		uint64_t vertices, row;

		ASSERT_EQ(gnn_builder_create(&b, &opts), GNN_OK);
		ASSERT_EQ(add_all(b, edges, false), GNN_OK);
		ASSERT_EQ(gnn_builder_seal(b, 0, &vertices), GNN_OK);
		ASSERT_EQ(vertices, wanted.external.size());
		for (uint64_t i = 0; i < vertices; i++) {
			const uint64_t v = i * 7919 % vertices;
			ASSERT_EQ(gnn_builder_row_of(b, wanted.external[v], &row), GNN_OK);
			ASSERT_EQ(row, v);
			ASSERT_EQ(gnn_builder_row_of(b, wanted.external[v] + 1, &row), GNN_EOF);
		}
		EXPECT_EQ(gnn_builder_row_of(b, 0, &row), GNN_EOF);
		EXPECT_EQ(gnn_builder_row_of(b, UINT64_MAX, &row), GNN_EOF);
		gnn_builder_destroy(b);
	}
}

} // namespace
