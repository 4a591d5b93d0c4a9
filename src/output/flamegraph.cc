// SPDX-License-Identifier: MIT
#include "output/flamegraph.h"

#include <fmt/format.h>

#include <iterator>
#include <set>

#include "output/flame_colors.h"
#include "output/flame_layout.h"
#include "output/flame_script.h"
#include "output/terminal.h"
#include "output/xml_text.h"

namespace offcpu::output {
namespace {

constexpr int kPitch = 16;  // px from level to level
constexpr int kBoxHeight = 15;
constexpr int kFramesTop = 116;
constexpr int kNotesTop = 8;  // below the frames
constexpr int kLine = 17;

constexpr std::string_view kKindNames[kFlameKindCount] = {"kernel", "user",   "user, inlined",
                                                          "JIT",    "marker", "label"};

template <class... Args>
void Put(std::string* out, fmt::format_string<Args...> format, Args&&... args) {
  fmt::format_to(std::back_inserter(*out), format, std::forward<Args>(args)...);
}

void PutText(std::string* out, std::string_view bytes) { AppendXml(out, VisibleText(bytes)); }

// At most two digits after the point, none for nothing.
std::string Px(double value) {
  std::string text = fmt::format("{:.2f}", value);
  text.resize(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text;
}

// "1.23 s (1234567890 ns)"
std::string Time(Nanos ns) { return fmt::format("{} ({} ns)", FormatDuration(ns), ns); }

class Svg {
 public:
  Svg(const FlameTree& tree, const FlamegraphOptions& options)
      : tree_(tree), options_(options), total_(static_cast<double>(tree.root().total_ns)) {
    px_ = total_ > 0 ? (kFlameWidth - 2 * kFlameMargin) / total_ : 0;
    if (total_ > 0) layout_ = LayOut(tree, options.min_width_px / px_);
    frames_height_ = static_cast<int>(layout_.levels == 0 ? 2 : layout_.levels) * kPitch;
    size_t reasons = 0;
    for (const Nanos ns : tree.root().reason_ns) reasons += ns > 0 ? 1 : 0;
    several_reasons_ = reasons > 1;
  }

  std::string Render() {
    const std::vector<std::string> notes = Notes();
    const int height = kFramesTop + frames_height_ + kNotesTop +
                       kLine * static_cast<int>(notes.size()) + kFlameMargin;
    Put(&out_,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"offcpu\" width=\"{0}\" "
        "height=\"{1}\" viewBox=\"0 0 {0} {1}\">\n<style>{2}{3}</style>\n"
        "<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n",
        kFlameWidth, height, FlameStyle(), ColorRules(options_.colors));
    PutHead();
    PutFrames();
    PutNotes(notes);
    PutScript();
    out_ += "</svg>\n";
    return std::move(out_);
  }

 private:
  void PutLine(double x, int y, std::string_view name, std::string_view text) {
    Put(&out_, "<text x=\"{}\" y=\"{}\" class=\"{}\">", Px(x), y, name);
    PutText(&out_, text);
    out_ += "</text>\n";
  }

  void PutHead() {
    out_ += "<g class=\"head\">\n";
    PutLine(kFlameMargin, 26, "title", options_.title);
    PutLine(kFlameMargin, 46, "subtitle", options_.subtitle);
    PutLine(kFlameMargin, 64, "measure",
            fmt::format("Width is {}; in all {}, {}", options_.measure, Time(tree_.root().total_ns),
                        Counted(tree_.root().intervals, options_.count_name)));
    PutLegend();
    PutLine(kFlameMargin, kFramesTop - 8, "details", "");
    PutLine(kFlameWidth - kFlameMargin, 87, "matched", "");
    out_ += "</g>\n";
  }

  // The colours that occur; the root's says nothing of its own.
  void PutLegend() {
    std::set<char> used;
    for (const FlameBox& box : layout_.boxes) {
      if (box.node != 0) used.insert(ColorOf(tree_.nodes()[box.node], options_.colors).letter);
    }
    double x = kFlameMargin;
    for (const FlameColor& color : Families(options_.colors)) {
      if (!used.contains(color.letter)) continue;
      Put(&out_, "<rect x=\"{}\" y=\"77\" width=\"12\" height=\"12\" class=\"{}0\"/>\n", Px(x),
          color.letter);
      PutLine(x + 17, 87, "legend", color.meaning);
      x += 17 + 6.3 * static_cast<double>(color.meaning.size()) + 16;
    }
  }

  void PutFrames() {
    out_ += "<g class=\"frames\">";
    for (const FlameBox& box : layout_.boxes) PutBox(box);
    out_ += "</g>\n";
    if (layout_.boxes.empty()) {
      PutLine(kFlameMargin, kFramesTop + 12, "empty", options_.empty_text);
    }
  }

  void PutBox(const FlameBox& box) {
    const FlameTree::Node& node = tree_.nodes()[box.node];
    const std::string name = VisibleText(node.frame.name);
    const double x = kFlameMargin + static_cast<double>(box.start_ns) * px_;
    const double width = static_cast<double>(node.total_ns) * px_;
    const auto row =
        static_cast<int>(options_.inverted ? node.level : layout_.levels - 1 - node.level);
    const int y = kFramesTop + row * kPitch;
    const std::string wide = Px(width > 2 ? width - 0.5 : width);
    out_ += "<g><title>";
    AppendXml(&out_, Tip(box, name));
    // A path is shorter than a rect.
    Put(&out_, "</title><path d=\"M{} {}h{}v{}h-{}z\" class=\"{}{}\"/>", Px(x), y, wide, kBoxHeight,
        wide, ColorOf(node, options_.colors).letter, ShadeOf(node.frame.name));
    PutLabel(name, x, y, width);
    out_ += "</g>\n";
  }

  // The colour says that a function is the kernel's; the mark for it stays in the tip.
  void PutLabel(std::string_view name, double x, int y, double width) {
    if (name.ends_with("_[k]")) name.remove_suffix(4);
    const std::string label =
        ClipToCells(name, width < 6 ? 0 : static_cast<size_t>((width - 6) / kFlameCell));
    if (label.empty()) return;
    Put(&out_, "<text x=\"{}\" y=\"{}\">", Px(x + 3), Px(y + 11.5));
    AppendXml(&out_, label);
    out_ += "</text>";
  }

  // What the mouse shows, in lines of valid text; `name` is the first.
  std::string Tip(const FlameBox& box, const std::string& name) const {
    const FlameTree::Node& node = tree_.nodes()[box.node];
    std::string tip = name + '\n';
    if (box.node != 0) {
      const std::string_view kind = kKindNames[static_cast<size_t>(node.frame.kind)];
      const std::string module = VisibleText(node.frame.module);
      Put(&tip, "{}{}{}\n", module, module.empty() ? "" : ", ", kind);
    }
    Put(&tip, "{}, {}, {}", Time(node.total_ns), FormatShare(node.total_ns, tree_.root().total_ns),
        Counted(node.intervals, options_.count_name));
    if (several_reasons_) tip += Reasons(node);
    if (box.hidden_frames > 0) {
      Put(&tip, "\nnot drawn above it: frames {}, {}", box.hidden_frames, Time(box.hidden_ns));
    }
    return tip;
  }

  static std::string Reasons(const FlameTree::Node& node) {
    std::string text;
    for (size_t i = 0; i < node.reason_ns.size(); ++i) {
      if (node.reason_ns[i] == 0) continue;
      Put(&text, "{}{} {}", text.empty() ? "\n" : ", ", model::kReasonNames[i],
          FormatShare(node.reason_ns[i], node.total_ns));
    }
    return text;
  }

  std::vector<std::string> Notes() const {
    std::vector<std::string> notes = options_.notes;
    if (layout_.hidden_frames > 0) {
      notes.push_back(
          fmt::format("Not drawn, each narrower than {} px: frames {}, {}, {} of all (the search "
                      "does not see them)",
                      options_.min_width_px, layout_.hidden_frames, Time(layout_.hidden_ns),
                      FormatShare(layout_.hidden_ns, tree_.root().total_ns)));
    }
    if (tree_.cut_ns() > 0) {
      notes.push_back(fmt::format("Frames above level {} are left out of stacks of {}",
                                  FlameTree::kMaxDepth, Time(tree_.cut_ns())));
    }
    return notes;
  }

  void PutNotes(const std::vector<std::string>& notes) {
    int y = kFramesTop + frames_height_ + kNotesTop;
    out_ += "<g class=\"notes\">\n";
    for (const std::string& note : notes) PutLine(kFlameMargin, y += kLine, "note", note);
    out_ += "</g>\n";
  }

  void PutScript() {
    out_ += "<script><![CDATA[(() => {\n'use strict';\nconst D=[";
    for (const FlameBox& box : layout_.boxes) {
      const FlameTree::Node& node = tree_.nodes()[box.node];
      const FlameBox& parent = layout_.boxes[box.parent];
      const Nanos parent_ns = box.node == 0 ? 0 : tree_.nodes()[parent.node].total_ns;
      Put(&out_, "{},{},{},", node.level, box.start_ns - parent.start_ns,
          node.total_ns == parent_ns ? 0 : node.total_ns);
    }
    Put(&out_, "];{}}})();\n]]></script>\n", FlameScript());
  }

  const FlameTree& tree_;
  const FlamegraphOptions& options_;
  double total_;
  double px_ = 0;  // a nanosecond
  FlameLayout layout_;
  int frames_height_ = 0;
  bool several_reasons_ = false;
  std::string out_;
};

}  // namespace

std::string RenderFlamegraphSvg(const FlameTree& tree, const FlamegraphOptions& options) {
  return "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n" + Svg(tree, options).Render();
}

std::string RenderFlamegraphHtml(const FlameTree& tree, const FlamegraphOptions& options) {
  std::string page =
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
      "style-src 'unsafe-inline'; script-src 'unsafe-inline'\">\n<title>";
  PutText(&page, options.title);
  page +=
      "</title>\n<style>body{margin:0;background:#fff}svg{display:block}</style>\n</head>\n"
      "<body>\n";
  page += Svg(tree, options).Render();
  page += "</body>\n</html>\n";
  return page;
}

}  // namespace offcpu::output
