// Every engine moves the same bytes, under every fault, and ends every request.
#include "base/log.h"
#include "io/dio.h"
#include "unit/folder_fixture.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <functional>
#include <linux/filter.h>
#include <linux/magic.h>
#include <linux/seccomp.h>
#include <string>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace fs = std::filesystem;

// What statx says of direct I/O in place of the file system; -1: what the file system says.
static int told_alignment = -1;

extern "C" int statx(int fd, const char *__restrict path, int flags, unsigned mask,
	struct statx *__restrict to) noexcept
{
	const int rc = static_cast<int>(syscall(SYS_statx, fd, path, flags, mask, to));
#ifdef STATX_DIOALIGN
	if (rc == 0 && told_alignment >= 0) {
		to->stx_mask |= STATX_DIOALIGN;
		to->stx_dio_mem_align = static_cast<unsigned>(told_alignment);
		to->stx_dio_offset_align = static_cast<unsigned>(told_alignment);
	}
#endif
	return rc;
}

namespace {

constexpr uint64_t PAGE = GNN_PAGE_BYTES;
constexpr uint64_t MIB = 1 << 20;
constexpr unsigned char FILLED = 0xCD; // what no buffer keeps that was read into

unsigned char byte_at(uint64_t offset)
{
	return static_cast<unsigned char>((offset * 2654435761u) >> 13);
}

// A page-aligned block.
struct Pages {
	void *data = nullptr;
	uint64_t bytes;
	explicit Pages(uint64_t n) : bytes(n)
	{
		EXPECT_EQ(gnn_mem_pages(&data, n, GNN_MEM_IO), GNN_OK);
		memset(data, FILLED, n);
	}
	Pages(const Pages &) = delete;
	Pages &operator=(const Pages &) = delete;
	~Pages()
	{
		gnn_mem_free(data);
	}
	unsigned char *at(uint64_t offset) const
	{
		return static_cast<unsigned char *>(data) + offset;
	}
	void fill_as_file(uint64_t offset) const
	{
		for (uint64_t i = 0; i < bytes; i++)
			*at(i) = byte_at(offset + i);
	}
	// How many of `count` bytes from `from` differ from those of the file at `offset`.
	uint64_t wrong_bytes_from(uint64_t from, uint64_t offset, uint64_t count) const
	{
		uint64_t n = 0;
		for (uint64_t i = 0; i < count; i++)
			n += *at(from + i) != byte_at(offset + i);
		return n;
	}
	uint64_t wrong_bytes(uint64_t offset, uint64_t count) const
	{
		return wrong_bytes_from(0, offset, count);
	}
};

struct gnn_dio_request reading(void *buffer, uint64_t offset, uint64_t bytes, uint64_t wanted)
{
	struct gnn_dio_request r = {};
	r.offset = offset;
	r.bytes = bytes;
	r.wanted = wanted;
	r.buffer = buffer;
	return r;
}

struct gnn_dio_request writing(void *buffer, uint64_t offset, uint64_t bytes)
{
	struct gnn_dio_request r = {};
	r.write = true;
	r.offset = offset;
	r.bytes = bytes;
	r.buffer = buffer;
	return r;
}

uint64_t count(const std::string &text, const std::string &part)
{
	uint64_t n = 0;
	for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
		n++;
	return n;
}

// Makes one system call fail with EPERM, in this process for good.
bool forbid(uint32_t nr)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, nr, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {4, filter};
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
		prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

// On tmpfs the page cache is the file.
bool has_page_cache_apart(const std::string &path)
{
	struct statfs s;
	return statfs(path.c_str(), &s) == 0 && s.f_type != TMPFS_MAGIC;
}

void drop_from_cache(const std::string &path)
{
	const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
	ASSERT_GE(fd, 0);
	ASSERT_EQ(fsync(fd), 0);
	ASSERT_EQ(posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED), 0);
	close(fd);
}

uint64_t cached_pages(const std::string &path)
{
	const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
	const uint64_t bytes = fs::file_size(path);
	std::vector<unsigned char> pages(bytes / PAGE);
	void *map = mmap(nullptr, bytes, PROT_READ, MAP_SHARED, fd, 0);
	uint64_t n = 0;
	EXPECT_NE(map, MAP_FAILED);
	EXPECT_EQ(mincore(map, bytes, pages.data()), 0);
	for (const unsigned char page : pages)
		n += page & 1;
	munmap(map, bytes);
	close(fd);
	return n;
}

struct DioBase : Folder {
	void enter()
	{
		Folder::enter();
		gnn_log_set_level(GNN_LOG_ERROR);
	}
	void leave()
	{
		told_alignment = -1;
		Folder::leave();
	}
	// A file of `bytes` bytes of byte_at.
	std::string make(const std::string &name, uint64_t bytes) const
	{
		std::string text(bytes, '\0');
		for (uint64_t i = 0; i < bytes; i++)
			text[i] = static_cast<char>(byte_at(i));
		std::ofstream(at(name), std::ios::binary) << text;
		return at(name);
	}
	static int open(struct gnn_dio **d, const std::string &path, enum gnn_dio_engine engine,
		uint32_t depth, enum gnn_dio_mode mode = GNN_DIO_READ)
	{
		struct gnn_dio_opts o = {};
		o.path = path.c_str();
		o.mode = mode;
		o.engine = engine;
		o.depth = depth;
		return gnn_dio_open(d, &o);
	}
};

struct Engine {
	const char *name;
	enum gnn_dio_engine which;
};

const Engine real_engines[] = {{"uring", GNN_DIO_URING}, {"pread", GNN_DIO_PREAD}};

