// Exports: a numpy header of version 1.0, the bytes behind it, and nothing under the name on
// failure.
#include "io/export.h"
#include "unit/container_fixture.h"

namespace
{

struct ExportTest : ContainerFixture {
	std::string npy;

	int export_array(const char *name)
	{
		const struct gnn_array *a = gnn_container_find(container, name);
		uint64_t written = 0;

		npy = dir / "out.npy";
		const int rc = gnn_export_npy(container, a, npy.c_str(), &written);
		EXPECT_TRUE(rc < 0 || written == std::filesystem::file_size(npy));
		return rc;
	}

	/* The dictionary of the header; `data` gets what follows it. */
	std::string header(std::vector<char> *data)
	{
		const std::vector<char> bytes = bytes_of(npy);
		const std::string lead("\x93NUMPY\x01\x00", 8);

		EXPECT_EQ(std::string(bytes.begin(), bytes.begin() + 8), lead);
		const size_t length = static_cast<unsigned char>(bytes[8]) +
				      256u * static_cast<unsigned char>(bytes[9]);
		EXPECT_EQ((10 + length) % 64, 0u);
		EXPECT_EQ(bytes[10 + length - 1], '\n');
		data->assign(bytes.begin() + 10 + static_cast<ptrdiff_t>(length), bytes.end());
		std::string text(
			bytes.begin() + 10, bytes.begin() + 10 + static_cast<ptrdiff_t>(length));
		return text.substr(0, text.find_last_not_of(" \n") + 1);
	}
};

TEST_F(ExportTest, HeaderAndBytesOfEveryType)
{
	const struct {
		enum gnn_dtype dtype;
		const char *descr;
	} types[] = {{GNN_F32, "<f4"}, {GNN_F16, "<f2"}, {GNN_U8, "|u1"}, {GNN_U32, "<u4"},
		{GNN_U64, "<u8"}, {GNN_I64, "<i8"}};
	std::vector<Array> arrays;
	std::vector<char> data;

	for (const auto &t : types)
		arrays.push_back({gnn_dtype_name(t.dtype), t.dtype, 2, 700001, 3,
			pattern(700001 * 3 * gnn_dtype_bytes(t.dtype))});
	ASSERT_EQ(write(arrays), GNN_OK) << gnn_err_text();
	open();
	for (size_t i = 0; i < arrays.size(); i++) {
		ASSERT_EQ(export_array(arrays[i].name.c_str()), GNN_OK) << gnn_err_text();
		EXPECT_EQ(header(&data),
			"{'descr': '" + std::string(types[i].descr) +
				"', 'fortran_order': False, 'shape': (700001, 3), }");
		EXPECT_EQ(data, arrays[i].data);
	}
}

TEST_F(ExportTest, OneDimensionAndNothing)
{
	std::vector<char> data;

	ASSERT_EQ(write({{"one", GNN_U64, 1, 3, 1, pattern(24)}, {"none", GNN_F32, 2, 0, 7, {}}}),
		GNN_OK);
	open();
	ASSERT_EQ(export_array("one"), GNN_OK) << gnn_err_text();
	EXPECT_EQ(header(&data), "{'descr': '<u8', 'fortran_order': False, 'shape': (3,), }");
	EXPECT_EQ(data, pattern(24));
	ASSERT_EQ(export_array("none"), GNN_OK) << gnn_err_text();
	EXPECT_EQ(header(&data), "{'descr': '<f4', 'fortran_order': False, 'shape': (0, 7), }");
	EXPECT_TRUE(data.empty());
}

TEST_F(ExportTest, Bf16BecomesF32)
{
	const uint16_t from[4] = {0x3f80, 0xc000, 0x7f80, 0x0001};
	const uint32_t wanted[4] = {0x3f800000, 0xc0000000, 0x7f800000, 0x00010000};
	std::vector<char> bytes(8), data;

	memcpy(bytes.data(), from, 8);
	ASSERT_EQ(write({{"x", GNN_BF16, 2, 2, 2, bytes}}), GNN_OK);
	open();
	ASSERT_EQ(export_array("x"), GNN_OK) << gnn_err_text();
	EXPECT_EQ(header(&data), "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 2), }");
	ASSERT_EQ(data.size(), sizeof(wanted));
	EXPECT_EQ(memcmp(data.data(), wanted, sizeof(wanted)), 0);
}

TEST_F(ExportTest, NothingIsPublishedOnFailure)
{
	const std::vector<char> data = pattern(3 * GNN_BLOCK_BYTES);

	ASSERT_EQ(write({{"x", GNN_U8, 1, data.size(), 1, data}}), GNN_OK);
	open();
	for (const char *fault : {"read:flip@4", "read:eio@2", "write:enospc@5",
		     "reserve:enospc@1", "fsync:eio@1", "rename:eio@1", "alloc:fail@2"}) {
		ASSERT_EQ(gnn_fault_parse(fault), GNN_OK);
		const int rc = export_array("x");
		gnn_fault_clear();
		EXPECT_LT(rc, 0) << fault;
		EXPECT_EQ(std::distance(std::filesystem::directory_iterator(dir), {}), 1) << fault;
	}
	ASSERT_EQ(export_array("x"), GNN_OK) << gnn_err_text();
}

} // namespace
