// SPDX-License-Identifier: MIT
#include "output/flamegraph.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "output/flame_colors.h"
#include "tests/support/xml_checker.h"

namespace offcpu::output {
namespace {

using model::Reason;

constexpr Nanos kMs = 1'000'000;

FlameTree::Weights Weigh(Nanos ns, Reason reason = Reason::kBlocked) {
  FlameTree::Weights weights{};
  weights[static_cast<size_t>(reason)] = ns;
  return weights;
}

// "a;b;c" as user frames. `names` must outlive the tree.
std::vector<FlameFrame> Stack(std::string_view names, FlameKind kind = FlameKind::kUser) {
  std::vector<FlameFrame> frames;
  while (!names.empty()) {
    const size_t end = std::min(names.find(';'), names.size());
    frames.push_back({.name = names.substr(0, end), .module = "libx.so", .kind = kind});
    names.remove_prefix(std::min(end + 1, names.size()));
  }
  return frames;
}

FlamegraphOptions Options() {
  FlamegraphOptions options;
  options.title = "Off-CPU time of pid 4711";
  options.subtitle = "10.0 s recorded";
  options.measure = "time off the CPU";
  options.count_name = "intervals";
  options.empty_text = "Nothing to draw: the recording holds no interval.";
  return options;
}

// A frame as the picture has it.
struct Drawn {
  std::string tip;
  double x = 0, y = 0, width = 0;
  std::string color;
  std::string label;
};

std::string Between(const std::string& text, const std::string& before, const std::string& after) {
  const size_t begin = text.find(before);
  if (begin == std::string::npos) return {};
  const size_t from = begin + before.size();
  return text.substr(from, text.find(after, from) - from);
}

std::map<std::string, Drawn> Frames(const std::string& svg) {
  std::map<std::string, Drawn> frames;
  std::string rest = Between(svg, "<g class=\"frames\">", "<g class=\"notes\">");
  for (size_t at = rest.find("<g>"); at != std::string::npos; at = rest.find("<g>", at + 1)) {
    const std::string box = rest.substr(at, rest.find("</g>", at) - at);
    Drawn drawn;
    drawn.tip = Between(box, "<title>", "</title>");
    const std::string path = Between(box, "<path d=\"M", "z\"");
    drawn.x = std::atof(path.c_str());
    drawn.y = std::atof(Between(path, " ", "h").c_str());
    drawn.width = std::atof(Between(path, "h", "v").c_str());
    drawn.color = Between(box, " class=\"", "\"");
    if (const size_t text = box.find("<text"); text != std::string::npos) {
      drawn.label = Between(box.substr(text), ">", "<");
    }
    frames[drawn.tip.substr(0, drawn.tip.find('\n'))] = drawn;
  }
  return frames;
}

TEST(FlamegraphTest, WaitsInNestedFunctionsSitUnderTheirOwnCallers) {
  FlameTree tree;
  tree.Add(Stack("main;nanosleep"), Weigh(1'000 * kMs), 1);
  tree.Add(Stack("main;a;nanosleep2"), Weigh(2'000 * kMs), 1);
  tree.Add(Stack("main;a;b;nanosleep3"), Weigh(3'000 * kMs), 1);
  const auto frames = Frames(RenderFlamegraphSvg(tree, Options()));
  EXPECT_NE(frames.at("main").tip.find("(6000000000 ns), 100.0 %, 3 intervals"), std::string::npos);
  EXPECT_NE(frames.at("a").tip.find("(5000000000 ns)"), std::string::npos);
  EXPECT_NE(frames.at("b").tip.find("(3000000000 ns)"), std::string::npos);
  EXPECT_NEAR(frames.at("b").width / frames.at("main").width, 0.5, 0.001);
}

TEST(FlamegraphTest, WidthIsTimeAndNotTheNumberOfIntervals) {
  FlameTree tree;
  tree.Add(Stack("often"), Weigh(237 * kMs / 5), 237);
  tree.Add(Stack("long"), Weigh(9'600 * kMs), 1);
  const auto frames = Frames(RenderFlamegraphSvg(tree, Options()));
  EXPECT_GT(frames.at("long").width, 100 * frames.at("often").width);
  EXPECT_NE(frames.at("often").tip.find("237 intervals"), std::string::npos);
  EXPECT_NE(frames.at("long").tip.find(", 1 interval"), std::string::npos);
}

TEST(FlamegraphTest, HeadAndTipsTellTimeWithUnitAndInExactNanoseconds) {
  for (const Nanos ns : {Nanos{1}, 3'600 * kNanosPerSecond, (Nanos{1} << 53) + 1}) {
    FlameTree tree;
    tree.Add(Stack("f"), Weigh(ns), 1);
    const std::string svg = RenderFlamegraphSvg(tree, Options());
    const std::string exact = fmt::format("({} ns)", ns);
    EXPECT_NE(Between(svg, "<g class=\"head\">", "<g class=\"frames\">").find(exact),
              std::string::npos);
    EXPECT_NE(Frames(svg).at("f").tip.find(exact), std::string::npos);
    EXPECT_NE(svg.find("Width is time off the CPU; in all "), std::string::npos);
  }
}

TEST(FlamegraphTest, SiblingsStandInTheOrderOfTheirNamesWhateverCameFirst) {
  FlameTree one;
  FlameTree other;
  const std::vector<std::string> stacks{"m;b", "m;a", "m;c;d", "k"};
  for (const std::string& stack : stacks) one.Add(Stack(stack), Weigh(kMs), 1);
  for (size_t i = stacks.size(); i-- > 0;) other.Add(Stack(stacks[i]), Weigh(kMs), 1);
  const std::string svg = RenderFlamegraphSvg(one, Options());
  EXPECT_EQ(svg, RenderFlamegraphSvg(other, Options()));
  const auto frames = Frames(svg);
  EXPECT_LT(frames.at("k").x, frames.at("m").x);
  EXPECT_LT(frames.at("a").x, frames.at("b").x);
  EXPECT_LT(frames.at("b").x, frames.at("c").x);
  EXPECT_EQ(frames.at("c").x, frames.at("d").x);
}

TEST(FlamegraphTest, TheRootIsAtTheBottomAndOnTopWhenInverted) {
  FlameTree tree;
  tree.Add(Stack("root;leaf"), Weigh(kMs), 1);
  FlamegraphOptions options = Options();
  const auto flame = Frames(RenderFlamegraphSvg(tree, options));
  options.inverted = true;
  const auto icicle = Frames(RenderFlamegraphSvg(tree, options));
  EXPECT_GT(flame.at("all").y, flame.at("root").y);
  EXPECT_GT(flame.at("root").y, flame.at("leaf").y);
  EXPECT_LT(icicle.at("all").y, icicle.at("root").y);
  EXPECT_LT(icicle.at("root").y, icicle.at("leaf").y);
}

TEST(FlamegraphTest, AnyBytesInNamesGiveWellFormedXml) {
  std::vector<std::string> names{std::string("nul\0nul", 7),
                                 "esc\x1b[31m",
                                 "<&\">'",
                                 "]]>",
                                 "\xff\xfe",
                                 "\xed\xa0\x80",
                                 "\xef\xbf\xbe\xef\xbf\xbf",
                                 "</script><script>alert(1)</script>",
                                 "\"onload=\"alert(1)",
                                 "</title></g></svg><b>",
                                 "<!-- --",
                                 "&nbsp;",
                                 "${D}`",
                                 "HDMI polling ta",
                                 "   ",
                                 "rs:main Q:Reg",
                                 "[ET_NET 0]",
                                 ""};
  const std::vector<std::string> titles = names;
  for (int byte = 0; byte < 256; ++byte) names.emplace_back(5, static_cast<char>(byte));
  FlameTree tree;
  for (const std::string& name : names) {
    const FlameFrame frame{.name = name, .module = name, .kind = FlameKind::kUser};
    tree.Add({&frame, 1}, Weigh(kMs), 1);
  }
  for (const std::string& name : titles) {
    FlamegraphOptions options = Options();
    options.title = options.subtitle = name;
    options.notes = {name};
    const std::string svg = RenderFlamegraphSvg(tree, options);
    ASSERT_EQ(testing::XmlFault(svg), "") << name;
    const std::string page = RenderFlamegraphHtml(tree, options);
    const size_t picture = page.find("<svg");
    ASSERT_EQ(testing::XmlFault(page.substr(picture, page.find("</svg>") + 6 - picture)), "")
        << name;
  }
}

TEST(FlamegraphTest, NamesCantLeaveTheirPlaceInThePage) {
  const std::string name = "</script><script>alert(1)</script><img src=x onerror=alert(2)>";
  FlameTree tree;
  const FlameFrame frame{.name = name, .module = name, .kind = FlameKind::kUser};
  tree.Add({&frame, 1}, Weigh(kMs), 1);
  FlamegraphOptions options = Options();
  options.title = name;
  const std::string page = RenderFlamegraphHtml(tree, options);
  EXPECT_EQ(page.find("<script>alert"), std::string::npos);
  EXPECT_EQ(page.find("<img"), std::string::npos);
  size_t scripts = 0;
  for (size_t at = page.find("<script"); at != std::string::npos;
       at = page.find("<script", at + 1)) {
    ++scripts;
  }
  EXPECT_EQ(scripts, 1U);
  EXPECT_NE(page.find("&lt;/script&gt;&lt;script&gt;alert(1)"), std::string::npos);
}

TEST(FlamegraphTest, NothingIsFetchedFromElsewhere) {
  FlameTree tree;
  tree.Add(Stack("main"), Weigh(kMs), 1);
  std::string page = RenderFlamegraphHtml(tree, Options());
  for (const std::string space : {"http://www.w3.org/2000/svg", "http://www.w3.org/1999/xhtml"}) {
    const size_t at = page.find(space);
    ASSERT_NE(at, std::string::npos);
    page.erase(at, space.size());
  }
  for (const char* word : {"http:", "https:", "url(", "@import", "src=", "href", "fetch("}) {
    EXPECT_EQ(page.find(word), std::string::npos) << word;
  }
}

TEST(FlamegraphTest, AnEmptyTreeIsAValidPictureThatSaysWhy) {
  const FlameTree tree;
  const std::string svg = RenderFlamegraphSvg(tree, Options());
  EXPECT_EQ(testing::XmlFault(svg), "");
  EXPECT_NE(svg.find(">Nothing to draw: the recording holds no interval.<"), std::string::npos);
  EXPECT_TRUE(Frames(svg).empty());
}

TEST(FlamegraphTest, FramesWithoutChildrenKeepTheirOwnTime) {
  FlameTree tree;
  tree.Add(Stack("main"), Weigh(3 * kMs), 3);
  tree.Add(Stack("main;leaf"), Weigh(kMs), 1);
  const auto frames = Frames(RenderFlamegraphSvg(tree, Options()));
  EXPECT_NEAR(frames.at("leaf").width * 4, frames.at("main").width, 2);
  EXPECT_EQ(frames.at("leaf").x, frames.at("main").x);
}

TEST(FlamegraphTest, NarrowFramesAreLeftOutAndThePictureSaysHowMuchThatHides) {
  FlameTree tree;
  tree.Add(Stack("wide;rest"), Weigh(100'000), 1);
  tree.Add(Stack("wide;thin;leaf"), Weigh(3), 1);
  tree.Add(Stack("wide;thin2"), Weigh(4), 1);
  FlamegraphOptions options = Options();
  const std::string svg = RenderFlamegraphSvg(tree, options);
  const auto frames = Frames(svg);
  EXPECT_FALSE(frames.contains("thin"));
  EXPECT_FALSE(frames.contains("leaf"));
  EXPECT_NE(frames.at("wide").tip.find("not drawn above it: frames 3, 7 ns (7 ns)"),
            std::string::npos)
      << frames.at("wide").tip;
  EXPECT_NE(svg.find("Not drawn, each narrower than 0.1 px: frames 3, 7 ns (7 ns), &lt;0.1 %"),
            std::string::npos);
  options.min_width_px = 0;
  const std::string all = RenderFlamegraphSvg(tree, options);
  EXPECT_TRUE(Frames(all).contains("leaf"));
  EXPECT_EQ(all.find("Not drawn"), std::string::npos);
}

TEST(FlamegraphTest, DeepStacksMakeATallPicture) {
  std::vector<std::string> names;
  for (int i = 0; i < 2'000; ++i) names.push_back(fmt::format("level{}", i));
  std::vector<FlameFrame> stack;
  for (const std::string& name : names)
    stack.push_back({.name = name, .module = {}, .kind = FlameKind::kUser});
  FlameTree tree;
  tree.Add(stack, Weigh(kMs), 1);
  const std::string svg = RenderFlamegraphSvg(tree, Options());
  const auto frames = Frames(svg);
  EXPECT_EQ(frames.size(), 2'001U);
  EXPECT_EQ(frames.at("level0").y - frames.at("level1999").y, 1'999 * 16);
  EXPECT_GT(std::atof(Between(svg, "height=\"", "\"").c_str()), frames.at("all").y);
}

TEST(FlamegraphTest, StacksDeeperThanTheLimitKeepTheirTimeAndAreReported) {
  std::vector<FlameFrame> stack(FlameTree::kMaxDepth + 5,
                                {.name = "f", .module = {}, .kind = FlameKind::kUser});
  FlameTree tree;
  tree.Add(stack, Weigh(kMs), 1);
  EXPECT_EQ(tree.nodes().size(), FlameTree::kMaxDepth + 1);
  EXPECT_EQ(tree.root().total_ns, kMs);
  EXPECT_NE(RenderFlamegraphSvg(tree, Options()).find("Frames above level 4096 are left out"),
            std::string::npos);
}

TEST(FlamegraphTest, SumsThatWouldOverflowEndAtTheirLimit) {
  FlameTree tree;
  for (int i = 0; i < 3; ++i) tree.Add(Stack("f;g"), Weigh(~Nanos{0} - 5), 1);
  EXPECT_EQ(tree.root().total_ns, FlameTree::kMaxTotal);
  EXPECT_EQ(testing::XmlFault(RenderFlamegraphSvg(tree, Options())), "");
}

TEST(FlamegraphTest, KindsHaveColorsOfTheirOwnAndALegend) {
  FlameTree tree;
  std::vector<FlameFrame> stack = Stack("main");
  stack.push_back({.name = "inl", .module = "a", .kind = FlameKind::kInlined});
  stack.push_back({.name = "read_[k]", .module = "[kernel]", .kind = FlameKind::kKernel});
  tree.Add(stack, Weigh(kMs), 1);
  const std::string svg = RenderFlamegraphSvg(tree, Options());
  const auto frames = Frames(svg);
  EXPECT_EQ(frames.at("main").color[0], 'u');
  EXPECT_EQ(frames.at("inl").color[0], 'i');
  EXPECT_EQ(frames.at("read_[k]").color[0], 'k');
  EXPECT_EQ(frames.at("read_[k]").label, "read");  // the colour says the rest
  EXPECT_NE(frames.at("read_[k]").tip.find("\n[kernel], kernel\n"), std::string::npos);
  for (const char* meaning : {">kernel<", ">user<", ">user, inlined<"}) {
    EXPECT_NE(svg.find(meaning), std::string::npos) << meaning;
  }
  EXPECT_EQ(svg.find(">JIT<"), std::string::npos);
}

TEST(FlamegraphTest, ReasonColorsFollowNineTenthsOfTheTime) {
  FlameTree tree;
  tree.Add(Stack("mostly"), Weigh(90 * kMs, Reason::kBlocked), 1);
  tree.Add(Stack("mostly"), Weigh(10 * kMs, Reason::kRunnable), 1);
  tree.Add(Stack("both"), Weigh(89 * kMs, Reason::kPreempted), 1);
  tree.Add(Stack("both"), Weigh(11 * kMs, Reason::kRunnable), 1);
  tree.Add(Stack("runs"), Weigh(100 * kMs, Reason::kRunnable), 1);
  FlamegraphOptions options = Options();
  options.colors = FlameColors::kReason;
  const auto frames = Frames(RenderFlamegraphSvg(tree, options));
  EXPECT_EQ(frames.at("mostly").color[0], 'b');
  EXPECT_EQ(frames.at("both").color[0], 'x');
  EXPECT_EQ(frames.at("runs").color[0], 'r');
  EXPECT_NE(frames.at("both").tip.find("\nrunnable 11.0 %, preempted 89.0 %"), std::string::npos);
}

TEST(FlamegraphTest, AllShadesOfAllKindsAreDistinct) {
  for (const FlameColors colors : {FlameColors::kKind, FlameColors::kReason}) {
    std::map<std::string, std::string> seen;
    for (const FlameColor& color : Families(colors)) {
      for (size_t shade = 0; shade < kFlameShades; ++shade) {
        const std::string name = fmt::format("{}{}", color.letter, shade);
        EXPECT_TRUE(seen.emplace(ShadeRgb(color, shade), name).second)
            << name << " and " << seen[ShadeRgb(color, shade)];
      }
    }
  }
}

TEST(FlamegraphTest, LabelsFitTheirFrames) {
  const std::string name(300, 'n');
  FlameTree tree;
  tree.Add(Stack(name), Weigh(kMs), 1);
  tree.Add(Stack("z"), Weigh(9 * kMs), 1);
  const Drawn drawn = Frames(RenderFlamegraphSvg(tree, Options())).at(name);
  EXPECT_TRUE(drawn.label.ends_with("n..")) << drawn.label;
  EXPECT_LE(static_cast<double>(drawn.label.size()) * 7.22, drawn.width);
}

TEST(FlamegraphTest, TwentyThousandFramesStayUnderFourMegabytes) {
  std::vector<std::string> stacks;
  for (int i = 0; i < 4'000; ++i) {
    stacks.push_back(
        fmt::format("start_thread;worker_main_{0};std::_Function_handler_{0};wait_{0};"
                    "futex_abstimed_wait_{0}",
                    i));
  }
  FlameTree tree;
  for (size_t i = 0; i < stacks.size(); ++i) tree.Add(Stack(stacks[i]), Weigh(kMs + i), 1 + i % 7);
  const std::string svg = RenderFlamegraphSvg(tree, Options());
  EXPECT_EQ(Frames(svg).size(), 16'002U);
  EXPECT_LT(svg.size(), 4'000'000U);
}

}  // namespace
}  // namespace offcpu::output