// Tests that every engine with a disk behind it must pass.
struct DioEngine : ::testing::TestWithParam<Engine>, DioBase {
	void SetUp() override
	{
		enter();
		struct gnn_dio *d = nullptr;
		if (open(&d, make("try", PAGE), GetParam().which, 1) == GNN_EUNAVAIL)
			GTEST_SKIP() << gnn_err_text();
		gnn_dio_close(d);
	}
	void TearDown() override
	{
		leave();
	}
	int open(struct gnn_dio **d, const std::string &path, uint32_t depth,
		enum gnn_dio_mode mode = GNN_DIO_READ)
	{
		return DioBase::open(d, path, GetParam().which, depth, mode);
	}
	using DioBase::open;
};

INSTANTIATE_TEST_SUITE_P(, DioEngine, ::testing::ValuesIn(real_engines),
	[](const auto &info) { return std::string(info.param.name); });

void PrintTo(const Engine &e, std::ostream *to)
{
	*to << e.name;
}

TEST_P(DioEngine, ReadsEverySizeAndTouchesNothingBehind)
{
	const uint64_t sizes[] = {1, 100, 4095, 4096, 4097, 65536, 3 * PAGE + 1, 8 * MIB,
		8 * MIB + PAGE, 20 * MIB + 77};

	for (const uint64_t size : sizes) {
		struct gnn_dio *d = nullptr;
		Pages to(gnn_align_up(size, PAGE) + PAGE);
		struct gnn_dio_request r = reading(to.data, 0, to.bytes - PAGE, size);
		ASSERT_EQ(open(&d, make("f", size), 4), GNN_OK) << gnn_err_text();
		EXPECT_EQ(gnn_dio_file_bytes(d), size);
		ASSERT_EQ(gnn_dio_transfer(d, &r), GNN_OK) << gnn_err_text();
		EXPECT_EQ(r.status, GNN_OK);
		EXPECT_EQ(gnn_dio_read_bytes(d), size);
		EXPECT_EQ(to.wrong_bytes(0, size), 0u) << size;
		for (uint64_t i = to.bytes - PAGE; i < to.bytes; i++)
			ASSERT_EQ(*to.at(i), FILLED);
		ASSERT_EQ(gnn_dio_close(d), GNN_OK);
	}
}

TEST_P(DioEngine, ReadsOnlyThePagesThatAreWanted)
{
	struct gnn_dio *d = nullptr;
	Pages to(8 * PAGE);
	struct gnn_dio_request r = reading(to.data, 2 * PAGE, 8 * PAGE, PAGE + 5);

	ASSERT_EQ(open(&d, make("f", 100 * PAGE), 1), GNN_OK);
	ASSERT_EQ(gnn_dio_transfer(d, &r), GNN_OK);
	EXPECT_EQ(to.wrong_bytes(2 * PAGE, PAGE + 5), 0u);
	EXPECT_EQ(gnn_dio_read_bytes(d), 2 * PAGE);
	EXPECT_EQ(*to.at(2 * PAGE), FILLED);
	ASSERT_EQ(gnn_dio_close(d), GNN_OK);
}

TEST_P(DioEngine, WritesEverySize)
{
	const uint64_t sizes[] = {PAGE, 3 * PAGE, 8 * MIB, 20 * MIB + PAGE};

	for (const uint64_t size : sizes) {
		struct gnn_dio *d = nullptr;
		Pages from(size), to(size);
		from.fill_as_file(3 * PAGE);
		struct gnn_dio_request put = writing(from.data, 3 * PAGE, size);
		struct gnn_dio_request get = reading(to.data, 3 * PAGE, size, size);
		ASSERT_EQ(open(&d, make("f", 0), 3, GNN_DIO_WRITE), GNN_OK) << gnn_err_text();
		ASSERT_EQ(gnn_dio_transfer(d, &put), GNN_OK) << gnn_err_text();
		EXPECT_EQ(gnn_dio_written_bytes(d), size);
		ASSERT_EQ(gnn_dio_transfer(d, &get), GNN_OK) << gnn_err_text();
		EXPECT_EQ(to.wrong_bytes(3 * PAGE, size), 0u);
		ASSERT_EQ(gnn_dio_close(d), GNN_OK);
		EXPECT_EQ(fs::file_size(at("f")), 3 * PAGE + size);
	}
}

// Sixty-four requests of different sizes, all submitted before the first is reaped.
struct Crowd {
	static constexpr uint32_t COUNT = 64;
	static constexpr uint64_t STRIDE = 4 * PAGE;
	static constexpr uint64_t FILE_BYTES = COUNT * STRIDE - 1000;
	Pages buffer{COUNT * STRIDE};
	struct gnn_dio_request request[COUNT];
	std::vector<uint32_t> order; // as reaped
	uint32_t failed = 0;

