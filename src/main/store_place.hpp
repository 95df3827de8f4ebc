// Where a store is, as people write it.
#pragma once
#include <dw/result.hpp>

#include <string>

namespace dw::app {

struct StorePlace {
  std::string data_dir = {};  // empty: ./dw-data
  std::string store = {};     // empty: dw.db in the data directory
};

// What the command line did not say is as DW_STORE and DW_DATA_DIR have it.
StorePlace with_environment(StorePlace place);

// The file of "sqlite:FILE" or "FILE". Fails with invalid_argument for any other kind of store.
Result<std::string> store_file(const std::string& written);

// The same, or the usual file in the data directory.
Result<std::string> store_path(const StorePlace& place);
// The same for those who open it and make what is not there: the data directory, too.
Result<std::string> store_path_made(const StorePlace& place);

// For those who work on a store that others made. Throws EngineError(not_found).
void require_store(const std::string& path);

}  // namespace dw::app
