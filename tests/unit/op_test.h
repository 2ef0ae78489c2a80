// What the tests of the backend share: a backend that dies by itself, random data, bit equality.
#ifndef GNN_TESTS_UNIT_OP_TEST_H
#define GNN_TESTS_UNIT_OP_TEST_H

#include "base/rng.h"
#include "op/backend.h"

#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <string>
#include <vector>

struct Backend {
	explicit Backend(uint32_t threads)
	{
		const struct gnn_backend_opts opts = {threads, 0, nullptr, 0, 0};
		EXPECT_EQ(gnn_backend_create(&b, "cpu", &opts), GNN_OK) << gnn_err_text();
	}
	~Backend()
	{
		gnn_backend_destroy(b);
	}
	Backend(const Backend &) = delete;
	Backend &operator=(const Backend &) = delete;

	void rows(const struct gnn_rows_args &a)
	{
		ASSERT_EQ(b->ops->rows(b, &a), GNN_OK) << gnn_err_text();
		ASSERT_EQ(b->ops->sync(b), GNN_OK);
	}
	void aggregate(const struct gnn_aggregate_args &a)
	{
		ASSERT_EQ(b->ops->aggregate(b, &a), GNN_OK) << gnn_err_text();
		ASSERT_EQ(b->ops->sync(b), GNN_OK);
	}

	struct gnn_backend *b = nullptr;
};

using Floats = std::vector<float>;

// Uniform in [-1, 1).
inline Floats random_floats(uint64_t count, uint64_t stream)
{
	Floats to(count);
	for (uint64_t i = 0; i < count; i++)
		to[i] = static_cast<float>(2 * gnn_rng_unit(gnn_rng_u64(1, stream, i)) - 1);
	return to;
}

// What Linux says could be allocated now.
inline uint64_t available_bytes()
{
	std::ifstream meminfo("/proc/meminfo");
	std::string key;
	uint64_t kib = 0;

	while (meminfo >> key && key != "MemAvailable:")
		;
	meminfo >> kib;
	return kib * 1024;
}

inline bool equal_bits(const Floats &a, const Floats &b)
{
	return a.size() == b.size() &&
		(a.empty() || memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0);
}

#endif