	uint64_t wanted(uint32_t i) const
	{
		return i + 1 == COUNT ? STRIDE - 1000 : PAGE * (i % 4) + 1 + i;
	}
	void submit(struct gnn_dio *d)
	{
		for (uint32_t i = 0; i < COUNT; i++) {
			request[i] = reading(buffer.at(i * STRIDE), i * STRIDE, STRIDE, wanted(i));
			request[i].user = &request[i];
			ASSERT_EQ(gnn_dio_submit(d, &request[i]), GNN_OK);
		}
	}
	void reap(struct gnn_dio *d)
	{
		struct gnn_dio_request *r = nullptr;
		int rc;
		while ((rc = gnn_dio_reap(d, &r)) != GNN_EOF) {
			ASSERT_NE(r, nullptr);
			ASSERT_EQ(r->user, r);
			ASSERT_EQ(r->status, rc);
			order.push_back(static_cast<uint32_t>(r - request));
			failed += rc < 0;
		}
		EXPECT_EQ(r, nullptr);
	}
	uint64_t wrong() const
	{
		uint64_t n = 0;
		for (uint32_t i = 0; i < COUNT; i++)
			if (request[i].status == GNN_OK)
				n += buffer.wrong_bytes_from(i * STRIDE, i * STRIDE, wanted(i));
		return n;
	}
	bool each_once() const
	{
		std::vector<uint32_t> sorted = order;
		std::sort(sorted.begin(), sorted.end());
		for (uint32_t i = 0; i < sorted.size(); i++)
			if (sorted[i] != i)
				return false;
		return sorted.size() == COUNT;
	}
};

TEST_P(DioEngine, MoreRequestsThanTheDepthAreEachReapedOnce)
{
	const std::string path = make("f", Crowd::FILE_BYTES);

	for (const uint32_t depth : {0u, 1u, 2u, 3u, 64u, 256u}) {
		struct gnn_dio *d = nullptr;
		Crowd crowd;
		ASSERT_EQ(open(&d, path, depth), GNN_OK) << gnn_err_text();
		crowd.submit(d);
		crowd.reap(d);
		EXPECT_TRUE(crowd.each_once());
		EXPECT_EQ(crowd.wrong(), 0u);
		ASSERT_EQ(gnn_dio_close(d), GNN_OK);
	}
}

TEST_P(DioEngine, CompletionsInReverseOrderGiveTheSame)
{
	const std::string path = make("f", Crowd::FILE_BYTES);
	struct gnn_dio *d = nullptr;
	Crowd crowd;

	ASSERT_EQ(gnn_fault_parse("read:slow@1000000"), GNN_OK);
	ASSERT_EQ(open(&d, path, 64), GNN_OK);
	crowd.submit(d);
	crowd.reap(d);
	EXPECT_TRUE(crowd.each_once());
	EXPECT_FALSE(std::is_sorted(crowd.order.begin(), crowd.order.end()));
	EXPECT_EQ(crowd.wrong(), 0u);
	ASSERT_EQ(gnn_dio_close(d), GNN_OK);
}

TEST_P(DioEngine, PassingFaultsOfReadingPass)
{
	const std::string path = make("f", Crowd::FILE_BYTES);
	const std::string large = make("large", 20 * MIB + 77);

	for (const char *spec : {"read:short@1-3", "read:short%2", "read:short%3=7",
		     "read:eintr%2", "read:eagain%2", "read:eagain@1-16", "read:eintr%3=5",
		     "read:slow@1-2", "read:einval@1", "read:einval@2,read:short%4=1",
		     "open:einval@1", "open:eintr@1-3", "close:eintr@1"}) {
		for (const uint32_t depth : {1u, 2u, 8u}) {
			struct gnn_dio *d = nullptr;
			Crowd crowd;
			ASSERT_EQ(gnn_fault_parse(spec), GNN_OK);
			ASSERT_EQ(open(&d, path, depth), GNN_OK) << spec << gnn_err_text();
			crowd.submit(d);
			crowd.reap(d);
			EXPECT_TRUE(crowd.each_once()) << spec;
			EXPECT_EQ(crowd.failed, 0u) << spec << ": " << gnn_err_text();
			EXPECT_EQ(crowd.wrong(), 0u) << spec;
			EXPECT_EQ(gnn_dio_close(d), GNN_OK) << spec;
		}
		struct gnn_dio *d = nullptr;
		Pages to(21 * MIB);
		struct gnn_dio_request r = reading(to.data, 0, 21 * MIB, 20 * MIB + 77);
		ASSERT_EQ(gnn_fault_parse(spec), GNN_OK);
		ASSERT_EQ(open(&d, large, 2), GNN_OK);
		EXPECT_EQ(gnn_dio_transfer(d, &r), GNN_OK) << spec << ": " << gnn_err_text();
		EXPECT_EQ(to.wrong_bytes(0, 20 * MIB + 77), 0u) << spec;
		EXPECT_EQ(gnn_dio_close(d), GNN_OK);
	}
}

TEST_P(DioEngine, LastingFaultsOfReadingNameFileAndOffset)
{
	const std::string path = make("f", 16 * PAGE);
	const struct {
		const char *spec;
		int status;
		const char *text;
	} cases[] = {
		{"read:eio@1", GNN_EIO, "f: cannot read 8192 bytes at offset 4096: Input/output"},
		{"read:enodata@1", GNN_EIO, "at offset 4096: No data available"},
		{"read:eof@1", GNN_EDATA, "shorter than recorded: 8000 bytes wanted at offset"},
		{"read:short%1", GNN_EIO, "reading stands still at offset 8192: 16 tries"},
		{"read:eagain%1", GNN_EIO, "Resource temporarily unavailable"},
		{"read:eagain@1-17", GNN_EIO, "Resource temporarily unavailable"},
		{"read:einval%1", GNN_EIO, "Invalid argument"},
	};
	for (const auto &c : cases) {
		struct gnn_dio *d = nullptr;
		Pages to(2 * PAGE);
		struct gnn_dio_request r = reading(to.data, PAGE, 2 * PAGE, 8000);
		ASSERT_EQ(gnn_fault_parse(c.spec), GNN_OK);
		ASSERT_EQ(open(&d, path, 2), GNN_OK);
		EXPECT_EQ(gnn_dio_transfer(d, &r), c.status) << c.spec;
		EXPECT_EQ(r.status, c.status);
		EXPECT_TRUE(says(c.text));
		gnn_fault_clear();
		EXPECT_EQ(gnn_dio_transfer(d, &r), GNN_OK) << "after " << c.spec;
		EXPECT_EQ(to.wrong_bytes(PAGE, 8000), 0u);
		EXPECT_EQ(gnn_dio_close(d), GNN_OK);
	}
}

