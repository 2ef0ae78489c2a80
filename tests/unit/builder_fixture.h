// A builder, and a naive one in memory to hold it against.
#ifndef GNN_TESTS_BUILDER_FIXTURE_H
#define GNN_TESTS_BUILDER_FIXTURE_H

#include "base/fault.h"
#include "base/mem.h"
#include "base/rng.h"
#include "io/builder.h"
#include "io/store_schema.h"
#include "io/stream.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

namespace builder_test
{

namespace fs = std::filesystem;

struct Edge {
	uint64_t src, dst;
	float weight;
	bool operator==(const Edge &) const = default;
};

using Edges = std::vector<Edge>;

struct Options {
	bool weighted = false, undirected = false, dedup = false, remap = false;
	uint64_t memory = 64 << 20;
	uint32_t threads = 2;
	uint64_t vertices = 0;
	enum gnn_dio_engine engine = GNN_DIO_AUTO;
};

inline std::string describe(const Options &o)
{
	return std::string(o.weighted ? "weighted " : "") + (o.undirected ? "undirected " : "") +
		(o.dedup ? "dedup " : "") + (o.remap ? "remap " : "") + "memory " +
		std::to_string(o.memory) + " threads " + std::to_string(o.threads);
}

/* One direction of the topology. */
struct Rows {
	std::vector<uint64_t> offsets, neighbors;
	std::vector<float> weights;
	bool operator==(const Rows &) const = default;
};

struct Graph {
	uint64_t vertices = 0, edges = 0;
	Rows out, in;
	std::vector<uint64_t> loops, external;
	bool operator==(const Graph &) const = default;
};

/* --- the naive builder --- */

inline Rows rows_of(Edges edges, uint64_t vertices, bool weighted, bool in)
{
	Rows r;

	if (in)
		for (Edge &e : edges)
			std::swap(e.src, e.dst);
	std::stable_sort(edges.begin(), edges.end(), [](const Edge &a, const Edge &b) {
		return std::tie(a.src, a.dst) < std::tie(b.src, b.dst);
	});
	r.offsets.assign(vertices + 1, 0);
	for (const Edge &e : edges) {
		r.offsets[e.src + 1]++;
		r.neighbors.push_back(e.dst);
		if (weighted)
			r.weights.push_back(e.weight);
	}
	for (uint64_t v = 0; v < vertices; v++)
		r.offsets[v + 1] += r.offsets[v];
	return r;
}

inline Edges listed(const Edges &edges, const Options &o)
{
	Edges all;
	std::set<std::pair<uint64_t, uint64_t>> seen;

	for (const Edge &e : edges) {
		all.push_back(e);
		if (o.undirected && e.src != e.dst)
			all.push_back({e.dst, e.src, e.weight});
	}
	if (o.dedup)
		std::erase_if(all, [&](const Edge &e) {
			return !seen.insert({e.src, e.dst}).second;
		});
	return all;
}

inline Graph naive(const Edges &edges, const Options &o)
{
	Edges all = listed(edges, o);
	std::set<uint64_t> ids;
	std::map<uint64_t, uint64_t> row;
	Graph g;

	for (const Edge &e : all) {
		ids.insert(e.src);
		ids.insert(e.dst);
	}
	g.vertices = ids.empty() ? 0 : *ids.rbegin() + 1;
	if (o.remap) {
		for (uint64_t id : ids) {
			row[id] = g.external.size();
			g.external.push_back(id);
		}
		for (Edge &e : all) {
			e.src = row[e.src];
			e.dst = row[e.dst];
		}
		g.vertices = ids.size();
	}
	g.vertices = std::max(g.vertices, o.vertices);
	if (o.remap)
		g.external.resize(g.vertices, UINT64_MAX);
	g.edges = all.size();
	g.out = rows_of(all, g.vertices, o.weighted, false);
	g.in = rows_of(all, g.vertices, o.weighted, true);
	for (const Edge &e : all)
		if (e.src == e.dst) {
			g.loops.resize(g.vertices);
			g.loops[e.src]++;
		}
	return g;
}

inline struct gnn_build_report naive_report(const Edges &edges, const Options &o, const Graph &g)
{
	struct gnn_build_report r = {};
	Options all = o;
	std::vector<bool> touched(g.vertices);

	all.dedup = false;
	r.edges_read = edges.size();
	r.edges_stored = g.edges;
	r.vertices = g.vertices;
	for (uint64_t v = 0; v < g.loops.size(); v++) {
		r.self_loops += g.loops[v];
		r.loop_vertices += g.loops[v] > 0;
	}
	std::set<std::pair<uint64_t, uint64_t>> distinct;
	const Edges every = listed(edges, all);
	for (const Edge &e : every)
		distinct.insert({e.src, e.dst});
	r.duplicates = every.size() - distinct.size();
	for (uint64_t v = 0; v < g.vertices; v++) {
		const uint64_t out = g.out.offsets[v + 1] - g.out.offsets[v];
		const uint64_t in = g.in.offsets[v + 1] - g.in.offsets[v];
		r.max_out_degree = std::max(r.max_out_degree, out);
		r.max_in_degree = std::max(r.max_in_degree, in);
		r.isolated += out + in == 0;
	}
	return r;
}

/* --- the fixture --- */

struct BuilderFixture : ::testing::Test {
	fs::path folder;
	std::string store;
	struct gnn_build_report report;

