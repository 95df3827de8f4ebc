// Upserts that workers elsewhere ask for, held to the limits that a start is held to.
#pragma once
#include "engine/commands.hpp"
#include "server/fields.hpp"

namespace dw::server {

// Their nulls stay: those delete.
engine::UpsertSearchAttributes read_search_attribute_upsert(Fields& command);
engine::UpsertMemo read_memo_upsert(Fields& command);

}  // namespace dw::server
