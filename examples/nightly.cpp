// A report every night at half past two in Berlin, but not on weekends. Start it, kill it, start it
// again: each night has one report. So that nobody has to wait for the night, one is triggered now.
#include <dw/dw.hpp>

#include <iostream>

std::string count_sales(std::string shop) {
  return "the sales of " + shop;
}

std::string nightly_report(std::string shop) {
  return "Counted " + dw::activity(count_sales, shop) + ".";
}

int main() {
  dw::Registry registry;
  registry.activity("count_sales", count_sales);
  registry.workflow("nightly_report", nightly_report);
  dw::Engine engine{std::move(registry), {.store = "nightly.db"}};

  auto schedules = engine.schedules();
  try {
    schedules.create(nightly_report,
                     {.id = "nightly",
                      .cron = {"30 2 * * *"},
                      .timezone = "Europe/Berlin",
                      .calendars = {"weekdays"}},
                     "Hamburg");
  } catch (const dw::EngineError& error) {
    if (error.code() != dw::ErrorCode::conflict) throw;  // it is there from the last time
  }

  for (const auto& tick : schedules.preview("nightly", 3)) {
    std::cout << dw::format_timestamp(tick.at) << "  " << tick.reason << std::endl;
  }
  const auto now = schedules.trigger("nightly");
  if (now.outcome == "skipped") {
    std::cout << "not now: " << now.reason << std::endl;
  } else {
    std::cout << engine.handle<std::string>(now.instance_id).result() << std::endl;
  }
}
