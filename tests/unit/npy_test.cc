// npy headers of every legal shape are understood, every illegal one is refused with a reason;
// npz members stream, stored or deflated, and damage is found.
#include "import_fixture.h"

#include "io/input.h"
#include "io/ndarray.h"

namespace {

struct NpyTest : ImportFixture {
	struct gnn_ndarray *a = nullptr;

	void TearDown() override
	{
		gnn_ndarray_close(a);
		ImportFixture::TearDown();
	}
	int open(const std::string &path, const char *member = nullptr)
	{
		struct gnn_ndarray_opts o = {};
		o.path = path.c_str();
		o.member = member;
		o.type = GNN_NUM_COUNT;
		gnn_ndarray_close(a);
		return gnn_ndarray_open(&a, &o);
	}
	int open_bytes(const std::string &data)
	{
		return open(file("a.npy", data));
	}
	std::vector<float> floats()
	{
		std::vector<float> v(a->head.count);
		EXPECT_EQ(gnn_ndarray_read(a, v.data(), v.size()), GNN_OK) << gnn_err_text();
		EXPECT_EQ(gnn_ndarray_finish(a), GNN_OK) << gnn_err_text();
		return v;
	}
};

const std::vector<float> six = {1, 2, 3, 4, 5, 6};

TEST_F(NpyTest, AllVersionsAndLongHeaders)
{
	for (int version = 1; version <= 3; version++) {
		for (size_t pad : {0, 1, 53, 1000, 60000}) {
			std::string header =
				"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }" +
				std::string(pad, ' ') + "\n";
			ASSERT_EQ(open_bytes(npy_text(header, bytes_of(six), version)), GNN_OK)
				<< gnn_err_text();
			EXPECT_EQ(a->head.type, GNN_NUM_F4);
			EXPECT_EQ(a->head.rank, 2u);
			EXPECT_EQ(a->head.shape[1], 3u);
			EXPECT_EQ(floats(), six);
		}
	}
}

TEST_F(NpyTest, KeysInAnyOrderAndSpacing)
{
	const char *headers[] = {
		"{'shape':(2,3),'fortran_order':False,'descr':'<f4'}",
		"  { \"descr\" : \"<f4\" ,\n \"shape\" : ( 2 , 3 , ) , 'fortran_order' : False , }",
		"{'fortran_order': False, 'descr': '<f4', 'shape': (2L, 3L), }",
	};
	for (const char *h : headers) {
		ASSERT_EQ(open_bytes(npy_text(h, bytes_of(six))), GNN_OK) << h << gnn_err_text();
		EXPECT_EQ(floats(), six);
	}
}

TEST_F(NpyTest, ShapesOfNoneAndOneDimension)
{
	ASSERT_EQ(open_bytes(npy("<f4", "()", bytes_of<float>({7}))), GNN_OK) << gnn_err_text();
	EXPECT_EQ(a->head.count, 1u);
	ASSERT_EQ(open_bytes(npy("<f4", "(6,)", bytes_of(six))), GNN_OK);
	EXPECT_EQ(a->head.rank, 1u);
	ASSERT_EQ(open_bytes(npy("<f4", "(0, 3)", "")), GNN_OK);
	EXPECT_EQ(a->head.count, 0u);
}

TEST_F(NpyTest, HeadersThatAreWrongAreRefused)
{
	const char *headers[] = {
		"", "{", "{}", "[1]", "{'descr': '<f4'}",
		"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3)",
		"{'descr': '<f4', 'fortran_order': Maybe, 'shape': (2, 3)}",
		"{'descr': '<f4', 'fortran_order': False, 'shape': (2, -3)}",
		"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3.0)}",
		"{'descr': '<f4', 'fortran_order': False, 'shape': (2 3)}",
		"{'descr': '<f4', 'fortran_order': False, 'shape': 6}",
		"{'descr': '<f4', 'descr': '<f8', 'shape': (6,), 'fortran_order': False}",
		"{'descr': '<f4', 'fortran_order': False, 'shape': (6,), 'more': 1}",
		"{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,)}",
		"{'descr': '<f4', 'fortran_order': False, 'shape': (1,1,1,1,1,1,1,1,6)}",
	};
	for (const char *h : headers)
		EXPECT_EQ(open_bytes(npy_text(h, bytes_of(six))), GNN_EDATA) << h;
	EXPECT_EQ(open_bytes(npy("<f4", "(4294967296, 4294967296)", "")), GNN_EDATA);
	EXPECT_TRUE(says("2^60"));
}

TEST_F(NpyTest, B05HeaderLengthPastTheEnd)
{
	std::string whole = npy("<f4", "(2, 3)", bytes_of(six));
	for (size_t n = 0; n < whole.size(); n++)
		EXPECT_EQ(open_bytes(whole.substr(0, n)), GNN_EDATA) << n;
	std::string lies = whole;
	lies[8] = '\xff';
	lies[9] = '\xff';
	EXPECT_EQ(open_bytes(lies), GNN_EDATA);
	EXPECT_TRUE(says("is said to take 65535 bytes"));
	std::string v2 = npy_text(std::string(10, ' '), "", 2);
	memset(v2.data() + 8, 0xff, 4);
	EXPECT_EQ(open_bytes(v2), GNN_EDATA);
	EXPECT_TRUE(says("4294967295"));
}

TEST_F(NpyTest, SizesMustMatchTheShape)
{
	EXPECT_EQ(open_bytes(npy("<f4", "(2, 4)", bytes_of(six))), GNN_EDATA);
	EXPECT_TRUE(says("cut short"));
	EXPECT_EQ(open_bytes(npy("<f4", "(2, 2)", bytes_of(six))), GNN_EDATA);
	EXPECT_TRUE(says("(2, 2)"));
	std::string path = file("b.npy.gz", gzip(npy("<f4", "(2, 2)", bytes_of(six))));
	ASSERT_EQ(open(path), GNN_OK);
	std::vector<float> v(4);
	ASSERT_EQ(gnn_ndarray_read(a, v.data(), 4), GNN_OK);
	EXPECT_EQ(gnn_ndarray_finish(a), GNN_EDATA);
	EXPECT_TRUE(says("bytes follow"));
}

TEST_F(NpyTest, BigEndianIsTurnedAround)
{
	ASSERT_EQ(open_bytes(npy(">f4", "(1,)", std::string("\x3f\x80\x00\x00", 4))), GNN_OK);
	EXPECT_EQ(floats(), std::vector<float>{1.0f});
	ASSERT_EQ(open_bytes(npy(">i8", "(1,)", std::string("\0\0\0\0\0\0\x01\x02", 8))), GNN_OK);
	int64_t v = 0;
	ASSERT_EQ(gnn_ndarray_read(a, &v, 1), GNN_OK);
	EXPECT_EQ(v, 258);
}

TEST_F(NpyTest, TypesThatAreNoNumbers)
{
	for (const char *descr : {"|O", "<c8", "<U5", "|S3", "<M8[ns]", "|V2", "<f16", "f4", ""}) {
		ASSERT_EQ(open_bytes(npy(descr, "(1,)", "12345678")), GNN_OK) << gnn_err_text();
		EXPECT_EQ(a->head.type, GNN_NUM_OTHER) << descr;
		EXPECT_EQ(gnn_ndarray_check_type(a, true, "f4"), GNN_EDATA);
		EXPECT_TRUE(says(std::string("found the element type ") + descr));
	}
	ASSERT_EQ(open_bytes(npy_text("{'descr': [('a', '<f4'), ('b', '<i4', (2,))], "
		"'fortran_order': False, 'shape': (1,)}", "123456789012")), GNN_OK);
	EXPECT_EQ(gnn_ndarray_check_type(a, true, "f4"), GNN_EDATA);
	EXPECT_TRUE(says("structured"));
}

TEST_F(NpyTest, B03NoMagicNamesTheRemedy)
{
	EXPECT_EQ(open_bytes(bytes_of(six)), GNN_EDATA);
	EXPECT_TRUE(says("magic"));
}

TEST_F(NpyTest, MembersStoredDeflatedAndZip64)
{
	std::string one = npy("<f4", "(2, 3)", bytes_of(six));
	std::string two = npy("<f4", "(1,)", bytes_of<float>({9}));
	for (bool packed : {false, true}) {
		for (bool zip64 : {false, true}) {
			std::string path = file("a.npz", zip({{"x.npy", one, packed},
				{"yy.npy", two, packed}}, zip64));
			ASSERT_EQ(open(path, "x"), GNN_OK) << gnn_err_text();
			EXPECT_EQ(floats(), six);
			ASSERT_EQ(open(path, "yy.npy"), GNN_OK) << gnn_err_text();
			EXPECT_EQ(floats(), std::vector<float>{9});
			EXPECT_EQ(open(path, "z"), GNN_EDATA);
			EXPECT_TRUE(says("it holds x, yy"));
			EXPECT_EQ(open(path), GNN_EDATA); // which of the two?
			EXPECT_TRUE(says("2 arrays (x, yy)"));
		}
	}
	ASSERT_EQ(open(file("b.npz", zip({{"only.npy", one}}))), GNN_OK);
	EXPECT_EQ(floats(), six);
}

TEST_F(NpyTest, DamagedArchivesAreFound)
{
	std::string one = npy("<f4", "(2, 3)", bytes_of(six));
	for (bool packed : {false, true}) {
		std::string whole = zip({{"x.npy", one, packed}}, true);
		for (size_t n = 0; n < whole.size(); n += 3)
			EXPECT_EQ(open(file("a.npz", whole.substr(0, n)), "x"), GNN_EDATA) << n;
		// A flipped bit in the data is found by the CRC at the latest.
		std::string bad = whole;
		bad[30 + 5 + (packed ? 20 : one.size() - 1)] ^= 1;
		std::vector<float> v(6);
		int rc = open(file("a.npz", bad), "x");
		if (rc == GNN_OK)
			rc = gnn_ndarray_read(a, v.data(), 6);
		EXPECT_EQ(rc, GNN_EDATA);
	}
}

TEST_F(NpyTest, GzipOfManyMembersAndDamage)
{
	std::string whole = npy("<f4", "(2, 3)", bytes_of(six));
	std::string gz = gzip(whole.substr(0, 20)) + gzip(whole.substr(20)) + std::string(5, '\0');
	ASSERT_EQ(open(file("a.npy.gz", gz)), GNN_OK) << gnn_err_text();
	EXPECT_EQ(floats(), six);
	EXPECT_EQ(open(file("a.npy.gz", "not gzip at all")), GNN_EDATA);
	EXPECT_TRUE(says("not gzip"));
	std::string cut = gzip(whole);
	for (size_t n = 2; n < cut.size(); n++) {
		std::vector<float> v(6);
		int rc = open(file("a.npy.gz", cut.substr(0, n)));
		if (rc == GNN_OK)
			rc = gnn_ndarray_read(a, v.data(), 6);
		if (rc == GNN_OK)
			rc = gnn_ndarray_finish(a);
		EXPECT_EQ(rc, GNN_EDATA) << n;
	}
	EXPECT_TRUE(says("cut short"));
}

TEST_F(NpyTest, TheHashIsThatOfTheFile)
{
	// XXH3-64 of the empty text, and of a file that was read only in part.
	static struct gnn_input_record r, s;
	struct gnn_input *in = nullptr;
	std::string path = file("x", std::string(3000000, 'a'));
	struct gnn_input_opts o = {path.c_str(), nullptr, &r};
	ASSERT_EQ(gnn_input_open(&in, &o), GNN_OK);
	uint64_t got;
	char some[100];
	ASSERT_EQ(gnn_input_read(in, some, 100, &got), GNN_OK);
	ASSERT_EQ(gnn_input_finish(in), GNN_OK);
	gnn_input_close(in);
	o.record = &s;
	ASSERT_EQ(gnn_input_open(&in, &o), GNN_OK);
	ASSERT_EQ(gnn_input_skip(in, 1000), GNN_OK);
	ASSERT_EQ(gnn_input_finish(in), GNN_OK);
	gnn_input_close(in);
	EXPECT_EQ(r.xxh3, s.xxh3);
	EXPECT_EQ(r.bytes, 3000000u);
	s = {};
	path = file("empty", "");
	o.path = path.c_str();
	ASSERT_EQ(gnn_input_open(&in, &o), GNN_OK);
	ASSERT_EQ(gnn_input_finish(in), GNN_OK);
	gnn_input_close(in);
	EXPECT_EQ(s.xxh3, 0x2d06800538d394c2u);
}

TEST_F(NpyTest, EveryAllocationMayFail)
{
	std::string path =
		file("a.npz", zip({{"x.npy", npy("<f4", "(2, 3)", bytes_of(six)), true}}));
	for (int n = 1; n < 100; n++) {
		gnn_fault_parse(("alloc:fail@" + std::to_string(n)).c_str());
		std::vector<float> v(6);
		int rc = open(path);
		if (rc == GNN_OK)
			rc = gnn_ndarray_read(a, v.data(), 6);
		if (rc == GNN_OK) {
			EXPECT_GT(n, 5);
			return;
		}
		EXPECT_EQ(rc, GNN_EOS) << n << gnn_err_text();
	}
	FAIL();
}

// Mutations of valid files are opened and read, or refused; never a crash.
/* Nothing is read past the end, wherever that is. */
TEST_F(NpyTest, HeadersCutAnywhereAreRefused)
{
	for (const std::string &whole : {std::string("{'descr': '<f4', 'fortran_order': False, "
		"'shape': (2, 3), }"), std::string("{'descr': [('a', '<f4')], 'shape': (2,), "
		"'fortran_order': True}")})
		for (size_t n = 0; n < whole.size(); n++) {
			std::unique_ptr<char[]> text(new char[n]);
			gnn_npy head{};

			memcpy(text.get(), whole.data(), n);
			EXPECT_EQ(gnn_npy_parse(text.get(), n, "cut", &head), GNN_EDATA) << n;
		}
}

TEST_F(NpyTest, MutationsNeverCrash)
{
	std::string plain = npy("<f4", "(2, 3)", bytes_of(six));
	std::vector<std::string> seeds = {plain, gzip(plain), zip({{"x.npy", plain}}),
		zip({{"x.npy", plain, true}}, true)};
	Mutator mutate(seeds);
	int read = 0;
	while (mutate.more()) {
		int rc = open_bytes(mutate.next());
		char data[4096];
		if (rc == GNN_OK && a->head.type < GNN_NUM_COUNT && a->head.count < 500)
			rc = gnn_ndarray_read(a, data, a->head.count);
		read += rc == GNN_OK;
		if (rc < 0) {
			EXPECT_EQ(rc, GNN_EDATA) << gnn_err_text();
		}
	}
	EXPECT_GT(read, 0);
}

} // namespace
