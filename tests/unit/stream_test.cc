// Streams: any range, in pieces of any size, in order, verified, from one thread to another.
#include "base/queue.h"
#include "unit/container_fixture.h"

#include <thread>

namespace
{

struct StreamTest : ContainerFixture {
	std::vector<char> data = pattern(2 * GNN_BLOCK_BYTES + 8 * 12345);
	const struct gnn_array *array = nullptr;

	void prepare()
	{
		ASSERT_EQ(write({{"before", GNN_U8, 1, 1, 1, pattern(1)},
				  {"x", GNN_U64, 1, data.size() / 8, 1, data},
				  {"none", GNN_U64, 1, 0, 1, {}}}),
			GNN_OK)
			<< gnn_err_text();
		open();
		array = gnn_container_find(container, "x");
	}

	struct gnn_stream_opts opts(uint64_t first, uint64_t bytes, uint64_t piece) const
	{
		return {container, array, nullptr, nullptr, first, bytes, piece, 3, 1, true};
	}

	/* All pieces in a row; fails the test unless they join up. */
	int collect(const struct gnn_stream_opts &o, std::vector<char> *got)
	{
		struct gnn_stream *s;
		struct gnn_piece *p;
		int rc = gnn_stream_open(&s, &o);

		while (rc == GNN_OK && (rc = gnn_stream_next(s, &p)) == GNN_OK) {
			const char *from = static_cast<const char *>(p->data);
			EXPECT_EQ(reinterpret_cast<uintptr_t>(from) % 8, 0u);
			EXPECT_EQ(p->first_byte, o.first_byte + got->size());
			EXPECT_EQ(p->bytes, std::min(o.piece_bytes, o.bytes - got->size()));
			got->insert(got->end(), from, from + p->bytes);
			gnn_stream_put(s, p);
		}
		gnn_stream_close(s);
		return rc;
	}

