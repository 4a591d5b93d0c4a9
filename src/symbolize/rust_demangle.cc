// SPDX-License-Identifier: MIT
#include "symbolize/rust_demangle.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>

#include "base/parse.h"

namespace offcpu::symbolize {
namespace {

constexpr size_t kMaxOutput = 16384;
constexpr int kMaxDepth = 200;
constexpr int kMaxSteps = 100'000;

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsLower(char c) { return c >= 'a' && c <= 'z'; }
bool IsUpper(char c) { return c >= 'A' && c <= 'Z'; }
bool IsHexDigit(char c) { return IsDigit(c) || (c >= 'a' && c <= 'f'); }

std::string_view BasicType(char tag) {
  constexpr std::array<std::string_view, 26> kNames{
      "i8",    "bool", "char", "f64", "str",  "f32",  "",    "u8", "isize",
      "usize", "",     "i32",  "u32", "i128", "u128", "_",   "",   "",
      "i16",   "u16",  "()",   "...", "",     "i64",  "u64", "!"};
  return IsLower(tag) ? kNames[static_cast<size_t>(tag - 'a')] : std::string_view();
}

void AppendNumber(std::string* out, uint64_t value, int base) {
  std::array<char, 24> text;
  out->append(text.data(), std::to_chars(text.data(), text.data() + text.size(), value, base).ptr);
}

// One pass over a name, one method per rule of the grammar, printing as it goes. The first damage
// makes failed_ true for good, and every loop and recursion ends on that.
class V0Demangler {
 public:
  explicit V0Demangler(std::string_view text) : text_(text) {}

  std::optional<std::string> Run() {
    while (IsDigit(Peek())) ++position_;  // the version of the encoding
    Path(true);
    if (!failed_ && IsUpper(Peek())) {  // the crate that instantiated it
      printing_ = false;
      Path(false);
    }
    if (failed_) return std::nullopt;
    const std::string_view rest = text_.substr(position_);
    if (!rest.empty() && rest[0] != '.' && rest[0] != '$') return std::nullopt;
    return out_.append(rest);
  }

 private:
  struct Identifier {
    std::string_view name;
    bool punycode = false;
  };

  // Guards a recursive rule.
  class Level {
   public:
    explicit Level(V0Demangler* owner) : owner_(owner) {
      if (++owner_->depth_ > kMaxDepth || ++owner_->steps_ > kMaxSteps) owner_->failed_ = true;
    }
    Level(const Level&) = delete;
    Level& operator=(const Level&) = delete;
    ~Level() { --owner_->depth_; }

   private:
    V0Demangler* owner_;
  };

  char Peek() const { return !failed_ && position_ < text_.size() ? text_[position_] : '\0'; }
  char Next() {
    const char c = Peek();
    if (c == '\0') {
      failed_ = true;
    } else {
      ++position_;
    }
    return c;
  }
  bool Eat(char c) {
    if (Peek() != c) return false;
    ++position_;
    return true;
  }
  void Print(std::string_view text) {
    if (!printing_ || failed_) return;
    out_.append(text);
    if (out_.size() > kMaxOutput) failed_ = true;
  }
  void PrintNumber(uint64_t value, int base = 10) {
    std::string text;
    AppendNumber(&text, value, base);
    Print(text);
  }

  // `item` until "E", with `separator` between; returns how many.
  template <class Item>
  size_t List(std::string_view separator, Item item) {
    size_t count = 0;
    while (!failed_ && !Eat('E')) {
      if (count++ > 0) Print(separator);
      item();
    }
    return count;
  }

  uint64_t Base62() {
    uint64_t value = 0;
    if (Eat('_')) return 0;
    while (!failed_ && !Eat('_')) {
      const char c = Next();
      uint64_t digit = 0;
      if (IsDigit(c)) {
        digit = static_cast<uint64_t>(c - '0');
      } else if (IsLower(c)) {
        digit = 10 + static_cast<uint64_t>(c - 'a');
      } else if (IsUpper(c)) {
        digit = 36 + static_cast<uint64_t>(c - 'A');
      } else {
        failed_ = true;
      }
      if (__builtin_mul_overflow(value, 62, &value) ||
          __builtin_add_overflow(value, digit, &value)) {
        failed_ = true;
      }
    }
    if (__builtin_add_overflow(value, 1, &value)) failed_ = true;
    return value;
  }
  // 0 without the tag, else one more than the number after it.
  uint64_t OptionalBase62(char tag) {
    if (!Eat(tag)) return 0;
    const uint64_t value = Base62();
    if (value == UINT64_MAX) failed_ = true;
    return value + 1;
  }
  uint64_t Disambiguator() { return OptionalBase62('s'); }

