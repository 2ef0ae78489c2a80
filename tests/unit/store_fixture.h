// A small store with every array that a store may have, and a way to spoil it before it is written.
#ifndef GNN_UNIT_STORE_FIXTURE_H
#define GNN_UNIT_STORE_FIXTURE_H

#include "io/store.h"
#include "io/survey.h"
#include "unit/container_fixture.h"

#include <functional>
#include <map>

template <typename T>
Array array_of(
	const char *name, enum gnn_dtype dtype, const std::vector<T> &items, uint64_t cols = 0)
{
	const char *bytes = reinterpret_cast<const char *>(items.data());

	return {name, dtype, cols == 0 ? 1u : 2u, items.size() / (cols == 0 ? 1 : cols),
		cols == 0 ? 1 : cols, {bytes, bytes + items.size() * sizeof(T)}};
}

struct StoreFixture : ContainerFixture {
	/* 0->1 twice, 1->1, 2->0, 2->3, 3->2; 4 and 5 have no edge. */
	std::map<std::string, Array> arrays;
	struct gnn_store *store = nullptr;

	void SetUp() override
	{
		ContainerFixture::SetUp();
		add(array_of<uint64_t>(GNN_STORE_OUT_OFFSETS, GNN_U64, {0, 2, 3, 5, 6, 6, 6}));
		add(array_of<uint32_t>(GNN_STORE_OUT_NEIGHBORS, GNN_U32, {1, 1, 1, 0, 3, 2}));
		add(array_of<float>(GNN_STORE_OUT_WEIGHTS, GNN_F32, {1, 2, 3, 4, 5, 6}));
		add(array_of<uint64_t>(GNN_STORE_IN_OFFSETS, GNN_U64, {0, 1, 4, 5, 6, 6, 6}));
		add(array_of<uint32_t>(GNN_STORE_IN_NEIGHBORS, GNN_U32, {2, 0, 0, 1, 3, 2}));
		add(array_of<float>(GNN_STORE_IN_WEIGHTS, GNN_F32, {4, 1, 2, 3, 6, 5}));
		add(array_of<uint32_t>(GNN_STORE_SELF_LOOPS, GNN_U32, {0, 1, 0, 0, 0, 0}));
		add(array_of<float>(GNN_STORE_FEATURES, GNN_F32, std::vector<float>(18, .5f), 3));
		add(array_of<int64_t>(GNN_STORE_LABELS, GNN_I64, {0, 2, -1, 1, 0, 0}));
		add(array_of<uint64_t>(GNN_STORE_SPLIT_TRAIN, GNN_U64, {5, 0}));
		add(array_of<uint64_t>(GNN_STORE_SPLIT_VALID, GNN_U64, {1}));
		add(array_of<uint64_t>(GNN_STORE_SPLIT_TEST, GNN_U64, {}));
		add(array_of<uint64_t>(GNN_STORE_ORIGINAL_ID, GNN_U64, {5, 4, 3, 2, 1, 0}));
		add(array_of<uint64_t>(GNN_STORE_EXTERNAL_ID, GNN_U64, {9, 99, 7, 77, 6, 66}));
		attrs = {{GNN_ATTR_VERTICES, nullptr, 6, nullptr},
			{GNN_ATTR_EDGES, nullptr, 6, nullptr}};
	}

	void TearDown() override
	{
		gnn_store_close(store);
		ContainerFixture::TearDown();
	}

	void add(const Array &a)
	{
		arrays[a.name] = a;
	}

	template <typename T> void poke(const char *name, uint64_t i, T value)
	{
		memcpy(arrays[name].data.data() + i * sizeof(T), &value, sizeof(T));
	}

	void write_store()
	{
		std::vector<Array> list;

		for (const auto &[name, a] : arrays)
			list.push_back(a);
		ASSERT_EQ(write(list), GNN_OK) << gnn_err_text();
	}

	int open_store()
	{
		const struct gnn_container_opts o = options();

		gnn_store_close(store);
		return gnn_store_open(&store, &o);
	}

	int verify_store(struct gnn_store_counts *counts)
	{
		const int rc = open_store();

		return rc == GNN_OK ? gnn_store_verify(store, counts) : rc;
	}
};

#endif
