// What a command is: mostly data. From one description follow its parsing, the request it sends,
// the table it prints, its help, its completion and its row in the reference. Only what does not
// fit into one request and one answer brings code of its own.
#pragma once
#include "cli/failure.hpp"

#include <dw/value.hpp>

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace dw::cli {

class Given;
class Page;
struct Task;

enum class Kind {
  text,
  whole,    // a number between `least` and `most`
  flag,     // takes no value
  json,     // one JSON value
  object,   // one JSON object
  list,     // may be repeated
  pairs,    // key=value, may be repeated
  file,     // the JSON object in that file, - for standard input
  content,  // the text in that file, likewise
};

struct Argument {
  std::string_view name;
  std::string_view help = {};
  bool required = true;
  std::string_view key = {};  // in the body, beside its place in the path
  Kind kind = Kind::text;
};

struct Option {
  std::string_view name;
  std::string_view help = {};
  Kind kind = Kind::text;
  std::string_view key = {};  // where the value goes in the body or the query: "failure.message"
  char letter = 0;
  std::string_view fallback = {};  // the value when it is not given
  std::vector<std::string_view> choices = {};
  // "list.status": the server publishes what it takes there, and that is what counts.
  std::string_view contract = {};
  bool required = false;
  std::int64_t least = 1;
  std::int64_t most = INT64_MAX;
};

enum class Format { plain, status, json, yes_no, facts };

// A value of the answer, by a path of keys: "stats.pollers.active_count". Alternatives are
// separated by '|', the first that is there counts.
struct Column {
  std::string_view title;
  std::string_view path;
  Format format = Format::plain;
};

struct View {
  std::string_view heading = {};
  std::vector<Column> lines = {};  // one labelled line each
  std::string_view list = {};      // the key of the list, for commands that list
  std::string_view things = {};    // what it lists, for "No … found"
  std::vector<Column> columns = {};
  void (*draw)(Page& page, const Value& answer) = nullptr;  // instead of all that
};

enum class Scope {
  nothing,       // belongs to no namespace
  in_namespace,  // the answer and its items say which
  resource,      // is about a namespace, whose name is its namespace
};

enum class InputAs { nothing, arguments, value };

enum class Patience {
  usual,
  query,  // as long as a worker may take to answer
  poll,   // as long as the server holds a poll
};

struct Command {
  std::string_view name;
  std::string_view summary;
  std::vector<std::string_view> aliases = {};
  std::vector<Argument> arguments = {};
  std::vector<Option> options = {};
  std::string_view method = {};  // empty: no server is asked
  std::string_view path = {};    // "/workflows/{workflow-id}[/runs/{run-id}]/cancel"
  std::string_view asks = {};    // for help, where method and path are not all of it
  Scope scope = Scope::in_namespace;
  InputAs input = InputAs::nothing;
  std::string_view input_key = "input";
  View view = {};
  bool asks_first = false;  // on a terminal, unless --yes
  bool needs_yes = false;   // and where nobody can be asked, nothing is done without --yes
  bool worker_protocol = false;
  bool preflight = true;
  Patience patience = Patience::usual;
  std::vector<std::string_view> examples = {};
  std::string_view exits = {};  // what its exit codes mean beyond the usual

  // Refuses what makes no sense, whatever the server is like: nobody is asked before.
  std::optional<Failure> (*check)(const Task& task) = nullptr;
  // Completes or refuses the body, where options alone do not make it.
  Outcome<Value::Map> (*shape)(const Given& given, Value::Map body) = nullptr;
  // Adds to the answer before it is shown.
  Value (*enrich)(const Task& task, Value answer) = nullptr;
  // Adds to the document that tells of a failure.
  Value (*enrich_failure)(const Given& given, Value document) = nullptr;
  // Success, or not, by what the answer says.
  Exit (*verdict)(const Value& answer) = nullptr;
  // Everything, instead of one request and one answer.
  Outcome<Exit> (*run)(Task& task) = nullptr;
};

// Options that every client command has.
const std::vector<Option>& global_options();
// --input, --input-file, --input-encoding
const std::vector<Option>& input_options();
const Option& yes_option();

// The options of a command, its own first, then those it shares.
std::vector<const Option*> options_of(const Command& command);
const Option* find_option(const Command& command, std::string_view name);
const Option* find_option(const Command& command, char letter);

}  // namespace dw::cli
