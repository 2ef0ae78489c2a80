// Edge lists and edge arrays: every legal way to write a graph gives the same edges, every illegal
// one is refused with file, line or edge, and the offending text.
#include "import_fixture.h"

#include "io/edges.h"

namespace {

typedef std::vector<std::pair<uint64_t, uint64_t>> Pairs;

struct EdgesTest : ImportFixture {
	struct gnn_edges_opts o = {};
	struct gnn_edge_counts counts = {};
	Pairs edges;
	std::vector<float> weights;

	void SetUp() override
	{
		ImportFixture::SetUp();
		o.threads = 3;
	}
	int drain(struct gnn_edge_source *s)
	{
		struct gnn_edge_batch batch;
		std::vector<uint64_t> wide;
		int rc;
		edges.clear();
		weights.clear();
		while ((rc = s->next(s, &batch)) == GNN_OK) {
			EXPECT_GT(batch.count, 0u);
			EXPECT_EQ(batch.weight != nullptr, s->weighted);
			EXPECT_NE(batch.src == nullptr, batch.src32 == nullptr);
			wide.resize(2 * batch.count);
			struct gnn_edges e = gnn_edge_batch_slice(&batch, 0, batch.count,
				wide.data());
			EXPECT_EQ(gnn_edges_bits(&e), batch.bits);
			for (uint64_t i = 0; i < e.count; i++) {
				edges.emplace_back(e.src[i], e.dst[i]);
				if (s->weighted)
					weights.push_back(batch.weight[i]);
			}
		}
		counts = s->counts;
		gnn_edges_close(s);
		return rc;
	}
	int read(const std::string &path)
	{
		struct gnn_edge_source *s = nullptr;
		o.path = path.c_str();
		int rc = gnn_edges_open(&s, &o);
		return rc < 0 ? rc : drain(s);
	}
	int text(const std::string &data)
	{
		return read(file("edges.txt", data));
	}
	int array(const std::string &data)
	{
		return read(file("edges.npy", data));
	}
	// Refused, with `part` in the message.
	void refuse(const std::string &data, const std::string &part)
	{
		EXPECT_EQ(text(data), GNN_EDATA) << data;
		EXPECT_TRUE(says(part)) << data;
	}
};

const Pairs three = {{0, 1}, {1, 2}, {2, 0}};

TEST_F(EdgesTest, EveryWayToWriteThreeEdges)
{
	const std::string ways[] = {
		"0 1\n1 2\n2 0\n",
		"0\t1\n1\t2\n2\t0",
		"0,1\n1,2\n2,0\n",
		"0, 1\n1 ,2\n2 , 0\n",
		"0 1\r\n1 2\r\n2 0",
		"  0 1\n1  2  \n\t2 \t 0\t\n",
		"\n\n0 1\n   \n1 2\n\r\n2 0\n\n",
		"# a\n% b\n0 1\n#1 1\n1 2\n2 0\n# end",
		"#\n\n0 1 \r\n1\t\t2\n00002 000\n",
	};
	for (const std::string &w : ways) {
		ASSERT_EQ(text(w), GNN_EOF) << w << gnn_err_text();
		EXPECT_EQ(edges, three) << w;
		EXPECT_EQ(counts.edges, 3u);
		EXPECT_EQ(counts.lines, 3 + counts.comments + counts.blanks);
		ASSERT_EQ(read(file("e.gz", gzip(w))), GNN_EOF) << gnn_err_text();
		EXPECT_EQ(edges, three) << w;
		ASSERT_EQ(read(file("e.gz", gzip(w.substr(0, 4)) + gzip(w.substr(4)))), GNN_EOF);
		EXPECT_EQ(edges, three) << w;
	}
}

TEST_F(EdgesTest, S06LinesAreCountedExactly)
{
	ASSERT_EQ(text("# c\n\n0 1\n  \n% d\n1 2"), GNN_EOF);
	EXPECT_EQ(counts.lines, 6u);
	EXPECT_EQ(counts.comments, 2u);
	EXPECT_EQ(counts.blanks, 2u);
	EXPECT_EQ(counts.edges, 2u);
	for (const char *nothing : {"", "\n", "# only\n# comments", "\r\n\r\n", "   "}) {
		ASSERT_EQ(text(nothing), GNN_EOF) << gnn_err_text();
		EXPECT_TRUE(edges.empty());
	}
}

TEST_F(EdgesTest, WhatIsNoIdIsRefusedWithItsLine)
{
	for (const char *bad : {"0x10", "1e3", "-1", "+1", "1.0", "nan", "NaN", "a", "1_000",
		     "\"1\"", "1;", "٣"}) {
		refuse(std::string("0 1\n") + bad + " 2\n", ":2: '");
		refuse(std::string("0 1\n\n# c\n2 ") + bad, ":4: '");
		EXPECT_TRUE(says("plain decimal integer"));
	}
	refuse("0 123456789012345678901\n", "'123456789012345678901' is too large");
	refuse("18446744073709551616 0\n", "too large");
	refuse("18446744073709551615 0\n", "out of range");
	refuse("7\n", "one column");
	refuse("7 \r\n", "one column");
	refuse("1,,2\n", "column 2 is empty");
	refuse(",1\n", "column 1 is empty");
	refuse("1,2,\n", "column 3 is empty");
	refuse("1,\n", "column 2 is empty");
	refuse("0 1\n #x\n", ":2: '#x'");
	refuse("src,dst\n0,1\n", "begins with #");
	refuse("0 1\n\x01\x80\xff 2\n", "neither text");
}

TEST_F(EdgesTest, LargeIdsAreExact)
{
	ASSERT_EQ(text("12345678 123456789\n9999999999999999999 18446744073709551614\n1 "
		"100000000\n"), GNN_EOF) << gnn_err_text();
	EXPECT_EQ(edges, (Pairs{{12345678, 123456789},
		{9999999999999999999u, 18446744073709551614u}, {1, 100000000}}));
}

TEST_F(EdgesTest, B06FurtherColumnsAreRefusedUnlessDeclared)
{
	refuse("0 1\n2 0 # x\n", ":2: '#' in column 3");
	EXPECT_TRUE(says("--weight-column 3"));
	refuse("0 1 0.5\n", "'0.5' in column 3");
	o.weight_column = 3;
	ASSERT_EQ(text("0 1 0.5\n1,2,-1e-3\r\n2\t0\t7"), GNN_EOF) << gnn_err_text();
	EXPECT_EQ(edges, three);
	EXPECT_EQ(weights, (std::vector<float>{0.5f, -1e-3f, 7.0f}));
	refuse("0 1 0.5\n1 2\n", ":2: 2 columns, and the weight is wanted in column 3");
	refuse("0 1 x\n", "is no weight");
	refuse("0 1 nan\n", "is no weight");
	refuse("0 1 1e39\n", "is no weight");
	refuse("0 1 0x1p3\n", "is no weight");
	refuse("0 1 1 2\n", "column 4");
	o.weight_column = 4;
	ASSERT_EQ(text("0 1 what 3\n"), GNN_EOF) << gnn_err_text();
	EXPECT_EQ(weights, std::vector<float>{3.0f});
	EXPECT_EQ(counts.skipped_columns, 0u);
}

TEST_F(EdgesTest, HeadingsOfSnapAndKonect)
{
	ASSERT_EQ(text("# Undirected graph\n# Nodes: 3 Edges: 2\n0 1\n1 2\n"), GNN_EOF);
	EXPECT_TRUE(counts.edges_stated && counts.nodes_stated);
	EXPECT_EQ(counts.stated_nodes, 3u);
	EXPECT_EQ(counts.stated_edges, 2u);
	EXPECT_FALSE(counts.from_one);
	ASSERT_EQ(
		text("% asym positive\n% 2 3 3\n1 2 1 1167609600\n2\t3 1  1167609601 \n"), GNN_EOF)
		<< gnn_err_text();
	EXPECT_EQ(edges, (Pairs{{1, 2}, {2, 3}}));
	EXPECT_TRUE(counts.from_one);
	EXPECT_FALSE(counts.each_once);
	EXPECT_EQ(counts.stated_edges, 2u);
	EXPECT_EQ(counts.stated_nodes, 3u);
	EXPECT_EQ(counts.skipped_columns, 2u);
	ASSERT_EQ(text("% sym unweighted\n1 2\n"), GNN_EOF);
	EXPECT_TRUE(counts.each_once);
	refuse("% bip unweighted\n1 1\n", ":1: a bipartite graph");
	refuse("% asym dynamic\n1 1\n", "dynamic");
	refuse("%%MatrixMarket matrix coordinate\n3 3 1\n1 1\n", "MatrixMarket");
	refuse("% asym positive\n1 2 1 2 3\n", "column 5");
	ASSERT_EQ(text("% bipartite it is not\n1 2\n"), GNN_EOF);
}

TEST_F(EdgesTest, B02IdsAtTheStatedCountAreRefused)
{
	o.id_limit = 5;
	refuse("4 4\n7 1\n", ":2: vertex id '7' is out of range; wanted less than 5");
	refuse("4 5\n", "'5'");
	ASSERT_EQ(text("4 0\n"), GNN_EOF);
	EXPECT_EQ(array(npy("<i4", "(2, 2)", bytes_of<int32_t>({0, 4, 1, 5}))), GNN_EDATA);
	EXPECT_TRUE(says("edge 1 has the destination 5; wanted a vertex id from 0 to 4"));
}

// Larger than a block, with slices of many threads: order, counts and line numbers stay exact.
TEST_F(EdgesTest, ManyBlocksKeepOrderAndLines)
{
	std::string data = "# head\n";
	Pairs want;
	uint64_t line = 1, comments = 1, blanks = 0;
	for (uint64_t i = 0; data.size() < (9u << 20); i++, line++) {
		if (i % 1001 == 7) {
			data += i % 2 ? "# comment\n" : "\n";
			(i % 2 ? comments : blanks)++;
			continue;
		}
		uint64_t u = i * 2654435761u % (i % 3 ? 1000 : 100000000000), v = i;
		data += std::to_string(u) + (i % 5 ? "\t" : "  ") + std::to_string(v) +
			(i % 7 ? "\n" : "\r\n");
		want.emplace_back(u, v);
	}
	for (uint32_t threads : {1u, 2u, 5u}) {
		o.threads = threads;
		o.memory_bytes = threads == 5 ? 1 << 20 : 0; // blocks of 256 KiB
		ASSERT_EQ(text(data), GNN_EOF) << gnn_err_text();
		EXPECT_TRUE(edges == want);
		EXPECT_EQ(counts.lines, line);
		EXPECT_EQ(counts.comments, comments);
		EXPECT_EQ(counts.blanks, blanks);
	}
	refuse(data + "5 x\n6 y\n", ":" + std::to_string(line + 1) + ": 'x'");
	EXPECT_EQ(read(file("e.gz", gzip(data).substr(0, 100000))), GNN_EDATA);
	EXPECT_TRUE(says("ends early"));
}

// Blocks hand out ids of 32 bits as long as theirs fit, whatever other blocks hold.
TEST_F(EdgesTest, IdsThatWidenOnTheWay)
{
	for (uint32_t column : {0u, 3u}) {
		std::string data;
		Pairs want;
		for (uint64_t i = 0; data.size() < (3u << 20); i++) {
			uint64_t u = i, v = i == 100000 ? 1ull << 32 : (1ull << 32) - 1 - i;
			data += std::to_string(u) + " " + std::to_string(v) +
				(column != 0 ? " 0.5\n" : "\n");
			want.emplace_back(u, v);
		}
		o.weight_column = column;
		ASSERT_EQ(text(data), GNN_EOF) << gnn_err_text();
		EXPECT_TRUE(edges == want);
	}
}

TEST_F(EdgesTest, LinesAreNotEndless)
{
	refuse("0 1\n" + std::string(5 << 20, '7'), "a line of over");
}

TEST_F(EdgesTest, ArraysOfEveryWidthLayoutAndOrder)
{
	// 2xE and Ex2 of the same three edges; Fortran order is the other one's bytes.
	const std::vector<int64_t> apart = {0, 1, 2, 1, 2, 0}, pairs = {0, 1, 1, 2, 2, 0};
	const char *descrs[] = {"|i1", "|u1", "<i2", "<u2", "<i4", "<u4", "<i8", "<u8", ">i2",
		">u2", ">i4", ">u4", ">i8", ">u8"};
	for (const std::string descr : descrs) {
		auto pack = [&descr](const std::vector<int64_t> &v) {
			std::string s;
			for (int64_t x : v) {
				std::string item = little(x, static_cast<size_t>(descr[2] - '0'));
				s += descr[0] == '>' ? std::string(item.rbegin(), item.rend())
						     : item;
			}
			return s;
		};
		for (bool fortran : {false, true}) {
			for (bool tall : {false, true}) {
				const auto &v = fortran == tall ? apart : pairs;
				std::string data =
					npy(descr, tall ? "(3, 2)" : "(2, 3)", pack(v), fortran);
				ASSERT_EQ(array(data), GNN_EOF) << gnn_err_text();
				EXPECT_EQ(edges, three) << descr << fortran << tall;
				EXPECT_EQ(counts.edges, 3u);
				for (bool packed : {false, true}) {
					ASSERT_EQ(read(file("e.npz", zip({{"edge_index.npy", data,
						packed}}))), GNN_EOF) << gnn_err_text();
					EXPECT_EQ(edges, three);
				}
				ASSERT_EQ(read(file("e.npy.gz", gzip(data))), GNN_EOF);
				EXPECT_EQ(edges, three);
			}
		}
	}
}

TEST_F(EdgesTest, TwoByTwoReadsAs2xE)
{
	std::string data = npy("<i4", "(2, 2)", bytes_of<int32_t>({0, 1, 2, 3}));
	ASSERT_EQ(array(data), GNN_EOF);
	EXPECT_EQ(edges, (Pairs{{0, 2}, {1, 3}}));
	o.layout = GNN_EDGES_EX2;
	ASSERT_EQ(array(data), GNN_EOF);
	EXPECT_EQ(edges, (Pairs{{0, 1}, {2, 3}}));
	EXPECT_EQ(array(npy("<i4", "(2, 3)", std::string(24, '\0'))), GNN_EDATA);
	EXPECT_TRUE(says("edges of the shape (2, 3); wanted (E, 2)"));
	EXPECT_EQ(text("0 1\n"), GNN_EUSAGE);
}

TEST_F(EdgesTest, ArraysThatAreNoEdges)
{
	EXPECT_EQ(array(npy("<f4", "(2, 1)", std::string(8, '\0'))), GNN_EDATA);
	EXPECT_TRUE(says("found the element type <f4; accepted are the integers"));
	EXPECT_EQ(array(npy("|b1", "(2, 1)", std::string(2, '\0'))), GNN_EDATA);
	EXPECT_EQ(array(npy("<i4", "(3, 3)", std::string(36, '\0'))), GNN_EDATA);
	EXPECT_TRUE(says("(2, E) or (E, 2)"));
	EXPECT_EQ(array(npy("<i4", "(2,)", std::string(8, '\0'))), GNN_EDATA);
	EXPECT_EQ(array(npy("<i4", "(2, 2, 1)", std::string(16, '\0'))), GNN_EDATA);
	EXPECT_EQ(array(npy("<i8", "(2, 2)", bytes_of<int64_t>({0, 1, 2, -1}))), GNN_EDATA);
	EXPECT_TRUE(says("edge 1 has the destination -1"));
	EXPECT_EQ(array(npy("<i2", "(2, 2)", bytes_of<int16_t>({0, -7, 2, 1}))), GNN_EDATA);
	EXPECT_TRUE(says("edge 1 has the source -7"));
	EXPECT_EQ(array(npy("<i2", "(3, 2)", bytes_of<int16_t>({0, 1, 2, 3, 4, -5}))), GNN_EDATA);
	EXPECT_TRUE(says("edge 2 has the destination -5"));
	ASSERT_EQ(array(npy("<i8", "(2, 0)", "")), GNN_EOF) << gnn_err_text();
	EXPECT_TRUE(edges.empty());
	o.weight_column = 3;
	EXPECT_EQ(array(npy("<i8", "(2, 0)", "")), GNN_EUSAGE);
}

TEST_F(EdgesTest, ManyBlocksOfArrays)
{
	const uint64_t n = 700001;
	std::vector<uint32_t> apart(2 * n), pairs(2 * n);
	Pairs want;
	for (uint64_t i = 0; i < n; i++) {
		uint32_t u = static_cast<uint32_t>(i * 2654435761u), v = static_cast<uint32_t>(i);
		apart[i] = pairs[2 * i] = u;
		apart[n + i] = pairs[2 * i + 1] = v;
		want.emplace_back(u, v);
	}
	std::string wide = npy("<u4", "(2, 700001)", bytes_of(apart));
	ASSERT_EQ(array(wide), GNN_EOF) << gnn_err_text();
	EXPECT_TRUE(edges == want);
	ASSERT_EQ(array(npy("<u4", "(700001, 2)", bytes_of(pairs))), GNN_EOF);
	EXPECT_TRUE(edges == want);
	ASSERT_EQ(read(file("e.npz", zip({{"e.npy", wide, true}}))), GNN_EOF) << gnn_err_text();
	EXPECT_TRUE(edges == want);
	EXPECT_EQ(read(file("e.npy.gz", gzip(wide).substr(0, 400000))), GNN_EDATA);
}

TEST_F(EdgesTest, WeightsOfAnotherFile)
{
	auto weigh = [this](const std::string &w) {
		struct gnn_edge_source *s = nullptr;
		struct gnn_matrix *m = nullptr;
		struct gnn_rows_opts mo = {};
		std::string path = file("edges.txt", "0 1\n1 2\n2 0\n"),
			    weight_path = file("w.npy", w);
		o.path = path.c_str();
		mo.path = weight_path.c_str();
		mo.target = GNN_F32;
		EXPECT_EQ(gnn_edges_open(&s, &o), GNN_OK);
		EXPECT_EQ(gnn_matrix_open(&m, &mo, false), GNN_OK) << gnn_err_text();
		EXPECT_EQ(gnn_edges_weigh(&s, s, m), GNN_OK);
		return drain(s);
	};
	ASSERT_EQ(weigh(npy("<f4", "(3,)", bytes_of<float>({1, 2, 3}))), GNN_EOF) << gnn_err_text();
	EXPECT_EQ(weights, (std::vector<float>{1, 2, 3}));
	ASSERT_EQ(weigh(npy("<f8", "(3, 1)", bytes_of<double>({0.1, 2, 3}))), GNN_EOF);
	EXPECT_EQ(weights, (std::vector<float>{0.1f, 2, 3}));
	EXPECT_EQ(weigh(npy("<f4", "(2,)", bytes_of<float>({1, 2}))), GNN_EDATA);
	EXPECT_TRUE(says("2 weights, and there are more edges"));
	EXPECT_EQ(weigh(npy("<f4", "(4,)", bytes_of<float>({1, 2, 3, 4}))), GNN_EDATA);
	EXPECT_TRUE(says("4 weights for 3 edges"));
	EXPECT_EQ(weigh(npy("<f8", "(3,)", bytes_of<double>({1, 1e300, 3}))), GNN_EDATA);
	EXPECT_TRUE(says("the weight of edge 1 is inf"));
}

TEST_F(EdgesTest, EveryReadAndAllocationMayFail)
{
	std::string whole = npy("<i4", "(2, 3)", bytes_of<int32_t>({0, 1, 2, 1, 2, 0}));
	const std::string paths[] = {file("a.txt", "0 1\n1 2\n2 0\n"), file("b.npy", whole),
		file("c.npz", zip({{"e.npy", whole, true}})),
		file("d.gz", gzip("0 1\n1 2\n2 0\n"))};
	const struct {
		const char *rule;
		int status;
	} faults[] = {{"alloc:fail@", GNN_EOS}, {"read:eio@", GNN_EIO}, {"read:eof@", GNN_EDATA},
		{"open:eacces@", GNN_ENOENT}};
	for (const std::string &path : paths) {
		for (const auto &f : faults) {
			int n = 1, rc;
			do {
				ASSERT_EQ(gnn_fault_parse((f.rule + std::to_string(n)).c_str()),
					GNN_OK);
				rc = read(path);
				if (rc < 0) {
					EXPECT_EQ(rc, f.status)
						<< path << f.rule << n << gnn_err_text();
				}
			} while (rc < 0 && n++ < 200);
			EXPECT_EQ(edges, three) << path << f.rule;
			gnn_fault_clear();
		}
		for (const char *rule : {"read:short%2", "read:eintr%2", "read:eagain%3"}) {
			ASSERT_EQ(gnn_fault_parse(rule), GNN_OK);
			EXPECT_EQ(read(path), GNN_EOF) << rule << gnn_err_text();
			EXPECT_EQ(edges, three);
		}
		gnn_fault_clear();
	}
}

TEST_F(EdgesTest, MutationsNeverCrash)
{
	std::string whole = npy("<i4", "(2, 3)", bytes_of<int32_t>({0, 1, 2, 1, 2, 0}));
	Mutator mutate({"# Nodes: 3 Edges: 3\n0 1\n1\t2\r\n2,0\n", "% sym weighted\n1 2 3 4\n",
		"0 1 0.5\n2 3 1e5\n", gzip("0 1\n1 2\n"), whole, zip({{"e.npy", whole, true}})});
	int good = 0;
	for (uint32_t i = 0; mutate.more(); i++) {
		o.weight_column = i % 4 == 3 ? 3 : 0;
		int rc = read(file("mutant", mutate.next()));
		good += rc == GNN_EOF;
		if (rc < 0) {
			EXPECT_TRUE(rc == GNN_EDATA || rc == GNN_EUSAGE) << rc << gnn_err_text();
		}
	}
	EXPECT_GT(good, 0);
}

} // namespace
