// What can be told about a schedule from what its server says, without asking again: when it fires,
// in words, and whether it did.
#pragma once
#include "cli/failure.hpp"
#include "schedule/spec.hpp"

#include <dw/time.hpp>
#include <dw/value.hpp>

#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace dw::cli {

class Given;

std::shared_ptr<const schedule::Zone> zone_here(const std::string& name);

// {"cron_expressions", "intervals", "timezone"} as requests and answers write it.
schedule::SpecText spec_text_in(const Value& spec);
// Absent when it makes no sense here: a zone that this machine does not know, say.
std::optional<schedule::Spec> spec_in(const Value& spec, Timestamp now);

// "PT1H, P1D (offset PT6H)"; a dash when there is none.
std::string intervals_in_words(const Value& spec);

std::optional<Timestamp> instant_of(const Value& answer, std::string_view path);

enum class Health { ok, missed, paused, never_ran };
std::string_view to_string(Health health);

// Missed: the occurrence after the one that is due has passed as well, or two have passed since
// anything was started. What was skipped was not missed, and a pause or a change begins anew.
Health health_of(const Value& schedule, Timestamp now);

bool is_overdue(const Value& schedule, Timestamp now);

// An instant as somebody wrote it, or the beginning of a day in UTC.
Outcome<std::string> instant_given(std::string_view command, std::string_view option,
                                   const Given& given);

}  // namespace dw::cli
