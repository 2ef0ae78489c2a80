// Graphs, the work items of a pass over them, and the options of a state machine.
#ifndef GNN_TESTS_UNIT_TIER_FIXTURE_H
#define GNN_TESTS_UNIT_TIER_FIXTURE_H

#include "base/mem.h"
#include "tier/control.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <vector>

struct Graph {
	uint64_t vertices = 0;
	std::vector<std::vector<uint32_t>> out, in;
	std::vector<uint32_t> degree, loops, list;
	std::vector<uint64_t> offset;
	struct gnn_inlists inlists = {};

	explicit Graph(uint64_t n) : vertices(n), out(n), in(n) {}
	void edge(uint64_t u, uint64_t v) { out[u].push_back(static_cast<uint32_t>(v)); }
	void end()
	{
		for (uint64_t u = 0; u < vertices; u++) {
			std::sort(out[u].begin(), out[u].end());
			for (uint32_t v : out[u])
				in[v].push_back(static_cast<uint32_t>(u));
		}
		offset.assign(1, 0);
		for (uint64_t v = 0; v < vertices; v++) {
			degree.push_back(static_cast<uint32_t>(in[v].size()));
			loops.push_back(static_cast<uint32_t>(std::count(in[v].begin(),
				in[v].end(), static_cast<uint32_t>(v))));
			list.insert(list.end(), in[v].begin(), in[v].end());
			offset.push_back(list.size());
		}
		list.push_back(0);
		inlists.offset = offset.data();
		inlists.narrow = list.data();
	}
};

inline Graph random_graph(uint64_t n, uint64_t edges, double local, uint64_t seed,
	bool skewed = false)
{
	std::mt19937_64 random(seed);
	std::uniform_real_distribution<double> unit;
	Graph g(n);

	for (uint64_t e = 0; e < edges; e++) {
		const uint64_t u = random() % n;
		uint64_t v = random() % n;

		if (unit(random) < local)
			v = (u + random() % (n / 16 + 1)) % n;
		else if (skewed)
			v = static_cast<uint64_t>(static_cast<double>(n) *
				std::pow(unit(random), 4));
		g.edge(u, std::min(v, n - 1));
	}
	g.end();
	return g;
}

struct Setting {
	enum gnn_evict_policy policy;
	uint32_t top, host, pin;
	uint64_t rows;    // of a chunk
	uint64_t entries; // of an item at most
	bool drop_loops, carry, strip, keep;
	uint32_t records, streams;
};

struct Item {
	uint64_t first, rows;
	std::vector<uint64_t> vertex, begin;
	std::vector<uint32_t> src;
	struct gnn_edge_batch batch = {};
};

// The items of a pass, as the feed makes them: own row in front of its list, cut by size.
inline std::vector<Item> items_of(const Graph &g, const Setting &s)
{
	std::vector<Item> items;

	for (uint64_t first = 0; first < g.vertices; first += s.rows) {
		const uint64_t rows = std::min(s.rows, g.vertices - first);
		std::map<uint64_t, std::vector<uint32_t>> groups;
		uint64_t count = 0;
		auto emit = [&] {
			Item i{first, rows, {}, {0}, {}, {}};

			for (auto &[v, list] : groups) {
				i.vertex.push_back(v);
				i.src.insert(i.src.end(), list.begin(), list.end());
				i.begin.push_back(i.src.size());
			}
			items.push_back(std::move(i));
			groups.clear();
			count = 0;
		};

		for (uint64_t r = 0; r < rows; r++) {
			if (count == s.entries)
				emit();
			groups[first + r].push_back(static_cast<uint32_t>(r) | GNN_OWN_BIT);
			count++;
			for (uint32_t v : g.out[first + r]) {
				if (count == s.entries)
					emit();
				if (s.drop_loops && v == first + r)
					continue;
				groups[v].push_back(static_cast<uint32_t>(r));
				count++;
			}
		}
		emit();
	}
	for (Item &i : items)
		i.batch = {i.vertex.size(), i.src.size(), i.vertex.data(), i.vertex.data(), nullptr,
			i.begin.data(), i.src.data(), nullptr, nullptr};
	return items;
}

inline Setting setting(enum gnn_evict_policy p, uint32_t top, uint32_t host = 0, uint32_t pin = 0)
{
	return {p, top, host, pin, 32, 1 << 20, false, true, false, false, 4, 1000};
}

inline struct gnn_control_opts control_opts(const Graph &g, const Setting &s)
{
	struct gnn_control_opts o = {};

	o.vertices = g.vertices;
	o.in = g.degree.data();
	o.loops = g.loops.data();
	o.drop_loops = s.drop_loops;
	o.carry = s.carry;
	o.strip_own = s.strip;
	o.keep_own = s.keep;
	o.inlists = &g.inlists;
	o.epoch_rows = s.rows;
	o.top_slots = s.top;
	o.host_slots = s.host;
	o.pin_slots = s.pin;
	o.policy = s.policy;
	o.seed = 7;
	o.count_reloads = true;
	o.page_records = s.records;
	o.streams_max = s.streams;
	return o;
}

#endif
