// What workers say about their tasks, published ones and our own. Whatever JSON it is, it is
// understood or refused with the place of the mistake; a payload that gets in can be read again.
#include "core/avro_codec.hpp"
#include "engine/command_codec.hpp"
#include "fuzz.hpp"
#include "server/worker_commands.hpp"

#include <dw/payload.hpp>

using dw::fuzz::must_hold;
using namespace dw::server;

namespace {

// A bad payload that got in would fail each later replay.
void expect_readable(const dw::Payload& payload) {
  if (payload.codec != dw::avro_codec) return;
  must_hold(dw::check_avro(payload.bytes).has_value(), "a payload that got in is well framed");
  must_hold(dw::decode(payload).has_value(), "a payload that got in can be decoded");
}

void expect_named(const dw::Value::Map& errors) {
  for (const auto& [place, texts] : errors) {
    must_hold(texts.if_array() && !texts.if_array()->empty(), "a mistake comes with a text");
  }
}

void read_all(const dw::Value* value) {
  expect_named(read_commands(value).errors);
  expect_named(read_failure(value).errors);
  const auto result = read_result(value, "result");
  expect_named(result.errors);
  if (result.errors.empty()) expect_readable(result.payload);
}

// Our own send commands as a text of their own; one that holds a payload says so by its key.
void read_native(std::string_view text) {
  const auto commands = dw::engine::parse_commands(text);
  if (!commands) return;
  for (const auto& command : *commands) {
    if (const auto* ends = std::get_if<dw::engine::CompleteWorkflow>(&command)) {
      expect_readable(ends->output);
    } else if (const auto* asks = std::get_if<dw::engine::ScheduleActivity>(&command)) {
      expect_readable(asks->arguments);
    } else if (const auto* notes = std::get_if<dw::engine::RecordSideEffect>(&command)) {
      expect_readable(notes->result);
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  read_native(dw::fuzz::text_of(data, size));
  const auto value = dw::parse_json(dw::fuzz::text_of(data, size));
  if (!value) return 0;
  const auto again = dw::parse_json(dw::to_json(*value));
  must_hold(again.has_value(), "what was read can be written and read again");
  must_hold(*again == *value, "it is the same then");
  read_all(&*value);
  for (const char* field : {"commands", "failure", "result"}) read_all(value->find(field));
  return 0;
}
