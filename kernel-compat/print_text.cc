// SPDX-License-Identifier: MIT
#include "kernel-compat/print_text.h"

#include <algorithm>
#include <bit>
#include <string>
#include <utility>

#include "base/parse.h"

namespace offcpu::kernel_compat {
namespace {

constexpr int kMaxDepth = 64;  // of nested expressions; the kernel's own reach 10

struct Value {
  enum Kind { kOther, kNumber, kState, kText };
  Kind kind = kOther;
  uint64_t bits = 0;      // kNumber: its value; kState: the mask that was laid on prev_state
  std::string_view text;  // kText
};

struct Operator {
  std::string_view spelling;
  int precedence;  // the higher binds the tighter
};
// Longer spellings first.
constexpr Operator kOperators[] = {{"<<", 4}, {">>", 4}, {"|", 1}, {"^", 2},
                                   {"&", 3},  {"+", 5},  {"-", 5}, {"*", 6}};

bool IsNameChar(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

bool Compute(std::string_view op, uint64_t left, uint64_t right, uint64_t* result) {
  if (op == "<<" || op == ">>") {
    if (right >= 64) return false;
    *result = op == "<<" ? left << right : left >> right;
    return true;
  }
  switch (op.front()) {
    case '|': *result = left | right; return true;
    case '^': *result = left ^ right; return true;
    case '&': *result = left & right; return true;
    case '+': *result = left + right; return true;
    case '-': *result = left - right; return true;
    default: *result = left * right; return true;
  }
}

// Recursive descent over the text. Every Parse* answers false at the first thing it doesn't know.
class Parser {
 public:
  explicit Parser(std::string_view text) : rest_(text) {}

  bool ParseAll() {
    std::string_view format;
    if (!ParseString(&format)) return false;
    size_t arguments = 0;
    while (Accept(",")) {
      Value value;
      // A bare prev_state is no known text, but may be half of one.
      if (!ParseTernary(&value) || value.kind == Value::kState) return false;
      ++arguments;
    }
    SkipBlanks();
    return rest_.empty() && arguments == Conversions(format);
  }

  StateText found;

 private:
  class Nesting {
   public:
    explicit Nesting(int* depth) : depth_(depth) { ++*depth_; }
    ~Nesting() { --*depth_; }
    Nesting(const Nesting&) = delete;
    Nesting& operator=(const Nesting&) = delete;

   private:
    int* depth_;
  };

  static size_t Conversions(std::string_view format) {
    size_t count = 0;
    for (size_t i = 0; i < format.size(); ++i) {
      if (format[i] != '%') continue;
      if (i + 1 < format.size() && format[i + 1] == '%') {
        ++i;
      } else {
        ++count;
      }
    }
    return count;
  }

  void SkipBlanks() {
    rest_.remove_prefix(std::min(rest_.find_first_not_of(" \t\r\n"), rest_.size()));
  }

  bool Accept(std::string_view token) {
    SkipBlanks();
    if (rest_.substr(0, token.size()) != token) return false;
    rest_.remove_prefix(token.size());
    return true;
  }

  std::string_view TakeWord() {
    SkipBlanks();
    const auto end = std::find_if_not(rest_.begin(), rest_.end(), IsNameChar);
    const std::string_view word = rest_.substr(0, static_cast<size_t>(end - rest_.begin()));
    rest_.remove_prefix(word.size());
    return word;
  }

  bool ParseString(std::string_view* text) {
    if (!Accept("\"")) return false;
    size_t end = 0;
    while (end < rest_.size() && rest_[end] != '"') end += rest_[end] == '\\' ? 2 : 1;
    if (end >= rest_.size()) return false;
    *text = rest_.substr(0, end);
    rest_.remove_prefix(end + 1);
    return true;
  }

  bool ParseNumber(std::string_view word, Value* value) {
    value->kind = Value::kNumber;
    while (!word.empty() && std::string_view("uUlL").find(word.back()) != std::string_view::npos) {
      word.remove_suffix(1);
    }
    const bool hex = word.substr(0, 2) == "0x" || word.substr(0, 2) == "0X";
    return offcpu::ParseNumber(hex ? word.substr(2) : word, &value->bits, hex ? 16 : 10);
  }

  // cond ? a : b
  bool ParseTernary(Value* value) {
    const Nesting nesting(&depth_);
    if (depth_ > kMaxDepth || !ParseBinary(1, value)) return false;
    if (!Accept("?")) return true;
    Value yes;
    Value no;
    if (!ParseTernary(&yes) || !Accept(":") || !ParseTernary(&no)) return false;
    if (yes.kind == Value::kText && yes.text == "+") {
      if (value->kind != Value::kState || value->bits == 0 || found.preempt_mark != 0) return false;
      found.preempt_mark = value->bits;
    }
    *value = Value{};
    return true;
  }

  const Operator* PeekOperator() {
    SkipBlanks();
    for (const Operator& each : kOperators) {
      if (rest_.substr(0, each.spelling.size()) == each.spelling) return &each;
    }
    return nullptr;
  }

  bool ParseBinary(int least, Value* left) {
    const Nesting nesting(&depth_);
    if (depth_ > kMaxDepth || !ParseUnary(left)) return false;
    for (const Operator* op = PeekOperator(); op != nullptr && op->precedence >= least;
         op = PeekOperator()) {
      rest_.remove_prefix(op->spelling.size());
      Value right;
      if (!ParseBinary(op->precedence + 1, &right) || !Combine(op->spelling, right, left)) {
        return false;
      }
    }
    return true;
  }

  static bool Combine(std::string_view op, const Value& right, Value* left) {
    if (left->kind == Value::kNumber && right.kind == Value::kNumber) {
      return Compute(op, left->bits, right.bits, &left->bits);
    }
    const bool masked = op == "&" && left->kind == Value::kState && right.kind == Value::kNumber;
    *left = masked ? Value{Value::kState, left->bits & right.bits, {}} : Value{};
    return true;
  }

  bool ParseUnary(Value* value) {
    SkipBlanks();
    if (rest_.empty()) return false;
    if (rest_.front() == '"') {
      value->kind = Value::kText;
      return ParseString(&value->text);
    }
    if (Accept("(")) return ParseTernary(value) && Accept(")");
    const std::string_view word = TakeWord();
    if (word.empty()) return false;
    if (word.front() >= '0' && word.front() <= '9') return ParseNumber(word, value);
    if (word == "__print_flags") return ParseFlags();
    if (word != "REC" || !Accept("->")) return false;
    const std::string_view field = TakeWord();
    if (field == "prev_state") *value = Value{Value::kState, ~uint64_t{0}, {}};
    return !field.empty();
  }

  // (value, "|", { bit, "letter" }, ...)
  bool ParseFlags() {
    Value flags;
    std::string_view delimiter;
    if (!Accept("(") || !ParseTernary(&flags) || !Accept(",") || !ParseString(&delimiter)) {
      return false;
    }
    while (Accept(",")) {
      Value bit;
      std::string_view name;
      if (!Accept("{") || !ParseTernary(&bit) || !Accept(",") || !ParseString(&name) ||
          !Accept("}") || bit.kind != Value::kNumber || name.size() != 1) {
        return false;
      }
      found.letters.push_back({bit.bits, name.front()});
    }
    return Accept(")") && flags.kind == Value::kState;
  }

  std::string_view rest_;
  int depth_ = 0;
};

// One bit each, none twice, the mark above them all.
bool IsSound(StateText* text) {
  auto& letters = text->letters;
  std::sort(letters.begin(), letters.end(),
            [](const auto& left, const auto& right) { return left.bit < right.bit; });
  uint64_t seen = 0;
  for (const auto& letter : letters) {
    if (!std::has_single_bit(letter.bit) || (seen & letter.bit) != 0) return false;
    seen |= letter.bit;
  }
  const uint64_t mark = text->preempt_mark;
  return seen != 0 && (mark == 0 || (std::has_single_bit(mark) && mark > seen));
}

}  // namespace

Result<StateText> ReadStateText(std::string_view text) {
  Parser parser(text);
  if (!parser.ParseAll() || !IsSound(&parser.found)) {
    return MakeError(
        ErrorCode::kUnsupported,
        "event sched_switch: its print text does not tell the task states in a known form");
  }
  return std::move(parser.found);
}

}  // namespace offcpu::kernel_compat