// The n-th read of a crowd fails for every n: one request fails, all others arrive.
TEST_P(DioEngine, EveryReadMayFailAndTakesNoOtherWithIt)
{
	const std::string path = make("f", Crowd::FILE_BYTES);

	for (const char *action : {"eio", "eof"}) {
		for (uint32_t n = 1; n <= Crowd::COUNT + 1; n++) {
			struct gnn_dio *d = nullptr;
			Crowd crowd;
			const std::string at_n = "@" + std::to_string(n);
			const std::string spec = std::string("read:") + action + at_n;
			ASSERT_EQ(gnn_fault_parse(spec.c_str()), GNN_OK);
			ASSERT_EQ(open(&d, path, 4), GNN_OK);
			crowd.submit(d);
			crowd.reap(d);
			EXPECT_TRUE(crowd.each_once());
			EXPECT_EQ(crowd.failed, n <= Crowd::COUNT ? 1u : 0u) << spec;
			EXPECT_EQ(crowd.wrong(), 0u);
			EXPECT_EQ(gnn_dio_close(d), GNN_OK);
		}
	}
}

// Pieces are of 8 MiB: three here. Reversed, a failed one comes back last.
TEST_P(DioEngine, AFailedPieceEndsItsRequestAfterTheOthersAreBack)
{
	const std::string path = make("f", 24 * MIB);

	for (const uint32_t depth : {1u, 2u})
		for (uint64_t n = 1; n <= 3; n++) {
			struct gnn_dio *d = nullptr;
			Pages to(24 * MIB);
			struct gnn_dio_request r = reading(to.data, 0, 24 * MIB, 24 * MIB);
			const std::string spec = "read:eio@" + std::to_string(n);
			ASSERT_EQ(gnn_fault_parse(spec.c_str()), GNN_OK);
			ASSERT_EQ(open(&d, path, depth), GNN_OK);
			EXPECT_EQ(gnn_dio_transfer(d, &r), GNN_EIO);
			EXPECT_TRUE(says("at offset " + std::to_string((n - 1) * 8 * MIB)));
			if (depth == 1) {
				EXPECT_EQ(gnn_dio_read_bytes(d), (n - 1) * 8 * MIB);
			}
			EXPECT_EQ(gnn_dio_transfer(d, &r), GNN_OK);
			EXPECT_EQ(to.wrong_bytes(0, 24 * MIB), 0u);
			EXPECT_EQ(gnn_dio_close(d), GNN_OK);
		}
}

TEST_P(DioEngine, OfTwoFailuresInARequestTheFirstToComeBackIsTold)
{
	struct gnn_dio *d = nullptr;
	Pages to(16 * MIB);
	struct gnn_dio_request r = reading(to.data, 0, 16 * MIB, 16 * MIB);

	ASSERT_EQ(gnn_fault_parse("read:eio@1,read:enodata@2"), GNN_OK);
	ASSERT_EQ(open(&d, make("f", 16 * MIB), 2), GNN_OK);
	EXPECT_EQ(gnn_dio_transfer(d, &r), GNN_EIO);
	EXPECT_TRUE(says("at offset 8388608: No data available"));
	EXPECT_EQ(gnn_dio_close(d), GNN_OK);
}

TEST_P(DioEngine, TriesAreCountedAnewAfterProgress)
{
	struct gnn_dio *d = nullptr;
	Pages to(4 * PAGE);
	struct gnn_dio_request r = reading(to.data, 0, 4 * PAGE, 4 * PAGE);

	ASSERT_EQ(gnn_fault_parse("read:eagain@1-10,read:short@11,read:eagain@12-21"), GNN_OK);
	ASSERT_EQ(open(&d, make("f", 4 * PAGE), 1), GNN_OK);
	EXPECT_EQ(gnn_dio_transfer(d, &r), GNN_OK) << gnn_err_text();
	EXPECT_EQ(to.wrong_bytes(0, 4 * PAGE), 0u);
	EXPECT_EQ(gnn_dio_close(d), GNN_OK);
}

TEST_P(DioEngine, WhatWasInFlightDirectlyIsRepeatedBuffered)
{
	const std::string path = make("f", Crowd::FILE_BYTES);
	struct gnn_dio *d = nullptr;
	Crowd crowd;

	ASSERT_EQ(gnn_fault_parse("read:einval@1-8"), GNN_OK);
	ASSERT_EQ(open(&d, path, 8), GNN_OK);
	crowd.submit(d);
	crowd.reap(d);
	EXPECT_EQ(crowd.failed, 0u) << gnn_err_text();
	EXPECT_EQ(crowd.wrong(), 0u);
	EXPECT_FALSE(gnn_dio_is_direct(d));
	EXPECT_EQ(gnn_dio_close(d), GNN_OK);
}

