// Keys sorted in wide registers, held against std::sort.
#include "base/rng.h"
#include "io/lanesort.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace
{

enum { GUARD = 32 }; /* keys behind either array that nobody may touch */

/* Keys that fill `bits` bits, in one of the shapes that a bucket has. */
struct Shape {
	std::string name;
	std::function<uint64_t(uint64_t i, uint64_t n, uint32_t bits)> key;
};

uint64_t cut(uint64_t key, uint32_t bits)
{
	return bits == 64 ? key : key & ((1ull << bits) - 1);
}

const std::vector<Shape> &shapes()
{
	static const std::vector<Shape> all = {
		{"random", [](uint64_t i, uint64_t, uint32_t) { return gnn_mix64(i); }},
		{"ascending", [](uint64_t i, uint64_t, uint32_t) { return i; }},
		{"descending", [](uint64_t i, uint64_t n, uint32_t) { return n - i; }},
		{"zeros", [](uint64_t, uint64_t, uint32_t) { return 0ull; }},
		{"ones", [](uint64_t, uint64_t, uint32_t) { return ~0ull; }},
		{"few values", [](uint64_t i, uint64_t, uint32_t) { return gnn_mix64(i) % 3; }},
		{"low bit", [](uint64_t i, uint64_t, uint32_t) { return ~0ull << 1 | (i & 1); }},
		{"a hub",
			[](uint64_t i, uint64_t, uint32_t bits) {
				uint64_t low = gnn_mix64(i) & 0xfff, row = gnn_mix64(~i);

				return i % 4 == 0 ? row << 12 | low : 1ull << (bits - 1) | low;
			}},
	};
	return all;
}

template <typename Key> void check(const Shape &shape, uint64_t n, uint32_t bits)
{
	std::vector<Key> key(n + GUARD, 0x5a), spare(n + GUARD, 0x5a), wanted;

	for (uint64_t i = 0; i < n; i++)
		key[i] = static_cast<Key>(cut(shape.key(i, n, bits), bits));
	wanted = key;
	std::sort(wanted.begin(), wanted.begin() + static_cast<long>(n));
	gnn_lanesort(sizeof(Key))(key.data(), spare.data(), n, bits);
	ASSERT_EQ(key, wanted) << shape.name << ", " << n << " keys of " << bits << " bits";
	ASSERT_TRUE(std::all_of(spare.end() - GUARD, spare.end(), [](Key k) { return k == 0x5a; }));
}

class LanesortTest : public testing::Test
{
protected:
	void SetUp() override
	{
		if (gnn_lanesort(sizeof(uint32_t)) == nullptr)
			GTEST_SKIP() << "this machine has no registers of 64 bytes";
	}
};

/* Each number of keys from none to several networks, so each fill of the last register. */
TEST_F(LanesortTest, FewKeys)
{
	for (const Shape &shape : shapes())
		for (uint64_t n = 0; n < 600; n++) {
			check<uint32_t>(shape, n, 32);
			check<uint64_t>(shape, n, 64);
		}
}

TEST_F(LanesortTest, BucketsOfEveryWidth)
{
	for (const Shape &shape : shapes())
		for (uint32_t bits = 1; bits <= 64; bits++) {
			check<uint64_t>(shape, 5000 + bits, bits);
			if (bits <= 32)
				check<uint32_t>(shape, 5000 + bits, bits);
		}
}

TEST_F(LanesortTest, LargeBucket)
{
	for (const Shape &shape : shapes()) {
		check<uint32_t>(shape, 1000003, 31);
		check<uint64_t>(shape, 300007, 43);
	}
}

TEST(Lanesort, OtherWidthsHaveNone)
{
	EXPECT_EQ(gnn_lanesort(16), nullptr);
}

} // namespace
