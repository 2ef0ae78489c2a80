// What the tests of foreign files share: a folder, and files made byte by byte.
#ifndef GNN_TEST_IMPORT_FIXTURE_H
#define GNN_TEST_IMPORT_FIXTURE_H

#include "unit/folder_fixture.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace {

namespace fs = std::filesystem;

template <typename T> std::string bytes_of(const std::vector<T> &values)
{
	return std::string(
		reinterpret_cast<const char *>(values.data()), values.size() * sizeof(T));
}

template <typename T> std::string little(T value, size_t bytes = sizeof(T))
{
	std::string s;
	for (size_t i = 0; i < bytes; i++)
		s += static_cast<char>(static_cast<uint64_t>(value) >> 8 * i & 0xff);
	return s;
}

// A npy file of the given version around a header text.
std::string npy_text(const std::string &header, const std::string &data, int version = 1)
{
	return "\x93NUMPY" + std::string(1, static_cast<char>(version)) + std::string(1, '\0') +
		little(header.size(), version == 1 ? 2 : 4) + header + data;
}

std::string npy(const std::string &descr, const std::string &shape, const std::string &data,
	bool fortran = false)
{
	return npy_text("{'descr': '" + descr + "', 'fortran_order': " +
		(fortran ? "True" : "False") + ", 'shape': " + shape + ", }\n", data);
}

// Deflated, with the wrapping that the bits of the window ask for.
std::string packed(const std::string &data, int window_bits)
{
	std::string out(data.size() + data.size() / 100 + 64, '\0');
	z_stream z = {};
	EXPECT_EQ(deflateInit2(&z, 6, Z_DEFLATED, window_bits, 8, Z_DEFAULT_STRATEGY), Z_OK);
	z.next_in = reinterpret_cast<Bytef *>(const_cast<char *>(data.data()));
	z.avail_in = static_cast<uInt>(data.size());
	z.next_out = reinterpret_cast<Bytef *>(out.data());
	z.avail_out = static_cast<uInt>(out.size());
	EXPECT_EQ(deflate(&z, Z_FINISH), Z_STREAM_END);
	out.resize(z.total_out);
	deflateEnd(&z);
	return out;
}

std::string gzip(const std::string &data)
{
	return packed(data, MAX_WBITS + 16);
}

struct Member {
	std::string name, data;
	bool packed = false;
};

// A ZIP archive; with zip64 all sizes and offsets stand in the extra fields.
std::string zip(const std::vector<Member> &members, bool zip64 = false)
{
	const uint64_t ones = 0xffffffff;
	std::string out, directory;
	for (const Member &m : members) {
		std::string body = m.packed ? packed(m.data, -MAX_WBITS) : m.data;
		uint64_t crc = crc32(0, reinterpret_cast<const Bytef *>(m.data.data()),
			static_cast<uInt>(m.data.size()));
		uint64_t at = out.size();
		uint64_t packed = zip64 ? ones : body.size(), plain = zip64 ? ones : m.data.size();
		std::string extra =
			zip64 ? little(1, 2) + little(24, 2) + little<uint64_t>(m.data.size()) +
					little<uint64_t>(body.size()) + little<uint64_t>(at)
			      : "";
		std::string common = little(m.packed ? 8 : 0, 2) + little(0, 4) + little(crc, 4) +
			little(packed, 4) + little(plain, 4) + little(m.name.size(), 2);
		out += little(0x04034b50, 4) + little(45, 2) + little(0, 2) + common +
		       little(0, 2) + m.name + body;
		directory += little(0x02014b50, 4) + little(45, 2) + little(45, 2) + little(0, 2) +
			     common + little(extra.size(), 2) + little(0, 2) + little(0, 2) +
			     little(0, 2) + little(0, 4) + little(zip64 ? ones : at, 4) + m.name +
			     extra;
	}
	uint64_t at = out.size(), end64 = at + directory.size();
	out += directory;
	if (zip64)
		out += little(0x06064b50, 4) + little<uint64_t>(44) + little(45, 2) +
		       little(45, 2) + little(0, 4) + little(0, 4) +
		       little<uint64_t>(members.size()) + little<uint64_t>(members.size()) +
		       little<uint64_t>(directory.size()) + little<uint64_t>(at) +
		       little(0x07064b50, 4) + little(0, 4) + little<uint64_t>(end64) +
		       little(1, 4);
	return out + little(0x06054b50, 4) + little(0, 2) + little(0, 2) +
		little(members.size(), 2) + little(members.size(), 2) +
		little(directory.size(), 4) + little(zip64 ? ones : at, 4) + little(0, 2);
}

// Valid files with a few bytes changed, or cut short: the same ones in every run, for 2 seconds.
class Mutator {
	std::vector<std::string> seeds;
	uint64_t state = 12345;
	std::chrono::steady_clock::time_point end =
		std::chrono::steady_clock::now() + std::chrono::seconds(2);

	uint64_t draw(uint64_t below)
	{
		state = state * 6364136223846793005u + 1442695040888963407u;
		return (state >> 33) % below;
	}

public:
	explicit Mutator(std::vector<std::string> valid) : seeds(std::move(valid))
	{
	}
	bool more() const
	{
		return std::chrono::steady_clock::now() < end;
	}
	std::string next()
	{
		std::string s = seeds[draw(seeds.size())];
		for (uint64_t k = draw(4) + 1; k > 0; k--) {
			char &c = s[draw(s.size())];
			switch (draw(4)) {
			case 0:
				c = static_cast<char>(draw(256));
				break;
			case 1:
				c = static_cast<char>(c ^ 1 << draw(8));
				break;
			case 2:
				c = "0123456789,.-+#% \n\r\txe"[draw(23)];
				break;
			default:
				s.resize(draw(s.size()) + 1);
				break;
			}
		}
		return s;
	}
};

struct ImportFixture : ::testing::Test, Folder {
	void SetUp() override
	{
		enter();
	}
	void TearDown() override
	{
		leave();
	}
	std::string file(const std::string &name, const std::string &data) const
	{
		std::ofstream out(dir / name, std::ios::binary);
		out.write(data.data(), static_cast<std::streamsize>(data.size()));
		return (dir / name).string();
	}
};

} // namespace

#endif
