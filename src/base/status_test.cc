#include "lapse/status.h"

#include <gtest/gtest.h>

#include <set>

#include "base/try.h"

namespace lapse {
namespace {

const Status kFull(StatusCode::kNoSpace, "my.db: no space left on device");

TEST(StatusTest, DefaultIsOk) {
  const Status status;
  EXPECT_TRUE(status.ok());
  EXPECT_EQ(StatusCode::kOk, status.code());
  EXPECT_EQ("", status.message());
  EXPECT_EQ("ok", status.to_string());
}

TEST(StatusTest, ErrorCarriesCodeAndMessage) {
  EXPECT_FALSE(kFull.ok());
  EXPECT_EQ(StatusCode::kNoSpace, kFull.code());
  EXPECT_EQ("my.db: no space left on device", kFull.message());
  EXPECT_EQ("NoSpace: my.db: no space left on device", kFull.to_string());
}

TEST(StatusTest, OkCostsOnePointer) { EXPECT_EQ(sizeof(void*), sizeof(Status)); }

TEST(StatusTest, CopiesAreIndependent) {
  Status copy = kFull;
  Status other(StatusCode::kBusy, "held");
  copy = other;
  other = Status();
  EXPECT_EQ("Busy: held", copy.to_string());
  EXPECT_TRUE(other.ok());
  const Status& alias = copy;
  copy = alias;
  EXPECT_EQ("Busy: held", copy.to_string());
  EXPECT_EQ(StatusCode::kNoSpace, kFull.code());
}

TEST(StatusTest, MoveTakesTheError) {
  Status from = kFull;
  const Status to = std::move(from);
  EXPECT_EQ(kFull.to_string(), to.to_string());
}

TEST(StatusTest, EveryCodeHasANameOfItsOwn) {
  std::set<std::string_view> names;
  const int last = static_cast<int>(StatusCode::kUnsupported);
  for (int code = 0; code <= last; ++code) {
    const std::string_view name = status_code_name(static_cast<StatusCode>(code));
    EXPECT_NE("?", name) << code;
    names.insert(name);
  }
  EXPECT_EQ(static_cast<size_t>(last + 1), names.size());
  EXPECT_EQ("?", status_code_name(static_cast<StatusCode>(last + 1)));
}

TEST(ResultTest, HoldsAValue) {
  Result<std::string> result(std::string("value"));
  EXPECT_TRUE(result.ok());
  EXPECT_TRUE(result.status().ok());
  EXPECT_EQ("value", *result);
  EXPECT_EQ(5U, result->size());
  result.value() += "s";
  EXPECT_EQ("values", std::move(result).value());
}

TEST(ResultTest, HoldsAnError) {
  const Result<std::string> result(kFull);
  EXPECT_FALSE(result.ok());
  EXPECT_EQ(StatusCode::kNoSpace, result.status().code());
}

TEST(ResultTest, CarriesWhatCannotBeCopied) {
  Result<std::unique_ptr<int>> result(std::make_unique<int>(42));
  const std::unique_ptr<int> taken = *std::move(result);
  EXPECT_EQ(42, *taken);
}

// ------------------------------------------------------------------------------------- LAPSE_TRY

Result<int> half(int number) {
  if (number % 2 != 0) return Status(StatusCode::kInvalidArgument, "odd");
  return number / 2;
}

Result<int> quarter(int number, int* reached) {
  LAPSE_TRY(half(number));
  LAPSE_TRY_ASSIGN(const int once, half(number));
  *reached = once;
  LAPSE_TRY_ASSIGN(const int twice, half(once));
  return twice;
}

TEST(TryTest, GoesOnWithTheValue) {
  int reached = 0;
  EXPECT_EQ(3, quarter(12, &reached).value());
}

TEST(TryTest, ReturnsTheErrorAtOnce) {
  int reached = 0;
  EXPECT_EQ("InvalidArgument: odd", quarter(7, &reached).status().to_string());
  EXPECT_EQ(0, reached);
  EXPECT_FALSE(quarter(6, &reached).ok());
  EXPECT_EQ(3, reached);
}

}  // namespace
}  // namespace lapse