	void flip(uint64_t at)
	{
		std::fstream f(path, std::ios::in | std::ios::out | std::ios::binary);

		f.seekp(static_cast<std::streamoff>(array->offset + at));
		f.put(static_cast<char>(data[at] ^ 1));
	}
};

TEST_F(StreamTest, AnyRangeInAnyPieces)
{
	prepare();
	for (uint64_t first :
		{uint64_t(0), uint64_t(8), uint64_t(4096), uint64_t(GNN_BLOCK_BYTES - 8)})
		for (uint64_t bytes : {uint64_t(8), uint64_t(4096), uint64_t(GNN_BLOCK_BYTES + 8),
			     uint64_t(data.size() - first)})
			for (uint64_t piece :
				{uint64_t(40000), uint64_t(1 << 20), uint64_t(3) << 30}) {
				std::vector<char> got;
				EXPECT_EQ(collect(opts(first, bytes, piece), &got), GNN_EOF)
					<< gnn_err_text();
				EXPECT_TRUE(
					std::equal(got.begin(), got.end(), data.begin() + first))
					<< first;
				EXPECT_EQ(got.size(), bytes);
			}
}

TEST_F(StreamTest, EveryEngineAndDepthGiveTheSame)
{
	prepare();
	gnn_container_close(container);
	for (enum gnn_dio_engine engine : {GNN_DIO_PREAD, GNN_DIO_MAP, GNN_DIO_AUTO})
		for (uint32_t depth : {1u, 2u, 256u}) {
			struct gnn_container_opts o = options();
			std::vector<char> got;
			o.engine = engine;
			o.depth = depth;
			ASSERT_EQ(gnn_container_open(&container, &o), GNN_OK);
			array = gnn_container_find(container, "x");
			EXPECT_EQ(collect(opts(0, data.size(), 80008), &got), GNN_EOF)
				<< gnn_err_text();
			EXPECT_EQ(got, data);
			gnn_container_close(container);
			container = nullptr;
		}
}

TEST_F(StreamTest, NothingToReadIsTheEndAtOnce)
{
	struct gnn_stream *s;
	struct gnn_piece *p;

	prepare();
	struct gnn_stream_opts o = opts(0, 0, 4096);
	for (const char *name : {"none", "x"}) {
		o.array = gnn_container_find(container, name);
		EXPECT_EQ(gnn_stream_buffer_bytes(&o), 0u);
		ASSERT_EQ(gnn_stream_open(&s, &o), GNN_OK);
		EXPECT_EQ(gnn_stream_next(s, &p), GNN_EOF);
		EXPECT_EQ(p, nullptr);
		EXPECT_EQ(gnn_stream_read_bytes(s), 0u);
		gnn_stream_close(s);
	}
	EXPECT_EQ(gnn_array_load(container, o.array, 16, 0, nullptr), GNN_OK);
}

TEST_F(StreamTest, AFlippedBitIsNamed)
{
	std::vector<char> got;

	prepare();
	flip(GNN_BLOCK_BYTES + 777);
	open();
	array = gnn_container_find(container, "x");
	EXPECT_EQ(collect(opts(0, data.size(), 1 << 20), &got), GNN_EDATA);
	const std::string text = gnn_err_text();
	EXPECT_NE(text.find(path), std::string::npos) << text;
	EXPECT_NE(text.find("array x, block 1, bytes " +
			    std::to_string(array->offset + GNN_BLOCK_BYTES) + " to "),
		std::string::npos)
		<< text;
	EXPECT_NE(text.find("checksum found "), std::string::npos) << text;

	/* Not read, or not verified: not seen. Loads widen to whole blocks, and see it. */
	got.clear();
	EXPECT_EQ(collect(opts(0, GNN_BLOCK_BYTES, 4096), &got), GNN_EOF);
	got.clear();
	struct gnn_stream_opts blind = opts(0, data.size(), 1 << 20);
	blind.verify = false;
	EXPECT_EQ(collect(blind, &got), GNN_EOF);
	char eight[8];
	EXPECT_EQ(gnn_array_load(container, array, 8, 8, eight), GNN_OK);
	EXPECT_EQ(memcmp(eight, data.data() + 8, 8), 0);
	EXPECT_EQ(gnn_array_load(container, array, GNN_BLOCK_BYTES + 8, 8, eight), GNN_EDATA);
}

TEST_F(StreamTest, PiecesComeBackFromAnotherThread)
{
	struct gnn_stream *s;
	struct gnn_queue *q;
	struct gnn_piece *p;
	std::vector<char> got;

	prepare();
	struct gnn_stream_opts o = opts(0, data.size(), 100000);
	o.ahead = 1;
	o.lent = 2;
	ASSERT_EQ(gnn_stream_open(&s, &o), GNN_OK);
	ASSERT_EQ(gnn_queue_create(&q, 1), GNN_OK);
	std::thread consumer([&] {
		void *item;
		while (gnn_queue_pop(q, &item) == GNN_OK) {
			auto *piece = static_cast<struct gnn_piece *>(item);
			const char *from = static_cast<const char *>(piece->data);
			got.insert(got.end(), from, from + piece->bytes);
			gnn_stream_put(s, piece);
		}
	});
	while (gnn_stream_next(s, &p) == GNN_OK)
		gnn_queue_push(q, p);
	gnn_queue_close(q);
	consumer.join();
	gnn_queue_destroy(q);
	gnn_stream_close(s);
	EXPECT_EQ(got, data);
}

TEST_F(StreamTest, AWaitingReaderCanBeStopped)
{
	struct gnn_stream *s;
	struct gnn_piece *p;

	prepare();
	struct gnn_stream_opts o = opts(0, data.size(), 4096);
	o.ahead = 1;
	ASSERT_EQ(gnn_stream_open(&s, &o), GNN_OK);
	ASSERT_EQ(gnn_stream_next(s, &p), GNN_OK);
	ASSERT_EQ(gnn_stream_next(s, &p), GNN_OK); /* both buffers are out now */
	std::thread stopper([&] { gnn_stream_cancel(s); });
	EXPECT_EQ(gnn_stream_next(s, &p), GNN_ESTOP);
	stopper.join();
	gnn_stream_close(s); /* with two pieces out */
}

TEST_F(StreamTest, MemoryIsWhatWasSaid)
{
	struct gnn_mem_stats before, after;
	struct gnn_stream *s;

	prepare();
	struct gnn_stream_opts o = opts(8, data.size() - 8, 1 << 20);
	gnn_mem_stats(&before);
	ASSERT_EQ(gnn_stream_open(&s, &o), GNN_OK);
	gnn_mem_stats(&after);
	EXPECT_EQ(gnn_stream_buffer_bytes(&o), 4u * ((1 << 20) + 4096));
	EXPECT_GE(after.held_bytes - before.held_bytes, gnn_stream_buffer_bytes(&o));
	EXPECT_LT(after.held_bytes - before.held_bytes, gnn_stream_buffer_bytes(&o) + 65536);
	gnn_stream_close(s);
}

TEST_F(StreamTest, AFaultInTheMiddleNamesTheArray)
{
	std::vector<char> got;

	prepare();
	for (const char *fault : {"read:eio@5", "read:eof@5"}) {
		ASSERT_EQ(gnn_fault_parse(fault), GNN_OK);
		got.clear();
		const int rc = collect(opts(0, data.size(), 1 << 20), &got);
		gnn_fault_clear();
		EXPECT_EQ(rc, std::string(fault) == "read:eio@5" ? GNN_EIO : GNN_EDATA);
		EXPECT_NE(std::string(gnn_err_text()).find("array x"), std::string::npos)
			<< gnn_err_text();
	}
	ASSERT_EQ(gnn_fault_parse("read:short%3"), GNN_OK);
	got.clear();
	EXPECT_EQ(collect(opts(0, data.size(), 1 << 20), &got), GNN_EOF) << gnn_err_text();
	EXPECT_EQ(got, data);
}

} // namespace
