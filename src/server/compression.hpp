// Bodies made smaller for clients that asked for it, and for nobody else: one published client
// sends no Accept-Encoding and could not read them.
#pragma once
#include "server/http.hpp"

#include <cstddef>
#include <string>
#include <string_view>

namespace dw::server {

enum class Coding { identity, gzip, deflate };
std::string_view to_string(Coding coding);

// The client's favourite by its q-values; gzip where it likes both the same. Identity when it names
// neither, forbids them, likes identity better, or cannot be understood.
Coding choose_coding(std::string_view accept_encoding);

// JSON of that length or more, not encoded yet.
bool worth_compressing(const Response& response, std::size_t min_bytes);

// Compresses the body and says so in the headers. A body that would not get smaller stays as it is.
void shrink(Response& response, Coding coding);

// Tells caches that the answer depends on Accept-Encoding, whichever coding it has.
void vary_by_encoding(Response& response);

// gzip, or a raw deflate stream; identity gives the text back. `deflate` without zlib's frame is
// what the reference sends.
std::string compressed_text(std::string_view text, Coding coding);

}  // namespace dw::server
