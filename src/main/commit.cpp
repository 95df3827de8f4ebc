#include "main/commit.hpp"

namespace dw::app {
namespace {

#include "commit.inc"  // written by cmake/DwCommit.cmake

}  // namespace

std::string_view built_of_commit() {
  return commit;
}

std::string_view committed_at() {
  return commit_time;
}

}  // namespace dw::app
