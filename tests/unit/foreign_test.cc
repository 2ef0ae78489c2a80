// What HDF5 allows and containers never have: each is refused by name. And h5py's ways are not
// ours.
#include "unit/container_fixture.h"

#include <hdf5.h>

#include <functional>

namespace
{

struct ForeignTest : ContainerFixture {
	std::vector<char> good;

	void SetUp() override
	{
		ContainerFixture::SetUp();
		ASSERT_EQ(write({{"x", GNN_U64, 1, 10, 1, pattern(80)},
				  {"group/y", GNN_F32, 2, 4, 3, pattern(48)}}),
			GNN_OK)
			<< gnn_err_text();
		good = bytes_of(path);
	}

	/* Changes the file through HDF5, as any other program would, and opens it. */
	int edit(const std::function<void(hid_t)> &change)
	{
		put_bytes(path, good);
		hid_t access = H5Pcreate(H5P_FILE_ACCESS);
		H5Pset_fclose_degree(access, H5F_CLOSE_STRONG);
		H5Pset_libver_bounds(access, H5F_LIBVER_V110, H5F_LIBVER_V110);
		hid_t file = H5Fopen(path.c_str(), H5F_ACC_RDWR, access);
		EXPECT_GE(file, 0);
		change(file);
		EXPECT_GE(H5Fclose(file), 0);
		H5Pclose(access);
		const struct gnn_container_opts o = options();
		gnn_container_close(container);
		return gnn_container_open(&container, &o);
	}