	void SetUp() override
	{
		char name[] = "/tmp/gnn-builder-XXXXXX";
		folder = mkdtemp(name);
		store = folder / "g.h5";
	}
	void TearDown() override
	{
		gnn_fault_clear();
		gnn_mem_limit(0);
		fs::remove_all(folder);
	}
	/* Adds edges in batches of odd sizes. */
	static int add_all(struct gnn_builder *b, const Edges &edges, bool weighted)
	{
		uint64_t at = 0, batch = 1;

		while (at < edges.size()) {
			const uint64_t n = std::min<uint64_t>(batch, edges.size() - at);
			std::vector<uint64_t> src, dst;
			std::vector<float> weight;
			for (uint64_t i = at; i < at + n; i++) {
				src.push_back(edges[i].src);
				dst.push_back(edges[i].dst);
				weight.push_back(edges[i].weight);
			}
			const struct gnn_edges e = {
				src.data(), dst.data(), weighted ? weight.data() : nullptr, n};
			const int rc = gnn_builder_add(b, &e);
			if (rc < 0)
				return rc;
			at += n;
			batch = batch * 3 % 20011 + 1;
		}
		return GNN_OK;
	}
	struct gnn_builder_opts opts_of(const Options &o) const
	{
		struct gnn_builder_opts b = {};

		b.out_path = store.c_str();
		b.memory_bytes = o.memory;
		b.threads = o.threads;
		b.weighted = o.weighted;
		b.undirected = o.undirected;
		b.dedup = o.dedup;
		b.remap = o.remap;
		b.engine = o.engine;
		return b;
	}
	int build(const Edges &edges, const Options &o)
	{
		const struct gnn_builder_opts opts = opts_of(o);
		struct gnn_builder_parts parts = {};
		struct gnn_builder *b = nullptr;
		uint64_t vertices = 0;
		int rc = gnn_builder_create(&b, &opts);

		if (rc == GNN_OK)
			rc = add_all(b, edges, o.weighted);
		if (rc == GNN_OK)
			rc = gnn_builder_seal(b, o.vertices, &vertices);
		parts.vertices_min = o.vertices;
		if (rc == GNN_OK)
			rc = gnn_builder_finish(b, &parts, &report);
		gnn_builder_destroy(b);
		return rc;
	}
	template <typename To, typename From = To>
	static std::vector<To> load(struct gnn_container *c, const char *name)
	{
		const struct gnn_array *a = gnn_container_find(c, name);
		if (a == nullptr)
			return {};
		std::vector<From> items(a->rows * a->cols);
		EXPECT_EQ(a->bytes, items.size() * sizeof(From)) << name;
		EXPECT_EQ(gnn_array_load(c, a, 0, a->bytes, items.data()), GNN_OK)
			<< gnn_err_text();
		return std::vector<To>(items.begin(), items.end());
	}
	struct gnn_container *open() const
	{
		const struct gnn_container_opts o = {
			store.c_str(), GNN_FORMAT_STORE, GNN_DIO_AUTO, 0, 0};
		struct gnn_container *c = nullptr;

