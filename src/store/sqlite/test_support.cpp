#include "store/sqlite/test_support.hpp"

#include <sqlite3.h>

namespace dw::sqlite::test {

std::string run_sql(const std::string& path, const std::string& sql, const std::string& vfs) {
  sqlite3* db = nullptr;
  std::string value;
  const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
  int rc = sqlite3_open_v2(path.c_str(), &db, flags, vfs.empty() ? nullptr : vfs.c_str());
  if (rc == SQLITE_OK) {
    const auto keep = [](void* into, int, char** values, char**) {
      *static_cast<std::string*>(into) = values[0] != nullptr ? values[0] : "";
      return 0;
    };
    rc = sqlite3_exec(db, sql.c_str(), keep, &value, nullptr);
  }
  EXPECT_EQ(rc, SQLITE_OK) << sql << ": " << sqlite3_errmsg(db);
  sqlite3_close(db);
  return value;
}

}  // namespace dw::sqlite::test
