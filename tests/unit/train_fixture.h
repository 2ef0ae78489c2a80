/* A small random graph in memory, for the tests of the trainer. */
#ifndef TESTS_UNIT_TRAIN_FIXTURE_H
#define TESTS_UNIT_TRAIN_FIXTURE_H

#include <algorithm>
#include <cstdint>
#include <gtest/gtest.h>
#include <vector>

#include "base/rng.h"
#include "op/backend.h"
#include "train/lists.h"

inline gnn_backend *cpu_backend(uint32_t threads)
{
	gnn_backend *b = nullptr;
	gnn_backend_opts o{};

	o.threads = threads;
	EXPECT_EQ(gnn_backend_create(&b, "cpu", &o), 0);
	return b;
}

struct Graph {
	std::vector<uint64_t> first;
	std::vector<uint32_t> neighbor, loops;
	std::vector<float> weight, weighted_degree, own;
	gnn_lists lists{};

	/* In-degrees from 0 to degree_max, some duplicates and self-loops; vertex 0 is a hub. */
	explicit Graph(uint64_t vertices, uint64_t degree_max, uint64_t seed = 1)
	{
		first.push_back(0);
		loops.assign(vertices, 0);
		for (uint64_t v = 0; v < vertices; v++) {
			uint64_t degree = gnn_rng_below(gnn_rng_u64(seed, 1, v), degree_max + 1);
			std::vector<uint32_t> list;

			if (v == 0)
				degree = std::min(vertices, 10 * degree_max);
			for (uint64_t i = 0; i < degree; i++)
				list.push_back((uint32_t)gnn_rng_below(gnn_rng_u64(seed, 2 + v, i),
					vertices));
			if (v % 3 == 1)
				list.push_back((uint32_t)v);
			if (v % 6 == 4)
				list.push_back((uint32_t)v);
			std::sort(list.begin(), list.end());
			loops[v] = (uint32_t)std::count(list.begin(), list.end(), (uint32_t)v);
			neighbor.insert(neighbor.end(), list.begin(), list.end());
			first.push_back(neighbor.size());
		}
		lists.vertices = vertices;
		lists.edges = neighbor.size();
		lists.first = first.data();
		lists.neighbor = neighbor.data();
		lists.dtype = GNN_U32;
		lists.loops = loops.data();
	}
	uint64_t degree(uint64_t v) const { return first[v + 1] - first[v]; }
	/* Weights of .1 to 2.1, no two alike. */
	void weigh()
	{
		for (uint64_t e = 0; e < neighbor.size(); e++)
			weight.push_back(.1f + 2 * (float)((e * 7919) % neighbor.size()) /
				(float)neighbor.size());
		weighted_degree.resize(lists.vertices);
		own.resize(lists.vertices);
		lists.weight = weight.data();
		ASSERT_EQ(gnn_lists_weigh(&lists, weighted_degree.data(), own.data()), GNN_OK);
		lists.degree = weighted_degree.data();
		lists.own = own.data();
	}
};

#endif
