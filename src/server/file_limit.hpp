// How many files this process may have open: every connection is one, and the usual limit of a
// shell is 1024.
#pragma once
#include <cstddef>
#include <string>

namespace dw::server {

// Raises what is allowed to the most that this user may ask for, and gives what is allowed then.
std::size_t raise_file_limit();
// What it would be raised to.
std::size_t highest_file_limit();

// As many of the connections wanted as leave enough files for the store, the logs and the rest.
std::size_t connections_within(std::size_t files, std::size_t wanted);

// What operators are told who wanted more of them than there can be, and what to do about it.
std::string too_few_files(std::size_t files, std::size_t wanted);

}  // namespace dw::server
