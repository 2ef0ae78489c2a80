/*
 * Each operation of training by itself: the gradient it gives, along random directions, against
 * central differences of its own forward.
 */
#include <cmath>
#include <functional>
#include <gtest/gtest.h>
#include <vector>

#include "op/grad.h"
#include "unit/train_fixture.h"

namespace {

using Floats = std::vector<float>;

/* In [-1, 1], and at least `away` from 0, where some functions have a corner. */
Floats random_floats(uint64_t count, uint64_t stream, double away = 0)
{
	Floats to(count);

	for (uint64_t i = 0; i < count; i++) {
		const double x = 2 * gnn_rng_unit(gnn_rng_u64(9, stream, i)) - 1;
		to[i] = (float)(x < 0 ? std::min(x, -away) : std::max(x, away));
	}
	return to;
}

double dot(const Floats &a, const Floats &b)
{
	double sum = 0;

	EXPECT_EQ(a.size(), b.size());
	for (uint64_t i = 0; i < a.size(); i++)
		sum += (double)a[i] * b[i];
	return sum;
}

/*
 * `forward` reads the inputs and returns what a loss would weigh; `backward` takes those weights
 * and returns a gradient for each input, in order.
 */
void check(const std::vector<Floats *> &inputs, const std::function<Floats()> &forward,
	const std::function<std::vector<Floats>(const Floats &)> &backward, double tolerance = 2e-3)
{
	const double step = 1.0 / 256;
	const Floats weights = random_floats(forward().size(), 77);
	const std::vector<Floats> gradient = backward(weights);

	ASSERT_EQ(gradient.size(), inputs.size());
	for (uint64_t k = 0; k < inputs.size(); k++)
		for (uint64_t direction = 0; direction < 4; direction++) {
			const Floats along = random_floats(inputs[k]->size(), 100 + direction);
			const Floats there = *inputs[k];
			double sides[2];

			for (int side = 0; side < 2; side++) {
				for (uint64_t i = 0; i < there.size(); i++)
					(*inputs[k])[i] = there[i] +
						(float)((side == 0 ? step : -step) * along[i]);
				sides[side] = dot(forward(), weights);
			}
			*inputs[k] = there;
			const double want = (sides[0] - sides[1]) / (2 * step);
			const double size = std::sqrt(dot(gradient[k], gradient[k]));
			EXPECT_GT(size, 0) << "input " << k;
			EXPECT_NEAR(dot(gradient[k], along), want, tolerance * (size + 0.1))
				<< "input " << k << ", direction " << direction;
		}
}

struct Grad : ::testing::Test {
	gnn_backend *b = cpu_backend(2);