TEST_P(DioEngine, SubmittingWaitsWhileTheDepthIsReached)
{
	struct gnn_dio *d = nullptr;
	Pages to(2 * PAGE);
	struct gnn_dio_request a = reading(to.at(0), 0, PAGE, PAGE);
	struct gnn_dio_request b = reading(to.at(PAGE), PAGE, PAGE, PAGE);

	ASSERT_EQ(open(&d, make("f", 2 * PAGE), 1), GNN_OK);
	ASSERT_EQ(gnn_dio_submit(d, &a), GNN_OK);
	EXPECT_EQ(gnn_dio_read_bytes(d), 0u);
	ASSERT_EQ(gnn_dio_submit(d, &b), GNN_OK);
	EXPECT_EQ(gnn_dio_read_bytes(d), PAGE) << "the first is finished";
	EXPECT_EQ(gnn_dio_close(d), GNN_OK);
}

TEST_P(DioEngine, FlippedBitsAreOneBit)
{
	const std::string path = make("f", 4 * PAGE);
	struct gnn_dio *d = nullptr;
	Pages to(4 * PAGE);
	struct gnn_dio_request get = reading(to.data, 0, 4 * PAGE, 4 * PAGE);
	struct gnn_dio_request put = writing(to.data, 0, 4 * PAGE);

	ASSERT_EQ(gnn_fault_parse("read:flip@1,write:flip@1"), GNN_OK);
	ASSERT_EQ(open(&d, path, 1, GNN_DIO_WRITE), GNN_OK);
	ASSERT_EQ(gnn_dio_transfer(d, &get), GNN_OK);
	EXPECT_EQ(to.wrong_bytes(0, 4 * PAGE), 1u);
	to.fill_as_file(0);
	ASSERT_EQ(gnn_dio_transfer(d, &put), GNN_OK);
	EXPECT_EQ(to.wrong_bytes(0, 4 * PAGE), 0u) << "the caller's buffer";
	ASSERT_EQ(gnn_dio_transfer(d, &get), GNN_OK);
	EXPECT_EQ(to.wrong_bytes(0, 4 * PAGE), 1u) << "the file";
	ASSERT_EQ(gnn_dio_close(d), GNN_OK);
}

TEST_P(DioEngine, PassingFaultsOfWritingPass)
{
	for (const char *spec : {"write:short@1-3", "write:short%2", "write:eintr%2",
		     "write:eagain@1-16", "write:einval@1", "write:einval@2", "write:slow@1",
		     "open:einval@1"}) {
		struct gnn_dio *d = nullptr;
		Pages from(20 * MIB), to(20 * MIB);
		from.fill_as_file(0);
		struct gnn_dio_request put = writing(from.data, 0, 20 * MIB);
		struct gnn_dio_request get = reading(to.data, 0, 20 * MIB, 20 * MIB);
		const std::string path = make("f", 0);
		ASSERT_EQ(gnn_fault_parse(spec), GNN_OK);
		ASSERT_EQ(open(&d, path, 2, GNN_DIO_WRITE), GNN_OK);
		EXPECT_EQ(gnn_dio_transfer(d, &put), GNN_OK) << spec << ": " << gnn_err_text();
		EXPECT_EQ(gnn_dio_transfer(d, &get), GNN_OK) << spec;
		EXPECT_EQ(to.wrong_bytes(0, 20 * MIB), 0u) << spec;
		EXPECT_EQ(gnn_dio_close(d), GNN_OK);
	}
}

TEST_P(DioEngine, LastingFaultsOfWritingSayWhatIsNeededAndFree)
{
	const struct {
		const char *spec;
		const char *text;
	} cases[] = {
		{"write:enospc@1", "f: the disk is full: needs 8192 bytes (0.0 MiB) at offset"},
		{"write:edquot@1", "quota is used up: needs 8192 bytes"},
		{"write:efbig@1", "ulimit -f"},
		{"write:eio@1", "f: cannot write 8192 bytes at offset 4096: Input/output error"},
		{"write:short%1", "writing stands still at offset 8192"},
		{"write:eagain%1", "Resource temporarily unavailable"},
	};
	for (const auto &c : cases) {
		struct gnn_dio *d = nullptr;
		Pages from(2 * PAGE);
		struct gnn_dio_request put = writing(from.data, PAGE, 2 * PAGE);
		ASSERT_EQ(gnn_fault_parse(c.spec), GNN_OK);
		ASSERT_EQ(open(&d, make("f", 0), 2, GNN_DIO_WRITE), GNN_OK);
		EXPECT_EQ(gnn_dio_transfer(d, &put), GNN_EIO) << c.spec;
		EXPECT_TRUE(says(c.text));
		EXPECT_EQ(gnn_dio_close(d), GNN_OK);
	}
}

// The file is really cut while it is open. At 5000 a read gives 904 bytes, again and again.
TEST_P(DioEngine, AFileCutWhileOpenIsShorterThanRecorded)
{
	for (const uint64_t left : {0u, 4096u, 5000u, 8192u, 8999u}) {
		struct gnn_dio *d = nullptr;
		Pages to(4 * PAGE);
		struct gnn_dio_request r = reading(to.data, PAGE, 3 * PAGE, 4905);
		ASSERT_EQ(open(&d, make("f", 9001), 2), GNN_OK);
		fs::resize_file(at("f"), left);
		EXPECT_EQ(gnn_dio_transfer(d, &r), GNN_EDATA) << left;
		EXPECT_TRUE(says("it had 9001 bytes when opened, " + std::to_string(left) +
			" now"));
		EXPECT_EQ(gnn_dio_close(d), GNN_OK);
	}
}

