// SPDX-License-Identifier: MIT
#include "tests/support/jfr_builder.h"

namespace offcpu::test {
namespace {

using E = JfrElement;

enum Id : uint64_t {
  kBoolean = 4,
  kChar,
  kFloat,
  kDouble,
  kByte,
  kShort,
  kInt,
  kLong,
  kText = 20,
  kThread = 22,
  kClass,
  kStack,
  kFrame,
  kMethod,
  kSymbol,
  kFrameKind,
  kPoint,
  kTimestamp = 40,
  kTimespan,
  kUnsigned,
  kPark = 100,
  kAll = 101,
};

std::vector<E> Types() {
  std::vector<E> types;
  const std::vector<std::pair<uint64_t, const char*>> primitives{
      {kBoolean, "boolean"}, {kChar, "char"}, {kFloat, "float"},
      {kDouble, "double"},   {kByte, "byte"}, {kShort, "short"},
      {kInt, "int"},         {kLong, "long"}, {kText, "java.lang.String"}};
  for (const auto& [id, name] : primitives) types.push_back(E::Class(id, name));
  types.push_back(E::Class(
      kThread, "java.lang.Thread",
      {E::Field("osName", kText), E::Field("osThreadId", kLong), E::Field("javaName", kText),
       E::Field("javaThreadId", kLong), E::Field("virtual", kBoolean)}));
  types.push_back(
      E::Class(kClass, "java.lang.Class",
               {E::Field("name", kSymbol).Pooled(), E::Field("outer", kClass).Pooled()}));
  types.push_back(E::Class(kSymbol, "jdk.types.Symbol", {E::Field("string", kText)}).Simple());
  types.push_back(
      E::Class(kFrameKind, "jdk.types.FrameType", {E::Field("description", kText)}).Simple());
  types.push_back(E::Class(kMethod, "jdk.types.Method",
                           {E::Field("type", kClass).Pooled(), E::Field("name", kSymbol).Pooled(),
                            E::Field("descriptor", kSymbol).Pooled()}));
  types.push_back(
      E::Class(kFrame, "jdk.types.StackFrame",
               {E::Field("method", kMethod).Pooled(), E::Field("lineNumber", kInt),
                E::Field("bytecodeIndex", kInt), E::Field("type", kFrameKind).Pooled()}));
  types.push_back(E::Class(kStack, "jdk.types.StackTrace",
                           {E::Field("truncated", kBoolean), E::Field("frames", kFrame).Array()}));
  types.push_back(E::Class(kPoint, "test.Point", {E::Field("x", kInt), E::Field("y", kInt)}));
  types.push_back(E::Class(kTimestamp, "jdk.jfr.Timestamp"));
  types.push_back(E::Class(kTimespan, "jdk.jfr.Timespan"));
  types.push_back(E::Class(kUnsigned, "jdk.jfr.Unsigned"));
  return types;
}

std::vector<E> StandardFields() {
  return {E::Field("startTime", kLong, {E::Annotation(kTimestamp, "TICKS")}),
          E::Field("duration", kLong, {E::Annotation(kTimespan, "TICKS")}),
          E::Field("eventThread", kThread).Pooled(), E::Field("stackTrace", kStack).Pooled()};
}

std::vector<E> Events() {
  std::vector<E> park = StandardFields();
  park.push_back(E::Field("parkedClass", kClass).Pooled());
  park.push_back(E::Field("timeout", kLong, {E::Annotation(kTimespan, "MILLISECONDS")}));
  std::vector<E> all{E::Field("startTime", kLong, {E::Annotation(kTimestamp, "TICKS")}),
                     E::Field("flag", kBoolean),
                     E::Field("small", kByte),
                     E::Field("letter", kChar),
                     E::Field("middle", kShort),
                     E::Field("number", kInt),
                     E::Field("key", kLong, {E::Annotation(kUnsigned, "")}),
                     E::Field("real", kFloat),
                     E::Field("exact", kDouble),
                     E::Field("text", kText),
                     E::Field("point", kPoint),
                     E::Field("points", kPoint).Array(),
                     E::Field("symbol", kSymbol),
                     E::Field("words", kSymbol).Pooled().Array()};
  return {E::Event(kPark, "test.Park", park), E::Event(kAll, "test.All", all)};
}

std::vector<JfrChunk::Pool> Pools(const JfrChunk& chunk) {
  const auto values = [&chunk] { return chunk.Values(); };
  return {
      {kThread,
       {{7, values().Utf8("os-name").Long(1234).Utf16(u"Jav\u00e4 \U0001f600").Long(5).Byte(0)},
        {8, values().Byte(0).Long(-1).Byte(1).Long(6).Byte(1)}}},
      {kSymbol,
       {{1, values().Utf8("java/lang/Object")},
        {2, values().Latin1("r\xfcn")},
        {3, values().PooledText(77)},
        {1, values().Utf8("the second value of a key is not used")}}},
      {kText, {{77, values().Utf8("()V")}}},
      {kClass, {{30, values().Key(1).Key(31)}, {31, values().Key(2).Key(30)}}},
      {kMethod, {{50, values().Key(30).Key(2).Key(3)}, {51, values().Key(0).Key(99).Key(0)}}},
      {kFrameKind, {{0, values().Utf8("Interpreted")}, {1, values().Utf8("Native")}}},
      {kStack,
       {{60, values().Byte(1).Int(2).Key(50).Int(12).Int(3).Key(0).Key(51).Int(-1).Int(0).Key(1)}}},
  };
}

}  // namespace

JfrChunk SampleJfrChunk(bool compressed) {
  JfrChunk chunk(compressed);
  const auto values = [&chunk] { return chunk.Values(); };
  chunk.Event(kPark, values().Long(6'000).Long(250).Key(7).Key(60).Key(30).Long(20));
  std::vector<E> types = Types();
  for (E& event : Events()) types.push_back(std::move(event));
  chunk.Metadata(std::move(types));
  chunk.Event(kPark, values().Long(4'000).Long(1).Key(8).Key(0).Key(999).Long(INT64_MIN));
  chunk.Checkpoint({Pools(chunk)[0]});
  JfrValues all = values().Long(7'000).Byte(1).Byte(0xff).Short(0x263a).Short(-2).Int(-3).Key(
      0xfedcba9876543210);
  all.Fixed(0x3fc00000, 4).Fixed(0xc004000000000000, 8).Utf8("plain").Int(10).Int(-20);
  all.Int(2).Int(1).Int(2).Int(3).Int(4).Utf8("inline").Int(3).Key(1).Key(2).Key(0);
  chunk.Event(kAll, all);
  chunk.Event(/*type=*/555, values().Long(1).Raw("nobody knows this type"));
  std::vector<JfrChunk::Pool> pools = Pools(chunk);
  pools.erase(pools.begin());
  chunk.Checkpoint(pools);
  return chunk;
}

}  // namespace offcpu::test
