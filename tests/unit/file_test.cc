// Inputs are read whole or refused; outputs appear under their final name whole or not at all.
#include "io/file.h"
#include "unit/folder_fixture.h"

#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace fs = std::filesystem;

static int flock_errno; // stands in for a file system without locks; 0: the system's own flock
static std::function<void()> before_flock; // what another process does between open and flock

extern "C" int flock(int fd, int operation)
{
	if (before_flock)
		before_flock();
	if (flock_errno != 0) {
		errno = flock_errno;
		return -1;
	}
	return static_cast<int>(syscall(SYS_flock, fd, operation));
}

namespace {

struct FileTest : ::testing::Test, Folder {
	void SetUp() override
	{
		enter();
	}
	void TearDown() override
	{
		flock_errno = 0;
		before_flock = nullptr;
		leave();
	}
	void put(const std::string &name, const std::string &text) const
	{
		std::ofstream(at(name), std::ios::binary) << text;
	}
	std::string get(const std::string &name) const
	{
		std::ifstream in(at(name), std::ios::binary);
		return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
	}
	std::vector<std::string> names() const
	{
		std::vector<std::string> found;
		for (const auto &entry : fs::directory_iterator(dir))
			found.push_back(entry.path().filename().string());
		std::sort(found.begin(), found.end());
		return found;
	}
	int publish(const std::string &name, const std::string &text) const
	{
		struct gnn_pub *p = nullptr;
		int rc = gnn_pub_begin(&p, at(name).c_str());
		if (rc == GNN_OK)
			rc = gnn_pub_reserve(p, text.size());
		if (rc == GNN_OK)
			rc = gnn_pub_write(p, text.data(), text.size());
		if (rc == GNN_OK)
			return gnn_pub_commit(&p);
		gnn_pub_abort(p);
		return rc;
	}
};

using Names = std::vector<std::string>;

// --- inputs ---

TEST_F(FileTest, ReadsInSequenceAndAtOffsets)
{
	struct gnn_file *f = nullptr;
	char to[8] = "";
	uint64_t got = 0;

	put("a", "0123456789");
	ASSERT_EQ(gnn_file_open(&f, at("a").c_str()), GNN_OK);
	EXPECT_EQ(gnn_file_bytes(f), 10u);
	EXPECT_EQ(std::string(gnn_file_path(f)), at("a"));
	ASSERT_EQ(gnn_file_read(f, to, 7, &got), GNN_OK);
	EXPECT_EQ(std::string(to, got), "0123456");
	ASSERT_EQ(gnn_file_pread(f, to, 2, 1), GNN_OK);
	EXPECT_EQ(std::string(to, 2), "12");
	ASSERT_EQ(gnn_file_read(f, to, 7, &got), GNN_OK);
	EXPECT_EQ(std::string(to, got), "789");
	ASSERT_EQ(gnn_file_read(f, to, 7, &got), GNN_OK);
	EXPECT_EQ(got, 0u);
	EXPECT_EQ(gnn_file_pread(f, to, 3, 8), GNN_EDATA);
	EXPECT_TRUE(says("3 bytes wanted at offset 8, but the file has 10"));
	EXPECT_EQ(gnn_file_pread(f, to, UINT64_MAX, 8), GNN_EDATA);
	EXPECT_EQ(gnn_file_pread(f, to, 1, UINT64_MAX), GNN_EDATA);
	gnn_file_close(f);
}

TEST_F(FileTest, WhatIsNoFileIsRefusedWithoutWaiting)
{
	struct gnn_file *f = nullptr;

	EXPECT_EQ(gnn_file_open(&f, at("none").c_str()), GNN_ENOENT);
	EXPECT_TRUE(says("none: cannot open: No such file"));
	EXPECT_EQ(gnn_file_open(&f, dir.c_str()), GNN_ENOENT);
	EXPECT_TRUE(says("is a folder"));
	ASSERT_EQ(mkfifo(at("pipe").c_str(), 0600), 0);
	EXPECT_EQ(gnn_file_open(&f, at("pipe").c_str()), GNN_ENOENT);
	EXPECT_TRUE(says("a pipe"));
	EXPECT_EQ(f, nullptr);
}

TEST_F(FileTest, PassingFaultsOfReadingPass)
{
	char *text = nullptr;
	uint64_t bytes = 0;

	put("a", std::string(1000, 'x') + "end");
	for (const char *spec : {"read:short%1", "read:eintr@1-3", "read:eagain@1-16",
		     "read:slow@1", "open:eintr@1-5"}) {
		ASSERT_EQ(gnn_fault_parse(spec), GNN_OK);
		ASSERT_EQ(gnn_file_slurp(at("a").c_str(), 2000, &text, &bytes), GNN_OK) << spec;
		EXPECT_EQ(std::string(text), get("a")) << spec;
		EXPECT_EQ(bytes, 1003u);
		gnn_mem_free(text);
	}
}

TEST_F(FileTest, LastingFaultsOfReadingEndWithFileAndOffset)
{
	const struct {
		const char *spec;
		int status;
		const char *text;
	} cases[] = {
		{"read:eio@1", GNN_EIO, "a: cannot read 3 bytes at offset 0: Input/output error"},
		{"read:eagain%1", GNN_EIO, "Resource temporarily unavailable"},
		{"read:eof@1", GNN_EDATA, "shorter than recorded"},
		{"open:emfile@1", GNN_EOS, "raise ulimit -n"},
		{"open:eacces@1", GNN_ENOENT, "Permission denied"},
		{"alloc:fail@1", GNN_EOS, "refused by --faults"},
		{"alloc:fail@2", GNN_EOS, "refused by --faults"},
		{"alloc:fail@3", GNN_EOS, "refused by --faults"},
	};
	put("a", "abc");
	for (const auto &c : cases) {
		char *text = nullptr;
		uint64_t bytes = 0;
		ASSERT_EQ(gnn_fault_parse(c.spec), GNN_OK);
		EXPECT_EQ(gnn_file_slurp(at("a").c_str(), 10, &text, &bytes), c.status) << c.spec;
		EXPECT_EQ(text, nullptr);
		EXPECT_TRUE(says(c.text));
	}
}

TEST_F(FileTest, AFileCutWhileOpenIsNoEndOfFile)
{
	struct gnn_file *f = nullptr;
	char to[16];
	uint64_t got = 0;

	put("a", "0123456789");
	ASSERT_EQ(gnn_file_open(&f, at("a").c_str()), GNN_OK);
	fs::resize_file(at("a"), 4);
	EXPECT_EQ(gnn_file_read(f, to, 16, &got), GNN_EDATA);
	EXPECT_TRUE(says("it had 10 bytes when opened and now ends at 4"));
	gnn_file_close(f);
}

TEST_F(FileTest, SlurpHasALimitAndEndsWithNul)
{
	char *text = nullptr;
	uint64_t bytes = 0;

	put("a", "12345");
	put("empty", "");
	EXPECT_EQ(gnn_file_slurp(at("a").c_str(), 4, &text, &bytes), GNN_EDATA);
	ASSERT_EQ(gnn_file_slurp(at("empty").c_str(), 4, &text, &bytes), GNN_OK);
	EXPECT_STREQ(text, "");
	gnn_mem_free(text);
}

TEST_F(FileTest, OutputsThatAreInputsAreRefusedThroughLinksToo)
{
	put("in", "x");
	put("other", "y");
	fs::create_symlink(at("in"), at("soft"));
	fs::create_hard_link(at("in"), at("hard"));
	const std::string in = at("in"), soft = at("soft");
	const char *direct[] = {nullptr, in.c_str()}, *link[] = {soft.c_str()};

	for (const char *out : {"in", "soft", "hard"}) {
		EXPECT_EQ(gnn_file_check_output(at(out).c_str(), direct, 2), GNN_ECREAT) << out;
		EXPECT_EQ(gnn_file_check_output(at(out).c_str(), link, 1), GNN_ECREAT) << out;
	}
	EXPECT_TRUE(says("the output is the input"));
	EXPECT_EQ(gnn_file_check_output(at("other").c_str(), direct, 2), GNN_OK);
	EXPECT_EQ(gnn_file_check_output(at("new").c_str(), direct, 2), GNN_OK);
}

// --- outputs ---

TEST_F(FileTest, PublishesWholeWithTheModeOfTheUmask)
{
	const mode_t before = umask(027);
	struct stat st = {};

	ASSERT_EQ(publish("out", "first"), GNN_OK);
	umask(before);
	ASSERT_EQ(stat(at("out").c_str(), &st), 0);
	EXPECT_EQ(st.st_mode & 0777, 0640u);
	ASSERT_EQ(publish("out", "the second"), GNN_OK);
	EXPECT_EQ(get("out"), "the second");
	EXPECT_EQ(names(), Names{"out"});
}

TEST_F(FileTest, UntilCommitTheOldOutputStandsAndAbortLeavesIt)
{
	struct gnn_pub *p = nullptr;

	put("out", "old");
	ASSERT_EQ(gnn_pub_begin(&p, at("out").c_str()), GNN_OK);
	ASSERT_EQ(gnn_pub_write(p, "new", 3), GNN_OK);
	EXPECT_EQ(get("out"), "old");
	EXPECT_EQ(fs::path(gnn_pub_temp(p)).parent_path(), dir);
	gnn_pub_abort(p);
	gnn_pub_abort(nullptr);
	EXPECT_EQ(get("out"), "old");
	EXPECT_EQ(names(), Names{"out"});
}

TEST_F(FileTest, PlacesWhereNoFileCanBeAreRefused)
{
	struct gnn_pub *p = nullptr;

	fs::create_directory(at("folder"));
	fs::create_symlink(at("nowhere"), at("dangling"));
	put("file", "");
	const struct {
		std::string path;
		const char *text;
	} cases[] = {
		{at("folder"), "is a folder"},
		{at("folder/"), "is a folder"},
		{at("missing/out"), "there is no folder"},
		{at("file/out"), "there is no folder"},
		{at("dangling"), "a link that leads nowhere"},
		{"/dev/null", "a device"},
		{"", "is empty"},
		{at(std::string(250, 'n')), "File name too long"},
		{std::string(5000, 'n'), "has 5000 bytes"},
	};
	for (const auto &c : cases) {
		EXPECT_EQ(gnn_pub_begin(&p, c.path.c_str()), GNN_ECREAT) << c.path;
		EXPECT_EQ(p, nullptr);
		EXPECT_TRUE(says(c.text));
	}
	EXPECT_EQ(names(), (Names{"dangling", "file", "folder"}));
}

TEST_F(FileTest, AFolderThatMayNotBeWrittenIsRefused)
{
	fs::create_directory(at("locked"));
	fs::permissions(at("locked"), fs::perms::owner_read | fs::perms::owner_exec);
	fs::permissions(dir, fs::perms::all);
	const int status = child([&] {
		if (geteuid() == 0 && setuid(65534) != 0)
			return 1;
		return publish("locked/out", "x") == GNN_ECREAT ? 0 : 2;
	});
	EXPECT_EQ(status, 0);
	ASSERT_EQ(gnn_fault_parse("open:erofs@1"), GNN_OK);
	EXPECT_EQ(publish("out", "x"), GNN_ECREAT);
	EXPECT_TRUE(says("Read-only file system"));
}

TEST_F(FileTest, ALinkIsFollowedAndStays)
{
	fs::create_directory(at("far"));
	put("far/real", "old");
	fs::create_symlink(at("far/real"), at("out"));
	ASSERT_EQ(publish("out", "new"), GNN_OK);
	EXPECT_TRUE(fs::is_symlink(at("out")));
	EXPECT_EQ(get("far/real"), "new");
}

TEST_F(FileTest, ASecondWriterIsToldWhoTheFirstIs)
{
	struct gnn_pub *p = nullptr, *second = nullptr;
	char host[256] = "";

	gethostname(host, sizeof(host) - 1);
	ASSERT_EQ(gnn_pub_begin(&p, at("out").c_str()), GNN_OK);
	EXPECT_EQ(child([&] { return publish("out", "x") == GNN_ECREAT ? 0 : 1; }), 0);
	EXPECT_EQ(gnn_pub_begin(&second, at("out").c_str()), GNN_ECREAT);
	EXPECT_TRUE(says("is being written by process " + std::to_string(getpid()) + " on " +
		std::string(host).substr(0, 62)));
	ASSERT_EQ(gnn_pub_write(p, "first", 5), GNN_OK);
	ASSERT_EQ(gnn_pub_commit(&p), GNN_OK);
	EXPECT_EQ(p, nullptr);
	EXPECT_EQ(get("out"), "first");
	EXPECT_EQ(publish("out", "then"), GNN_OK);
	EXPECT_EQ(names(), Names{"out"});
}

TEST_F(FileTest, ManyWritersAtOnceGiveOneWholeFile)
{
	const std::string text(100000, 'w');
	std::vector<pid_t> pids;
	int published = 0;

	for (int i = 0; i < 8; i++) {
		const pid_t pid = fork();
		if (pid == 0) {
			int done = 0;
			for (int k = 0; k < 30; k++)
				done += publish("out", text) == GNN_OK;
			_exit(done);
		}
		pids.push_back(pid);
	}
	for (const pid_t pid : pids) {
		int status = 0;
		ASSERT_EQ(waitpid(pid, &status, 0), pid);
		ASSERT_TRUE(WIFEXITED(status));
		published += WEXITSTATUS(status);
	}
	EXPECT_GT(published, 0);
	EXPECT_EQ(get("out"), text);
	EXPECT_EQ(names(), Names{"out"});
}

// The first writer ends, and removes its lock file, after the second has opened it; then a third
// may have made its own.
TEST_F(FileTest, ALockOnARemovedFileIsNoLock)
{
	struct gnn_pub *p = nullptr;
	int left = 3;

	before_flock = [&] {
		if (left-- > 0)
			unlink(at("out.gnnrun-lock").c_str());
		if (left % 2 == 1)
			put("out.gnnrun-lock", "");
	};
	ASSERT_EQ(gnn_pub_begin(&p, at("out").c_str()), GNN_OK);
	EXPECT_TRUE(fs::exists(at("out.gnnrun-lock")));
	EXPECT_EQ(left, -1);
	gnn_pub_abort(p);
	left = 1001;
	EXPECT_EQ(gnn_pub_begin(&p, at("out").c_str()), GNN_ECREAT);
	EXPECT_TRUE(says("other processes keep writing it"));
}

// B27: file systems without locks. The record in the lock file decides there.
TEST_F(FileTest, WithoutLocksTheRecordOfTheOwnerDecides)
{
	char host[64] = "";

	gethostname(host, sizeof(host) - 1);
	for (const int errnum : {ENOLCK, EOPNOTSUPP, ENOSYS}) {
		flock_errno = errnum;
		EXPECT_EQ(publish("out", "x"), GNN_OK);
		put("out.gnnrun-lock", std::to_string(getppid()) + " " + host + "\n");
		EXPECT_EQ(publish("out", "y"), GNN_ECREAT);
		EXPECT_TRUE(says("by process " + std::to_string(getppid())));
		const pid_t dead = fork();
		if (dead == 0)
			_exit(0);
		waitpid(dead, nullptr, 0);
		put("out.gnnrun-lock", std::to_string(dead) + " elsewhere.example\n");
		EXPECT_EQ(publish("out", "y"), GNN_ECREAT);
		EXPECT_TRUE(says("on elsewhere.example"));
		put("out.gnnrun-lock", std::to_string(dead) + " " + host + "\n");
		EXPECT_EQ(publish("out", "z"), GNN_OK);
		put("out.gnnrun-lock", "torn");
		EXPECT_EQ(publish("out", "z"), GNN_OK);
		EXPECT_EQ(get("out"), "z");
		EXPECT_EQ(names(), Names{"out"});
	}
}

TEST_F(FileTest, KilledAtAnyPointTheFinalNameIsOldOrNewAndTheNextRunWorks)
{
	const struct {
		const char *spec;
		const char *left;
	} cases[] = {
		{"crash:pub.before_fsync@1", "old"},
		{"crash:pub.before_rename@1", "old"},
		{"crash:pub.after_rename@1", "new"},
	};
	for (const auto &c : cases) {
		put("out", "old");
		const int status = child([&] {
			gnn_fault_parse(c.spec);
			return publish("out", "new");
		});
		ASSERT_TRUE(WIFSIGNALED(status)) << c.spec;
		EXPECT_EQ(WTERMSIG(status), SIGKILL);
		EXPECT_EQ(get("out"), c.left) << c.spec;
		EXPECT_GT(names().size(), 1u);
		EXPECT_EQ(publish("out", "next"), GNN_OK);
		EXPECT_EQ(get("out"), "next");
		EXPECT_EQ(names(), Names{"out"});
	}
}

TEST_F(FileTest, ARunThatWritesUnderAKilledOnesNameHasItsOwnMode)
{
	put("out.gnnrun-tmp", "what a killed run left, which is longer");
	fs::permissions(at("out.gnnrun-tmp"), fs::perms::owner_read);
	const mode_t before = umask(022);
	ASSERT_EQ(publish("out", "new"), GNN_OK);
	umask(before);
	EXPECT_EQ(get("out"), "new");
	EXPECT_EQ(fs::status(at("out")).permissions(), static_cast<fs::perms>(0644));
}

TEST_F(FileTest, EveryFailureLeavesTheOldOutputAndNothingElse)
{
	const struct {
		const char *spec;
		int status;
		const char *text;
	} cases[] = {
		{"reserve:enospc@1", GNN_EIO, "the disk is full: needs 3 bytes"},
		{"reserve:edquot@1", GNN_EIO, "quota"},
		{"write:enospc@1", GNN_EIO, "bytes (0.0 MiB) at offset 0, "}, // the lock's record
		{"write:enospc@2", GNN_EIO, "the disk is full: needs 3 bytes"},
		{"write:efbig@2", GNN_EIO, "ulimit -f"},
		{"write:eio@2", GNN_EIO, "cannot write 3 bytes at offset 0: Input/output error"},
		{"write:eagain%1", GNN_EIO, "Resource temporarily unavailable"},
		{"fsync:eio@1", GNN_EIO, "fsync: "},
		{"fsync:enospc@1", GNN_EIO, "fsync: "},
		{"close:eio@1", GNN_EIO, "closing 3 written bytes failed"},
		{"close:edquot@1", GNN_EIO, "closing 3 written bytes failed"},
		{"rename:eacces@1", GNN_ECREAT, "cannot be renamed"},
		{"rename:eio@1", GNN_EIO, "cannot be renamed"},
		{"open:eacces@1", GNN_ECREAT, "Permission denied"},
		{"open:eacces@2", GNN_ECREAT, "Permission denied"},
		{"open:enospc@2", GNN_EIO, "No space left"},
		{"open:emfile@1", GNN_EOS, "raise ulimit -n"},
	};
	put("out", "old");
	for (const auto &c : cases) {
		ASSERT_EQ(gnn_fault_parse(c.spec), GNN_OK);
		EXPECT_EQ(publish("out", "new"), c.status) << c.spec;
		EXPECT_TRUE(says(c.text));
		EXPECT_EQ(get("out"), "old") << c.spec;
		EXPECT_EQ(names(), Names{"out"}) << c.spec;
	}
}

TEST_F(FileTest, PassingFaultsOfWritingPass)
{
	const std::string text = "0123456789 and some more";

	for (const char *spec : {"write:short%1", "write:eintr@1-16", "write:eagain%2",
		     "close:eintr@1", "open:eintr%2", "reserve:eopnotsupp@1",
		     "reserve:enosys@1", "write:slow@2"}) {
		ASSERT_EQ(gnn_fault_parse(spec), GNN_OK);
		EXPECT_EQ(publish("out", text), GNN_OK) << spec << ": " << gnn_err_text();
		EXPECT_EQ(get("out"), text) << spec;
		EXPECT_EQ(names(), Names{"out"}) << spec;
	}
}

TEST_F(FileTest, AFolderThatCannotBeSyncedIsAnErrorButTheOutputIsWhole)
{
	ASSERT_EQ(gnn_fault_parse("fsync:eio@2"), GNN_OK);
	EXPECT_EQ(publish("out", "new"), GNN_EIO);
	EXPECT_TRUE(says("is complete, but its folder"));
	EXPECT_EQ(get("out"), "new");
	EXPECT_EQ(names(), Names{"out"});
}

TEST_F(FileTest, EveryAllocationMayFail)
{
	int n = 1;

	put("out", "old");
	for (;; n++) {
		ASSERT_EQ(gnn_fault_parse(("alloc:fail@" + std::to_string(n)).c_str()), GNN_OK);
		const int rc = publish("out", "new");
		if (rc == GNN_OK)
			break;
		EXPECT_EQ(rc, GNN_EOS);
		EXPECT_EQ(get("out"), "old");
		EXPECT_EQ(names(), Names{"out"});
	}
	EXPECT_GT(n, 3);
	EXPECT_EQ(get("out"), "new");
}

TEST_F(FileTest, TheLimitOfTheSystemOnFileSizesIsLikeAFullDisk)
{
	put("out", "old");
	const int status = child([&] {
		struct rlimit limit = {65536, 65536};
		signal(SIGXFSZ, SIG_IGN);
		if (setrlimit(RLIMIT_FSIZE, &limit) != 0)
			return 1;
		if (publish("out", std::string(1 << 20, 'x')) != GNN_EIO)
			return 2;
		return std::string(gnn_err_text()).find("needs 1048576 bytes") != std::string::npos
			? 0 : 3;
	});
	EXPECT_EQ(status, 0);
	EXPECT_EQ(get("out"), "old");
	EXPECT_EQ(names(), Names{"out"});
}

TEST_F(FileTest, WhatCannotFitOnTheDiskIsRefusedBeforeItIsWritten)
{
	struct gnn_pub *p = nullptr;

	for (const char *spec : {"", "reserve:eopnotsupp@1"}) {
		ASSERT_EQ(gnn_fault_parse(spec), GNN_OK);
		ASSERT_EQ(gnn_pub_begin(&p, at("out").c_str()), GNN_OK);
		EXPECT_EQ(gnn_pub_reserve(p, UINT64_C(1) << 43), GNN_EIO);
		EXPECT_TRUE(says("needs 8796093022208 bytes"));
		EXPECT_TRUE(says("are free"));
		gnn_pub_abort(p);
		EXPECT_EQ(names(), Names{});
	}
}

} // namespace