TEST_P(DioEngine, EmptyRequestsEndAndAnEmptyFileOpens)
{
	struct gnn_dio *d = nullptr;
	struct gnn_dio_request put = writing(nullptr, 0, 0), get = reading(nullptr, PAGE, 0, 0);
	struct gnn_dio_request *r = nullptr;

	ASSERT_EQ(open(&d, make("f", 0), 1, GNN_DIO_WRITE), GNN_OK);
	EXPECT_EQ(gnn_dio_reap(d, &r), GNN_EOF);
	EXPECT_EQ(gnn_dio_transfer(d, &put), GNN_OK);
	EXPECT_EQ(gnn_dio_submit(d, &get), GNN_OK);
	EXPECT_EQ(gnn_dio_submit(d, &put), GNN_OK);
	EXPECT_EQ(gnn_dio_reap(d, &r), GNN_OK);
	EXPECT_EQ(r, &get);
	EXPECT_EQ(gnn_dio_reap(d, &r), GNN_OK);
	EXPECT_EQ(gnn_dio_reap(d, &r), GNN_EOF);
	EXPECT_EQ(gnn_dio_close(d), GNN_OK);
	EXPECT_EQ(fs::file_size(at("f")), 0u);
}

TEST_P(DioEngine, CloseWaitsAndTellsOfWhatWasNotReaped)
{
	for (const char *spec : {"read:slow@1-2", "read:eio@3", "close:eio@1"}) {
		struct gnn_dio *d = nullptr;
		Crowd crowd;
		const std::string path = make("f", Crowd::FILE_BYTES);
		ASSERT_EQ(gnn_fault_parse(spec), GNN_OK);
		ASSERT_EQ(open(&d, path, 64), GNN_OK);
		crowd.submit(d);
		const bool fails = strstr(spec, "eio") != nullptr;
		EXPECT_EQ(gnn_dio_close(d), fails ? GNN_EIO : GNN_OK) << spec;
		EXPECT_EQ(crowd.wrong(), 0u);
	}
	EXPECT_EQ(gnn_dio_close(nullptr), GNN_OK);
}

TEST_P(DioEngine, AbortWaitsAndKeepsTheTextOfTheFailureBefore)
{
	struct gnn_dio *d = nullptr;
	struct gnn_dio_request *r = nullptr;
	Crowd crowd;
	const std::string path = make("f", Crowd::FILE_BYTES);

	ASSERT_EQ(gnn_fault_parse("read:eof@2,read:eio@1"), GNN_OK);
	ASSERT_EQ(open(&d, path, 64), GNN_OK);
	crowd.submit(d);
	int rc = GNN_OK;
	while (rc == GNN_OK)
		rc = gnn_dio_reap(d, &r);
	EXPECT_EQ(rc, GNN_EDATA);
	const std::string text = gnn_err_text();
	gnn_dio_abort(d);
	EXPECT_EQ(gnn_err_text(), text);
	EXPECT_EQ(crowd.wrong(), 0u);
	gnn_dio_abort(nullptr);
}

TEST_P(DioEngine, DirectIoLeavesThePageCacheAlone)
{
	const std::string path = make("f", 64 * PAGE);
	struct gnn_dio_probe probe;
	struct gnn_dio *d = nullptr;
	Pages to(64 * PAGE);
	struct gnn_dio_request r = reading(to.data, 0, 64 * PAGE, 64 * PAGE);

	ASSERT_EQ(gnn_dio_probe(dir.c_str(), &probe), GNN_OK);
	if (!probe.direct || !has_page_cache_apart(path))
		GTEST_SKIP() << "no direct I/O in " << dir;
	drop_from_cache(path);
	ASSERT_EQ(open(&d, path, 2), GNN_OK);
	ASSERT_EQ(gnn_dio_transfer(d, &r), GNN_OK);
	EXPECT_TRUE(gnn_dio_is_direct(d));
	EXPECT_STREQ(gnn_dio_name(d), GetParam().name);
	EXPECT_EQ(cached_pages(path), 0u);
	ASSERT_EQ(gnn_dio_close(d), GNN_OK);
}

TEST_P(DioEngine, WithoutDirectIoItIsBufferedAndSaysSo)
{
	const std::string path = make("f", 64 * PAGE);
	const std::string buffered = std::string(GetParam().name) + " buffered";

	for (const char *spec : {"open:einval@1", "read:einval@1"}) {
		struct gnn_dio *d = nullptr;
		Pages to(64 * PAGE);
		struct gnn_dio_request r = reading(to.data, 0, 64 * PAGE, 64 * PAGE);
		drop_from_cache(path);
		ASSERT_EQ(gnn_fault_parse(spec), GNN_OK);
		ASSERT_EQ(open(&d, path, 2), GNN_OK);
		ASSERT_EQ(gnn_dio_transfer(d, &r), GNN_OK);
		EXPECT_FALSE(gnn_dio_is_direct(d));
		EXPECT_EQ(gnn_dio_name(d), buffered);
		ASSERT_EQ(gnn_dio_close(d), GNN_OK);
		if (has_page_cache_apart(path)) {
			EXPECT_EQ(cached_pages(path), 0u) << "left in the page cache";
		}
	}
}

#ifdef STATX_DIOALIGN
TEST_P(DioEngine, FileSystemsWithoutDirectIoOrWithLargerPagesAreBuffered)
{
	const std::string path = make("f", 64 * PAGE);
	struct gnn_dio_probe probe;

	ASSERT_EQ(gnn_dio_probe(dir.c_str(), &probe), GNN_OK);
	for (const int alignment : {0, 8192, 65536}) {
		struct gnn_dio *d = nullptr;
		Pages to(64 * PAGE);
		struct gnn_dio_request r = reading(to.data, 0, 64 * PAGE, 64 * PAGE);
		told_alignment = alignment;
		ASSERT_EQ(open(&d, path, 2), GNN_OK);
		EXPECT_FALSE(gnn_dio_is_direct(d)) << alignment;
		ASSERT_EQ(gnn_dio_transfer(d, &r), GNN_OK);
		EXPECT_EQ(to.wrong_bytes(0, 64 * PAGE), 0u);
		ASSERT_EQ(gnn_dio_close(d), GNN_OK);
	}
	for (const int alignment : {512, 4096}) {
		struct gnn_dio *d = nullptr;
		told_alignment = alignment;
		ASSERT_EQ(open(&d, path, 2), GNN_OK);
		EXPECT_EQ(gnn_dio_is_direct(d), probe.direct) << alignment;
		ASSERT_EQ(gnn_dio_close(d), GNN_OK);
	}
}
#endif

