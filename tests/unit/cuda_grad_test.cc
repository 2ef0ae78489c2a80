/* The operations of training on the GPU against their twins on the CPU, and nets as a whole. */
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <vector>

#include "base/mem.h"
#include "op/grad.h"
#include "train/net.h"
#include "unit/train_fixture.h"

namespace {

using Floats = std::vector<float>;

Floats random_floats(uint64_t count, uint64_t stream, double scale = 1)
{
	Floats to(count);

	for (uint64_t i = 0; i < count; i++)
		to[i] = (float)(scale * (2 * gnn_rng_unit(gnn_rng_u64(1, stream, i)) - 1));
	return to;
}

/* Both backends; host arrays that each sees as its own. */
struct CudaGrad : ::testing::Test {
	gnn_backend *b[2] = {nullptr, nullptr}; /* cpu, cuda */
	std::vector<void *> blocks[2];

	void SetUp() override
	{
		gnn_backend_opts o{};

		o.threads = 2;
		if (gnn_backend_create(&b[1], "cuda", &o) == GNN_EUNAVAIL)
			GTEST_SKIP() << gnn_err_text();
		ASSERT_NE(b[1], nullptr) << gnn_err_text();
		ASSERT_EQ(gnn_backend_create(&b[0], "cpu", &o), GNN_OK);
	}
	void TearDown() override
	{
		for (int i = 0; i < 2; i++) {
			for (void *block : blocks[i])
				b[i]->ops->free(b[i], block);
			gnn_backend_destroy(b[i]);
		}
	}
	template <typename T> T *there(int i, const std::vector<T> &v)
	{
		const uint64_t bytes = std::max<uint64_t>(v.size() * sizeof(T), 4);
		void *block = nullptr;

		EXPECT_EQ(b[i]->ops->alloc(b[i], &block, bytes), GNN_OK);
		if (!v.empty()) {
			EXPECT_EQ(b[i]->ops->copy(b[i], block, v.size() * sizeof(T), v.data(),
				v.size() * sizeof(T), v.size() * sizeof(T), 1), GNN_OK);
		}
		blocks[i].push_back(block);
		return static_cast<T *>(block);
	}
	Floats back(int i, const float *from, uint64_t count)
	{
		Floats v(count);

		EXPECT_EQ(b[i]->ops->copy(b[i], v.data(), count * 4, from, count * 4, count * 4, 1),
			GNN_OK);
		EXPECT_EQ(b[i]->ops->sync(b[i]), GNN_OK) << gnn_err_text();
		return v;
	}
	Floats run_net(int i, gnn_arch arch, uint32_t hidden, uint32_t dim, const gnn_sample &host);
	const gnn_grad_ops *grad(int i) { return b[i]->ops->grad; }
	/* What `run(i)` leaves on both, which must agree. */
	template <typename Run> void twins(Run run, double tolerance)
	{
		const Floats cpu = run(0), cuda = run(1), again = run(1);

		ASSERT_EQ(cpu.size(), cuda.size());
		for (size_t k = 0; k < cpu.size(); k++)
			ASSERT_NEAR(cpu[k], cuda[k], tolerance * std::max(1.0f, std::fabs(cpu[k])))
				<< k << " of " << cpu.size();
		EXPECT_EQ(memcmp(cuda.data(), again.data(), cuda.size() * 4), 0);
	}
};

const uint64_t row_counts[] = {1, 31, 33, 172, 4097};

/* Items whose values are numbers, whatever the type. */
std::vector<uint8_t> random_items(gnn_dtype dtype, uint64_t count)
{
	const uint64_t size = gnn_dtype_bytes(dtype);
	std::vector<uint8_t> to(count * size);

	for (uint64_t i = 0; i < to.size(); i++)
		to[i] = (uint8_t)gnn_rng_u64(5, dtype, i);
	for (uint64_t i = size - 1; size > 1 && i < to.size(); i += size)
		to[i] &= 0xbf; /* an exponent below that of 2 */
	return to;
}

/* Rows of a table with a cache of every third, some to other places, by a few blocks or many. */
struct Gathering {
	gnn_dtype dtype;
	uint32_t width, blocks;
	uint64_t skew; /* items before the first row, which it is aligned by */
	bool cached, table, rows, shift, drop;
};

TEST_F(CudaGrad, Gather)
{
	const uint64_t vertices = 500, count = 333;
	std::vector<uint64_t> id, row;
	std::vector<uint32_t> place;
	uint64_t missing = 0;

	for (uint64_t i = 0; i < count; i++) {
		id.push_back(i * 7 % vertices);
		row.push_back((i * 5 + 3) % count);
		missing += id.back() % 3 != 0;
	}
	for (uint64_t v = 0; v < vertices; v++)
		place.push_back(v % 3 == 0 ? (uint32_t)(v / 3) : GNN_NO_PLACE);
	auto run = [&](const Gathering &g) {
		const auto table = random_items(g.dtype, vertices * g.width + g.skew);
		const uint64_t size = gnn_dtype_bytes(g.dtype);
		std::vector<uint8_t> cache;

		for (uint64_t v = 0; v < vertices; v += 3) {
			const auto from = table.begin() +
				(std::ptrdiff_t)((v * g.width + g.skew) * size);
			cache.insert(cache.end(), from, from + (std::ptrdiff_t)(g.width * size));
		}
		twins([&](int i) {
			gnn_gather_args a{};
			Floats missed(2); /* a count of 8 bytes, 0 */
			uint64_t told;

			a.table = g.table ? there(i, table) + g.skew * size : nullptr;
			a.dtype = g.dtype;
			a.width = g.width;
			a.id = there(i, id);
			a.rows = count;
			a.to = there(i, Floats(count * g.width, 9));
			a.row = g.rows ? there(i, row) : nullptr;
			a.place = g.cached ? there(i, place) : nullptr;
			a.cache = g.cached ? there(i, cache) : nullptr;
			a.missed = (uint64_t *)there(i, missed);
			a.blocks = g.blocks;
			a.shift = g.shift;
			if (g.drop)
				a.drop = gnn_drop_of(.4, 3, 8);
			a.name = a.id; /* whatever the rows are called */
			EXPECT_EQ(grad(i)->gather(b[i], &a), GNN_OK) << gnn_err_text();
			missed = back(i, (const float *)a.missed, 2);
			memcpy(&told, missed.data(), sizeof(told));
			EXPECT_EQ(told, g.cached ? missing : count);
			return back(i, a.to, count * g.width);
		}, 0);
	};
	for (gnn_dtype dtype : {GNN_F32, GNN_F16, GNN_BF16, GNN_U8})
		for (uint32_t width : {1u, 7u, 16u, 100u, 128u, 521u})
			for (uint64_t skew : {0, 1, 16})
				for (bool shift : {false, true}) {
					const bool drop = shift == (skew == 1);

					run({dtype, width, 0, skew, false, true, false, shift,
						drop});
					run({dtype, width, 3, skew, true, true, true, shift,
						!drop});
					run({dtype, width, 0, skew, true, false, false, shift,
						drop});
				}
}

/* The table in host memory, read in place. */
TEST_F(CudaGrad, GatherInPlace)
{
	for (uint32_t width : {3u, 100u, 512u}) {
		const uint64_t vertices = 1000, bytes = vertices * width * sizeof(float);
		const Floats table = random_floats(vertices * width, 1);
		std::vector<uint64_t> id;
		void *host = nullptr;

		for (uint64_t i = 0; i < 777; i++)
			id.push_back(i * 13 % vertices);
		ASSERT_EQ(gnn_mem_pages(&host, bytes, GNN_MEM_STATE), GNN_OK);
		memcpy(host, table.data(), bytes);
		ASSERT_EQ(b[1]->ops->pin(b[1], host, bytes), GNN_OK) << gnn_err_text();
		for (bool shift : {false, true})
			for (uint32_t blocks : {1u, 16u}) /* many rows a warp, and one */
				twins([&](int i) {
					gnn_gather_args a{};

					a.table = host;
					a.dtype = GNN_F32;
					a.width = width;
					a.id = there(i, id);
					a.rows = id.size();
					a.to = there(i, Floats(id.size() * width));
					a.blocks = blocks;
					a.shift = shift;
					a.drop = gnn_drop_of(shift != (blocks == 1) ? .5 : 0, 3, 8);
					a.name = a.id;
					EXPECT_EQ(grad(i)->gather(b[i], &a), GNN_OK)
						<< gnn_err_text();
					return back(i, a.to, id.size() * width);
				}, 0);
		b[1]->ops->unpin(b[1], host);
		gnn_mem_free(host);
	}
}

TEST_F(CudaGrad, LinearAndItsGradients)
{
	for (uint64_t rows : row_counts)
		for (uint32_t in : {1u, 37u, 256u}) {
			const uint32_t out = 24;

			twins([&](int i) {
				gnn_linear_args f{};
				gnn_linear_back_args g{};

				f.x = there(i, random_floats(rows * in, 1));
				f.w = there(i, random_floats(out * in, 2));
				f.bias = there(i, random_floats(out, 3));
				f.y = there(i, Floats(rows * out));
				f.rows = g.rows = rows;
				f.dim_in = g.dim_in = in;
				f.dim_out = g.dim_out = out;
				EXPECT_EQ(grad(i)->linear(b[i], &f), GNN_OK);
				f.bias = nullptr;
				f.add = true;
				EXPECT_EQ(grad(i)->linear(b[i], &f), GNN_OK);
				g.dy = f.y;
				g.x = f.x;
				g.w = f.w;
				g.dx = there(i, random_floats(rows * in, 4));
				g.dw = there(i, random_floats(out * in, 5));
				g.dbias = there(i, random_floats(out, 6));
				g.add = true;
				EXPECT_EQ(grad(i)->linear_back(b[i], &g), GNN_OK);
				Floats all = back(i, f.y, rows * out);
				for (const Floats &v : {back(i, g.dx, rows * in),
					back(i, g.dw, out * in), back(i, g.dbias, out)})
					all.insert(all.end(), v.begin(), v.end());
				return all;
			}, 2e-4);
		}
}

TEST_F(CudaGrad, DropoutAndActivations)
{
	const std::pair<uint64_t, uint32_t> shapes[] = {{1, 33}, {31, 33}, {33, 1}, {172, 33},
		{4097, 33}, {4097, 100}, {70001, 100}, {70001, 3}, {33, 4}, {5, 256}};

	for (const auto &[rows, width] : shapes)
		for (gnn_act act : {GNN_ACT_RELU, GNN_ACT_ELU}) {
			std::vector<uint64_t> id;

			for (uint64_t r = 0; r < rows; r++)
				id.push_back(r * r);
			twins([&, rows = rows, width = width](int i) {
				gnn_dropout_args d{};
				gnn_activate_args a{};

				d.from = there(i, random_floats(rows * width, 1));
				d.to = there(i, Floats(rows * width));
				d.id = there(i, id);
				d.rows = rows;
				d.width = width;
				d.drop = gnn_drop_of(0.3, 7, 9);
				EXPECT_EQ(grad(i)->dropout(b[i], &d), GNN_OK);
				a.act = act;
				a.y = d.to;
				a.dy = there(i, random_floats(rows * width, 2));
				a.count = rows * width;
				EXPECT_EQ(grad(i)->activate(b[i], &a), GNN_OK);
				EXPECT_EQ(grad(i)->activate_back(b[i], &a), GNN_OK);
				Floats all = back(i, a.y, a.count), dy = back(i, a.dy, a.count);
				all.insert(all.end(), dy.begin(), dy.end());
				return all;
			}, 1e-6);
		}
}

TEST_F(CudaGrad, LossesUpdatesAndNorms)
{
	const uint32_t width = 47;

	for (bool many : {false, true})
		for (uint64_t rows : row_counts) {
			std::vector<int64_t> label;
			std::vector<uint8_t> labels;

			for (uint64_t r = 0; r < rows; r++) {
				label.push_back(r % 5 == 3 ? -1 : (int64_t)(r % width));
				for (uint32_t j = 0; j < width; j++)
					labels.push_back((r + j) % 3 == 0);
			}
			twins([&](int i) {
				gnn_loss_args a{};
				a.y = there(i, random_floats(rows * width, 1, 20));
				a.dy = there(i, Floats(rows * width));
				a.label = many ? nullptr : there(i, label);
				a.labels = many ? there(i, labels) : nullptr;
				a.rows = rows;
				a.width = width;
				EXPECT_EQ(grad(i)->loss(b[i], &a), GNN_OK);
				Floats all = back(i, a.dy, rows * width);
				all.push_back((float)a.loss);
				all.push_back((float)a.counted);
				return all;
			}, 1e-5);
		}
	for (gnn_optimizer kind : {GNN_ADAM, GNN_ADAMW, GNN_SGD})
		for (uint64_t step : {1, 2, 1000})
			twins([&](int i) {
				gnn_update_args a{};
				double squares = 0;

				a.kind = kind;
				a.count = 5001;
				a.w = there(i, random_floats(a.count, 1));
				a.g = there(i, random_floats(a.count, 2));
				a.m = there(i, random_floats(a.count, 3));
				Floats v = random_floats(a.count, 4);
				for (float &x : v)
					x *= x;
				a.v = there(i, v);
				a.step = step;
				a.lr = 0.01;
				a.weight_decay = 0.05;
				a.momentum = 0.9;
				a.scale = 0.7f;
				EXPECT_EQ(grad(i)->update(b[i], &a), GNN_OK);
				EXPECT_EQ(grad(i)->sum_squares(b[i], a.w, a.count, &squares),
					GNN_OK);
				Floats all = back(i, a.w, a.count), m = back(i, a.m, a.count);
				all.insert(all.end(), m.begin(), m.end());
				all.push_back(a.change);
				all.push_back((float)squares);
				return all;
			}, 1e-5);
}

template <typename T> std::vector<T> copy_of(const T *from, uint64_t count)
{
	return from == nullptr ? std::vector<T>() : std::vector<T>(from, from + count);
}

/* The scores of the seeds and the gradient of all weights, on one of the backends. */
Floats CudaGrad::run_net(int i, gnn_arch arch, uint32_t hidden, uint32_t dim,
	const gnn_sample &host)
{
	gnn_net *net = nullptr;
	gnn_net_opts o{};
	gnn_sample s{};
	float *y = nullptr;
	const uint32_t classes = 5;

	o.backend = b[i];
	o.dropout = 0.3;
	o.seed = 5;
	o.shape.arch = arch;
	o.shape.layers = 2;
	o.shape.dim_in = dim;
	o.shape.channels[0] = hidden;
	o.shape.channels[1] = classes;
	o.shape.heads[0] = o.shape.heads[1] = arch == GNN_ARCH_GAT ? 3 : 1;
	EXPECT_EQ(gnn_net_create(&net, &o), 0);
	s.layers = 2;
	s.id_count = host.id_count;
	s.id = there(i, copy_of(host.id, host.id_count));
	for (uint32_t l = 0; l < 2; l++) {
		const gnn_block &from = host.block[l];
		gnn_block &to = s.block[l];

		to.dst_count = from.dst_count;
		to.src_count = from.src_count;
		to.entry_count = from.entry_count;
		to.first = there(i, copy_of(from.first, from.dst_count + 1));
		to.src = there(i, copy_of(from.src, from.entry_count));
		to.weight = there(i, copy_of(from.weight, from.weight ? from.entry_count : 0));
		to.back_first = there(i, copy_of(from.back_first, from.src_count + 1));
		to.back_dst = there(i, copy_of(from.back_dst, from.entry_count));
		to.back_entry = there(i, copy_of(from.back_entry, from.entry_count));
		to.back_weight = there(i,
			copy_of(from.back_weight, from.weight ? from.entry_count : 0));
	}
	const float *x = there(i, random_floats(host.id_count * dim, 1));
	const uint64_t rows = host.block[1].dst_count;
	float *dy = there(i, random_floats(rows * classes, 2));
	const gnn_net_input in{&s, x, 7, false};
	EXPECT_EQ(gnn_net_forward(net, &in, &y), 0) << gnn_err_text();
	Floats all = back(i, y, rows * classes);
	EXPECT_EQ(gnn_net_backward(net, &in, dy), 0) << gnn_err_text();
	Floats g = back(i, gnn_net_gradient(net), gnn_net_params(net)->learned);
	all.insert(all.end(), g.begin(), g.end());
	gnn_net_destroy(net);
	return all;
}

/* Every layer kind, forward and backward: aggregation, batch norm, attention and the rest. */
TEST_F(CudaGrad, WholeNets)
{
	Graph graph(700, 30);
	gnn_backend *host = cpu_backend(1);
	const uint32_t dim = 40;
	std::vector<gnn_vid> seeds;

	for (gnn_vid v = 0; v < graph.lists.vertices; v += 3)
		seeds.push_back(v);
	for (gnn_arch arch : {GNN_ARCH_GCN, GNN_ARCH_SAGE, GNN_ARCH_GIN, GNN_ARCH_GAT})
		for (uint32_t hidden : {6u, 64u}) {
			gnn_sampler *sampler = nullptr;
			gnn_sample sample{};
			const uint64_t fanout[] = {4, 3};
			gnn_sampler_opts so{};

			so.lists = &graph.lists;
			so.rule = gnn_net_rule(arch);
			so.dependency = 1;
			so.layers = 2;
			so.fanout = fanout;
			so.backend = host;
			ASSERT_EQ(gnn_sampler_create(&sampler, &so), 0);
			ASSERT_EQ(gnn_sampler_draw(sampler, seeds.data(), seeds.size(), 7, &sample),
				0);
			for (uint32_t l = 0; l < 2; l++)
				ASSERT_EQ(gnn_block_turn(&sample.block[l], host), 0);
			twins([&](int i) { return run_net(i, arch, hidden, dim, sample); }, 2e-4);
			gnn_sampler_destroy(sampler);
			gnn_sample_fini(&sample);
		}
	gnn_backend_destroy(host);
}

} // namespace
