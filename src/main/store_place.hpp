// Where a store is, as people write it.
#pragma once
#include <dw/result.hpp>

#include <string>

namespace dw::app {

struct StorePlace {
  std::string data_dir = "./dw-data";
  std::string store;  // empty: dw.db in the data directory
};

// The file of "sqlite:FILE" or "FILE". Fails with invalid_argument for any other kind of store.
Result<std::string> store_file(const std::string& written);

// The same, or the usual file in the data directory, which is made if need be.
Result<std::string> store_path(const StorePlace& place);

}  // namespace dw::app
