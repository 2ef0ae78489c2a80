// Features of every kind arrive as they are or exactly; labels and splits say what they leave out.
// Whatever is inexact, out of place or damaged is refused with row and column.
#include "import_fixture.h"

#include "io/labels.h"
#include "io/matrix.h"
#include "io/splits.h"

#include <cmath>

namespace {

struct MatrixTest : ImportFixture {
	struct gnn_rows_opts o = {};
	bool normalize = false;

	void SetUp() override
	{
		ImportFixture::SetUp();
		o.target = GNN_DTYPE_COUNT;
	}
	struct gnn_matrix *m = nullptr;

	void TearDown() override
	{
		gnn_matrix_close(m);
		ImportFixture::TearDown();
	}
	int open(const std::string &name, const std::string &data)
	{
		std::string path = file(name, data);
		o.path = path.c_str();
		gnn_matrix_close(m);
		return gnn_matrix_open(&m, &o, normalize);
	}
	// All rows, asked for `some` at a time.
	int read(std::string *to, uint64_t some = 2)
	{
		uint64_t bytes = m->source.cols * gnn_dtype_bytes(m->source.dtype);
		to->assign(m->source.rows * bytes, '?');
		for (uint64_t r = 0; r < m->source.rows; r += some) {
			uint64_t n = std::min(some, m->source.rows - r);
			int rc = m->source.read(&m->source, n, to->data() + r * bytes);
			if (rc < 0)
				return rc;
		}
		return GNN_OK;
	}
	template <typename T>
	void expect(const std::string &name, const std::string &data, enum gnn_dtype dtype,
		uint64_t rows, uint64_t cols, const std::vector<T> &want)
	{
		std::string got;
		for (uint64_t some : {1, 2, 100}) {
			ASSERT_EQ(open(name, data), GNN_OK) << gnn_err_text();
			EXPECT_EQ(m->source.dtype, dtype);
			EXPECT_EQ(m->source.rows, rows);
			EXPECT_EQ(m->source.cols, cols);
			ASSERT_EQ(read(&got, some), GNN_OK) << gnn_err_text();
			EXPECT_EQ(got, bytes_of(want)) << name << some;
		}
	}
	void refuse(const std::string &data, const std::string &part, const char *name = "a.npy")
	{
		std::string got;
		int rc = open(name, data);
		if (rc == GNN_OK)
			rc = read(&got);
		EXPECT_EQ(rc, GNN_EDATA);
		EXPECT_TRUE(says(part));
	}
};

const std::vector<float> six = {1, 2, 3, 4, 5, 6};

TEST_F(MatrixTest, WhatAStoreHoldsStaysAsItIs)
{
	expect("a.npy", npy("<f4", "(3, 2)", bytes_of(six)), GNN_F32, 3, 2, six);
	expect("a.npy", npy("<f4", "(6,)", bytes_of(six)), GNN_F32, 6, 1, six);
	expect<uint8_t>("a.npy", npy("|u1", "(2, 2)", "\x01\x02\x03\xff"), GNN_U8, 2, 2,
		{1, 2, 3, 255});
	expect<uint8_t>("a.npy", npy("|b1", "(2, 2)", std::string("\0\1\0\2", 4)), GNN_U8, 2, 2,
		{0, 1, 0, 1});
	expect<uint16_t>("a.npy", npy("<f2", "(1, 2)", bytes_of<uint16_t>({0x3c00, 0x7e00})),
		GNN_F16, 1, 2, {0x3c00, 0x7e00});
	EXPECT_GE(m->counts.nan, 1u);
	expect<uint16_t>("a.npy", npy(">f2", "(1, 2)", "\x3c\x01\x40\x02"), GNN_F16, 1, 2,
		{0x3c01, 0x4002});
	o.type = GNN_NUM_BF16;
	expect<uint16_t>("a.npy", npy("<u2", "(1, 2)", bytes_of<uint16_t>({0x3f80, 0x7f80})),
		GNN_BF16, 1, 2, {0x3f80, 0x7f80});
	EXPECT_EQ(m->counts.inf, 1u);
	expect<uint16_t>("a.npy", npy("|V2", "(1, 1)", bytes_of<uint16_t>({0x3f80})), GNN_BF16, 1,
		1, {0x3f80});
	o.type = GNN_NUM_COUNT;
	refuse(npy("|V2", "(1, 1)", "ab"), "--dtype bf16");
	for (const char *name : {"a.npy.gz", "a.gz"})
		expect(name, gzip(npy("<f4", "(3, 2)", bytes_of(six))), GNN_F32, 3, 2, six);
	for (bool packed : {false, true})
		expect("a.npz", zip({{"feat.npy", npy("<f4", "(3, 2)", bytes_of(six)), packed}}),
			GNN_F32, 3, 2, six);
}

TEST_F(MatrixTest, S02OtherTypesBecomeF32Exactly)
{
	expect("a.npy", npy("<f8", "(3, 2)", bytes_of<double>({1, 2, 3, 4, 5, 6})), GNN_F32, 3, 2,
		six);
	expect("a.npy", npy("<u2", "(3, 2)", bytes_of<uint16_t>({1, 2, 3, 4, 5, 6})), GNN_F32, 3, 2,
		six);
	expect("a.npy", npy("|i1", "(3, 2)", "\1\2\3\4\5\6"), GNN_F32, 3, 2, six);
	expect("a.npy", npy(">i4", "(1, 1)", std::string("\0\0\1\0", 4)), GNN_F32, 1, 1,
		std::vector<float>{256});
	expect("a.npy", npy("<i8", "(1, 3)", bytes_of<int64_t>({-(1ll << 40), 1 << 24, INT64_MIN})),
		GNN_F32, 1, 3, std::vector<float>{-0x1p40f, 0x1p24f, -0x1p63f});
	expect("a.npy", npy("<f8", "(1, 3)", bytes_of<double>({INFINITY, -0.0, 0x1p-149})), GNN_F32,
		1, 3, std::vector<float>{INFINITY, -0.0f, 0x1p-149f});
	EXPECT_EQ(m->counts.inf, 1u);
	refuse(npy("<f8", "(2, 2)", bytes_of<double>({1, 2, 0.1, 3})),
		"row 1, column 0: 0.10000000000000001 (f64) is not exact in f32; --feature-dtype "
		"f32");
	refuse(npy("<f8", "(1, 1)", bytes_of<double>({1e300})), "row 0, column 0");
	refuse(npy("<i4", "(2, 2)", bytes_of<int32_t>({1, 2, 3, (1 << 24) + 1})),
		"row 1, column 1: 16777217");
	refuse(npy("<u8", "(1, 1)", bytes_of<uint64_t>({UINT64_MAX})), "18446744073709551615");
	refuse(npy("<c8", "(1, 1)", "12345678"),
		"found the element type <c8; accepted are f2 f4 f8");
	o.target = GNN_F32;
	expect("a.npy", npy("<f8", "(1, 1)", bytes_of<double>({0.1})), GNN_F32, 1, 1,
		std::vector<float>{0.1f});
	expect("a.npy", npy("<f2", "(1, 4)", bytes_of<uint16_t>({0x3c00, 0x8001, 0x03ff, 0x7bff})),
		GNN_F32, 1, 4, std::vector<float>{1, -0x1p-24f, 1023 * 0x1p-24f, 65504});
	expect("a.npy", npy("|b1", "(1, 2)", std::string("\0\1", 2)), GNN_F32, 1, 2,
		std::vector<float>{0, 1});
}

TEST_F(MatrixTest, AskedForTypesAreRoundedTo)
{
	const float nan = std::nanf("");
	std::string data =
		npy("<f4", "(1, 5)", bytes_of<float>({1, 1.00390625f, -0.3f, 65504, nan}));
	o.target = GNN_F16;
	expect<uint16_t>("a.npy", data, GNN_F16, 1, 5, {0x3c00, 0x3c04, 0xb4cd, 0x7bff, 0x7e00});
	o.target = GNN_BF16; // 1.00390625 is half way between two: even
	expect<uint16_t>("a.npy", data, GNN_BF16, 1, 5, {0x3f80, 0x3f80, 0xbe9a, 0x4780, 0x7fc0});
	o.target = GNN_U8;
	expect<uint8_t>("a.npy", npy("<f8", "(1, 3)", bytes_of<double>({0.5, 1.5, 255})), GNN_U8, 1,
		3, {0, 2, 255});
	expect<uint8_t>(
		"a.npy", npy("|b1", "(1, 2)", std::string("\0\2", 2)), GNN_U8, 1, 2, {0, 1});
	refuse(npy("<f4", "(2, 1)", bytes_of<float>({1, 256})),
		"row 1, column 0: 256 has no value");
	refuse(npy("<f4", "(1, 1)", bytes_of<float>({-1})), "in u8");
	o.target = GNN_F16;
	refuse(npy("<f4", "(1, 2)", bytes_of<float>({1, 65520})), "row 0, column 1: 65520 has no");
	expect<uint16_t>("a.npy", npy("<f2", "(1, 1)", bytes_of<uint16_t>({0x7c00})), GNN_F16, 1, 1,
		{0x7c00});
}

TEST_F(MatrixTest, B04FortranOrderIsTurnedAround)
{
	const std::vector<float> columns = {1, 3, 5, 2, 4, 6};
	std::string data = npy("<f4", "(3, 2)", bytes_of(columns), true);
	for (uint64_t memory : {0, 1, 16}) { // windows of all, one and two rows
		o.memory_bytes = memory;
		expect("a.npy", data, GNN_F32, 3, 2, six);
		expect("a.npy.gz", gzip(data), GNN_F32, 3, 2, six);
		expect("a.npz", zip({{"x.npy", data, false}}), GNN_F32, 3, 2, six);
		expect("a.npz", zip({{"x.npy", data, true}}), GNN_F32, 3, 2, six);
		expect("a.npy", npy("<f8", "(3, 2)", bytes_of<double>({1, 3, 5, 2, 4, 6}), true),
			GNN_F32, 3, 2, six);
	}
	expect("a.npy", npy("<f4", "(1, 6)", bytes_of(six), true), GNN_F32, 1, 6, six);
	expect("a.npy", npy("<f4", "(6, 1)", bytes_of(six), true), GNN_F32, 6, 1, six);
}

TEST_F(MatrixTest, HeaderlessDataIsOfTheStatedSizeOrRefused)
{
	refuse(bytes_of(six), "--shape ROWSxCOLUMNS --dtype");
	o.raw = true;
	o.rows = 3;
	o.cols = 2;
	o.type = GNN_NUM_F4;
	expect("a.npy", bytes_of(six), GNN_F32, 3, 2, six);
	o.rows = 4;
	refuse(bytes_of(six), "24 bytes found, 32 wanted for the shape (4, 2) of f32");
	o.rows = 2;
	refuse(bytes_of(six), "24 bytes found, 16 wanted");
	o.type = GNN_NUM_I8;
	o.rows = 1;
	o.cols = 3;
	expect("a.bin", bytes_of<int64_t>({1, 2, 3}), GNN_F32, 1, 3, std::vector<float>{1, 2, 3});
}

std::string csr(const std::string &indptr, const std::string &indices, const std::string &data,
	const std::string &shape, bool packed = true, const std::string &format = "csr")
{
	return zip({{"indices.npy", indices, packed}, {"indptr.npy", indptr, packed},
		{"format.npy", npy("|S3", "()", format)}, {"shape.npy", shape, packed},
		{"data.npy", data, packed}});
}

std::string i4(const std::vector<int32_t> &v)
{
	return npy("<i4", "(" + std::to_string(v.size()) + ",)", bytes_of(v));
}

std::string i8(const std::vector<int64_t> &v)
{
	return npy("<i8", "(" + std::to_string(v.size()) + ",)", bytes_of(v));
}

TEST_F(MatrixTest, ScipyCsrIsMadeDense)
{
	std::string data = npy("<f4", "(4,)", bytes_of<float>({1, 2, 3, 4}));
	const std::vector<float> want = {1, 0, 2, 0, 0, 0, 0, 7, 0};
	for (bool packed : {false, true})
		expect("a.npz", csr(i4({0, 2, 2, 4}), i4({0, 2, 1, 1}), data, i8({3, 3}), packed),
			GNN_F32, 3, 3, want);
	expect("a.npz", csr(i8({0, 2, 2, 4}), i8({0, 2, 1, 1}), npy("<f8", "(4,)",
		bytes_of<double>({1, 2, 3, 4})), i8({3, 3})), GNN_F32, 3, 3, want);
	expect<uint8_t>("a.npz",
		csr(i4({0, 2, 2, 4}), i4({0, 2, 1, 1}), npy("|u1", "(4,)", "\1\2\3\4"), i8({3, 3})),
		GNN_U8, 3, 3, {1, 0, 2, 0, 0, 0, 0, 7, 0});
	expect<uint8_t>("a.npz",
		csr(i4({0, 2, 2, 4}), i4({0, 2, 1, 1}), npy("|b1", "(4,)", "\1\1\1\1"), i8({3, 3})),
		GNN_U8, 3, 3, {1, 0, 1, 0, 0, 0, 0, 1, 0});
	expect<uint8_t>("a.npz", csr(i4({0, 0}), i4({}), npy("|u1", "(0,)", ""), i8({1, 2})),
		GNN_U8, 1, 2, {0, 0});
	refuse(csr(i4({0, 2, 2, 4}), i4({0, 3, 1, 1}), data, i8({3, 3})), "row 0 has the column 3");
	refuse(csr(i4({0, 2, 2, 4}), i4({0, -1, 1, 1}), data, i8({3, 3})), "column -1");
	refuse(csr(i4({0, 2, 1, 4}), i4({0, 2, 1, 1}), data, i8({3, 3})), "row 1 ends at entry 1");
	refuse(csr(i4({0, 2, 2, 9}), i4({0, 2, 1, 1}), data, i8({3, 3})), "row 2 ends at entry 9");
	refuse(csr(i4({0, 2, 2, 3}), i4({0, 2, 1, 1}), data, i8({3, 3})), "entry 3 of 4");
	refuse(csr(i4({1, 2, 2, 4}), i4({0, 2, 1, 1}), data, i8({3, 3})), "begins with 1");
	refuse(csr(i4({0, 2, 4}), i4({0, 2, 1, 1}), data, i8({3, 3})), "3 elements; wanted 4");
	refuse(csr(i4({0, 2, 2, 4}), i4({0, 2, 1}), data, i8({3, 3})), "3 elements; wanted 4");
	refuse(csr(i4({0, 2, 2, 4}), i4({0, 2, 1, 1}), data, i8({3, 3}), true, "csc"), "tocsr()");
	refuse(csr(i4({0, 1}), i4({0}), npy("<f8", "(1,)", bytes_of<double>({0.1})), i8({1, 1})),
		"entry 0 (f64) is not exact");
	refuse(csr(i4({0, 2}), i4({0, 0}), npy("|u1", "(2,)", "\xff\x01"), i8({1, 1})),
		"more than 255");
}

TEST_F(MatrixTest, TextRowsOfNumbers)
{
	expect("a.csv", "1,2\n3, 4\r\n\n5\t6", GNN_F32, 3, 2, six);
	expect("a.csv.gz", gzip("1,2\n3,4\n5,6e0\n"), GNN_F32, 3, 2, six);
	refuse("1,2\n3\n", ":2: fewer columns; wanted 2", "a.csv");
	refuse("1,2\n3,4,5\n", ":2: more columns", "a.csv");
	refuse("1,2\n3,x\n", ":2: column 2, 'x', is no number", "a.csv");
	refuse("1,\n", "is no number", "a.csv");
	refuse("", "no rows", "a.csv");
}

TEST_F(MatrixTest, RowsAreScaledToOne)
{
	normalize = true;
	expect("a.npy", npy("|u1", "(3, 4)", std::string("\1\1\0\2\0\0\0\0\0\3\0\0", 12)), GNN_F32,
		3, 4, std::vector<float>{.25f, .25f, 0, .5f, 0, 0, 0, 0, 0, 1, 0, 0});
	EXPECT_EQ(m->counts.zero_rows, 1u);
	expect("a.npy", npy("<f4", "(1, 2)", bytes_of<float>({1, 2})), GNN_F32, 1, 2,
		std::vector<float>{1.0f / 3, 2.0f / 3});
	refuse(npy("<f4", "(2, 2)", bytes_of<float>({1, 2, 1, -1})), "row 1 sums to 0");
}

TEST_F(MatrixTest, ShapesThatAreNoMatrix)
{
	refuse(npy("<f4", "()", "1234"), "shape ()");
	refuse(npy("<f4", "(1, 1, 1)", "1234"), "shape (1, 1, 1)");
	refuse(npy("<f4", "(3, 0)", ""), "shape (3, 0)");
}

TEST_F(MatrixTest, MutationsNeverCrash)
{
	std::string dense = npy("<f8", "(3, 2)", bytes_of<double>({1, 2, 3, 4, 5, 6}), true);
	Mutator mutate({dense, gzip(dense), "1,2\n3,4\n", csr(i4({0, 2, 2, 4}), i4({0, 2, 1, 1}),
		npy("|u1", "(4,)", "\1\2\3\4"), i8({3, 3}), false)});
	int good = 0;
	while (mutate.more()) {
		std::string got;
		int rc = open("mutant", mutate.next());
		if (rc == GNN_OK && m->source.rows < 1000 && m->source.cols < 1000)
			rc = read(&got);
		good += rc == GNN_OK;
		if (rc < 0) {
			EXPECT_TRUE(rc == GNN_EDATA || rc == GNN_EOS) << rc << gnn_err_text();
		}
	}
	EXPECT_GT(good, 0);
}

// With --remap the vertices of these tests have the ids 10, 20, 30 ...
int tens(void *count, uint64_t id, uint64_t *row)
{
	*row = id / 10 - 1;
	return id % 10 == 0 && id > 0 && *row < *static_cast<uint64_t *>(count) ? GNN_OK : GNN_EOF;
}

struct LabelsTest : ImportFixture {
	struct gnn_labels *l = nullptr;
	struct gnn_labels_opts o = {};
	struct gnn_idrows ids = {nullptr, nullptr, 4};
	std::vector<int64_t> got;
	std::vector<uint64_t> train = {0};

