#include "core/avro_codec.hpp"

#include "core/assert.hpp"
#include "core/utf8.hpp"
#include "core/value_limits.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace dw {

namespace {

constexpr std::string_view magic = "\xC3\x01";
constexpr std::string_view fingerprint = "\xE2\xA3\x3D\xFF\x55\x80\x22\x37";

// The branches of the schema's union are Value's kinds in the same order; both are durable.
static_assert(static_cast<int>(Value::Kind::null) == 0 &&
              static_cast<int>(Value::Kind::boolean) == 1 &&
              static_cast<int>(Value::Kind::integer) == 2 &&
              static_cast<int>(Value::Kind::real) == 3 &&
              static_cast<int>(Value::Kind::bytes) == 4 &&
              static_cast<int>(Value::Kind::string) == 5 &&
              static_cast<int>(Value::Kind::array) == 6 && static_cast<int>(Value::Kind::map) == 7);

// Notes a failure instead of returning it: workflow code encodes on small stacks, and a Result in
// every frame of the recursion would fill them.
class Encoder {
 public:
  explicit Encoder(std::string& out) : out_(out) {}

  // False once something was refused; error() then says what.
  bool write(const Value& value, unsigned depth) {
    write_long(static_cast<std::int64_t>(value.kind()));
    switch (value.kind()) {
      case Value::Kind::null:
        return true;
      case Value::Kind::boolean:
        out_ += *value.if_boolean() ? '\1' : '\0';
        return true;
      case Value::Kind::integer:
        write_long(*value.if_integer());
        return true;
      case Value::Kind::real:
        return write_double(*value.if_real());
      case Value::Kind::bytes:
        write_bytes(value.if_bytes()->data);
        return true;
      case Value::Kind::string:
        return write_text(*value.if_string());
      case Value::Kind::array:
        return write_array(*value.if_array(), depth + 1);
      case Value::Kind::map:
        return write_map(*value.if_map(), depth + 1);
    }
    return true;
  }

  Error error() const { return Error{code_, problem_}; }

 private:
  bool refuse(ErrorCode code, const char* problem) {
    code_ = code;
    problem_ = problem;
    return false;
  }

  void write_long(std::int64_t number) {
    // Zig-zag: small numbers of either sign take few bytes.
    auto bits = static_cast<std::uint64_t>(number) << 1 ^ static_cast<std::uint64_t>(number >> 63);
    for (; bits >= 0x80; bits >>= 7) out_ += static_cast<char>(bits | 0x80);
    out_ += static_cast<char>(bits);
  }

  bool write_double(double number) {
    if (!std::isfinite(number)) {
      return refuse(ErrorCode::non_finite_float,
                    "a payload cannot hold NaN or an infinity: use null or a string instead");
    }
    const auto bits = std::bit_cast<std::uint64_t>(number);
    for (unsigned i = 0; i < 8; ++i) out_ += static_cast<char>(bits >> (8 * i) & 0xff);
    return true;
  }

  void write_bytes(std::string_view bytes) {
    write_long(static_cast<std::int64_t>(bytes.size()));
    out_ += bytes;
  }

  bool write_text(std::string_view text) {
    if (!is_utf8(text)) {
      return refuse(ErrorCode::invalid_argument,
                    "a payload string is not UTF-8: send it as bytes instead");
    }
    write_bytes(text);
    return true;
  }

  bool write_array(const Value::Array& items, unsigned depth) {
    if (depth > max_value_depth) return too_deep();
    if (!items.empty()) write_long(static_cast<std::int64_t>(items.size()));
    for (const auto& item : items) {
      if (!write(item, depth)) return false;
    }
    out_ += '\0';
    return true;
  }

  bool write_map(const Value::Map& entries, unsigned depth) {
    if (depth > max_value_depth) return too_deep();
    if (!entries.empty()) write_long(static_cast<std::int64_t>(entries.size()));
    for (const auto& [key, value] : entries) {
      if (!write_text(key) || !write(value, depth)) return false;
    }
    out_ += '\0';
    return true;
  }

  bool too_deep() {
    return refuse(ErrorCode::invalid_argument, "a payload nests arrays and maps too deeply");
  }

  std::string& out_;
  ErrorCode code_ = ErrorCode::internal;
  const char* problem_ = "";
};

enum class Mode { build, check };

// Walks a datum. One walk serves decoding and checking, so that they cannot disagree about what is
// well formed: in Mode::check the targets are null and nothing is stored. Failures are noted as a
// static text and a place, which keeps the frames of the recursion small.
template <Mode mode>
class Decoder {
 public:
  explicit Decoder(std::string_view bytes) : bytes_(bytes) {}

