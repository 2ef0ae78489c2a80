// ROC AUC against counting all pairs; ties, one class, NaN.
#include "infer/score.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

namespace {

double area_by_pairs(const std::vector<float> &score, const std::vector<uint8_t> &label)
{
	double won = 0, pairs = 0;

	for (size_t i = 0; i < score.size(); i++)
		for (size_t j = 0; j < score.size(); j++)
			if (label[i] && !label[j]) {
				pairs++;
				won += score[i] > score[j] ? 1.0 : score[i] == score[j] ? 0.5 : 0.0;
			}
	return won / pairs;
}

TEST(Score, AreaEqualsTheShareOfOrderedPairs)
{
	std::mt19937 random(7);

	for (int round = 0; round < 20; round++) {
		std::vector<float> score(50 + static_cast<size_t>(round));
		std::vector<uint8_t> label(score.size());
		double auc = 0;

		for (size_t i = 0; i < score.size(); i++) {
			label[i] = random() % 3 == 0;
			score[i] = static_cast<float>(random() % 12) + (label[i] ? 2.0f : 0.0f);
		}
		label[0] = 1;
		label[1] = 0;
		ASSERT_EQ(gnn_score_auc(score.data(), label.data(), score.size(), &auc), GNN_OK);
		EXPECT_NEAR(auc, area_by_pairs(score, label), 1e-12);
	}
}

TEST(Score, NoAreaWithoutBothClassesOrWithNan)
{
	const float score[] = {1.0f, 2.0f}, broken[] = {1.0f, NAN};
	const uint8_t same[] = {1, 1}, both[] = {0, 1};
	double auc = 0;

	ASSERT_EQ(gnn_score_auc(score, same, 2, &auc), GNN_OK);
	EXPECT_TRUE(std::isnan(auc));
	ASSERT_EQ(gnn_score_auc(broken, both, 2, &auc), GNN_OK);
	EXPECT_TRUE(std::isnan(auc));
	ASSERT_EQ(gnn_score_auc(score, both, 2, &auc), GNN_OK);
	EXPECT_DOUBLE_EQ(auc, 1.0);
}

} // namespace
