// SPDX-License-Identifier: MIT
#include "profile/profile_file.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>

#include "profile/encode.h"
#include "profile/validate.h"
#include "proto/profile.pb.h"
#include "tests/support/profile_fixture.h"

namespace offcpu::profile {
namespace {

using testing::EntrySpec;
using testing::KernelFrame;
using testing::ProfileFixture;
using testing::SampleProfile;
using testing::UserFrame;

constexpr Nanos kMs = 1'000'000;

Result<Profile> Parse(std::string_view bytes) {
  // A copy of the exact size, so that a sanitizer sees each byte read behind it.
  const std::vector<char> exact(bytes.begin(), bytes.end());
  return ParseProfile(std::as_bytes(std::span(exact)), "x.pb");
}

// The message of the refusal, "" when the bytes were taken.
std::string Refusal(std::string_view bytes) {
  const auto profile = Parse(bytes);
  if (profile) return {};
  EXPECT_EQ(profile.error().code, ErrorCode::kFailed);
  EXPECT_FALSE(profile.error().hint.empty());
  EXPECT_EQ(profile.error().message.find('\n'), std::string::npos);
  return profile.error().message;
}

std::string RefusalOf(const Profile& profile) { return Refusal(EncodeProfile(profile)); }

void AppendVarint(uint64_t value, std::string* bytes) {
  for (; value >= 0x80; value >>= 7) *bytes += static_cast<char>((value & 0x7f) | 0x80);
  *bytes += static_cast<char>(value);
}

// A file taken apart into its records, to put it together in another way.
struct Records {
  std::string header;
  std::vector<std::string> list;

  static Records Of(const Profile& profile) {
    const std::string bytes = SerializeProfile(profile);
    Records records{bytes.substr(0, kHeaderBytes), {}};
    for (size_t at = kHeaderBytes; at < bytes.size();) {
      size_t size = 0;
      for (int shift = 0;; shift += 7) {
        const auto byte = static_cast<unsigned char>(bytes[at++]);
        size |= static_cast<size_t>(byte & 0x7f) << shift;
        if (byte < 0x80) break;
      }
      records.list.push_back(bytes.substr(at, size));
      at += size;
    }
    return records;
  }

  std::string Join() const {
    std::string bytes = header;
    for (const std::string& record : list) {
      AppendVarint(record.size(), &bytes);
      bytes += record;
    }
    return bytes;
  }

  size_t First(v1::Record::KindCase kind) const {
    for (size_t i = 0; i < list.size(); ++i) {
      v1::Record record;
      if (record.ParseFromString(list[i]) && record.kind_case() == kind) return i;
    }
    ADD_FAILURE() << "no such record";
    return 0;
  }