  bool read_datum(Value* target) {
    if (!read_value(target, 0)) return false;
    return at_ == bytes_.size() || fail("bytes follow the value");
  }

  Error error() const {
    return Error{ErrorCode::invalid_payload_framing,
                 fmt::format("not an Avro payload: {} at byte {}", problem_,
                             at_ + magic.size() + fingerprint.size())};
  }

 private:
  // Every value is at least its union branch, every entry a key's length besides.
  static constexpr std::size_t min_item_size = 1;
  static constexpr std::size_t min_entry_size = 2;

  bool fail(const char* problem) { return problem_ = problem, false; }
  std::size_t left() const { return bytes_.size() - at_; }

  bool read_value(Value* target, unsigned depth) {
    std::int64_t branch = 0;
    if (!read_long(branch)) return false;
    switch (branch) {
      case 0:
        if constexpr (mode == Mode::build) *target = nullptr;
        return true;
      case 1:
        return read_boolean(target);
      case 2: {
        std::int64_t number = 0;
        if (!read_long(number)) return false;
        if constexpr (mode == Mode::build) *target = number;
        return true;
      }
      case 3:
        return read_double(target);
      case 4: {
        std::string_view bytes;
        if (!read_bytes(bytes)) return false;
        if constexpr (mode == Mode::build) *target = Bytes{std::string{bytes}};
        return true;
      }
      case 5: {
        std::string_view text;
        if (!read_text(text)) return false;
        if constexpr (mode == Mode::build) *target = text;
        return true;
      }
      case 6:
        return read_array(target, depth + 1);
      case 7:
        return read_map(target, depth + 1);
      default:
        return fail("an unknown union branch");
    }
  }

  bool read_long(std::int64_t& number) {
    std::uint64_t bits = 0;
    for (unsigned shift = 0; shift < 70; shift += 7) {
      if (left() == 0) return fail("a truncated number");
      const auto byte = static_cast<unsigned char>(bytes_[at_++]);
      if (shift == 63 && byte > 1) break;
      bits |= std::uint64_t{byte & 0x7fu} << shift;
      if (byte < 0x80) {
        number = static_cast<std::int64_t>(bits >> 1 ^ (~(bits & 1) + 1));
        return true;
      }
    }
    return fail("a number of more than 64 bits");
  }

  bool read_boolean([[maybe_unused]] Value* target) {
    if (left() == 0) return fail("a truncated boolean");
    const char byte = bytes_[at_++];
    if (byte != 0 && byte != 1) return fail("a boolean that is neither 0 nor 1");
    if constexpr (mode == Mode::build) *target = byte == 1;
    return true;
  }

  bool read_double([[maybe_unused]] Value* target) {
    if (left() < 8) return fail("a truncated double");
    std::uint64_t bits = 0;
    for (unsigned i = 0; i < 8; ++i) {
      bits |= std::uint64_t{static_cast<unsigned char>(bytes_[at_ + i])} << (8 * i);
    }
    at_ += 8;
    const auto number = std::bit_cast<double>(bits);
    if (!std::isfinite(number)) return fail("NaN or an infinity");
    if constexpr (mode == Mode::build) *target = number;
    return true;
  }

  bool read_bytes(std::string_view& bytes) {
    std::int64_t size = 0;
    if (!read_long(size)) return false;
    if (size < 0) return fail("a negative length");
    if (static_cast<std::uint64_t>(size) > left()) return fail("a truncated string or bytes");
    bytes = bytes_.substr(at_, static_cast<std::size_t>(size));
    at_ += bytes.size();
    return true;
  }

  bool read_text(std::string_view& text) {
    return read_bytes(text) && (is_utf8(text) || fail("a string that is not UTF-8"));
  }

  // What a block announces. Its size in bytes, when stated, must be true: other readers skip by it.
  struct Block {
    std::size_t count = 0;
    std::size_t end = 0;  // 0 when no size was stated
  };

