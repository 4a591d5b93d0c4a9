// SPDX-License-Identifier: MIT
#include "symbolize/demangle.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "symbolize/rust_demangle.h"

namespace offcpu::symbolize {
namespace {

struct Pair {
  std::string_view symbol;
  std::string_view name;
};

void ExpectNames(const std::vector<Pair>& pairs) {
  for (const Pair& pair : pairs) EXPECT_EQ(Demangle(pair.symbol), pair.name) << pair.symbol;
}

TEST(DemangleTest, CxxNamesReadAsInSource) {
  ExpectNames({{"_Z3foov", "foo()"},
               {"_ZN5outer5inner3runEiPKc", "outer::inner::run(int, char const*)"},
               {"_ZNSt6vectorIiSaIiEE9push_backERKi",
                "std::vector<int, std::allocator<int> >::push_back(int const&)"}});
}

TEST(DemangleTest, TheAnonymousNamespaceIsCxxNotRust) {
  ExpectNames({{"_ZN12_GLOBAL__N_113single_threadE", "(anonymous namespace)::single_thread"}});
}

TEST(DemangleTest, RustV0NamesAreTakenByTheirPrefix) {
  ExpectNames({{"_RNvC6_123foo3bar", "123foo::bar"},
               {"_RNvCs1234_7mycrate3foo", "mycrate::foo"},
               {"_RNCNvCs1234_7mycrate4mains_0B3_", "mycrate::main::{closure#1}"},
               {"_RNvMs_Cs1234_1aNtB4_1S6method", "<a::S>::method"},
               {"_RNvXs_C1aNtB4_1SNtC1b5Trait3run", "<a::S as b::Trait>::run"},
               {"_RINvC1a3genlTjbEE", "a::gen::<i32, (usize, bool)>"},
               {"_RINvC1a3genRShQlPyOzE", "a::gen::<&[u8], &mut i32, *const u64, *mut !>"},
               {"_RINvC1a3genAhj4_ThEuE", "a::gen::<[u8; 4], (u8,), ()>"},
               {"_RINvC1a3genKj2a_Kan5_Kb1_Kc78_KpE", "a::gen::<42, -5, true, 'x', _>"},
               {"_RINvC1a3genDNtC1b5Tracep4ItemmEL_E", "a::gen::<dyn b::Trace<Item = u32>>"},
               {"_RINvC1a3genFG0_RL0_hRL1_hEzE", "a::gen::<for<'a, 'b> fn(&'b u8, &'a u8) -> !>"},
               {"_RINvC1a3genFUKCxEuE", "a::gen::<unsafe extern \"C\" fn(i64)>"},
               {"_RNvC1au4n_1a", "a::punycode{n_1a}"},
               {"_RNvC1a3bar.llvm.123", "a::bar"}});
}

TEST(DemangleTest, LegacyRustNamesLoseTheirHashAndEscapes) {
  ExpectNames({{"_ZN3foo17h0123456789abcdefE", "foo"},
               {"_ZN4core3ptr13drop_in_place17h0123456789abcdefE", "core::ptr::drop_in_place"},
               {"_ZN72_$LT$alloc..boxed..Box$LT$dyn$u20$Fn$GT$$u20$as$u20$core..fmt..Debug$GT$3fmt"
                "17h0123456789abcdefE",
                "<alloc::boxed::Box<dyn Fn> as core::fmt::Debug>::fmt"},
               {"_ZN5crate10$u65e5$$C$17h0123456789abcdefE", "crate::\xe6\x97\xa5,"}});
}

TEST(DemangleTest, OnlyTheHashEndingMakesAZnNameRust) {
  // One digit short, one that is no hex digit, one letter wrong.
  ExpectNames({{"_ZN3foo16h0123456789abcdeE", "foo::h0123456789abcde"},
               {"_ZN3foo17h0123456789abcdegE", "foo::h0123456789abcdeg"},
               {"_ZN3foo17g0123456789abcdefE", "foo::g0123456789abcdef"}});
}

TEST(DemangleTest, SuffixesOfCopiesAndPartsAreCut) {
  ExpectNames({{"f.part.0", "f"},
               {"f.cold", "f"},
               {"f.cold.12", "f"},
               {"f.isra.0", "f"},
               {"f.constprop.0.isra.1", "f"},
               {"f.llvm.1234567890", "f"},
               {"f.__uniq.987654321", "f"},
               {"f.lto_priv.0", "f"},
               {"f.localalias", "f"},
               {"_Z3foov.isra.0.cold", "foo()"},
               {"_ZN3foo17h0123456789abcdefE.llvm.7", "foo"}});
}

TEST(DemangleTest, EverythingElseStaysAsItIs) {
  for (const std::string_view name :
       {"main", "runtime.mallocgc", "main.(*T).Run", "a.b.c", ".cold", "f.part", "f.isra.x", "i",
        "_R", "_RNvYYYYYY", "_Z", "_ZN", "_ZN3fo", "Lcom/x/Y;::run", "", ".", "..", "x."}) {
    EXPECT_EQ(Demangle(name), name);
  }
}

TEST(DemangleTest, ACutRustNameIsNeverReadBeyondItsEnd) {
  const std::string whole =
      "_RINvXs_C1aNtB2_1SNtC1b5Trait3genFG_KCRL0_hEDNtC1b1Dp1AmEL_AhKj4_Kc78_E";
  for (size_t length = 0; length < whole.size(); ++length) {
    // A copy on the heap of just that size, so that a sanitizer sees a step too far.
    const std::string cut(whole, 0, length);
    (void)DemangleRustV0(cut);
    std::string flipped = whole;
    for (int bit = 0; bit < 7; ++bit) {
      flipped[length] = static_cast<char>(whole[length] ^ 1 << bit);
      (void)DemangleRustV0(flipped);
    }
  }
}

TEST(DemangleTest, DeepRustNamesStayAsTheyAre) {
  for (const std::string& deep :
       {"_R" + std::string(5000, 'N') + "C1a", "_R" + std::string(5000, 'I'),
        "_RINvC1a1b" + std::string(5000, 'R') + "iE", "_RINvC1a1b" + std::string(5000, 'S') + "iE",
        std::string("_RNvB_1a"), std::string("_RNvC1a18446744073709551616b")}) {
    EXPECT_EQ(DemangleRustV0(deep), std::nullopt);
    EXPECT_EQ(Demangle(deep), deep);
  }
}

std::string Base62(uint64_t value) {
  constexpr std::string_view kDigits =
      "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
  if (value-- == 0) return "_";
  std::string text;
  for (bool more = true; more; more = value != 0) {
    text.insert(text.begin(), kDigits[value % 62]);
    value /= 62;
  }
  return text + "_";
}

TEST(DemangleTest, RustBackReferencesThatDoubleEachTimeStayMangled) {
  std::string bomb = "_RINvC1a1bTiiE";
  size_t last = 8;
  for (int i = 0; i < 60; ++i) {
    const size_t here = bomb.size() - 2;
    bomb += "TB" + Base62(last) + "B" + Base62(last) + "E";
    last = here;
  }
  bomb += "E";
  EXPECT_EQ(Demangle(bomb), bomb);
}

std::string CxxBomb(int levels) {
  constexpr std::string_view kDigits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
  std::string bomb = "_Z1f1AIiiE";
  for (int i = 0; i < levels; ++i) {
    std::string reference = "S";
    if (i >= 36) reference += kDigits[static_cast<size_t>(i) / 36];
    reference += kDigits[static_cast<size_t>(i) % 36];
    bomb += "S_I" + reference + "_" + reference + "_E";
  }
  return bomb;
}

TEST(DemangleTest, CxxReferencesThatDoubleEachTimeStayMangled) {
  EXPECT_EQ(Demangle(CxxBomb(3)).find("f(A<int, int>, A<A<int, int>, A<int, int> >"), 0U);
  for (const int levels : {12, 22, 40, 60}) EXPECT_EQ(Demangle(CxxBomb(levels)), CxxBomb(levels));
}

}  // namespace
}  // namespace offcpu::symbolize
