// Namespaces, search attributes and storage of large payloads.
#include "cli/catalogue.hpp"
#include "cli/given.hpp"
#include "cli/lookup.hpp"
#include "cli/page.hpp"
#include "cli/task.hpp"

#include <fmt/format.h>

namespace dw::cli {
namespace {

const Argument which_namespace{.name = "name", .help = "The namespace"};
const Option its_description{
    .name = "description", .help = "What it is for", .key = "description", .letter = 'd'};

std::vector<Column> namespace_lines() {
  return {{"Namespace", "name"},
          {"Description", "description"},
          {"Retention (days)", "retention_days"},
          {"Status", "status", Format::status},
          {"Created", "created_at"},
          {"Updated", "updated_at"},
          {"Deleted", "deleted", Format::facts},
          {"Storage Driver", "external_payload_storage.driver"},
          {"Storage Enabled", "external_payload_storage.enabled"},
          {"Threshold (bytes)", "external_payload_storage.threshold_bytes"},
          {"Storage Config", "external_payload_storage.config", Format::facts}};
}

// The answer has two maps from name to type; a list is what people and scripts read.
Value::Array attributes_in(const Value& answer) {
  Value::Array rows;
  for (const auto& [source, key] :
       {std::pair{"system", "system_attributes"}, std::pair{"custom", "custom_attributes"}}) {
    const Value* attributes = look_up(answer, key);
    if (!attributes || !attributes->if_map()) continue;
    for (const auto& [attribute, type] : *attributes->if_map()) {
      rows.emplace_back(Value::Map{{"name", attribute},
                                   {"type", type},
                                   {"source", source},
                                   {"namespace", text_of(answer, "namespace")}});
    }
  }
  return rows;
}

void draw_attributes(Page& page, const Value& answer) {
  page.text(fmt::format("Namespace: {}", words_of(answer, "namespace")));
  page.table({{"Name", "name"}, {"Type", "type"}, {"Source", "source"}}, attributes_in(answer));
}

Outcome<Exit> run_list_attributes(Task& task) {
  if (!task.output.by_line()) return run_described(task);
  const Request request = DW_TRY(request_of(task));
  const Value answer = DW_TRY(answer_to(task, request));
  for (const Value& attribute : attributes_in(answer)) task.output.print(attribute);
  return Exit::success;
}

Outcome<Value::Map> enabled_unless_disabled(const Given& given, Value::Map body) {
  body.emplace_back("enabled", !given.flag("disable"));
  return body;
}

// What a namespace has, with what was given beside the driver put over it.
Outcome<Value> disabled_storage(const std::string& name, const Value& storage, Value given) {
  const auto driver = text_of(given, "driver"), used = text_of(storage, "driver");
  if (used.empty()) return given;
  if (used != driver) {
    if (given.if_map()->size() > 2) return given;  // more than the driver and enabled: a new one
    return invalid_input(fmt::format(
        "namespace:set-storage-driver: namespace '{}' keeps large payloads with '{}', not '{}'",
        name, used, driver));
  }
  Value merged = Value::Map{};
  for (const auto& [key, value] : *storage.if_map()) {
    if (!value.is_null()) set_entry(merged, key, value);
  }
  const Value* kept = look_up(storage, "config");
  Value config = kept && kept->if_map() ? *kept : Value{Value::Map{}};
  for (const auto& [key, value] : *given.if_map()) {
    if (key != "config") set_entry(merged, key, value);
  }
  if (const Value* changed = look_up(given, "config")) {
    for (const auto& [key, value] : *changed->if_map()) set_entry(config, key, value);
  }
  set_entry(merged, "config", std::move(config));
  return merged;
}

// The server takes settings as a whole: those that are to be kept are asked for, and sent back.
Outcome<Exit> run_set_storage(Task& task) {
  Request request = DW_TRY(request_of(task));
  if (task.given.flag("disable")) {
    const Value known =
        DW_TRY(task.session.ask({.target = fill_path("/namespaces/{name}", task.given)}));
    const Value* storage = look_up(known, "external_payload_storage");
    request.body = DW_TRY(disabled_storage(task.given.text("name"), storage ? *storage : Value{},
                                           *std::move(request.body)));
  }
  show_answer(task, DW_TRY(answer_to(task, request)));
  return Exit::success;
}

Option of_config(std::string_view option, std::string_view key, std::string_view help) {
  return {.name = option, .help = help, .key = key};
}

Command about_one(std::string_view command_name, std::string_view summary, std::string_view method,
                  std::string_view heading) {
  return {.name = command_name,
          .summary = summary,
          .arguments = {which_namespace},
          .method = method,
          .path = "/namespaces/{name}",
          .scope = Scope::resource,
          .view = {.heading = heading, .lines = namespace_lines()}};
}

Command list_namespaces_command() {
  return {.name = "namespace:list",
          .summary = "List namespaces",
          .method = "GET",
          .path = "/namespaces",
          .scope = Scope::resource,
          .view = {.list = "namespaces",
                   .things = "namespaces",
                   .columns = {{"Namespace", "name"},
                               {"Description", "description"},
                               {"Retention (days)", "retention_days"},
                               {"Status", "status", Format::status}}},
          .examples = {"dw namespace:list", "dw namespaces list --output=jsonl"}};
}

Command create_namespace_command() {
  return {.name = "namespace:create",
          .summary = "Make a namespace",
          .arguments = {{.name = "name", .help = "Its name", .key = "name"}},
          .options = {its_description,
                      {.name = "retention",
                       .help = "Days for which workflows that have ended are kept",
                       .kind = Kind::whole,
                       .key = "retention_days",
                       .letter = 'r',
                       .fallback = "30",
                       .most = 365}},
          .method = "POST",
          .path = "/namespaces",
          .scope = Scope::resource,
          .view = {.heading = "Namespace created", .lines = namespace_lines()},
          .examples = {"dw namespace:create billing -d 'Invoices' -r 90",
                       "dw namespace:create billing --json"}};
}

Command storage_driver_command() {
  return {.name = "namespace:set-storage-driver",
          .summary = "Say where large payloads of a namespace are kept",
          .arguments = {which_namespace,
                        {.name = "driver", .help = "local, s3, gcs or azure", .key = "driver"}},
          .options = {{.name = "threshold-bytes",
                       .help = "Larger payloads go there",
                       .kind = Kind::whole,
                       .key = "threshold_bytes"},
                      of_config("uri", "config.uri", "A URI"),
                      of_config("disk", "config.disk", "A disk's name"),
                      of_config("bucket", "config.bucket", "A bucket"),
                      of_config("prefix", "config.prefix", "Before every key"),
                      of_config("region", "config.region", "A region"),
                      of_config("endpoint", "config.endpoint", "Where the service is"),
                      of_config("auth-profile", "config.auth_profile", "Which credentials"),
                      {.name = "disable",
                       .help = "Keep the settings, do not use them",
                       .kind = Kind::flag}},
          .method = "PUT",
          .path = "/namespaces/{name}/external-storage",
          .scope = Scope::resource,
          .view = {.heading = "Storage driver set", .lines = namespace_lines()},
          .examples =
              {"dw namespace:set-storage-driver billing s3 --bucket=payloads --region=eu-central-1",
               "dw namespace:set-storage-driver billing s3 --disable"},
          .shape = enabled_unless_disabled,
          .run = run_set_storage};
}

Command storage_test_command() {
  return {.name = "storage:test",
          .summary = "Write and read a small and a large payload",
          .options = {{.name = "driver",
                       .help = "This driver, not the namespace's",
                       .key = "driver",
                       .choices = {"local", "s3", "gcs", "azure"}},
                      {.name = "small-bytes",
                       .help = "Size of the small one",
                       .kind = Kind::whole,
                       .key = "small_payload_bytes",
                       .fallback = "128",
                       .most = 1048576},
                      {.name = "large-bytes",
                       .help = "Size of the large one",
                       .kind = Kind::whole,
                       .key = "large_payload_bytes",
                       .fallback = "2097152",
                       .most = 16777216}},
          .method = "POST",
          .path = "/storage/test",
          .view = {.heading = "Storage test",
                   .lines = {{"Status", "status", Format::status},
                             {"Namespace", "namespace"},
                             {"Driver", "driver"},
                             {"Small Payload", "small_payload", Format::facts},
                             {"Large Payload", "large_payload", Format::facts}}},
          .examples = {"dw storage:test", "dw storage:test --driver=s3 --large-bytes=4194304"}};
}

std::vector<Command> attribute_commands() {
  return {{.name = "search-attribute:list",
           .summary = "List search attributes",
           .method = "GET",
           .path = "/search-attributes",
           .view = {.draw = draw_attributes},
           .examples = {"dw search-attribute:list", "dw search-attribute list --json"},
           .run = run_list_attributes},
          {.name = "search-attribute:create",
           .summary = "Make a search attribute",
           .arguments = {{.name = "name", .help = "Its name", .key = "name"},
                         {.name = "type",
                          .help = "keyword, text, int, double, bool, datetime or keyword_list",
                          .key = "type"}},
           .method = "POST",
           .path = "/search-attributes",
           .view = {.heading = "Search attribute created",
                    .lines = {{"Name", "name"}, {"Type", "type"}, {"Namespace", "namespace"}}},
           .examples = {"dw search-attribute:create CustomerId keyword",
                        "dw search-attribute:create Total double --json"}},
          {.name = "search-attribute:delete",
           .summary = "Remove a search attribute",
           .arguments = {{.name = "name", .help = "Its name"}},
           .method = "DELETE",
           .path = "/search-attributes/{name}",
           .view = {.heading = "Search attribute deleted",
                    .lines = {{"Name", "name"}, {"Namespace", "namespace"}}},
           .examples = {"dw search-attribute:delete CustomerId",
                        "dw search-attribute:delete CustomerId --json"}}};
}

}  // namespace

std::vector<Command> namespace_commands() {
  Command describe = about_one("namespace:describe", "Show a namespace", "GET", "Namespace");
  describe.examples = {"dw namespace:describe billing", "dw namespace:describe billing --json"};
  Command update = about_one("namespace:update", "Change a namespace", "PUT", "Namespace updated");
  update.options = {its_description,
                    {.name = "retention",
                     .help = "Days for which workflows that have ended are kept",
                     .kind = Kind::whole,
                     .key = "retention_days",
                     .letter = 'r',
                     .most = 365}};
  update.examples = {"dw namespace:update billing --retention=120",
                     "dw namespace:update billing -d 'Invoices and reports'"};
  Command remove =
      about_one("namespace:delete", "Remove a namespace", "DELETE", "Namespace deleted");
  remove.asks_first = true;
  remove.examples = {"dw namespace:delete billing", "dw namespace:delete billing --yes --json"};
  std::vector<Command> all{
      list_namespaces_command(), create_namespace_command(), describe, update, remove,
      storage_driver_command()};
  for (Command& command : attribute_commands()) all.push_back(std::move(command));
  all.push_back(storage_test_command());
  return all;
}

}  // namespace dw::cli