	void TearDown() override
	{
		gnn_labels_close(l);
		ImportFixture::TearDown();
	}
	int read(const std::string &data, const std::string &name = "label.npy")
	{
		std::string path = file(name, data);
		o.path = path.c_str();
		gnn_labels_close(l);
		int rc = gnn_labels_open(&l, &o);
		if (rc == GNN_OK)
			rc = gnn_labels_settle(l, &ids);
		if (rc < 0)
			return rc;
		l->train = train.data();
		got.assign(l->source.rows * l->source.cols, 0);
		if (l->multi) {
			std::vector<uint8_t> bytes(got.size());
			rc = l->source.read(&l->source, l->source.rows, bytes.data());
			got.assign(bytes.begin(), bytes.end());
			return rc;
		}
		for (uint64_t r = 0; r < l->source.rows && rc == GNN_OK; r++)
			rc = l->source.read(&l->source, 1, &got[r]);
		return rc;
	}
	void refuse(const std::string &data, const std::string &part)
	{
		EXPECT_EQ(read(data, "label"), GNN_EDATA);
		EXPECT_TRUE(says(part));
	}
};

const std::vector<int64_t> four = {0, 2, -1, 1};

TEST_F(LabelsTest, B31EveryWayToSayUnlabelled)
{
	const float nan = std::nanf("");
	const std::string files[] = {
		npy("<i8", "(4,)", bytes_of<int64_t>({0, 2, -1, 1})),
		npy("<i4", "(4, 1)", bytes_of<int32_t>({0, 2, -1, 1})),
		npy("<f4", "(4,)", bytes_of<float>({0, 2, nan, 1})),
		npy("<f8", "(4, 1)", bytes_of<double>({0, 2, -1, 1}), true),
		"0\n2\n-1\n1\n", "0.0\n2\nnan\n1", "3 1\n0 0\n1 2\n", "0,0\r\n# c\n1,2\r\n3,1",
	};
	train = {0b1110};
	for (const std::string &f : files) {
		ASSERT_EQ(read(f, "label"), GNN_OK) << gnn_err_text();
		EXPECT_EQ(got, four);
		EXPECT_EQ(l->source.dtype, GNN_I64);
		EXPECT_EQ(l->counts.labelled, 3u);
		EXPECT_EQ(l->counts.unlabelled, 1u);
		EXPECT_EQ(l->counts.unlabelled_train, 1u);
		EXPECT_EQ(l->counts.classes, 3u);
		EXPECT_EQ(l->counts.rows_of[2], 1u);
	}
	ASSERT_EQ(read(npy("|u1", "(2,)", "\x01\xff")), GNN_OK);
	EXPECT_EQ(got[1], 255);
	EXPECT_TRUE(l->bytes);
	EXPECT_EQ(l->counts.classes, 256u);
}

TEST_F(LabelsTest, WhatIsNoLabelIsRefused)
{
	refuse(npy("<i8", "(2,)", bytes_of<int64_t>({0, -2})), "row 1 has the label -2");
	refuse(npy("<f4", "(2,)", bytes_of<float>({0, 1.5f})), "row 1 has the label 1.5");
	refuse(npy("<f8", "(1,)", bytes_of<double>({INFINITY})), "inf");
	refuse(npy("<i8", "(1,)", bytes_of<int64_t>({INT64_MAX})), "row 0");
	refuse(npy("<u8", "(1,)", bytes_of<uint64_t>({UINT64_MAX})), "row 0");
	refuse(npy("<i8", "(1, 1, 1)", bytes_of<int64_t>({0})), "shape (1, 1, 1)");
	refuse(npy("|O", "(1,)", "x"), "|O");
	refuse("0\n1 2\n", ":2: found '2'; wanted one column");
	refuse("0 1\n1\n", "two columns");
	refuse("0 1 2\n", "two columns");
	refuse("0\n-2\n", ":2: found '-2'");
	refuse("0\n1.5\n", "'1.5'");
	refuse("x 1\n", "'x'; wanted a vertex id");
	refuse("0x1 1\n", "'0x1'");
	refuse("1 1\n1 2\n", "vertex 1 is labelled twice");
	refuse("", "no labels");
}

TEST_F(LabelsTest, IdsThatNoVertexHasAreCounted)
{
	ASSERT_EQ(read("9 1\n0 1\n", "label.txt"), GNN_OK) << gnn_err_text();
	EXPECT_EQ(l->counts.ids_unknown, 1u);
	EXPECT_EQ(got, (std::vector<int64_t>{1, -1, -1, -1}));
	EXPECT_EQ(l->id_max, 9u);
}

TEST_F(LabelsTest, RemappedIdsFindTheirRows)
{
	ids = {tens, &ids.vertices, 4};
	ASSERT_EQ(read("30 7\n10 1\n31 5\n", "label.txt"), GNN_OK) << gnn_err_text();
	EXPECT_EQ(got, (std::vector<int64_t>{1, -1, 7, -1}));
	EXPECT_EQ(l->counts.ids_unknown, 1u);
}

TEST_F(LabelsTest, ManyColumnsAreManyLabels)
{
	const std::vector<int64_t> want = {1, 0, 0, 1};
	ASSERT_EQ(read(npy("|b1", "(2, 2)", std::string("\1\0\0\1", 4))), GNN_OK) << gnn_err_text();
	EXPECT_EQ(got, want);
	EXPECT_TRUE(l->multi);
	EXPECT_EQ(l->counts.classes, 2u);
	EXPECT_EQ(l->source.dtype, GNN_U8);
	ASSERT_EQ(read(npy("<f8", "(2, 2)", bytes_of<double>({1, 0, 0, 1}), true)), GNN_OK);
	EXPECT_EQ(got, want);
	refuse(npy("<i4", "(2, 2)", bytes_of<int32_t>({0, 1, 2, 0})), "row 1, column 0 is 2");
	refuse(npy("<f4", "(1, 2)", bytes_of<float>({0, std::nanf("")})), "nan");
	o.text_matrix = true;
	ASSERT_EQ(read("1,0\n0,1\n", "label.csv"), GNN_OK) << gnn_err_text();
	EXPECT_EQ(got, want);
	ASSERT_EQ(read("1\n0\n", "label.csv"), GNN_OK);
	EXPECT_EQ(got, (std::vector<int64_t>{1, 0}));
}

TEST_F(LabelsTest, S03ATailOfZerosIsSeen)
{
	std::vector<int32_t> v(100, 3);
	std::fill(v.begin() + 90, v.end(), 0);
	ASSERT_EQ(read(npy("<i4", "(100,)", bytes_of(v))), GNN_OK);
	EXPECT_EQ(l->counts.zero_tail, 10u);
}

struct SplitsTest : ImportFixture {
	struct gnn_splits s = {};
	struct gnn_idrows ids = {nullptr, nullptr, 6};

