// Damaged files: refused, or seen by verify, or the damage touched nothing. Never a wrong value.
#include "base/rng.h"
#include "unit/store_fixture.h"

#include <unistd.h>

/* HDF5 1.10.8 loses some bytes of its own whenever it refuses a damaged object header. */
extern "C" const char *__lsan_default_suppressions(void);
extern "C" const char *__lsan_default_suppressions(void)
{
	return "leak:libhdf5\n";
}

namespace
{

struct HostileTest : StoreFixture {
	std::vector<char> good;

	/* Thousands of small files: in memory where there is such a folder. */
	std::filesystem::path base() const override
	{
		return access("/dev/shm", W_OK) == 0 ? "/dev/shm" : StoreFixture::base();
	}

	void SetUp() override
	{
		StoreFixture::SetUp();
		write_store();
		good = bytes_of(path);
	}

	bool same_attributes()
	{
		for (const struct gnn_attr &a : attrs) {
			uint64_t number = 0;
			if (gnn_container_number(store->container, a.name, &number) < 0 ||
				number != a.number)
				return false;
		}
		return std::string(gnn_container_provenance(store->container)) == "{}";
	}

	bool same_arrays()
	{
		for (const auto &[name, a] : arrays) {
			const struct gnn_array *found =
				gnn_container_find(store->container, name.c_str());
			std::vector<char> data(a.data.size());
			if (found == nullptr || found->bytes != a.data.size() ||
				gnn_array_load(store->container, found, 0, found->bytes,
					data.data()) < 0 ||
				data != a.data)
				return false;
		}
		return true;
	}

	/* Refused as bad data with a reason, or exactly what was written. True when refused. */
	bool refused_or_harmless(const std::string &what)
	{
		struct gnn_store_counts n;
		gnn_err_clear();
		const int rc = verify_store(&n);
		if (rc < 0) {
			EXPECT_EQ(rc, GNN_EDATA) << what << ": " << gnn_err_text();
			EXPECT_NE(std::string(gnn_err_text()).find(path), std::string::npos)
				<< what << ": " << gnn_err_text();
			return true;
		}
		EXPECT_TRUE(same_attributes() && same_arrays()) << what << ": accepted and wrong";
		return false;
	}

	bool flip_is_handled(uint64_t at, unsigned bit)
	{
		std::vector<char> bad = good;
		bad[at] = static_cast<char>(bad[at] ^ (1u << bit));
		put_bytes(path, bad);
		return refused_or_harmless(
			"byte " + std::to_string(at) + " bit " + std::to_string(bit));
	}
};

TEST_F(HostileTest, RandomFlipsAnywhere)
{
	for (uint64_t i = 0; i < 400; i++) {
		const uint64_t draw = gnn_rng_u64(1, 0, i);
		flip_is_handled(gnn_rng_below(draw, good.size()), draw & 7);
	}
}

/* Most of a small file is padding: these hit bytes that say something. */
TEST_F(HostileTest, RandomFlipsWhereThereIsSomething)
{
	std::vector<uint64_t> used;
	unsigned refused = 0;

	for (uint64_t at = 0; at < good.size(); at++)
		if (good[at] != 0)
			used.push_back(at);
	for (uint64_t i = 0; i < 400; i++) {
		const uint64_t draw = gnn_rng_u64(2, 0, i);
		refused += flip_is_handled(used[gnn_rng_below(draw, used.size())], draw & 7);
	}
	EXPECT_GT(refused, 300u) << "flips that nobody saw, though harmless, are not this many";
}

TEST_F(HostileTest, CutAtEvery64th)
{
	struct gnn_store_counts n;

	std::vector<uint64_t> sizes = {0, 1, 7, 8, 47, 48, 512, 4096, good.size() - 1};
	for (uint64_t i = 1; i < 64; i++)
		sizes.push_back(good.size() * i / 64);
	for (uint64_t size : sizes) {
		put_bytes(path, {good.begin(), good.begin() + static_cast<ptrdiff_t>(size)});
		EXPECT_EQ(verify_store(&n), GNN_EDATA) << size;
		EXPECT_NE(std::string(gnn_err_text()).find(path), std::string::npos)
			<< gnn_err_text();
	}
}

TEST_F(HostileTest, GarbageBehindTheEnd)
{
	for (uint64_t more : {1, 511, 4096, 100000}) {
		std::vector<char> bad = good;
		bad.resize(good.size() + more, 'x');
		put_bytes(path, bad);
		EXPECT_EQ(open_store(), GNN_EDATA) << more;
		EXPECT_NE(std::string(gnn_err_text()).find("made longer"), std::string::npos)
			<< gnn_err_text();
	}
}

/* Pages zeroed, as by a disk that lost them; pages exchanged. */
TEST_F(HostileTest, LostAndExchangedPages)
{
	const uint64_t pages = good.size() / 4096;

	for (uint64_t p = 0; p < pages; p++) {
		std::vector<char> bad = good;
		std::fill_n(bad.begin() + static_cast<ptrdiff_t>(p * 4096), 4096, 0);
		put_bytes(path, bad);
		refused_or_harmless("page " + std::to_string(p) + " lost");
		bad = good;
		std::swap_ranges(bad.begin() + static_cast<ptrdiff_t>(p * 4096),
			bad.begin() + static_cast<ptrdiff_t>(p * 4096 + 4096),
			bad.begin() + static_cast<ptrdiff_t>((p + 7) % pages * 4096));
		put_bytes(path, bad);
		refused_or_harmless("page " + std::to_string(p) + " exchanged");
	}
}

TEST_F(HostileTest, OtherFilesAreNoStores)
{
	put_bytes(path, {});
	EXPECT_EQ(open_store(), GNN_EDATA);
	put_bytes(path, std::vector<char>(10000, 'a'));
	EXPECT_EQ(open_store(), GNN_EDATA);
	EXPECT_NE(std::string(gnn_err_text()).find("not an HDF5 file"), std::string::npos);
	std::filesystem::remove(path);
	EXPECT_EQ(open_store(), GNN_ENOENT);
	std::filesystem::create_directory(path);
	EXPECT_EQ(open_store(), GNN_ENOENT);
}

} // namespace