  Identifier ReadIdentifier() {
    const bool punycode = Eat('u');
    size_t length = 0;
    if (!IsDigit(Peek())) failed_ = true;
    if (!Eat('0')) {
      while (IsDigit(Peek()) && length < text_.size()) {
        length = length * 10 + static_cast<size_t>(Next() - '0');
      }
    }
    (void)Eat('_');
    if (failed_ || length > text_.size() - position_) {
      failed_ = true;
      return {};
    }
    const std::string_view name = text_.substr(position_, length);
    position_ += length;
    return {name, punycode};
  }
  void PrintIdentifier(const Identifier& identifier) {
    if (!identifier.punycode) return Print(identifier.name);
    // As it is: the decoded form would add nothing a search could not find.
    Print("punycode{");
    Print(identifier.name);
    Print("}");
  }

  // Goes on at an earlier place, then comes back. Places only go down, so this ends.
  template <class Rule>
  void BackReference(Rule rule) {
    const size_t tag = position_ - 1;
    const uint64_t target = Base62();
    if (target >= tag) failed_ = true;
    if (failed_ || !printing_) return;
    const size_t back = position_;
    position_ = static_cast<size_t>(target);
    rule();
    position_ = back;
  }

  void Path(bool in_value) {
    const Level level(this);
    const char tag = Next();
    switch (tag) {
      case 'C': Disambiguator(); return PrintIdentifier(ReadIdentifier());
      case 'N': return NestedPath(in_value);
      case 'M':
      case 'X':
      case 'Y': return ImplPath(tag);
      case 'I':
        Path(in_value);
        Print(in_value ? "::<" : "<");
        List(", ", [this] { GenericArgument(); });
        return Print(">");
      case 'B': return BackReference([this, in_value] { Path(in_value); });
      default: failed_ = true;
    }
  }

  void NestedPath(bool in_value) {
    const char space = Next();
    Path(in_value);
    const uint64_t number = Disambiguator();
    const Identifier name = ReadIdentifier();
    if (IsUpper(space)) {
      Print("::{");
      Print(space == 'C' ? "closure" : space == 'S' ? "shim" : std::string_view(&space, 1));
      if (!name.name.empty()) Print(":");
      PrintIdentifier(name);
      Print("#");
      PrintNumber(number);
      return Print("}");
    }
    if (!IsLower(space)) failed_ = true;
    if (name.name.empty()) return;
    Print("::");
    PrintIdentifier(name);
  }

  void ImplPath(char tag) {
    if (tag != 'Y') {  // where the impl stands: not shown
      Disambiguator();
      const bool printing = printing_;
      printing_ = false;
      Path(false);
      printing_ = printing;
    }
    Print("<");
    Type();
    if (tag != 'M') {
      Print(" as ");
      Path(false);
    }
    Print(">");
  }

  void GenericArgument() {
    if (Eat('L')) return PrintLifetime(Base62());
    if (Eat('K')) return Const();
    Type();
  }

  void PrintLifetime(uint64_t index) {
    if (index == 0) return Print("'_");
    if (index > bound_lifetimes_) {
      failed_ = true;
      return;
    }
    const uint64_t depth = bound_lifetimes_ - index;
    Print("'");
    if (depth >= 26) {
      Print("_");
      return PrintNumber(depth);
    }
    const char letter = static_cast<char>('a' + depth);
    Print(std::string_view(&letter, 1));
  }

  template <class Rule>
  void InBinder(Rule rule) {
    constexpr uint64_t kMaxLifetimes = 64;
    const uint64_t count = OptionalBase62('G');
    if (count > kMaxLifetimes) failed_ = true;
    if (failed_) return;
    for (uint64_t i = 0; i < count; ++i) {
      Print(i == 0 ? "for<" : ", ");
      ++bound_lifetimes_;
      PrintLifetime(1);
    }
    if (count > 0) Print("> ");
    rule();
    bound_lifetimes_ -= count;
  }