	~Grad() override { gnn_backend_destroy(b); }
	const gnn_grad_ops *grad() const { return b->ops->grad; }
};

/* Rows of the table, of the cache, or left as they are. */
TEST_F(Grad, Gather)
{
	const Floats table = random_floats(10 * 3, 1), cache = random_floats(2 * 3, 2);
	const std::vector<uint64_t> id = {9, 0, 4, 7}, row = {3, 0, 1, 2};
	std::vector<uint32_t> place(10, GNN_NO_PLACE);

	place[0] = 1;
	place[7] = 0;
	for (int way = 0; way < 8; way++) {
		const bool cached = way & 1, whole = way & 2, moved = way & 4;
		Floats to(4 * 3, 5);
		gnn_gather_args a{};
		uint64_t missed = 10;

		a.table = whole ? table.data() : nullptr;
		a.dtype = GNN_F32;
		a.width = 3;
		a.id = id.data();
		a.rows = id.size();
		a.to = to.data();
		a.row = moved ? row.data() : nullptr;
		a.place = cached ? place.data() : nullptr;
		a.cache = cache.data();
		a.missed = &missed;
		ASSERT_EQ(grad()->gather(b, &a), GNN_OK);
		EXPECT_EQ(missed, 10u + (cached ? 2u : 4u));
		for (uint64_t i = 0; i < id.size(); i++)
			for (uint64_t j = 0; j < 3; j++) {
				const uint32_t p = place[id[i]];
				const float want = cached && p != GNN_NO_PLACE ? cache[p * 3 + j] :
					whole ? table[id[i] * 3 + j] : 5;

				EXPECT_EQ(to[(moved ? row[i] : i) * 3 + j], want) << way;
			}
	}
}

/* Dropout on the way is dropout afterwards, by what each row is called where it arrives. */
TEST_F(Grad, GatherBehindDropout)
{
	const uint32_t width = 37;
	const Floats table = random_floats(50 * width, 1), cache = random_floats(50 * width, 2);
	std::vector<uint64_t> id, row, name;
	std::vector<uint32_t> place(50, GNN_NO_PLACE);

	for (uint64_t i = 0; i < 40; i++) {
		id.push_back(i * 7 % 50);
		row.push_back((i * 3 + 5) % 40);
		name.push_back(1000 + i);
	}
	for (uint32_t v = 0; v < 50; v += 3)
		place[v] = v / 3;
	for (double p : {0.0, 0.3, 0.9})
		for (int way = 0; way < 4; way++) {
			Floats plain(40 * width, 5), fused(40 * width, 5);
			gnn_gather_args a{};
			gnn_dropout_args d{};

			a.table = table.data();
			a.dtype = GNN_F32;
			a.width = width;
			a.id = id.data();
			a.rows = id.size();
			a.to = plain.data();
			a.row = way & 1 ? row.data() : nullptr;
			a.place = way & 2 ? place.data() : nullptr;
			a.cache = cache.data();
			ASSERT_EQ(grad()->gather(b, &a), GNN_OK);
			d.from = d.to = plain.data();
			d.id = name.data();
			d.rows = id.size();
			d.width = width;
			d.drop = a.drop = gnn_drop_of(p, 3, 8);
			if (p > 0) {
				ASSERT_EQ(grad()->dropout(b, &d), GNN_OK);
			}
			a.to = fused.data();
			a.name = name.data();
			ASSERT_EQ(grad()->gather(b, &a), GNN_OK);
			EXPECT_EQ(fused, plain) << p << " " << way;
			EXPECT_EQ(std::count(fused.begin(), fused.end(), 0.0f) > 0, p > 0);
		}
}

TEST_F(Grad, Linear)
{
	const uint32_t rows = 50, in = 13, out = 9;
	Floats x = random_floats(rows * in, 1), w = random_floats(out * in, 2);
	Floats bias = random_floats(out, 3);

	check({&x, &w, &bias}, [&] {
		Floats y(rows * out);
		gnn_linear_args a{};
		a.x = x.data();
		a.w = w.data();
		a.bias = bias.data();
		a.y = y.data();
		a.rows = rows;
		a.dim_in = in;
		a.dim_out = out;
		EXPECT_EQ(grad()->linear(b, &a), GNN_OK);
		return y;
	}, [&](const Floats &dy) {
		Floats dx(x.size()), dw(w.size()), dbias(out);
		gnn_linear_back_args a{};
		a.dy = dy.data();
		a.x = x.data();
		a.w = w.data();
		a.dx = dx.data();
		a.dw = dw.data();
		a.dbias = dbias.data();
		a.rows = rows;
		a.dim_in = in;
		a.dim_out = out;
		EXPECT_EQ(grad()->linear_back(b, &a), GNN_OK);
		return std::vector<Floats>{dx, dw, dbias};
	});
}

TEST_F(Grad, Dropout)
{
	const uint32_t rows = 40, width = 11;
	Floats x = random_floats(rows * width, 1);
	std::vector<uint64_t> id;

	for (uint64_t r = 0; r < rows; r++)
		id.push_back(3 * r);
	const auto run = [&](const Floats &from) {
		Floats to(from.size());
		gnn_dropout_args a{};
		a.from = from.data();
		a.to = to.data();
		a.id = id.data();
		a.rows = rows;
		a.width = width;
		a.drop = gnn_drop_of(0.4, 5, 6);
		EXPECT_EQ(grad()->dropout(b, &a), GNN_OK);
		return to;
	};
	check({&x}, [&] { return run(x); }, [&](const Floats &dy) {
		return std::vector<Floats>{run(dy)};
	});
}

TEST_F(Grad, Activations)
{
	for (gnn_act act : {GNN_ACT_RELU, GNN_ACT_ELU}) {
		Floats x = random_floats(400, 1, 0.02);
		const auto run = [&](Floats *dy) {
			Floats y = x;
			gnn_activate_args a{};
			a.act = act;
			a.y = y.data();
			a.count = y.size();
			EXPECT_EQ(grad()->activate(b, &a), GNN_OK);
			if (dy != nullptr) {
				a.dy = dy->data();
				EXPECT_EQ(grad()->activate_back(b, &a), GNN_OK);
			}
			return y;
		};
		check({&x}, [&] { return run(nullptr); }, [&](const Floats &dy) {
			Floats dx = dy;
			run(&dx);
			return std::vector<Floats>{dx};
		});
	}
}

TEST_F(Grad, BatchNorm)
{
	const uint32_t rows = 60, width = 7;
	Floats x = random_floats(rows * width, 1), gamma = random_floats(width, 2, 0.3);
	Floats beta = random_floats(width, 3);
	Floats mean(width), rstd(width), running_mean(width), running_var(width, 1);
	Floats y(x.size());
	gnn_batch_norm_args a{};

	a.rows = rows;
	a.width = width;
	a.training = true;
	a.mean = mean.data();
	a.rstd = rstd.data();
	a.running_mean = running_mean.data();
	a.running_var = running_var.data();
	a.y = y.data();
	check({&x, &gamma, &beta}, [&] {
		a.x = x.data();
		a.gamma = gamma.data();
		a.beta = beta.data();
		EXPECT_EQ(grad()->batch_norm(b, &a), GNN_OK);
		return y;
	}, [&](const Floats &dy) {
		Floats dx(x.size()), dgamma(width), dbeta(width);
		a.x = x.data();
		a.gamma = gamma.data();
		a.beta = beta.data();
		EXPECT_EQ(grad()->batch_norm(b, &a), GNN_OK);
		gnn_batch_norm_args back = a;
		back.dy = dy.data();
		back.dx = dx.data();
		back.dgamma = dgamma.data();
		back.dbeta = dbeta.data();
		EXPECT_EQ(grad()->batch_norm_back(b, &back), GNN_OK);
		return std::vector<Floats>{dx, dgamma, dbeta};
	});
}

/* A block of a few rows that share sources, turned round by hand. */
struct Block {
	static constexpr uint64_t DST = 12, SRC = 30;
	std::vector<uint64_t> first{0}, back_first{0}, id;
	std::vector<uint32_t> src, back_dst, back_entry;

