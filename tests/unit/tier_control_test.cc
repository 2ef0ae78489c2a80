// The state machine alone: rows are hashes, stores are vectors, and every row must come out whole.
#include "unit/tier_fixture.h"

#include <gtest/gtest.h>

namespace {

uint64_t mix(uint64_t h, uint64_t x) { return (h ^ x) * 0x9e3779b97f4a7c15u + 1; }

struct Row {
	uint64_t vertex = UINT64_MAX, hash = 0, kept = 0;
	bool carry = false;
};

struct Outcome {
	std::vector<uint64_t> hash;
	std::vector<std::pair<uint32_t, uint32_t>> moves;
	struct gnn_control_stats stats = {};
	uint64_t steps = 0;
};

class Stores {
public:
	explicit Stores(const Setting &s) : s_(s), top_(s.top), host_(s.host) {}

	void run(const struct gnn_tier_program &p, const Item &item, Outcome *out)
	{
		for (uint64_t i = 0; i < p.step_count; i++) {
			for (int k = 0; k < GNN_MOVE_KINDS; k++)
				for (uint64_t m = gnn_tier_step_begin(&p, i,
					static_cast<enum gnn_move_kind>(k));
					m < p.step[i].move_end[k]; m++)
					move(k, p.moves[k].move[m], item, out);
			edges(p.step[i].batch, item);
			for (uint64_t d = i == 0 ? 0 : p.step[i - 1].done_end;
				d < p.step[i].done_end; d++)
				done(p.done.move[d], out);
		}
		out->steps += p.step_count;
	}

private:
	void move(int kind, struct gnn_move m, const Item &item, Outcome *out)
	{
		out->moves.emplace_back(m.from * 8 + static_cast<uint32_t>(kind), m.to);
		switch (kind) {
		case GNN_MOVE_SPILL_HOST: record_[m.to] = take(&host_[m.from]); break;
		case GNN_MOVE_SPILL_TOP: record_[m.to] = take(&top_[m.from]); break;
		case GNN_MOVE_DEMOTE: put(&host_[m.to], take(&top_[m.from])); break;
		case GNN_MOVE_PROMOTE: put_top(m.to, take(&host_[m.from])); break;
		case GNN_MOVE_RELOAD:
			ASSERT_EQ(record_.count(m.from), 1u);
			put_top(m.to, record_[m.from]);
			record_.erase(m.from);
			break;
		case GNN_MOVE_INIT: {
			Row r;

			r.carry = m.from == 1;
			r.vertex = UINT64_MAX - 1; // whoever uses it first
			put_top(m.to, r);
			break;
		}
		default:
			ASSERT_TRUE(s_.keep);
			own_.emplace_back(item.first + m.from, m.to);
		}
	}
	static Row take(Row *r)
	{
		const Row was = *r;

		EXPECT_NE(was.vertex, UINT64_MAX) << "an empty slot moves";
		*r = Row();
		return was;
	}
	static void put(Row *to, const Row &r)
	{
		EXPECT_EQ(to->vertex, UINT64_MAX) << "a row is overwritten";
		*to = r;
	}
	// Into the top: a carry comes right behind its row.
	void put_top(uint32_t slot, const Row &r)
	{
		put(&top_[slot], r);
		if (r.carry)
			mate_[last_] = slot;
		else
			mate_.erase(last_ = slot);
	}
	void use(Row *r, uint64_t v, bool carry)
	{
		if (r->vertex == UINT64_MAX - 1)
			r->vertex = v;
		ASSERT_EQ(r->vertex, v);
		ASSERT_EQ(r->carry, carry);
	}
	void edges(const struct gnn_edge_batch &b, const Item &item)
	{
		for (uint64_t g = 0; g < b.group_count; g++) {
			Row *r = &top_.at(b.slot[g]);

			use(r, b.vertex[g], false);
			if (b.carry[g] != GNN_NO_CARRY)
				use(&top_.at(b.carry[g]), b.vertex[g], true);
			ASSERT_GT(b.first[g + 1], b.first[g]);
			for (uint64_t e = b.first[g]; e < b.first[g + 1]; e++)
				r->hash = mix(r->hash, (b.src[e] & GNN_OWN_BIT) != 0 ?
					~uint64_t{0} : item.first + b.src[e]);
		}
		for (auto [v, slot] : own_) {
			use(&top_.at(slot), v, false);
			top_[slot].kept = 1;
		}
		own_.clear();
	}
	void done(const struct gnn_move &d, Outcome *out)
	{
		Row *r = &top_.at(d.from);

		if (r->vertex == UINT64_MAX - 1)
			r->vertex = d.to;
		ASSERT_EQ(r->vertex, d.to);
		ASSERT_EQ(out->hash[d.to], 0u);
		out->hash[d.to] = (r->hash ^ r->kept) + 2;
		*r = Row();
		if (mate_.count(d.from) != 0)
			top_.at(mate_[d.from]) = Row();
		mate_.erase(d.from);
	}

