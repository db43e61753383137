// SPDX-License-Identifier: Apache-2.0
// Paths and ops of the running thread, the instruction set's names, quotes in errors.
#include "tare/core/scope.h"

#include <string>
#include <thread>

#include <gtest/gtest.h>

#include "tare/core/hash.h"
#include "tare/core/isa.h"

#include "tests/support/expect_error.h"

namespace tare {
namespace {

TEST(PathScope, NestsAndIsRestored) {
  EXPECT_EQ(current_path(), "");
  const uint64_t outside = current_path_hash();
  EXPECT_EQ(outside, kFnvBasis);
  {
    const PathScope h("h");
    const uint64_t hash = current_path_hash();
    {
      const PathScope three("3"), attention("attn");
      EXPECT_EQ(current_path(), "h.3.attn");
      EXPECT_EQ(current_path_hash(), fnv1a(kFnvBasis, "h.3.attn"));
    }
    EXPECT_EQ(current_path(), "h");
    EXPECT_EQ(current_path_hash(), hash);
  }
  EXPECT_EQ(current_path(), "");
  EXPECT_EQ(current_path_hash(), outside);
}

TEST(RestoredPathScope, PutsAnEarlierPathInPlaceAndTheLaterOneBack) {
  std::string earlier;
  uint64_t hash = 0;
  {
    const PathScope a("a"), b("b");
    earlier = current_path();
    hash = current_path_hash();
  }
  const PathScope loss("loss");
  {
    const RestoredPathScope restored(earlier);
    EXPECT_EQ(current_path(), "a.b");
    EXPECT_EQ(current_path_hash(), hash) << "random numbers would differ in backward";
    const PathScope inner("c");
    EXPECT_EQ(current_path(), "a.b.c");
    {
      const RestoredPathScope top("");
      EXPECT_EQ(current_path_hash(), kFnvBasis);
    }
    EXPECT_EQ(current_path(), "a.b.c");
  }
  EXPECT_EQ(current_path(), "loss");
  EXPECT_EQ(current_path_hash(), fnv1a(kFnvBasis, "loss"));
}

TEST(Scopes, AreRestoredByExceptionsAndBelongToTheirThread) {
  const PathScope outer("outer");
  try {
    const PathScope inner("inner");
    const OpScope op("matmul");
    throw 1;
  } catch (int) {
  }
  EXPECT_EQ(current_path(), "outer");
  EXPECT_STREQ(current_op(), "");
  std::thread([] {
    EXPECT_EQ(current_path(), "");
    const PathScope own("own");
    EXPECT_EQ(current_path(), "own");
  }).join();
  EXPECT_EQ(current_path(), "outer");
}

TEST(Hash, IsFnv1a64) {
  // The test vectors of the FNV reference.
  EXPECT_EQ(fnv1a(kFnvBasis, ""), 0xcbf29ce484222325ull);
  EXPECT_EQ(fnv1a(kFnvBasis, "a"), 0xaf63dc4c8601ec8cull);
  EXPECT_EQ(fnv1a(kFnvBasis, "foobar"), 0x85944171f73967e8ull);
  EXPECT_EQ(fnv1a(fnv1a(kFnvBasis, "foo"), "bar"), fnv1a(kFnvBasis, "foobar"));
}

TEST(IsaNames, AreReadBackAndOthersRefused) {
  for (const Isa isa : {Isa::base, Isa::v3, Isa::v4}) {
    if (isa <= best_isa()) {
      EXPECT_EQ(isa_from_name(name_of(isa)), isa);
    } else {
      EXPECT_ERROR(isa_from_name(name_of(isa)), std::string(name_of(isa)), "at most",
                   std::string(name_of(best_isa())));
      EXPECT_ERROR(set_active_isa(isa), "at most");
    }
  }
  for (const char* name : {"", "V3", "v5", "avx2", "base "})
    EXPECT_ERROR(isa_from_name(name), "TARE_ISA", "base, v3 or v4");
}

TEST(IsaNames, TheEnvironmentAsksForTheIsaInUse) {
  const char* asked = std::getenv("TARE_ISA");
  if (!asked || !*asked) {
    EXPECT_EQ(active_isa(), best_isa());
  } else {
    EXPECT_EQ(name_of(active_isa()), asked);
  }
}

TEST(InQuotes, KeepsOneLineOfAsciiWhateverTheText) {
  EXPECT_EQ(in_quotes("wte.weight"), "\"wte.weight\"");
  EXPECT_EQ(in_quotes("a\"b\\c\n\x01\xff"), "\"a\\\"b\\\\c\\x0a\\x01\\xff\"");
  const std::string longest = in_quotes(std::string(200, 'x') + "end");
  EXPECT_EQ(longest.size(), 80 + 3 + 37 + 2u);
  EXPECT_TRUE(longest.ends_with("end\""));
}

}  // namespace
}  // namespace tare
