#include "server/exchange_reports.hpp"

#include <gtest/gtest.h>

namespace dw::server {
namespace {

std::string told_about(ErrorCode code) {
  return heard_list({not_heard("t1", {code, "no"})}, "task_id");
}

TEST(ExchangeReports, SayWhichOnesMayBeSentAgain) {
  EXPECT_EQ(told_about(ErrorCode::overloaded),
            R"([{"task_id":"t1","recorded":false,"reason":"overloaded","message":"no",)"
            R"("retryable":true}])");
  for (const auto code :
       {ErrorCode::unavailable, ErrorCode::shutting_down, ErrorCode::store_full}) {
    EXPECT_NE(told_about(code).find("retryable"), std::string::npos) << to_string(code);
  }
  EXPECT_EQ(told_about(ErrorCode::corrupt_history),
            R"([{"task_id":"t1","recorded":false,"reason":"corrupt_history","message":"no"}])");
}

}  // namespace
}  // namespace dw::server