	const Setting s_;
	std::vector<Row> top_, host_;
	std::map<uint32_t, uint32_t> mate_;
	uint32_t last_ = 0;
	std::map<uint32_t, Row> record_;
	std::vector<std::pair<uint64_t, uint32_t>> own_;
};

Outcome simulate(const Graph &g, const Setting &s)
{
	const struct gnn_control_opts o = control_opts(g, s);
	struct gnn_control *c = nullptr;
	struct gnn_tier_program p = {};
	Outcome out;
	Stores stores(s);

	out.hash.resize(g.vertices);
	EXPECT_EQ(gnn_control_create(&c, &o), GNN_OK) << gnn_err_text();
	for (const Item &item : items_of(g, s)) {
		EXPECT_EQ(gnn_control_step(c, item.first, item.rows, &item.batch, &p), GNN_OK);
		stores.run(p, item, &out);
		if (::testing::Test::HasFailure())
			break;
	}
	if (!::testing::Test::HasFailure()) {
		EXPECT_EQ(gnn_control_end(c), GNN_OK);
	}
	gnn_control_stats(c, &out.stats);
	gnn_tier_program_fini(&p);
	gnn_control_destroy(c);
	return out;
}

std::vector<uint64_t> naive(const Graph &g, const Setting &s)
{
	std::vector<uint64_t> hash(g.vertices);

	for (uint64_t v = 0; v < g.vertices; v++) {
		bool own = false;
		auto add_own = [&](uint64_t u) {
			if (!own && u >= v && !s.strip)
				hash[v] = mix(hash[v], ~uint64_t{0});
			own = own || u >= v;
		};

		for (uint32_t u : g.in[v]) {
			add_own(u);
			if (!s.drop_loops || u != v)
				hash[v] = mix(hash[v], u);
		}
		add_own(UINT64_MAX);
		hash[v] = (s.keep ? hash[v] ^ 1 : hash[v]) + 2;
	}
	return hash;
}

struct TierControlTest : ::testing::TestWithParam<int> {
	enum gnn_evict_policy policy() const
	{
		return static_cast<enum gnn_evict_policy>(GetParam());
	}
};

// Vertices by how often they came back: together they are the reloads, but for the last bin.
void expect_reloads_counted(const struct gnn_control_stats &stats)
{
	uint64_t reloads = 0;

	for (uint64_t i = 0; i < GNN_RELOADED_MAX; i++)
		reloads += (i + 1) * stats.reloaded[i];
	EXPECT_LE(reloads, stats.reloads);
	if (stats.reloaded[GNN_RELOADED_MAX - 1] == 0) {
		EXPECT_EQ(reloads, stats.reloads);
	}
	EXPECT_LE(stats.pinned_pairs, stats.pairs);
	EXPECT_EQ(stats.pinned == 0, stats.pinned_pairs == 0);
}

// Stores of every size, hubs pinned or not, one or two levels, items that cut chunks and rows.
TEST_P(TierControlTest, EveryRowComesOutWhole)
{
	const Graph g = random_graph(300, 6000, 0.5, 3, true);

	for (uint32_t top : {2u, 3u, 17u, 100u, 700u})
		for (uint32_t host : {0u, 2u, 40u, 700u})
			for (uint64_t entries : {uint64_t{50}, uint64_t{1} << 20}) {
				Setting s = setting(policy(), top, host, top > 16 ? top / 2 : 0);

				s.entries = entries;
				s.drop_loops = entries == 50;
				s.strip = host == 40;
				s.keep = s.strip;
				s.streams = top == 17 ? 2 : 1000;
				SCOPED_TRACE(testing::Message() << "top " << top << " host " << host
					<< " entries " << entries);
				const Outcome out = simulate(g, s);

				ASSERT_EQ(out.hash, naive(g, s));
				EXPECT_EQ(out.stats.evictions, out.stats.reloads);
				EXPECT_EQ(out.stats.spilled_rows, out.stats.reloaded_rows);
				expect_reloads_counted(out.stats);
				if (top == 700) {
					EXPECT_EQ(out.stats.evictions, 0u);
				}
			}
}

TEST_P(TierControlTest, EqualInputGivesEqualMoves)
{
	const Graph g = random_graph(500, 4000, 0.7, 11, true);
	const Setting s = setting(policy(), 60, 30, 10);

	EXPECT_EQ(simulate(g, s).moves, simulate(g, s).moves);
}

TEST_P(TierControlTest, GraphsWithoutEdgesAndStarsComplete)
{
	Graph none(70), star(200);

	none.end();
	for (uint64_t v = 1; v < 200; v++) {
		star.edge(v, 0);
		star.edge(0, v);
	}
	star.end();
	for (uint32_t top : {2u, 5u}) {
		EXPECT_EQ(simulate(none, setting(policy(), top)).stats.graduated, 70u);
		EXPECT_EQ(simulate(star, setting(policy(), top)).hash,
			naive(star, setting(policy(), top)));
	}
}

// No policy reloads less than the one that knows the future.
TEST_P(TierControlTest, BeladyReloadsLeast)
{
	for (uint64_t seed = 0; seed < 30; seed++) {
		const double local = seed % 3 * 0.45;
		const Graph g = random_graph(200 + seed * 10, 1500 + seed * 40, local, seed,
			seed % 2 == 0);
		for (uint32_t top : {3u, 10u, 40u, 90u, 150u}) {
			Setting other = setting(policy(), top);
			Setting best = setting(GNN_EVICT_BELADY, top);

			other.carry = best.carry = false;
			EXPECT_LE(simulate(g, best).stats.reloads,
				simulate(g, other).stats.reloads)
				<< "seed " << seed << " top " << top;
		}
	}
}

INSTANTIATE_TEST_SUITE_P(Policies, TierControlTest, ::testing::Range(0, int{GNN_EVICT_COUNT}),
	[](const auto &info) {
		return gnn_evict_ops_of(static_cast<enum gnn_evict_policy>(info.param))->name;
	});

TEST(TierControl, HubsArePinnedByDegree)
{
	const Graph g = random_graph(400, 8000, 0, 5, true);
	Setting s = setting(GNN_EVICT_LRU, 100, 0, 60);
	const Outcome out = simulate(g, s);

	EXPECT_GT(out.stats.pinned, 20u);
	EXPECT_LE(out.stats.pinned, 60u);
	EXPECT_GT(out.stats.pinned_messages * 10, out.stats.messages * 3);
	EXPECT_LE(out.stats.pinned_messages, out.stats.messages);
}

TEST(TierControl, StoresBelowTheSmallestSizeAreRefused)
{
	const uint32_t in[2] = {0, 0};
	struct gnn_control_opts o = {};
	struct gnn_control *c;

	o.vertices = 2;
	o.in = in;
	o.carry = true;
	o.epoch_rows = 256;
	o.policy = GNN_EVICT_LRU;
	o.page_records = 2;
	o.streams_max = 1;
	o.top_slots = 1;
	EXPECT_EQ(gnn_control_create(&c, &o), GNN_EOS);
	o.top_slots = 3;
	o.pin_slots = 2;
	EXPECT_EQ(gnn_control_create(&c, &o), GNN_EOS);
	o.pin_slots = 1;
	EXPECT_EQ(gnn_control_create(&c, &o), GNN_OK);
	gnn_control_destroy(c);
}

} // namespace
