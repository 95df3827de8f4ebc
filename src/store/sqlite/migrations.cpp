#include "store/sqlite/migrations.hpp"

#include <fmt/format.h>

namespace dw::sqlite {
namespace {

Result<void> apply(Connection& connection, const Migration& migration) {
  // Also for the file header: both pragmas take part in the transaction.
  const std::string script = fmt::format(
      "BEGIN IMMEDIATE;\n{}\n"
      "PRAGMA application_id = {};\n"
      "PRAGMA user_version = {};\n"
      "INSERT INTO meta VALUES ('created_by', 'dw {}') ON CONFLICT DO NOTHING;\n"
      "INSERT OR REPLACE INTO meta VALUES ('schema_version', '{}');\n"
      "COMMIT;",
      migration.sql, application_id, migration.version, DW_VERSION, migration.version);
  auto applied = connection.execute(script);
  if (!applied) {
    Error error = applied.error();
    if (connection.in_transaction()) {
      [[maybe_unused]] const auto rolled_back = connection.execute("ROLLBACK");
    }
    return error;
  }
  return {};
}

}  // namespace

Result<int> schema_version(Connection& connection, const Location& location) {
  auto id = connection.query_integer("PRAGMA application_id");
  if (!id) {
    if (id.error().code != ErrorCode::store_corrupt) return id.error();
    return Error{ErrorCode::store_corrupt,
                 fmt::format("Could not open the store '{}': the file is not a database, or its "
                             "header is damaged. Nothing was changed. Restore a backup, or name "
                             "another path.",
                             location.path)};
  }
  const auto version = DW_TRY(connection.query_integer("PRAGMA user_version"));
  if (*id == application_id && version > 0) return static_cast<int>(version);
  const auto tables = DW_TRY(connection.query_integer("SELECT count(*) FROM sqlite_schema"));
  if (*id == 0 && version == 0 && tables == 0) return 0;
  return Error{ErrorCode::store_corrupt,
               fmt::format("Could not open the store '{}': it is a SQLite database, but not a dw "
                           "store. Nothing was changed. Name another path.",
                           location.path)};
}

Result<void> migrate(Connection& connection, const Location& location,
                     std::span<const Migration> migrations) {
  const int found = DW_TRY(schema_version(connection, location));
  const int wanted = migrations.back().version;
  if (found > wanted) {
    return Error{ErrorCode::store_too_new,
                 fmt::format("Could not open the store '{}': its schema version is {}, and this dw "
                             "{} knows versions up to {}. Nothing was changed. Use the dw that "
                             "wrote it, or a newer one.",
                             location.path, found, DW_VERSION, wanted)};
  }
  if (found == wanted) return {};
  if (found > 0) {
    const Location backup{fmt::format("{}.backup-v{}", location.path, found), location.vfs};
    if (auto copied = connection.copy_to(backup); !copied) {
      return Error{copied.error().code,
                   fmt::format("Could not migrate the store '{}' from schema version {} to {}, "
                               "because its backup failed. Nothing was changed. {}",
                               location.path, found, wanted, copied.error().message)};
    }
  }
  for (const Migration& migration : migrations) {
    if (migration.version <= found) continue;
    if (auto applied = apply(connection, migration); !applied) {
      const std::string_view kept = found > 0 ? " The backup beside it is complete." : "";
      return Error{applied.error().code,
                   fmt::format("Could not apply migration '{}' to the store '{}'; it was undone.{} "
                               "{}",
                               migration.name, location.path, kept, applied.error().message)};
    }
  }
  return {};
}

}  // namespace dw::sqlite