	Block()
	{
		for (uint64_t v = 0; v < DST; v++) {
			for (uint64_t i = 0; i < v % 5; i++)
				src.push_back((uint32_t)((7 * v + 11 * i) % SRC));
			first.push_back(src.size());
			id.push_back(100 + v);
		}
		for (uint64_t u = 0; u < SRC; u++) {
			for (uint64_t v = 0; v < DST; v++)
				for (uint64_t e = first[v]; e < first[v + 1]; e++)
					if (src[e] == u) {
						back_dst.push_back((uint32_t)v);
						back_entry.push_back((uint32_t)e);
					}
			back_first.push_back(back_dst.size());
		}
	}
};

/* With dropout of the weights or without, the heads side by side or their mean. */
TEST_F(Grad, Attend)
{
	const uint32_t heads = 3, channels = 4, wide = heads * channels;
	const Block k;

	for (const bool mean : {false, true})
		for (const double p : {0.0, 0.5}) {
			Floats z = random_floats(Block::SRC * wide, 1);
			Floats score = random_floats(Block::SRC * 2 * heads, 2);
			Floats alpha(k.src.size() * heads), y(Block::DST * wide), last;
			gnn_attend_args a{};

			a.heads = heads;
			a.channels = channels;
			a.slope = 0.2f;
			a.drop = gnn_drop_of(p, 3, 4);
			a.id = k.id.data();
			a.dst_rows = Block::DST;
			a.src_rows = Block::SRC;
			a.first = k.first.data();
			a.src = k.src.data();
			a.back_first = k.back_first.data();
			a.back_dst = k.back_dst.data();
			a.back_entry = k.back_entry.data();
			a.alpha = alpha.data();
			a.y = y.data();
			const auto forward = [&] {
				Floats out(Block::DST * channels);
				gnn_finish_args f{};

				a.z = z.data();
				a.score = score.data();
				EXPECT_EQ(grad()->attend(b, &a), GNN_OK);
				if (!mean)
					return y;
				const Floats none(channels);
				f.x = y.data();
				f.bias = none.data();
				f.y = out.data();
				f.rows = Block::DST;
				f.heads = heads;
				f.channels = channels;
				EXPECT_EQ(grad()->finish(b, &f), GNN_OK);
				return out;
			};
			check({&z, &score}, forward, [&](const Floats &dy) {
				Floats dz(z.size()), dscore(score.size()), scratch(alpha.size());

				forward();
				a.dy = dy.data();
				a.mean = mean;
				a.dz = dz.data();
				a.dscore = dscore.data();
				a.dlogit = scratch.data();
				EXPECT_EQ(grad()->attend_back(b, &a), GNN_OK);
				/* Rows past the destinations have no second half: none is used. */
				for (uint64_t u = Block::DST; u < Block::SRC; u++)
					for (uint32_t h = heads; h < 2 * heads; h++)
						dscore[u * 2 * heads + h] = 0;
				return std::vector<Floats>{dz, dscore};
			}, 1e-2);
		}
}

TEST_F(Grad, Score)
{
	const uint32_t rows = 25, heads = 3, channels = 5;
	Floats z = random_floats(rows * heads * channels, 1);
	Floats src = random_floats(heads * channels, 2), dst = random_floats(heads * channels, 3);

	check({&z, &src, &dst}, [&] {
		Floats score(rows * 2 * heads);
		gnn_score_args a{z.data(), src.data(), dst.data(), score.data(), rows, heads,
			channels};
		EXPECT_EQ(grad()->score(b, &a), GNN_OK);
		return score;
	}, [&](const Floats &dy) {
		Floats dz(z.size()), dsrc(src.size()), ddst(dst.size());
		gnn_score_back_args a{};
		a.z = z.data();
		a.dz = dz.data();
		a.rows = rows;
		a.stride = 2 * heads;
		a.heads = heads;
		a.channels = channels;
		a.dscore = dy.data();
		a.att = src.data();
		a.datt = dsrc.data();
		EXPECT_EQ(grad()->score_back(b, &a), GNN_OK);
		a.dscore = dy.data() + heads;
		a.att = dst.data();
		a.datt = ddst.data();
		EXPECT_EQ(grad()->score_back(b, &a), GNN_OK);
		return std::vector<Floats>{dz, dsrc, ddst};
	});
}

/* The loss is a number: its gradient is of the mean over what is labelled. */
TEST_F(Grad, Losses)
{
	const uint32_t rows = 30, width = 6;

	for (const bool many : {false, true}) {
		Floats y = random_floats(rows * width, 1);
		std::vector<int64_t> label;
		std::vector<uint8_t> labels;

		for (uint64_t r = 0; r < rows; r++) {
			label.push_back(r % 4 == 3 ? -1 : (int64_t)(r % width));
			for (uint32_t j = 0; j < width; j++)
				labels.push_back((r + j) % 3 == 0);
		}
		Floats dy(y.size());
		const auto run = [&] {
			gnn_loss_args a{};
			a.y = y.data();
			a.dy = dy.data();
			a.label = many ? nullptr : label.data();
			a.labels = many ? labels.data() : nullptr;
			a.rows = rows;
			a.width = width;
			EXPECT_EQ(grad()->loss(b, &a), GNN_OK);
			return Floats{(float)(a.loss / (double)a.counted)};
		};
		check({&y}, run, [&](const Floats &weight) {
			run();
			Floats g = dy;
			for (float &x : g)
				x *= weight[0];
			return std::vector<Floats>{g};
		}, 1e-2);
	}
}

} // namespace
