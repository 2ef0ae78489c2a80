// Stores: the arrays that must be there, their shapes, and what --verify finds in their values.
#include "unit/store_fixture.h"

namespace
{

using StoreTest = StoreFixture;

void expect_counts(const struct gnn_store_counts &n)
{
	EXPECT_EQ(n.max_in_degree, 3u);
	EXPECT_EQ(n.max_out_degree, 2u);
	EXPECT_EQ(n.isolated, 2u);
	EXPECT_EQ(n.self_loops, 1u);
	EXPECT_EQ(n.duplicates, 1u);
	EXPECT_EQ(n.classes, 3u);
}

TEST_F(StoreTest, EveryArrayIsFound)
{
	write_store();
	ASSERT_EQ(open_store(), GNN_OK) << gnn_err_text();
	EXPECT_EQ(store->vertices, 6u);
	EXPECT_EQ(store->edges, 6u);
	EXPECT_STREQ(store->out.offsets->name, GNN_STORE_OUT_OFFSETS);
	EXPECT_STREQ(store->out.neighbors->name, GNN_STORE_OUT_NEIGHBORS);
	EXPECT_STREQ(store->out.weights->name, GNN_STORE_OUT_WEIGHTS);
	EXPECT_STREQ(store->in.offsets->name, GNN_STORE_IN_OFFSETS);
	EXPECT_STREQ(store->in.neighbors->name, GNN_STORE_IN_NEIGHBORS);
	EXPECT_STREQ(store->in.weights->name, GNN_STORE_IN_WEIGHTS);
	EXPECT_STREQ(store->self_loops->name, GNN_STORE_SELF_LOOPS);
	EXPECT_STREQ(store->features->name, GNN_STORE_FEATURES);
	EXPECT_STREQ(store->labels->name, GNN_STORE_LABELS);
	EXPECT_STREQ(store->split[GNN_TRAIN]->name, GNN_STORE_SPLIT_TRAIN);
	EXPECT_STREQ(store->split[GNN_VALID]->name, GNN_STORE_SPLIT_VALID);
	EXPECT_EQ(store->split[GNN_TEST]->rows, 0u);
	EXPECT_STREQ(store->original_id->name, GNN_STORE_ORIGINAL_ID);
	EXPECT_STREQ(store->external_id->name, GNN_STORE_EXTERNAL_ID);
}

TEST_F(StoreTest, CountsAndVerifyAgree)
{
	struct gnn_store_counts n;

	write_store();
	ASSERT_EQ(verify_store(&n), GNN_OK) << gnn_err_text();
	expect_counts(n);
	ASSERT_EQ(gnn_store_count(store, &n), GNN_OK) << gnn_err_text();
	expect_counts(n);
}

TEST_F(StoreTest, RecordedCountsAreTakenAndChecked)
{
	struct gnn_store_counts n;

	for (auto [name, number] : std::initializer_list<std::pair<const char *, uint64_t>>{
			{GNN_ATTR_MAX_IN_DEGREE, 3}, {GNN_ATTR_MAX_OUT_DEGREE, 2},
			{GNN_ATTR_ISOLATED, 2}, {GNN_ATTR_SELF_LOOPS, 1},
			{GNN_ATTR_DUPLICATES, 1}, {GNN_ATTR_CLASSES, 3}})
		attrs.push_back({name, nullptr, number, nullptr});
	write_store();
	ASSERT_EQ(verify_store(&n), GNN_OK) << gnn_err_text();
	expect_counts(n);
	attrs[3].number = 7;
	write_store();
	ASSERT_EQ(open_store(), GNN_OK);
	ASSERT_EQ(gnn_store_count(store, &n), GNN_OK);
	EXPECT_EQ(n.max_out_degree, 7u) << "not taken from the attribute";
	EXPECT_EQ(gnn_store_verify(store, &n), GNN_EDATA);
	EXPECT_NE(std::string(gnn_err_text()).find("attribute max_out_degree: 7 found, 2 wanted"),
		std::string::npos)
		<< gnn_err_text();
}

TEST_F(StoreTest, TheSmallestStores)
{
	struct gnn_store_counts n;

	arrays.clear();
	attrs = {{GNN_ATTR_VERTICES, nullptr, 0, nullptr}, {GNN_ATTR_EDGES, nullptr, 0, nullptr}};
	for (const char *name : {GNN_STORE_OUT_OFFSETS, GNN_STORE_IN_OFFSETS})
		add(array_of<uint64_t>(name, GNN_U64, {0}));
	for (const char *name : {GNN_STORE_OUT_NEIGHBORS, GNN_STORE_IN_NEIGHBORS})
		add(array_of<uint32_t>(name, GNN_U32, {}));
	write_store();
	ASSERT_EQ(verify_store(&n), GNN_OK) << gnn_err_text();
	EXPECT_EQ(n.isolated, 0u);
	EXPECT_EQ(n.classes, 0u);

	attrs[0].number = 3;
	for (const char *name : {GNN_STORE_OUT_OFFSETS, GNN_STORE_IN_OFFSETS})
		add(array_of<uint64_t>(name, GNN_U64, {0, 0, 0, 0}));
	add(array_of<uint8_t>(GNN_STORE_LABELS, GNN_U8, {0, 1, 1, 1, 0, 0}, 2));
	write_store();
	ASSERT_EQ(verify_store(&n), GNN_OK) << gnn_err_text();
	EXPECT_EQ(n.isolated, 3u);
	EXPECT_EQ(n.classes, 2u);
}

/* A store that cannot be opened, and what is said about it. */
TEST_F(StoreTest, MissingArraysAndWrongShapesAreNamed)
{
	struct Case {
		const char *said;
		std::function<void()> spoil;
	};
	const std::vector<Case> cases = {
		{"dataset topology/out/offsets is missing",
			[&] { arrays.erase(GNN_STORE_OUT_OFFSETS); }},
		{"dataset topology/in/neighbors is missing",
			[&] { arrays.erase(GNN_STORE_IN_NEIGHBORS); }},
		{"only one of topology/out/weights", [&] { arrays.erase(GNN_STORE_IN_WEIGHTS); }},
		{"dataset features is u64",
			[&] {
				add(array_of<uint64_t>(
					GNN_STORE_FEATURES, GNN_U64, {1, 2, 3, 4, 5, 6}, 1));
			}},
		{"dataset features has 1 dimensions, 2 wanted",
			[&] {
				add(array_of<float>(
					GNN_STORE_FEATURES, GNN_F32, {1, 2, 3, 4, 5, 6}));
			}},
		{"dataset features has 5 rows, 6 wanted (V)",
			[&] {
				add(array_of<float>(
					GNN_STORE_FEATURES, GNN_F32, {1, 2, 3, 4, 5}, 1));
			}},
		{"dataset labels has 1 dimensions, 2 wanted",
			[&] {
				add(array_of<uint8_t>(
					GNN_STORE_LABELS, GNN_U8, {1, 0, 1, 0, 1, 0}));
			}},
		{"dataset topology/out/neighbors has 5 rows, 6 wanted (E)",
			[&] {
				add(array_of<uint32_t>(
					GNN_STORE_OUT_NEIGHBORS, GNN_U32, {1, 1, 1, 0, 3}));
			}},
		{"dataset topology/in/offsets has 6 rows, 7 wanted (V + 1)",
			[&] {
				add(array_of<uint64_t>(
					GNN_STORE_IN_OFFSETS, GNN_U64, {0, 1, 4, 5, 6, 6}));
			}},
		{"no file holds", [&] { attrs[0].number = UINT64_MAX; }},
		{"the attribute edges is missing", [&] { attrs.pop_back(); }},
		{"it is a gnnrun-result, a gnnrun-store is wanted",
			[&] { format = GNN_FORMAT_RESULT; }},
		{"its format is \"graph\"", [&] { format = "graph"; }},
	};

	for (const Case &c : cases) {
		const auto keep = arrays;
		const auto keep_attrs = attrs;
		c.spoil();
		std::vector<Array> list;
		for (const auto &[name, a] : arrays)
			list.push_back(a);
		/* A format that is not ours is refused before it is published, so it is said there.
		 */
		int rc = write(list);
		if (rc == GNN_OK)
			rc = open_store();
		EXPECT_EQ(rc, GNN_EDATA) << c.said;
		EXPECT_EQ(store, nullptr);
		EXPECT_NE(std::string(gnn_err_text()).find(c.said), std::string::npos)
			<< gnn_err_text();
		arrays = keep;
		attrs = keep_attrs;
		format = GNN_FORMAT_STORE;
	}
}

/* Values that carry right checksums and are wrong: place, found, wanted. */
TEST_F(StoreTest, VerifyNamesTheValueThatIsWrong)
{
	struct Case {
		const char *said;
		std::function<void()> spoil;
	};
	const std::vector<Case> cases = {
		{"topology/out/offsets, row 0: 1 found, 0 wanted",
			[&] { poke<uint64_t>(GNN_STORE_OUT_OFFSETS, 0, 1); }},
		{"topology/in/offsets, row 3: 3 found, 4 to 6 wanted",
			[&] { poke<uint64_t>(GNN_STORE_IN_OFFSETS, 3, 3); }},
		{"topology/out/offsets, row 4: 7 found, 5 to 6 wanted",
			[&] { poke<uint64_t>(GNN_STORE_OUT_OFFSETS, 4, 7); }},
		{"topology/out/offsets ends at 5, 6 wanted",
			[&] {
				for (uint64_t row : {4, 5, 6})
					poke<uint64_t>(GNN_STORE_OUT_OFFSETS, row, 5);
			}},
		{"topology/out/neighbors, row 2, entry 1: 6 found, 0 to 5 wanted",
			[&] { poke<uint32_t>(GNN_STORE_OUT_NEIGHBORS, 4, 6); }},
		{"topology/in/neighbors, row 1, entry 2: 0 found, 1 to 5 wanted",
			[&] {
				poke<uint32_t>(GNN_STORE_IN_NEIGHBORS, 2, 1);
				poke<uint32_t>(GNN_STORE_IN_NEIGHBORS, 3, 0);
			}},
		{"do not hold the same edges",
			[&] { poke<uint32_t>(GNN_STORE_IN_NEIGHBORS, 5, 4); }},
		{"with the same weights", [&] { poke<float>(GNN_STORE_IN_WEIGHTS, 5, 5.5f); }},
		{"topology/self_loops, row 0: 1 found, 0 wanted",
			[&] { poke<uint32_t>(GNN_STORE_SELF_LOOPS, 0, 1); }},
		{"topology/self_loops, row 1: 0 found, 1 wanted",
			[&] { arrays.erase(GNN_STORE_SELF_LOOPS); }},
		{"labels, row 2: -2 found, -1 or a class wanted",
			[&] { poke<int64_t>(GNN_STORE_LABELS, 2, -2); }},
		{"labels, row 1: 2 found, 0 or 1 wanted",
			[&] {
				add(array_of<uint8_t>(GNN_STORE_LABELS, GNN_U8,
					{0, 1, 1, 2, 0, 0, 0, 0, 0, 0, 0, 0}, 2));
			}},
		{"split/valid, row 0: 6 found, below 6 wanted",
			[&] { poke<uint64_t>(GNN_STORE_SPLIT_VALID, 0, 6); }},
		{"order/original_id holds a row twice",
			[&] { poke<uint64_t>(GNN_STORE_ORIGINAL_ID, 0, 4); }},
	};

	for (const Case &c : cases) {
		const auto keep = arrays;
		struct gnn_store_counts n;
		c.spoil();
		write_store();
		EXPECT_EQ(verify_store(&n), GNN_EDATA) << c.said;
		EXPECT_NE(std::string(gnn_err_text()).find(c.said), std::string::npos)
			<< gnn_err_text() << "\nwanted: " << c.said;
		EXPECT_NE(std::string(gnn_err_text()).find(path), std::string::npos)
			<< gnn_err_text();
		arrays = keep;
	}
}

/* Every array lies under a checksum that --verify looks at. */
TEST_F(StoreTest, VerifySeesAFlipInAnyArray)
{
	struct gnn_store_counts n;

	arrays[GNN_STORE_SPLIT_TEST] = array_of<uint64_t>(GNN_STORE_SPLIT_TEST, GNN_U64, {3});
	write_store();
	const std::vector<char> good = bytes_of(path);
	for (const auto &[name, a] : arrays) {
		ASSERT_EQ(open_store(), GNN_OK);
		const uint64_t at = gnn_container_find(store->container, name.c_str())->offset;
		std::vector<char> bad = good;
		bad[at + a.data.size() - 1] = static_cast<char>(bad[at + a.data.size() - 1] ^ 0x10);
		put_bytes(path, bad);
		EXPECT_EQ(verify_store(&n), GNN_EDATA) << name;
		EXPECT_NE(std::string(gnn_err_text()).find("array " + name + ", block 0"),
			std::string::npos)
			<< gnn_err_text();
		put_bytes(path, good);
	}
}

} // namespace
