#include "server/upsert_fields.hpp"

#include "engine/visibility.hpp"
#include "views/visibility_query.hpp"

#include <fmt/format.h>

namespace dw::server {
namespace {

// Values speak for themselves here; but a type that nobody knows is a mistake.
void check_types(Fields& command) {
  const auto types = command.object("attribute_types");
  for (const auto& [key, type] : types ? *types->if_map() : Value::Map{}) {
    const auto* name = type.if_string();
    if (name && views::find_attribute_type(*name)) continue;
    command.wrong(fmt::format("attribute_types.{}", key),
                  "must be keyword, string, int, float, bool, datetime or keyword_list");
  }
}

// A plain object; newer clients put it into an envelope.
Value sent_entries(Fields& command) {
  const Value* given = command.field("entries");
  if (!given) command.wrong("entries", "is required");
  if (!given || !is_envelope(*given)) {
    return command.object("entries").value_or(Value{Value::Map{}});
  }
  const Payload payload = command.envelope("entries", *given);
  return projection_of(payload);
}

}  // namespace

engine::UpsertSearchAttributes read_search_attribute_upsert(Fields& command) {
  if (!command.field("attributes")) command.wrong("attributes", "is required");
  Value attributes = command.object("attributes").value_or(Value{Value::Map{}});
  if (const auto sound = engine::search_attributes(attributes); !sound) {
    command.wrong("attributes", sound.error().message);
  }
  check_types(command);
  return {0, std::move(attributes)};
}

engine::UpsertMemo read_memo_upsert(Fields& command) {
  Value entries = sent_entries(command);
  if (!command.fine()) return {};
  if (const auto sound = engine::memo(entries); !sound) {
    command.wrong("entries", sound.error().message);
  }
  return {0, std::move(entries)};
}

}  // namespace dw::server
