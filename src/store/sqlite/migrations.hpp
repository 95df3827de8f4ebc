// Brings a store's file to the schema this dw was built for. Forward only, one transaction each; a
// store that already holds work is copied aside first.
#pragma once
#include "store/sqlite/connection.hpp"

#include <span>
#include <string_view>

namespace dw::sqlite {

// In the file's header, so that `file` and we recognise a store without reading a table: "dwst".
inline constexpr std::int64_t application_id = 0x64777374;

struct Migration {
  int version;
  std::string_view name;
  std::string_view sql;
};

// migrations/*.sql, built in: version 1 first, no gaps.
std::span<const Migration> all_migrations();

// The schema version, 0 for a new, empty file. Reads the header and changes nothing. Fails with
// store_corrupt when the file is not a store of ours.
Result<int> schema_version(Connection& connection, const Location& location);

// Applies what is missing. Fails with store_too_new when the store is ahead of `migrations`, and
// leaves a store that it could not migrate as it was.
Result<void> migrate(Connection& connection, const Location& location,
                     std::span<const Migration> migrations);

}  // namespace dw::sqlite