  bool read_block(Block& block, std::size_t min_size) {
    std::int64_t count = 0;
    if (!read_long(count)) return false;
    block = {};
    if (count < 0) {
      std::int64_t size = 0;
      if (!read_long(size)) return false;
      if (size < 0 || static_cast<std::uint64_t>(size) > left()) return fail("a bad block size");
      if (count == std::numeric_limits<std::int64_t>::min()) return fail("a bad block count");
      count = -count;
      block.end = at_ + static_cast<std::size_t>(size);
    }
    // A count that the bytes left cannot hold is refused here, before anybody makes room for it.
    if (static_cast<std::uint64_t>(count) > left() / min_size) return fail("a bad block count");
    block.count = static_cast<std::size_t>(count);
    return true;
  }

  bool end_block(const Block& block) {
    return block.end == 0 || block.end == at_ || fail("a block size that is not its size");
  }

  // Room for what is likely there. A claim is not yet an item: hundreds of nested arrays that each
  // announce thousands would otherwise take far more memory than the payload has bytes.
  template <typename Items>
  static void make_room(Items& items, std::size_t count) {
    constexpr std::size_t plenty = 16;
    if (items.empty()) items.reserve(std::min(count, plenty));
  }

  bool read_array([[maybe_unused]] Value* target, unsigned depth) {
    if (depth > max_value_depth) return fail("a value nested too deeply");
    [[maybe_unused]] Value::Array* items = nullptr;
    if constexpr (mode == Mode::build) {
      *target = Value::Array();
      items = target->if_array();
    }
    for (Block block;;) {
      if (!read_block(block, min_item_size)) return false;
      if (block.count == 0) return true;
      if constexpr (mode == Mode::build) make_room(*items, block.count);
      for (auto remaining = block.count; remaining > 0; --remaining) {
        Value* item = nullptr;
        if constexpr (mode == Mode::build) item = &items->emplace_back();
        if (!read_value(item, depth)) return false;
      }
      if (!end_block(block)) return false;
    }
  }

  bool read_map([[maybe_unused]] Value* target, unsigned depth) {
    if (depth > max_value_depth) return fail("a value nested too deeply");
    [[maybe_unused]] Value::Map* entries = nullptr;
    if constexpr (mode == Mode::build) {
      *target = Value::Map();
      entries = target->if_map();
    }
    for (Block block;;) {
      if (!read_block(block, min_entry_size)) return false;
      if (block.count == 0) return true;
      if constexpr (mode == Mode::build) make_room(*entries, block.count);
      for (auto remaining = block.count; remaining > 0; --remaining) {
        std::string_view key;
        if (!read_text(key)) return false;
        Value* value = nullptr;
        if constexpr (mode == Mode::build) value = &entries->emplace_back(key, Value()).second;
        if (!read_value(value, depth)) return false;
      }
      if (!end_block(block)) return false;
    }
  }

  std::string_view bytes_;
  std::size_t at_ = 0;
  const char* problem_ = "";
};

// Strips magic and fingerprint, leaving the datum.
Result<std::string_view> open_frame(std::string_view bytes) {
  if (!bytes.starts_with(magic) || bytes.size() < magic.size() + fingerprint.size()) {
    return Error{ErrorCode::invalid_payload_framing,
                 "not an Avro payload: it lacks the frame C3 01 and a fingerprint"};
  }
  bytes.remove_prefix(magic.size());
  if (!bytes.starts_with(fingerprint)) {
    return Error{ErrorCode::unsupported_payload_schema,
                 "an Avro payload of another schema than durable_workflow.protocol.Value"};
  }
  bytes.remove_prefix(fingerprint.size());
  return bytes;
}

}  // namespace

Result<std::string> encode_avro(const Value& value) {
  std::string out;
  out.reserve(64);
  out += magic;
  out += fingerprint;
  Encoder encoder{out};
  if (!encoder.write(value, 0)) return encoder.error();
  return out;
}

Result<Value> decode_avro(std::string_view bytes) {
  Decoder<Mode::build> decoder{DW_TRY(open_frame(bytes))};
  Value value;
  if (!decoder.read_datum(&value)) return decoder.error();
  return value;
}

Result<void> check_avro(std::string_view bytes) {
  Decoder<Mode::check> decoder{DW_TRY(open_frame(bytes))};
  if (!decoder.read_datum(nullptr)) return decoder.error();
  return {};
}

Value::Kind kind_of_avro(std::string_view accepted) {
  const auto frame = open_frame(accepted);
  DW_ASSERT(frame && !frame->empty(), "what was accepted has a frame and a datum");
  // A zig-zag number below eight: its first byte has all of it, however long it was written.
  return static_cast<Value::Kind>((static_cast<unsigned char>(frame->front()) & 0x7f) >> 1);
}

}  // namespace dw