TEST_P(DioEngine, WhatCannotBeOpenedSaysWhy)
{
	struct gnn_dio *d = nullptr;

	EXPECT_EQ(open(&d, at("none"), 1), GNN_ENOENT);
	EXPECT_TRUE(says("none: cannot open: No such file"));
	EXPECT_EQ(open(&d, at("none"), 1, GNN_DIO_WRITE), GNN_ECREAT);
	EXPECT_EQ(open(&d, dir.string(), 1), GNN_ENOENT);
	EXPECT_EQ(open(&d, "/dev/null", 1, GNN_DIO_WRITE), GNN_ECREAT);
	EXPECT_TRUE(says("not a regular file"));
	const std::string path = make("f", 1);
	ASSERT_EQ(gnn_fault_parse("open:emfile@1"), GNN_OK);
	EXPECT_EQ(open(&d, path, 1), GNN_EOS);
	EXPECT_TRUE(says("ulimit -n"));
	EXPECT_EQ(d, nullptr);
}

TEST_P(DioEngine, EveryAllocationMayFail)
{
	const std::string path = make("f", PAGE);
	int n = 1;

	for (;; n++) {
		struct gnn_dio *d = nullptr;
		const uint64_t before = live_blocks();
		ASSERT_EQ(gnn_fault_parse(("alloc:fail@" + std::to_string(n) +
			",read:slow@99").c_str()), GNN_OK);
		const int rc = open(&d, path, 4);
		gnn_dio_close(d);
		EXPECT_EQ(live_blocks(), before);
		if (rc == GNN_OK)
			break;
		EXPECT_EQ(rc, GNN_EOS);
	}
	EXPECT_GT(n, 3);
}

TEST_P(DioEngine, ManyHandlesOnManyThreadsAtOnce)
{
	const std::string path = make("f", Crowd::FILE_BYTES);
	std::vector<std::thread> threads;
	std::atomic<uint64_t> wrong{0}, failed{0};
	const enum gnn_dio_engine engine =
		GetParam().which == GNN_DIO_URING ? GNN_DIO_AUTO : GetParam().which;

	for (int t = 0; t < 8; t++)
		threads.emplace_back([&] {
			for (int k = 0; k < 5; k++) {
				struct gnn_dio *d = nullptr;
				Crowd crowd;
				// Rings are locked memory: with little of it, some get none.
				ASSERT_EQ(open(&d, path, engine, 8), GNN_OK) << gnn_err_text();
				crowd.submit(d);
				crowd.reap(d);
				wrong += crowd.wrong() + !crowd.each_once();
				failed += crowd.failed;
				EXPECT_EQ(gnn_dio_close(d), GNN_OK);
			}
		});
	for (auto &t : threads)
		t.join();
	EXPECT_EQ(wrong, 0u);
	EXPECT_EQ(failed, 0u);
}

TEST_P(DioEngine, TheLimitOfTheSystemOnFileSizesIsLikeAFullDisk)
{
	const std::string path = make("f", 0);
	const int status = child([&] {
		struct gnn_dio *d = nullptr;
		struct rlimit limit = {64 * PAGE, 64 * PAGE};
		Pages from(64 * PAGE);
		struct gnn_dio_request put = writing(from.data, 32 * PAGE, 64 * PAGE);
		signal(SIGXFSZ, SIG_IGN);
		if (setrlimit(RLIMIT_FSIZE, &limit) != 0 ||
			open(&d, path, 2, GNN_DIO_WRITE) != GNN_OK)
			return 1;
		if (gnn_dio_transfer(d, &put) != GNN_EIO)
			return 2;
		const bool said = strstr(gnn_err_text(), "ulimit -f") != nullptr;
		return gnn_dio_close(d) == GNN_OK && said ? 0 : 3;
	});
	EXPECT_EQ(status, 0);
}

// --- without an engine as parameter ---

struct DioTest : ::testing::Test, DioBase {
	void SetUp() override
	{
		enter();
	}
	void TearDown() override
	{
		leave();
	}
};

// It must be the first of this program to fall back: what is said once is said once a process.
TEST_F(DioTest, FallBacksAreSaidOnce)
{
	const std::string path = make("f", PAGE);

	::testing::internal::CaptureStderr();
	gnn_log_set_level(GNN_LOG_INFO);
	for (int i = 0; i < 3; i++) {
		struct gnn_dio *d = nullptr;
		EXPECT_EQ(gnn_fault_parse("ring:eperm@1,open:einval@1"), GNN_OK);
		EXPECT_EQ(open(&d, path, GNN_DIO_AUTO, 1), GNN_OK);
		EXPECT_EQ(gnn_dio_close(d), GNN_OK);
	}
	const std::string said = ::testing::internal::GetCapturedStderr();
	EXPECT_EQ(count(said, "io_uring cannot be set up here: Operation not permitted"), 1u);
	EXPECT_EQ(count(said, "going through the page cache"), 1u);
	EXPECT_EQ(count(said, "\n"), 2u);
}

