#include "store/sqlite/documents.hpp"

#include <fmt/format.h>

namespace dw::sqlite {

using store::Document;

Result<DocumentWriter> DocumentWriter::prepare(Connection& connection) {
  DocumentWriter writer;
  writer.put_ =
      DW_TRY(connection.prepare("INSERT OR REPLACE INTO documents (kind, namespace, id, body)"
                                " VALUES (?1, ?2, ?3, ?4)"));
  writer.remove_ = DW_TRY(
      connection.prepare("DELETE FROM documents WHERE kind = ?1 AND namespace = ?2 AND id = ?3"));
  return writer;
}

Outcome DocumentWriter::put(const Document& document) {
  if (document.body.empty()) {
    remove_.bind_all(document.kind, document.ns, document.id);
    return remove_.run();
  }
  put_.bind_all(document.kind, document.ns, document.id, document.body);
  return put_.run();
}

Result<DocumentReader> DocumentReader::prepare(Connection& connection) {
  DocumentReader reader{connection};
  reader.all_ = DW_TRY(connection.prepare(
      "SELECT kind, namespace, id, body FROM documents WHERE kind = ?1 ORDER BY namespace, id"));
  return reader;
}

Result<std::vector<Document>> DocumentReader::all(std::string_view kind) {
  const ResetLater reset{all_};
  all_.bind_all(kind);
  std::vector<Document> documents;
  Outcome outcome = all_.step();
  for (; outcome == Outcome::row; outcome = all_.step()) {
    documents.push_back({std::string{all_.text(0)}, Namespace{std::string{all_.text(1)}},
                         std::string{all_.text(2)}, std::string{all_.text(3)}});
  }
  if (outcome != Outcome::done) return connection_->error(fmt::format("read every {}", kind));
  return documents;
}

}  // namespace dw::sqlite