  void Type() {
    const Level level(this);
    const char tag = Next();
    if (const std::string_view basic = BasicType(tag); !basic.empty()) return Print(basic);
    switch (tag) {
      case 'R':
      case 'Q': return Reference(tag == 'Q');
      case 'P':
      case 'O': Print(tag == 'P' ? "*const " : "*mut "); return Type();
      case 'A':
      case 'S':
        Print("[");
        Type();
        if (tag == 'A') {
          Print("; ");
          Const();
        }
        return Print("]");
      case 'T':
        Print("(");
        if (List(", ", [this] { Type(); }) == 1) Print(",");
        return Print(")");
      case 'F': return InBinder([this] { FunctionType(); });
      case 'D': return DynType();
      case 'B': return BackReference([this] { Type(); });
      default:
        if (failed_) return;
        --position_;
        Path(false);
    }
  }

  void Reference(bool is_mutable) {
    Print("&");
    if (Eat('L')) {
      if (const uint64_t lifetime = Base62(); lifetime != 0) {
        PrintLifetime(lifetime);
        Print(" ");
      }
    }
    if (is_mutable) Print("mut ");
    Type();
  }

  void FunctionType() {
    if (Eat('U')) Print("unsafe ");
    if (Eat('K')) {
      std::string abi = "C";
      if (!Eat('C')) abi = ReadIdentifier().name;
      std::replace(abi.begin(), abi.end(), '_', '-');
      Print("extern \"");
      Print(abi);
      Print("\" ");
    }
    Print("fn(");
    List(", ", [this] { Type(); });
    Print(")");
    if (Eat('u')) return;
    Print(" -> ");
    Type();
  }

  void DynType() {
    Print("dyn ");
    InBinder([this] { List(" + ", [this] { DynTrait(); }); });
    if (!Eat('L')) failed_ = true;
    if (const uint64_t lifetime = Base62(); lifetime != 0) {
      Print(" + ");
      PrintLifetime(lifetime);
    }
  }

  // A trait's generic arguments and its associated types stand in one pair of brackets.
  void DynTrait() {
    bool open = OpenPath();
    while (Eat('p')) {
      Print(open ? ", " : "<");
      open = true;
      PrintIdentifier(ReadIdentifier());
      Print(" = ");
      Type();
    }
    if (open) Print(">");
  }
  bool OpenPath() {
    const Level level(this);
    bool open = false;
    if (Eat('B')) {
      BackReference([this, &open] { open = OpenPath(); });
    } else if (Eat('I')) {
      Path(false);
      Print("<");
      List(", ", [this] { GenericArgument(); });
      open = true;
    } else {
      Path(false);
    }
    return open;
  }

  void Const() {
    const Level level(this);
    const char type = Next();
    switch (type) {
      case 'p': return Print("_");
      case 'B': return BackReference([this] { Const(); });
      case 'b':
      case 'c': return NamedConst(type);
      default:
        if (std::string_view("htmyojaslxni").find(type) == std::string_view::npos) failed_ = true;
        if (std::string_view("aslxni").find(type) != std::string_view::npos && Eat('n')) Print("-");
        return PrintInteger(HexDigits());
    }
  }

  std::string_view HexDigits() {
    const size_t start = position_;
    while (IsHexDigit(Peek())) ++position_;
    const std::string_view digits = text_.substr(start, position_ - start);
    if (!Eat('_')) failed_ = true;
    return digits.substr(std::min(digits.find_first_not_of('0'), digits.size()));
  }
  void PrintInteger(std::string_view hex) {
    uint64_t value = 0;
    if (hex.empty() || ParseNumber(hex, &value, 16)) return PrintNumber(value);
    Print("0x");
    Print(hex);
  }
  void NamedConst(char type) {
    const std::string_view hex = HexDigits();
    uint32_t value = 0;
    if (!hex.empty() && !ParseNumber(hex, &value, 16)) failed_ = true;
    if (type == 'b') {
      if (value > 1) failed_ = true;
      return Print(value == 1 ? "true" : "false");
    }
    Print("'");
    const char c = static_cast<char>(value);
    if (value >= 0x20 && value < 0x7f) {
      if (c == '\'' || c == '\\') Print("\\");
      Print(std::string_view(&c, 1));
    } else {
      Print("\\u{");
      PrintNumber(value, 16);
      Print("}");
    }
    Print("'");
  }

  std::string_view text_;  // after "_R": back references count from there
  size_t position_ = 0;
  std::string out_;
  bool printing_ = true;
  bool failed_ = false;
  int depth_ = 0;
  int steps_ = 0;
  uint64_t bound_lifetimes_ = 0;
};

}  // namespace

std::optional<std::string> DemangleRustV0(std::string_view symbol) {
  if (!symbol.starts_with("_R")) return std::nullopt;
  return V0Demangler(symbol.substr(2)).Run();
}

}  // namespace offcpu::symbolize