  void Change(v1::Record::KindCase kind, const std::function<void(v1::Record*)>& change) {
    const size_t index = First(kind);
    v1::Record record;
    ASSERT_TRUE(record.ParseFromString(list[index]));
    change(&record);
    list[index] = record.SerializeAsString();
  }
};

TEST(ProfileFileTest, WhatIsWrittenIsReadAgainInEveryField) {
  const Profile sample = SampleProfile();
  const auto read = Parse(SerializeProfile(sample));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(*read, sample);
}

TEST(ProfileFileTest, WhatIsReadIsWrittenAsTheSameBytes) {
  const std::string bytes = SerializeProfile(SampleProfile());
  const auto read = Parse(bytes);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(SerializeProfile(*read), bytes);
}

TEST(ProfileFileTest, ProfileWithoutThreadsAndEntriesIsAProfile) {
  const Profile empty = ProfileFixture(0).Build();
  const auto read = Parse(SerializeProfile(empty));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(*read, empty);
}

TEST(ProfileFileTest, EstimatesOfASampledProfileAreKept) {
  Profile sampled = SampleProfile();
  sampled.origin.estimated = true;
  sampled.entries[0].estimated_ns = 3 * sampled.entries[0].observed_ns;
  const auto read = Parse(SerializeProfile(sampled));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(*read, sampled);
}

TEST(ProfileFileTest, IntervalsOfNoLengthAreKept) {
  ProfileFixture fixture;
  const auto thread = fixture.AddThread(1, 1, "a", "a");
  fixture.AddEntry({.thread = thread, .intervals = 3});
  const Profile profile = fixture.Build();
  const auto read = Parse(SerializeProfile(profile));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(*read, profile);
  EXPECT_TRUE(read->entries[0].when.empty());
  EXPECT_EQ(read->entries[0].lengths, (Histogram{{0, 3}}));
}

TEST(ProfileFileTest, EachIdIsDefinedRightBeforeItsFirstUse) {
  using Kind = v1::Record;
  std::vector<v1::Record::KindCase> kinds;
  ProfileFixture fixture;
  const auto a = fixture.AddThread(1, 1, "a", "a");
  const auto stack = fixture.AddStack({UserFrame("f", "m"), UserFrame("g", "m")});
  fixture.AddEntry({.thread = a, .user_stack = stack, .sleeping_ns = 5});
  for (const std::string& bytes : Records::Of(fixture.Build()).list) {
    v1::Record record;
    ASSERT_TRUE(record.ParseFromString(bytes));
    kinds.push_back(record.kind_case());
  }
  EXPECT_EQ(kinds, (std::vector<v1::Record::KindCase>{Kind::kStart, Kind::kString, Kind::kThread,
                                                      Kind::kString, Kind::kString, Kind::kFrame,
                                                      Kind::kString, Kind::kFrame, Kind::kStack,
                                                      Kind::kEntry, Kind::kEnd}));
}

TEST(ProfileFileTest, AFileCutAnywhereIsRefused) {
  const std::string bytes = SerializeProfile(SampleProfile());
  for (size_t size = 0; size < bytes.size(); ++size) {
    const std::string refusal = Refusal(bytes.substr(0, size));
    ASSERT_EQ(refusal, size == 0 ? "x.pb is not an offcpu profile: it is empty"
                                 : "x.pb is cut off at byte " + std::to_string(size));
  }
}

TEST(ProfileFileTest, AChangedByteIsRefusedOrGivesAnotherWholeProfile) {
  const std::string bytes = SerializeProfile(SampleProfile());
  size_t taken = 0;
  for (size_t at = 0; at < bytes.size(); ++at) {
    for (const int change : {0x01, 0x80, 0xff}) {
      std::string damaged = bytes;
      damaged[at] = static_cast<char>(damaged[at] ^ change);
      const auto read = Parse(damaged);
      if (!read) continue;
      ++taken;
      ASSERT_EQ(SerializeProfile(*read), damaged) << "byte " << at << " changed by " << change;
    }
  }
  EXPECT_GT(taken, 0U);            // letters of names may be any
  EXPECT_LT(taken, bytes.size());  // a third of what was tried
}

TEST(ProfileFileTest, GarbageIsRefused) {
  std::mt19937 random(42);
  const std::string header = SerializeProfile(SampleProfile()).substr(0, kHeaderBytes);
  for (int round = 0; round < 2000; ++round) {
    std::string bytes = round % 2 == 0 ? header : std::string();
    const size_t size = random() % 300;
    for (size_t i = 0; i < size; ++i) bytes += static_cast<char>(random());
    ASSERT_NE(Refusal(bytes), "");
  }
}

TEST(ProfileFileTest, HugeLengthsAreRefusedBeforeAnythingIsAllocated) {
  const std::string header = SerializeProfile(SampleProfile()).substr(0, kHeaderBytes);
  std::string bytes = header;
  AppendVarint(kMaxRecordBytes + 1, &bytes);
  EXPECT_EQ(Refusal(bytes),
            "x.pb is damaged: a length of 1048577 bytes, 1048576 are possible, in the record at "
            "byte 12");
  bytes = header;
  AppendVarint(0xffffffff, &bytes);
  EXPECT_NE(Refusal(bytes).find("a length of 4294967295 bytes"), std::string::npos);
  EXPECT_NE(Refusal(header + "\xff\xff\xff\xff\xff\x01").find("a length of more than 5 bytes"),
            std::string::npos);
  bytes = header;
  AppendVarint(kMaxRecordBytes, &bytes);
  EXPECT_EQ(Refusal(bytes), "x.pb is cut off at byte " + std::to_string(bytes.size()));
}

TEST(ProfileFileTest, OtherVersionsAreRefusedNamingBoth) {
  std::string bytes = SerializeProfile(SampleProfile());
  bytes[10] = 0x02;
  bytes[11] = 0x01;
  EXPECT_EQ(Refusal(bytes), "x.pb is a profile of version 258, and this offcpu reads version 1");
}

TEST(ProfileFileTest, ForeignFilesAreNamed) {
  using namespace std::string_literals;
  const std::pair<std::string, std::string> kFiles[] = {
      {"PERFILE2\x68\0\0\0\0\0\0\0"s, "it looks like a perf.data file"},
      {"FLR\0\0\2\0\1"s, "it looks like a JDK Flight Recorder file"},
      {"JONOFFPRF\0\1\0"s, "it looks like a profile of jonoffcpu"},
      {"JONOFFCPU\0\2\0"s, "it looks like a capture of jonoffcpu"},
      {"\x17\x08\x44tracing6\0"s, "it looks like a trace.dat file"},
      {"\x7f"
       "ELF\2\1\1"s,
       "it looks like a program or library"},
      {"\x1f\x8b\x08\0"s, "it looks like a gzip file"},
      {"main;read;schedule 1200\nmain 3\n", "it looks like collapsed stacks"},
      {"{\"window_ns\":1}\n", "it looks like JSON"},
      {"<?xml version=\"1.0\"?>", "it looks like an SVG, HTML or XML file"},
      {"hello\n", "it looks like text"},
      {"\1\2\3", "it does not begin with \"OFFCPUPRF\""},
  };
  for (const auto& [bytes, looks_like] : kFiles) {
    EXPECT_EQ(Refusal(bytes), "x.pb is not an offcpu profile: " + looks_like);
  }
}

TEST(ProfileFileTest, RealFilesOfOtherToolsAreNamed) {
  const char* folder = std::getenv("OFFCPU_TEST_DATA");
  const std::filesystem::path data = folder != nullptr ? folder : "../shared/data";
  if (!std::filesystem::is_directory(data)) GTEST_SKIP() << "no test data in " << data;
  size_t seen = 0;
  for (const auto& file : std::filesystem::recursive_directory_iterator(data)) {
    const std::string ending = file.path().extension();
    if (ending != ".jfr" && ending != ".data" && ending != ".folded") continue;
    const auto profile = ReadProfileFile(file.path());
    ASSERT_FALSE(profile);
    EXPECT_NE(profile.error().message.find(" is not an offcpu profile: it "), std::string::npos)
        << profile.error().message;
    ++seen;
  }
  if (seen == 0) GTEST_SKIP() << "no recordings of other tools in " << data;
}

TEST(ProfileFileTest, BytesAfterTheEndAreRefused) {
  const Records records = Records::Of(SampleProfile());
  EXPECT_NE(Refusal(records.Join() + '\0').find("bytes after the end"), std::string::npos);
  Records twice = records;
  twice.list.push_back(twice.list.back());
  EXPECT_NE(Refusal(twice.Join()).find("bytes after the end"), std::string::npos);
}

TEST(ProfileFileTest, TheStartComesFirstAndOnce) {
  Records records = Records::Of(SampleProfile());
  records.list.erase(records.list.begin());
  EXPECT_NE(Refusal(records.Join()).find("no start"), std::string::npos);
  records = Records::Of(SampleProfile());
  records.list.insert(records.list.begin(), records.list.front());
  EXPECT_NE(Refusal(records.Join()).find("a second start"), std::string::npos);
}

TEST(ProfileFileTest, IdsThatAreNotYetDefinedAreRefused) {
  const auto refusal = [](v1::Record::KindCase kind, auto change) {
    Records records = Records::Of(SampleProfile());
    records.Change(kind, change);
    return Refusal(records.Join());
  };
  EXPECT_NE(refusal(v1::Record::kFrame, [](v1::Record* r) { r->mutable_frame()->set_name(999); })
                .find("an unknown string"),
            std::string::npos);
  EXPECT_NE(refusal(v1::Record::kThread, [](v1::Record* r) { r->mutable_thread()->set_comm(99); })
                .find("an unknown string"),
            std::string::npos);
  EXPECT_NE(refusal(v1::Record::kStack, [](v1::Record* r) { r->mutable_stack()->add_frame(999); })
                .find("an unknown frame"),
            std::string::npos);
  EXPECT_NE(refusal(v1::Record::kStack, [](v1::Record* r) { r->mutable_stack()->set_parent(999); })
                .find("an unknown parent"),
            std::string::npos);
  EXPECT_NE(refusal(v1::Record::kEntry, [](v1::Record* r) { r->mutable_entry()->set_thread(999); })
                .find("an unknown thread"),
            std::string::npos);
  EXPECT_NE(
      refusal(v1::Record::kEntry, [](v1::Record* r) { r->mutable_entry()->set_user_stack(-1); })
          .find("an unknown stack"),
      std::string::npos);
}

TEST(ProfileFileTest, TotalsOfTheEndMustAgree) {
  for (const auto field :
       {&v1::End::set_entries, &v1::End::set_total_observed_ns, &v1::End::set_total_intervals,
        &v1::End::set_strings, &v1::End::set_warnings}) {
    Records records = Records::Of(SampleProfile());
    records.Change(v1::Record::kEnd, [&](v1::Record* r) { (r->mutable_end()->*field)(3); });
    EXPECT_NE(Refusal(records.Join()).find("a total of 3, but the file has "), std::string::npos);
  }
}

TEST(ProfileFileTest, UnknownFieldsAndLongNumbersAreRefused) {
  Records records = Records::Of(SampleProfile());
  records.list[0] += "\xf8\x07\x01";  // field 127
  EXPECT_NE(Refusal(records.Join()).find("not a record"), std::string::npos);
  records = Records::Of(SampleProfile());
  records.Change(v1::Record::kStart, [](v1::Record* r) {
    ASSERT_TRUE(
        r->mutable_start()->ParseFromString(r->start().SerializeAsString() + "\xf8\x07\x01"));
  });
  EXPECT_NE(Refusal(records.Join()).find("not the canonical form"), std::string::npos);
  records = Records::Of(SampleProfile());
  const std::string& end = records.list.back();
  ASSERT_LT(static_cast<unsigned char>(end[1]), 0x80);
  records.list.back() =
      std::string{end[0], static_cast<char>(end[1] | '\x80'), '\0'} + end.substr(2);
  EXPECT_NE(Refusal(records.Join()).find("not the canonical form"), std::string::npos);
}

TEST(ProfileFileTest, DefinitionsInAnotherPlaceAreRefused) {
  Records records = Records::Of(SampleProfile());
  const size_t entry = records.First(v1::Record::kEntry);
  records.list.insert(records.list.begin() + 1, records.list[entry - 1]);
  EXPECT_NE(Refusal(records.Join()), "");
  records = Records::Of(SampleProfile());
  records.list.insert(records.list.end() - 1, "\x12\x05other");  // a string that nothing uses
  records.Change(v1::Record::kEnd,
                 [](v1::Record* r) { r->mutable_end()->set_strings(r->end().strings() + 1); });
  EXPECT_NE(Refusal(records.Join()).find("not the canonical form"), std::string::npos);
}

TEST(ProfileFileTest, EntriesOutOfOrderAreRefused) {
  Profile profile = SampleProfile();
  std::swap(profile.entries[0], profile.entries[1]);
  EXPECT_NE(RefusalOf(profile).find("entry 2 is out of order"), std::string::npos);
  profile = SampleProfile();
  profile.entries.insert(profile.entries.begin(), profile.entries.front());
  EXPECT_NE(RefusalOf(profile).find("entry 2 is out of order"), std::string::npos);
}

TEST(ProfileFileTest, AFileThatDoesNotExistIsNamed) {
  const auto profile = ReadProfileFile("/nonexistent/x.pb");
  ASSERT_FALSE(profile);
  EXPECT_EQ(profile.error().message, "open /nonexistent/x.pb: No such file or directory");
  const auto folder = ReadProfileFile("/");
  ASSERT_FALSE(folder);
  EXPECT_EQ(folder.error().message, "read /: Is a directory");
}

TEST(ProfileFileTest, AFileIsReadAsAWhole) {
  const std::string path = ::testing::TempDir() + "profile_file_test.pb";
  const Profile sample = SampleProfile();
  std::ofstream(path, std::ios::binary) << SerializeProfile(sample);
  const auto read = ReadProfileFile(path);
  std::filesystem::remove(path);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(*read, sample);
}

TEST(ProfileFileTest, AStreamThatNeverEndsIsRefusedEarly) {
  const auto profile = ReadProfileFile("/dev/zero");
  ASSERT_FALSE(profile);
  EXPECT_EQ(profile.error().message,
            "/dev/zero is not an offcpu profile: it does not begin with \"OFFCPUPRF\"");
}

}  // namespace
}  // namespace offcpu::profile