		EXPECT_EQ(gnn_container_open(&c, &o), GNN_OK) << gnn_err_text();
		return c;
	}
	Graph read() const
	{
		struct gnn_container *c = open();
		Graph g;

		if (c == nullptr)
			return g;
		EXPECT_EQ(gnn_container_number(c, GNN_ATTR_VERTICES, &g.vertices), GNN_OK);
		EXPECT_EQ(gnn_container_number(c, GNN_ATTR_EDGES, &g.edges), GNN_OK);
		g.out = {load<uint64_t>(c, GNN_STORE_OUT_OFFSETS),
			load<uint64_t, uint32_t>(c, GNN_STORE_OUT_NEIGHBORS),
			load<float>(c, GNN_STORE_OUT_WEIGHTS)};
		g.in = {load<uint64_t>(c, GNN_STORE_IN_OFFSETS),
			load<uint64_t, uint32_t>(c, GNN_STORE_IN_NEIGHBORS),
			load<float>(c, GNN_STORE_IN_WEIGHTS)};
		g.loops = load<uint64_t, uint32_t>(c, GNN_STORE_SELF_LOOPS);
		g.external = load<uint64_t>(c, GNN_STORE_EXTERNAL_ID);
		gnn_container_close(c);
		return g;
	}
	/* Nothing but what is expected lies in the folder. */
	std::vector<std::string> files() const
	{
		std::vector<std::string> names;
		for (const auto &f : fs::directory_iterator(folder))
			names.push_back(f.path().filename());
		return names;
	}
	void check(const Edges &edges, const Options &o)
	{
		SCOPED_TRACE(describe(o));
		const Graph wanted = naive(edges, o);
		const struct gnn_build_report r = naive_report(edges, o, wanted);

		ASSERT_EQ(build(edges, o), GNN_OK) << gnn_err_text();
		const Graph found = read();
		ASSERT_EQ(found.vertices, wanted.vertices);
		ASSERT_EQ(found.edges, wanted.edges);
		EXPECT_EQ(found.out, wanted.out);
		EXPECT_EQ(found.in, wanted.in);
		EXPECT_EQ(found.loops, wanted.loops);
		EXPECT_EQ(found.external, wanted.external);
		EXPECT_EQ(report.edges_read, r.edges_read);
		EXPECT_EQ(report.edges_stored, r.edges_stored);
		EXPECT_EQ(report.self_loops, r.self_loops);
		EXPECT_EQ(report.loop_vertices, r.loop_vertices);
		EXPECT_EQ(report.duplicates, r.duplicates);
		EXPECT_EQ(report.isolated, r.isolated);
		EXPECT_EQ(report.vertices, r.vertices);
		EXPECT_EQ(report.max_in_degree, r.max_in_degree);
		EXPECT_EQ(report.max_out_degree, r.max_out_degree);
		EXPECT_EQ(files(), std::vector<std::string>{"g.h5"});
	}
};

/* Random edges; a share of loops, of repeated edges and of edges at a hub. */
inline Edges random_edges(uint64_t count, uint64_t vertices, uint64_t seed, uint64_t stride = 1,
	uint64_t first = 0)
{
	Edges edges;

	for (uint64_t i = 0; i < count; i++) {
		const auto draw = [&](uint64_t what, uint64_t below) {
			return gnn_rng_below(gnn_rng_u64(seed, what, i), below);
		};
		Edge e = {draw(0, vertices), draw(1, vertices), static_cast<float>(i)};
		switch (draw(2, 10)) {
		case 0:
			e.dst = e.src;
			break;
		case 1:
			e.dst = vertices / 2;
			break;
		case 2:
			e.src = vertices / 3;
			break;
		case 3:
			if (!edges.empty())
				e.src = (edges.back().src - first) / stride;
			if (!edges.empty())
				e.dst = (edges.back().dst - first) / stride;
			break;
		}
		e.src = first + e.src * stride;
		e.dst = first + e.dst * stride;
		edges.push_back(e);
	}
	return edges;
}

inline std::vector<Options> every_option()
{
	std::vector<Options> all;

	for (int bits = 0; bits < 16; bits++) {
		Options o;
		o.weighted = bits & 1;
		o.undirected = bits & 2;
		o.dedup = bits & 4;
		o.remap = bits & 8;
		all.push_back(o);
	}
	return all;
}

} // namespace builder_test

#endif
