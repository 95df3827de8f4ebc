// For tests: everything a store answers about its runs, as text to compare by.
#pragma once
#include "engine/decide.hpp"
#include "store/store.hpp"

#include <map>
#include <string>
#include <vector>

namespace dw::upkeep::test {

// By what it is: "run …", "instance …", "tasks of …", "bundle of …". Left out is what no history
// knows: the version of a run's row, who holds a lease and until when, what a workflow task is
// called and since when it is there. Intents are told apart by what they say: compare_intents().
using Picture = std::map<std::string, std::string>;
enum class Unseen { as_it_is, asked_once_more };
// With asked_once_more, as if every run had a workflow task whose code may not have seen all.
Picture picture_of(store::Store& store, Timestamp now, Unseen unseen = Unseen::as_it_is);

// The first thing that differs, in words; empty when all is the same.
std::string difference(const Picture& expected, const Picture& actual);

std::vector<store::Task> intents_of(store::Store& store);
// What is told again was there before, and what is not told again nobody would have listened to.
std::string difference(store::Store& before, store::Store& after, Timestamp now);

// The run in which this one goes on, or itself. Absent: there is no such history.
std::optional<engine::Run> end_of_line(store::Store& store, const RunId& run);

// Histories and intake, nothing else: a store that has lost every row beside them.
void copy_truth(store::Store& from, store::Store& to);

}  // namespace dw::upkeep::test