	void expect_refused(const char *said, const std::function<void(hid_t)> &change)
	{
		EXPECT_EQ(edit(change), GNN_EDATA) << said;
		EXPECT_EQ(container, nullptr);
		const std::string text = gnn_err_text();
		EXPECT_NE(text.find(said), std::string::npos) << text << "\nwanted: " << said;
		EXPECT_EQ(text.find(path), 0u) << text;
	}
};

/* A dataset of u64 [64] under a creation list that `set` fills. */
void add_dataset(hid_t file, const char *name, hid_t type, int rank, herr_t (*set)(hid_t))
{
	const hsize_t dims[3] = {64, 2, 2};
	hid_t list = H5Pcreate(H5P_DATASET_CREATE);

	ASSERT_TRUE(set == nullptr || set(list) >= 0);
	hid_t space = rank == 0 ? H5Screate(H5S_SCALAR) : H5Screate_simple(rank, dims, nullptr);
	hid_t dataset = H5Dcreate2(file, name, type, space, H5P_DEFAULT, list, H5P_DEFAULT);
	ASSERT_GE(dataset, 0) << name;
	H5Dclose(dataset);
	H5Sclose(space);
	H5Pclose(list);
}

herr_t chunked(hid_t list)
{
	const hsize_t chunk = 16;

	return H5Pset_chunk(list, 1, &chunk);
}

herr_t early(hid_t list)
{
	return H5Pset_alloc_time(list, H5D_ALLOC_TIME_EARLY);
}

TEST_F(ForeignTest, LayoutsAreNamed)
{
	expect_refused("dataset z is chunked",
		[](hid_t f) { add_dataset(f, "z", H5T_STD_U64LE, 1, chunked); });
	expect_refused("dataset group/z is compressed or filtered", [](hid_t f) {
		add_dataset(f, "group/z", H5T_STD_U64LE, 1, [](hid_t list) {
			return chunked(list) < 0 ? -1 : H5Pset_deflate(list, 1);
		});
	});
	expect_refused("dataset z is compressed or filtered", [](hid_t f) {
		add_dataset(f, "z", H5T_STD_U64LE, 1, [](hid_t list) {
			return chunked(list) < 0 ? -1 : H5Pset_fletcher32(list);
		});
	});
	expect_refused("dataset z is compact", [](hid_t f) {
		add_dataset(f, "z", H5T_STD_U64LE, 1,
			[](hid_t list) { return H5Pset_layout(list, H5D_COMPACT); });
	});
	expect_refused("dataset z keeps its data in another file", [](hid_t f) {
		add_dataset(f, "z", H5T_STD_U64LE, 1,
			[](hid_t list) { return H5Pset_external(list, "/etc/passwd", 0, 512); });
	});
	expect_refused("dataset z is virtual", [](hid_t f) {
		add_dataset(f, "z", H5T_STD_U64LE, 1, [](hid_t list) {
			const hsize_t dims = 64;
			hid_t space = H5Screate_simple(1, &dims, nullptr);
			herr_t rc = H5Pset_virtual(list, space, "other.h5", "z", space);
			H5Sclose(space);
			return rc;
		});
	});
	expect_refused("dataset z has 0 bytes in the file, its shape needs 512",
		[](hid_t f) { add_dataset(f, "z", H5T_STD_U64LE, 1, nullptr); });
	expect_refused("does not begin at a multiple of 4096", [](hid_t f) {
		add_dataset(f, "z1", H5T_STD_U64LE, 1, early);
		add_dataset(f, "z2", H5T_STD_U64LE, 1, early);
	});
}

TEST_F(ForeignTest, TypesAndShapesAreNamed)
{
	for (hid_t type : {H5T_IEEE_F64LE, H5T_IEEE_F32BE, H5T_STD_U16LE, H5T_STD_I32LE, H5T_C_S1,
		     H5T_STD_REF_OBJ})
		expect_refused("dataset z is of an unknown type",
			[=](hid_t f) { add_dataset(f, "z", type, 1, early); });
	expect_refused("dataset z has 3 dimensions",
		[](hid_t f) { add_dataset(f, "z", H5T_STD_U64LE, 3, early); });
	expect_refused("dataset z has 0 dimensions",
		[](hid_t f) { add_dataset(f, "z", H5T_STD_U64LE, 0, early); });
}

TEST_F(ForeignTest, LinksAndGroupsAreNamed)
{
	expect_refused("z is a link to another place",
		[](hid_t f) { H5Lcreate_soft("/x", f, "z", H5P_DEFAULT, H5P_DEFAULT); });
	expect_refused("z is a link to another place", [](hid_t f) {
		H5Lcreate_external("other.h5", "/x", f, "z", H5P_DEFAULT, H5P_DEFAULT);
	});
	expect_refused("datasets x and z share bytes",
		[](hid_t f) { H5Lcreate_hard(f, "x", f, "z", H5P_DEFAULT, H5P_DEFAULT); });
	expect_refused("lies too deep", [](hid_t f) {
		H5Lcreate_hard(f, "group", f, "group/again", H5P_DEFAULT, H5P_DEFAULT);
	});
	expect_refused("more than 384 names", [](hid_t f) {
		H5Gcreate2(f, "empty", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
		for (int i = 0; i < 400; i++)
			H5Lcreate_hard(f, "empty", f, std::to_string(i).c_str(), H5P_DEFAULT,
				H5P_DEFAULT);
	});
	expect_refused("z is neither a group nor a dataset", [](hid_t f) {
		hid_t type = H5Tcopy(H5T_STD_U64LE);
		H5Tcommit2(f, "z", type, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
	});
	expect_refused("is damaged or too long", [](hid_t f) {
		add_dataset(f, std::string(300, 'n').c_str(), H5T_STD_U64LE, 1, early);
	});
	expect_refused("is too long", [](hid_t f) {
		add_dataset(
			f, std::string(GNN_ARRAY_NAME_MAX, 'n').c_str(), H5T_STD_U64LE, 1, early);
	});
}

TEST_F(ForeignTest, ChecksumsMustBeThere)
{
	expect_refused(
		"checksum/x is missing", [](hid_t f) { H5Ldelete(f, "checksum/x", H5P_DEFAULT); });
	expect_refused("checksum/group/y is missing",
		[](hid_t f) { H5Ldelete(f, "checksum", H5P_DEFAULT); });
	expect_refused("checksum/x must be u64 [1], found f32 [4]", [](hid_t f) {
		H5Ldelete(f, "checksum/x", H5P_DEFAULT);
		H5Lcreate_hard(f, "group/y", f, "checksum/x", H5P_DEFAULT, H5P_DEFAULT);
	});
}

void set_attribute(hid_t file, const char *name, hid_t type, const void *value)
{
	hid_t space = H5Screate(H5S_SCALAR);

	H5Adelete(file, name);
	hid_t attr = H5Acreate2(file, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
	ASSERT_GE(H5Awrite(attr, type, value), 0);
	H5Aclose(attr);
	H5Sclose(space);
}

TEST_F(ForeignTest, IdentityIsNamed)
{
	expect_refused("version 2 of gnnrun-store; this program reads version 1", [](hid_t f) {
		const uint64_t two = 2;
		set_attribute(f, GNN_ATTR_VERSION, H5T_NATIVE_UINT64, &two);
	});
	expect_refused("the attribute version is missing",
		[](hid_t f) { H5Adelete(f, GNN_ATTR_VERSION); });
	expect_refused("none of gnnrun: it has no attribute format",
		[](hid_t f) { H5Adelete(f, GNN_ATTR_FORMAT); });
	expect_refused("its format is \"gnnrun-tore\"; known are gnnrun-store and gnnrun-result",
		[](hid_t f) {
			hid_t type = H5Tcopy(H5T_C_S1);
			H5Tset_size(type, 11);
			set_attribute(f, GNN_ATTR_FORMAT, type, "gnnrun-tore");
		});
}

/* Attributes of a form that no container has are passed over, however large they are. */
TEST_F(ForeignTest, NotesOfOthersArePassedOver)
{
	uint64_t number;

	ASSERT_EQ(edit([](hid_t f) {
		const hsize_t dims = 1000;
		const double real = 1.5;
		const char *text = "a note of any length";
		hid_t space = H5Screate_simple(1, &dims, nullptr);
		hid_t vector =
			H5Acreate2(f, "vector", H5T_STD_U64LE, space, H5P_DEFAULT, H5P_DEFAULT);
		ASSERT_GE(vector, 0);
		hid_t variable = H5Tcopy(H5T_C_S1);
		H5Tset_size(variable, H5T_VARIABLE);
		set_attribute(f, "note", variable, &text);
		set_attribute(f, "real", H5T_NATIVE_DOUBLE, &real);
		H5Adelete(f, GNN_ATTR_EDGES);
		hid_t again = H5Acreate2(
			f, GNN_ATTR_EDGES, H5T_STD_U64LE, space, H5P_DEFAULT, H5P_DEFAULT);
		ASSERT_GE(again, 0);
	}),
		GNN_OK)
		<< gnn_err_text();
	EXPECT_EQ(gnn_container_number(container, GNN_ATTR_EDGES, &number), GNN_EDATA);
	ASSERT_EQ(gnn_container_number(container, GNN_ATTR_VERTICES, &number), GNN_OK);
	EXPECT_EQ(number, 7u);
	EXPECT_EQ(load(*gnn_container_find(container, "x")), pattern(80));
}

} // namespace
