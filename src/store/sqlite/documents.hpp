// The table `documents`: what the server was told to remember.
#pragma once
#include "store/sqlite/connection.hpp"
#include "store/store.hpp"

namespace dw::sqlite {

class DocumentWriter {
 public:
  static Result<DocumentWriter> prepare(Connection& connection);

  // Without a body it is removed.
  Outcome put(const store::Document& document);

 private:
  Statement put_;
  Statement remove_;
};

class DocumentReader {
 public:
  static Result<DocumentReader> prepare(Connection& connection);

  Result<std::vector<store::Document>> all(std::string_view kind);

 private:
  explicit DocumentReader(Connection& connection) : connection_(&connection) {}

  Connection* connection_;
  Statement all_;
};

}  // namespace dw::sqlite