TEST_F(DioTest, NullGivesZerosAndDropsWrites)
{
	struct gnn_dio *d = nullptr;
	const std::string path = make("f", 20 * MIB);
	Pages to(20 * MIB);
	struct gnn_dio_request get = reading(to.data, 0, 20 * MIB, 20 * MIB);
	struct gnn_dio_request put = writing(to.data, 0, 20 * MIB);

	ASSERT_EQ(open(&d, path, GNN_DIO_NULL, 2, GNN_DIO_WRITE), GNN_OK);
	ASSERT_EQ(gnn_dio_transfer(d, &get), GNN_OK);
	for (uint64_t i = 0; i < 20 * MIB; i += 4093)
		ASSERT_EQ(*to.at(i), 0);
	memset(to.data, 1, 20 * MIB);
	ASSERT_EQ(gnn_dio_transfer(d, &put), GNN_OK);
	EXPECT_EQ(gnn_dio_written_bytes(d), 20 * MIB);
	EXPECT_STREQ(gnn_dio_name(d), "null");
	ASSERT_EQ(gnn_dio_close(d), GNN_OK);
	std::ifstream in(path, std::ios::binary);
	EXPECT_EQ(static_cast<unsigned char>(in.get()), byte_at(0));
}

TEST_F(DioTest, ARequestOverFourGibibytesIsCut)
{
	const uint64_t bytes = (UINT64_C(5) << 30) + PAGE;
	struct gnn_dio *d = nullptr;
	void *room = mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
		-1, 0);

	ASSERT_NE(room, MAP_FAILED);
	ASSERT_EQ(open(&d, make("f", 0), GNN_DIO_NULL, 3, GNN_DIO_WRITE), GNN_OK);
	struct gnn_dio_request put = writing(room, 0, bytes);
	ASSERT_EQ(gnn_dio_transfer(d, &put), GNN_OK);
	EXPECT_EQ(gnn_dio_written_bytes(d), bytes);
	ASSERT_EQ(gnn_dio_close(d), GNN_OK);
	munmap(room, bytes);
}

TEST_F(DioTest, WithoutARingAutoTakesThreadsAndForcedIsRefused)
{
	const std::string path = make("f", 2 * PAGE);

	for (const char *spec : {"ring:eperm@1", "ring:enosys@1", "ring:enomem@1",
		     "ring:einval@1", "ring:eperm@1,read:slow@9"}) {
		struct gnn_dio *d = nullptr;
		Pages to(2 * PAGE);
		struct gnn_dio_request r = reading(to.data, 0, 2 * PAGE, 2 * PAGE);
		ASSERT_EQ(gnn_fault_parse(spec), GNN_OK);
		EXPECT_EQ(open(&d, path, GNN_DIO_URING, 1), GNN_EUNAVAIL) << spec;
		EXPECT_TRUE(says("io_uring cannot be set up here"));
		EXPECT_EQ(d, nullptr);
		ASSERT_EQ(gnn_fault_parse(spec), GNN_OK);
		ASSERT_EQ(open(&d, path, GNN_DIO_AUTO, 1), GNN_OK) << spec;
		EXPECT_EQ(std::string(gnn_dio_name(d)).substr(0, 5), "pread");
		EXPECT_EQ(gnn_dio_transfer(d, &r), GNN_OK);
		EXPECT_EQ(to.wrong_bytes(0, 2 * PAGE), 0u);
		EXPECT_EQ(gnn_dio_close(d), GNN_OK);
	}
}

// B26: a container's seccomp profile refuses the ring, or permits making but not entering it.
TEST_F(DioTest, UnderSeccompAutoTakesThreads)
{
	const std::string path = make("f", 2 * PAGE);

	for (const uint32_t nr : {SYS_io_uring_setup, SYS_io_uring_enter, SYS_io_uring_register}) {
		const int status = child([&] {
			struct gnn_dio *d = nullptr;
			Pages to(2 * PAGE);
			struct gnn_dio_request r = reading(to.data, 0, 2 * PAGE, 2 * PAGE);
			if (!forbid(nr))
				return 1;
			if (open(&d, path, GNN_DIO_AUTO, 4) != GNN_OK ||
				strncmp(gnn_dio_name(d), "pread", 5) != 0)
				return 2;
			return gnn_dio_transfer(d, &r) == GNN_OK &&
				to.wrong_bytes(0, 2 * PAGE) == 0 ? 0 : 3;
		});
		EXPECT_EQ(status, 0) << nr;
	}
}

TEST_F(DioTest, ProbeTellsWhatWorksAndLeavesNothing)
{
	struct gnn_dio_probe probe;

	ASSERT_EQ(gnn_dio_probe(dir.c_str(), &probe), GNN_OK) << gnn_err_text();
	EXPECT_EQ(probe.uring, probe.uring_why[0] == '\0');
	ASSERT_EQ(gnn_fault_parse("ring:eperm@1,open:einval%2"), GNN_OK);
	ASSERT_EQ(gnn_dio_probe(dir.c_str(), &probe), GNN_OK) << gnn_err_text();
	EXPECT_FALSE(probe.uring);
	EXPECT_FALSE(probe.direct);
	EXPECT_STREQ(probe.uring_why, "io_uring cannot be set up here: Operation not permitted");
	gnn_fault_clear();
	EXPECT_EQ(gnn_dio_probe(at("missing").c_str(), &probe), GNN_ECREAT);
	EXPECT_TRUE(fs::is_empty(dir));
}

} // namespace