	void TearDown() override
	{
		gnn_splits_fini(&s);
		ImportFixture::TearDown();
	}
	int load(const std::string &train, const std::string &valid = "")
	{
		std::string a = file("train", train), b = file("valid", valid);
		struct gnn_split_file files[GNN_SPLIT_COUNT] = {};
		files[GNN_TRAIN].path = a.c_str();
		files[GNN_VALID].path = b.c_str();
		gnn_splits_fini(&s);
		return gnn_splits_load(&s, files, &ids);
	}
	std::vector<uint64_t> rows(enum gnn_split k) const
	{
		return {s.rows[k], s.rows[k] + s.count[k]};
	}
};

TEST_F(SplitsTest, IdsAndMasks)
{
	const std::string ways[] = {
		"5\n0\n3\n", "5\r\n# c\n0\n\n3", npy("<i8", "(3,)", bytes_of<int64_t>({5, 0, 3})),
		npy(">u2", "(3, 1)", std::string("\0\5\0\0\0\3", 6)), gzip("5\n0\n3\n"),
		zip({{"x.npy", npy("<i4", "(3,)", bytes_of<int32_t>({5, 0, 3})), true}}),
	};
	for (const std::string &w : ways) {
		ASSERT_EQ(load(w, "1\n"), GNN_OK) << gnn_err_text();
		EXPECT_EQ(rows(GNN_TRAIN), (std::vector<uint64_t>{5, 0, 3}));
		EXPECT_EQ(rows(GNN_VALID), std::vector<uint64_t>{1});
		EXPECT_EQ(s.rows[GNN_TEST], nullptr);
		EXPECT_EQ(s.bits[GNN_TRAIN][0], 0b101001u);
	}
	ASSERT_EQ(load(npy("|b1", "(6,)", std::string("\1\0\0\1\0\1", 6))), GNN_OK);
	EXPECT_EQ(rows(GNN_TRAIN), (std::vector<uint64_t>{0, 3, 5}));
	EXPECT_EQ(s.count[GNN_VALID], 0u);
}

TEST_F(SplitsTest, RemappedIdsFindTheirRows)
{
	ids = {tens, &ids.vertices, 6};
	ASSERT_EQ(load("30\n10\n", npy("<i8", "(1,)", bytes_of<int64_t>({60}))), GNN_OK)
		<< gnn_err_text();
	EXPECT_EQ(rows(GNN_TRAIN), (std::vector<uint64_t>{2, 0}));
	EXPECT_EQ(rows(GNN_VALID), std::vector<uint64_t>{5});
	EXPECT_EQ(load("10\n11\n"), GNN_EDATA);
	EXPECT_TRUE(says("line 2: no edge has the vertex id 11"));
}

TEST_F(SplitsTest, WhatIsRefused)
{
	const struct {
		std::string train, valid, part;
	} bad[] = {
		{"6\n", "", "line 1: vertex id 6 is out of range; the graph has 6 vertices"},
		{"1\n2\n1\n", "", "vertex 1 stands there twice"},
		{"1\n2\n", "2\n", "vertex 2 is in train too"},
		{"1 2\n", "", "found '1 2'"},
		{"-1\n", "", "'-1'"},
		{"1.0\n", "", "'1.0'"},
		{npy("<i8", "(2,)", bytes_of<int64_t>({1, -1})), "", "element 1 is -1"},
		{npy("<i8", "(2,)", bytes_of<int64_t>({1, 7})), "", "element 1: vertex id 7"},
		{npy("<f4", "(1,)", "1234"), "", "ids of i1 to i8"},
		{npy("|b1", "(5,)", "\1\1\1\1\1"), "", "a mask of 5 rows, the graph has 6"},
		{npy("|b1", "(6, 2)", std::string(12, '\1')), "", "shape (6, 2)"},
		{npy("|b1", "(6,)", std::string("\1\1\0\0\0\0", 6)), "0\n",
			"vertex 0 is in train too"},
	};
	for (const auto &b : bad) {
		EXPECT_EQ(load(b.train, b.valid), GNN_EDATA) << b.part;
		EXPECT_TRUE(says(b.part));
		EXPECT_EQ(s.rows[GNN_TRAIN], nullptr);
	}
}

} // namespace
