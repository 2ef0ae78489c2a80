// The hash of every length, at once and in pieces, is the library's own.
#include "io/hash.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace {

constexpr uint64_t longest = 5000;

std::vector<unsigned char> some_bytes()
{
	std::mt19937 random(1);
	std::vector<unsigned char> bytes(longest + 64);

	for (unsigned char &b : bytes)
		b = static_cast<unsigned char>(random());
	return bytes;
}

TEST(Hash, EveryLengthAndPlace)
{
	const std::vector<unsigned char> bytes = some_bytes();

	for (uint64_t n = 0; n <= longest; n++)
		ASSERT_EQ(gnn_hash(&bytes[n % 64], n), XXH3_64bits(&bytes[n % 64], n)) << n;
}

TEST(Hash, PiecesOfEveryLength)
{
	const std::vector<unsigned char> bytes = some_bytes();
	const uint64_t whole = XXH3_64bits(bytes.data(), longest);

	for (uint64_t piece = 1; piece <= longest; piece = piece < 1100 ? piece + 1 : piece * 2) {
		XXH3_state_t state;

		XXH3_64bits_reset(&state);
		for (uint64_t at = 0; at < longest; at += piece)
			gnn_hash_update(&state, &bytes[at],
				gnn_min_u64(piece, longest - at));
		ASSERT_EQ(XXH3_64bits_digest(&state), whole) << piece;
	}
}

} // namespace
