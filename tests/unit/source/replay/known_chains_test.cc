// SPDX-License-Identifier: MIT
#include "source/replay/known_chains.h"

#include <linux/perf_event.h>

#include <gmock/gmock.h>

#include "source/chain_splitter.h"

namespace offcpu::source::replay {
namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using Words = std::vector<uint64_t>;

constexpr auto kKernel = static_cast<uint64_t>(PERF_CONTEXT_KERNEL);
constexpr auto kUser = static_cast<uint64_t>(PERF_CONTEXT_USER);

class KnownChainsTest : public ::testing::Test {
 protected:
  model::CallChain Find(const Words& words) {
    return chains_.Find(words, [&](std::span<const uint64_t> all) {
      ++splits_;
      return splitter_.Split(all, 127);
    });
  }
  int splits_ = 0;

 private:
  KnownChains chains_;
  ChainSplitter splitter_;
};

TEST_F(KnownChainsTest, TheSameChainIsSplitOnce) {
  const Words words{kKernel, 1, 2, kUser, 3};
  for (int i = 0; i < 3; ++i) {
    const auto chain = Find(words);
    EXPECT_TRUE(chain.present);
    EXPECT_THAT(chain.kernel, ElementsAre(1, 2));
    EXPECT_THAT(chain.user, ElementsAre(3));
  }
  EXPECT_EQ(splits_, 1);
}

TEST_F(KnownChainsTest, ChainsThatDifferInOneWordAreNotConfused) {
  const Words words{kKernel, 1, 2, 3, 4, 5, 6, 7, kUser, 8, 9, 10, 11, 12, 13, 14};
  for (int round = 0; round < 2; ++round) {
    for (size_t at = 1; at < words.size(); ++at) {
      if (words[at] == kUser) continue;
      Words changed = words;
      changed[at] += 100;
      const auto chain = Find(changed);
      EXPECT_THAT(chain.kernel, ElementsAreArray(changed.begin() + 1, changed.begin() + 8));
      EXPECT_THAT(chain.user, ElementsAreArray(changed.begin() + 9, changed.end()));
    }
  }
}

TEST_F(KnownChainsTest, EmptyAndHugeChainsAreSplitEachTime) {
  Words huge(5000, 7);
  huge[0] = kUser;
  for (int i = 0; i < 2; ++i) {
    EXPECT_TRUE(Find({}).present);
    EXPECT_EQ(Find(huge).user.size(), 4999U);
  }
  EXPECT_EQ(splits_, 4);
}

}  // namespace
}  // namespace offcpu::source::replay
