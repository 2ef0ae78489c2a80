// A device made of host memory, as strict as a real one: operations take its own blocks and what
// was staged, what is staged stays for two stages of its kind, and what is fetched comes when it is
// waited for.
#ifndef GNN_TESTS_UNIT_DEVICE_FIXTURE_H
#define GNN_TESTS_UNIT_DEVICE_FIXTURE_H

#include "base/mem.h"
#include "op/backend.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <map>
#include <vector>

namespace device {

struct Fetch {
	void *host;
	const void *from;
	uint64_t bytes, ticket;
};

struct World {
	gnn_backend_ops ops;
	std::map<const char *, uint64_t> blocks;
	std::vector<char> slot[GNN_STAGE_KINDS][2];
	uint64_t stages[GNN_STAGE_KINDS] = {}, reserved[GNN_STAGE_KINDS] = {};
	std::deque<Fetch> fetches;
	uint64_t tickets = 0, room = uint64_t{1} << 30, held = 0, peak = 0, fetched = 0;
	std::vector<uint64_t> vertex, first;
	std::vector<uint32_t> src;
};

inline World world;

/* Whether an operation may touch it. */
inline bool is_there(const void *p)
{
	const char *at = static_cast<const char *>(p);
	auto after = world.blocks.upper_bound(at);

	if (p == nullptr)
		return true;
	if (after != world.blocks.begin() &&
		at <= std::prev(after)->first + std::prev(after)->second)
		return true;
	for (auto &kind : world.slot)
		for (auto &s : kind)
			if (!s.empty() && at >= s.data() && at <= s.data() + s.size())
				return true;
	return (!world.vertex.empty() && (at == reinterpret_cast<char *>(world.vertex.data()) ||
		at == reinterpret_cast<char *>(world.first.data()) ||
		at == reinterpret_cast<char *>(world.src.data())));
}

inline int alloc(gnn_backend *, void **out, uint64_t bytes)
{
	const int rc = gnn_mem_pages(out, std::max<uint64_t>(bytes, 1), GNN_MEM_STATE);

	if (rc < 0)
		return rc;
	memset(*out, 0xff, bytes); /* NaN */
	world.blocks[static_cast<char *>(*out)] = bytes;
	world.held += bytes;
	world.peak = std::max(world.peak, world.held);
	return rc;
}

inline void free_block(gnn_backend *, void *p)
{
	auto at = world.blocks.find(static_cast<char *>(p));

	if (p == nullptr)
		return;
	ASSERT_NE(at, world.blocks.end());
	world.held -= at->second;
	world.blocks.erase(at);
	gnn_mem_free(p);
}

inline int reserve(gnn_backend *, gnn_stage_kind kind, uint64_t bytes)
{
	if (bytes <= world.reserved[kind])
		return GNN_OK;
	world.held += 2 * (bytes - world.reserved[kind]);
	world.peak = std::max(world.peak, world.held);
	world.reserved[kind] = bytes;
	for (auto &s : world.slot[kind])
		s.assign(bytes, 0x7f);
	return GNN_OK;
}

/* The slot before is spoiled: nobody may read it from the next but one stage on. */
inline int stage(gnn_backend *, gnn_stage_kind kind, const void *host, uint64_t bytes,
	const void **out)
{
	std::vector<char> &s = world.slot[kind][world.stages[kind]++ % 2];

	EXPECT_LE(bytes, world.reserved[kind]) << "kind " << kind;
	std::fill_n(s.begin(), std::min<size_t>(s.size(), bytes + 4096), 0x7f);
	if (bytes > 0)
		memcpy(s.data(), host, bytes);
	*out = s.data();
	return GNN_OK;
}

inline int fetch(gnn_backend *, void *host, const void *from, uint64_t bytes, uint64_t *ticket)
{
	EXPECT_TRUE(is_there(from));
	EXPECT_LT(world.fetches.size(), size_t{GNN_FETCHES_MAX});
	*ticket = world.tickets++;
	memset(host, 0xff, bytes);
	world.fetches.push_back({host, from, bytes, *ticket});
	return GNN_OK;
}

inline int fetched(gnn_backend *, uint64_t ticket)
{
	while (!world.fetches.empty() && world.fetches.front().ticket <= ticket) {
		const Fetch &f = world.fetches.front();

		memcpy(f.host, f.from, f.bytes);
		world.fetched += f.bytes;
		world.fetches.pop_front();
	}
	return GNN_OK;
}

inline int move(gnn_backend *b, const gnn_move_args *a)
{
	EXPECT_TRUE(is_there(a->from) && is_there(a->to));
	EXPECT_TRUE(a->count == 0 || is_there(a->moves));
	return gnn_backend_cpu.move(b, a);
}

inline int rows(gnn_backend *b, const gnn_rows_args *a)
{
	EXPECT_TRUE(is_there(a->from) && is_there(a->to));
	EXPECT_TRUE(is_there(a->vec[0]) && is_there(a->vec[1]));
	return gnn_backend_cpu.rows(b, a);
}

inline int factors(gnn_backend *b, const gnn_factors_args *a)
{
	EXPECT_TRUE(is_there(a->degree) && is_there(a->loops) && is_there(a->weighted));
	EXPECT_TRUE(is_there(a->to));
	return gnn_backend_cpu.factors(b, a);
}

inline int aggregate(gnn_backend *b, const gnn_aggregate_args *a)
{
	const gnn_edge_batch &e = a->batch;

	for (const void *p : {static_cast<const void *>(e.vertex),
		static_cast<const void *>(e.slot), static_cast<const void *>(e.carry),
		static_cast<const void *>(e.first),
		static_cast<const void *>(e.src), static_cast<const void *>(e.weight),
		static_cast<const void *>(a->message), static_cast<const void *>(a->own),
		static_cast<const void *>(a->state), static_cast<const void *>(a->carry),
		static_cast<const void *>(a->score_src), static_cast<const void *>(a->score_dst),
		static_cast<const void *>(a->score_max), static_cast<const void *>(a->score_min),
		static_cast<const void *>(a->target)})
		EXPECT_TRUE(is_there(p));
	return gnn_backend_cpu.aggregate(b, a);
}

inline int prepare(gnn_backend *, const gnn_graph_info *) { return GNN_OK; }

/* For the passes in front of the sums, which take no carries; every listed edge counts. */
inline int group(gnn_backend *, const gnn_edge_list *l, gnn_edge_batch *out)
{
	std::map<uint64_t, std::vector<uint32_t>> to;

	EXPECT_TRUE(is_there(l->offsets) && is_there(l->neighbors) && !l->weighted);
	EXPECT_TRUE(l->dtype == GNN_U32 && l->sample.fanout == 0 && l->to.first == 0);
	for (uint64_t r = 0; r < l->rows; r++) {
		const uint64_t v = l->first_vertex + r;

		if (l->own && r >= l->row_begin && r < l->row_end)
			to[v].push_back(static_cast<uint32_t>(r) | GNN_OWN_BIT);
		for (uint64_t e = std::max(l->offsets[r], l->edge_begin);
			e < std::min(l->offsets[r + 1], l->edge_end); e++) {
			const uint32_t u =
				static_cast<const uint32_t *>(l->neighbors)[e - l->edge_begin];

			if (!l->drop_loops || u != v)
				to[u].push_back(static_cast<uint32_t>(r));
		}
	}
	world.vertex.assign(1, 0);
	world.first.assign(1, 0);
	world.src.assign(1, 0);
	world.vertex.clear();
	world.src.clear();
	for (const auto &[v, list] : to) {
		world.vertex.push_back(v);
		world.src.insert(world.src.end(), list.begin(), list.end());
		world.first.push_back(world.src.size());
	}
	*out = {world.vertex.size(), world.src.size(), world.vertex.data(), world.vertex.data(),
		nullptr, world.first.data(), world.src.data(), nullptr, nullptr};
	return GNN_OK;
}

inline uint64_t room_bytes(const gnn_backend *)
{
	return world.room - std::min(world.room, world.held);
}

inline uint64_t peak_bytes(const gnn_backend *) { return world.peak; }

inline int create(gnn_backend **out, const gnn_backend_opts *o)
{
	const int rc = gnn_backend_cpu.create(out, o);

	if (rc == GNN_OK)
		(*out)->ops = &world.ops;
	return rc;
}

inline gnn_backend *make(uint32_t threads, uint64_t room)
{
	gnn_backend_opts o{};
	gnn_backend *b = nullptr;

	world = World{};
	world.room = room;
	world.ops = gnn_backend_cpu;
	world.ops.name = "device";
	world.ops.unified = false;
	world.ops.create = create;
	world.ops.alloc = alloc;
	world.ops.free = free_block;
	world.ops.reserve = reserve;
	world.ops.stage = stage;
	world.ops.fetch = fetch;
	world.ops.fetched = fetched;
	world.ops.move = move;
	world.ops.rows = rows;
	world.ops.factors = factors;
	world.ops.aggregate = aggregate;
	world.ops.prepare = prepare;
	world.ops.group = group;
	world.ops.room_bytes = room_bytes;
	world.ops.peak_bytes = peak_bytes;
	o.threads = threads;
	EXPECT_EQ(create(&b, &o), GNN_OK);
	return b;
}

} // namespace device

#endif
