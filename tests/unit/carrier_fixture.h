/*
 * What tests of carried batches share: a device that is host memory, and a graph with features and
 * labels as a training reads it.
 */
#ifndef TESTS_CARRIER_FIXTURE_H
#define TESTS_CARRIER_FIXTURE_H

#include <gtest/gtest.h>
#include <vector>

#include "op/grad.h"
#include "train/table.h"
#include "unit/train_fixture.h"

constexpr uint32_t DIM = 5, CLASSES = 3;

inline gnn_backend_ops device_ops;
inline uint64_t room; /* bytes the device says it has */

inline int create_device(gnn_backend **out, const gnn_backend_opts *o)
{
	const int rc = gnn_backend_cpu.create(out, o);

	if (rc == GNN_OK)
		(*out)->ops = &device_ops;
	return rc;
}

inline int pin(gnn_backend *, const void *, uint64_t) { return GNN_OK; }
inline void unpin(gnn_backend *, const void *) {}
inline uint64_t room_bytes(const gnn_backend *) { return room; }

struct Device {
	Device()
	{
		gnn_backend_opts o{};

		device_ops = gnn_backend_cpu;
		device_ops.unified = false;
		device_ops.create = create_device;
		device_ops.pin = pin;
		device_ops.unpin = unpin;
		device_ops.room_bytes = room_bytes;
		o.threads = 1;
		EXPECT_EQ(create_device(&backend, &o), GNN_OK);
	}
	~Device() { gnn_backend_destroy(backend); }
	gnn_backend *backend = nullptr;
};

/* A graph with features and labels, as a training reads it. */
struct Source {
	Source()
	{
		for (uint64_t v = 0; v < graph.lists.vertices; v++) {
			for (uint32_t j = 0; j < DIM; j++)
				table.push_back((float)(v * DIM + j));
			label.push_back((int64_t)(v % CLASSES));
			if (v % 3 == 0)
				train.push_back(v);
		}
		features.bytes = table.size() * sizeof(float);
		store.features = &features;
		store.vertices = graph.lists.vertices;
		s.store = &store;
		s.lists = &graph.lists;
		s.table = table.data();
		s.dtype = GNN_F32;
		s.dim = DIM;
		s.parts = 1;
		s.classes = CLASSES;
		s.label = label.data();
		s.train = train.data();
		s.train_count = train.size();
	}
	/* Aggregates, here any numbers, take the place of features, which stand behind them. */
	void precompute()
	{
		for (size_t i = 0; i < table.size(); i++)
			both.push_back(-(float)i);
		both.insert(both.end(), table.begin(), table.end());
		aggregates.rows = graph.lists.vertices;
		bottom.array = &aggregates;
		bottom.parts = 2;
		bottom.table = both.data();
		s.table = nullptr;
		s.bottom = &bottom;
		s.parts = 2;
	}
	Graph graph{500, 30};
	std::vector<float> table, both;
	gnn_array aggregates{};
	gnn_bottom bottom{};
	std::vector<int64_t> label;
	std::vector<gnn_vid> train;
	gnn_array features{};
	gnn_store store{};
	gnn_train_source s{};
};

#endif
