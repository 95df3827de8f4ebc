// Everything that serves, put together.
#pragma once
#include "embed/engine_impl.hpp"
#include "server/calendars.hpp"
#include "server/control_plane.hpp"
#include "server/debug_desk.hpp"
#include "server/http_server.hpp"
#include "server/observed.hpp"
#include "server/schedules.hpp"
#include "server/standalone_activities.hpp"
#include "server/system_desk.hpp"
#include "server/table_search.hpp"
#include "server/task_budgets.hpp"
#include "server/worker_plane.hpp"

namespace dw::app {

struct Serving {
  std::string store;
  server::Auth auth;
  server::HttpOptions http;
  std::string ns;
  bundle::SigningKey export_key;
  std::chrono::days schedule_log_retention{30};
  bool lenient_run_closed = false;
  bool updates_queue_behind_signals = false;
  bool compression = true;
  bool open_metrics = false;
  bool retention = true;  // closed runs go when their namespace keeps them no longer
  server::BudgetSettings budgets = {};
  server::AccessLog access_log = {};
};

// Built once, in the order in which the parts need each other.
class Running {
 public:
  // Serves when it is there. Throws EngineError when the store cannot be opened or the address is
  // taken.
  Running(Registry registry, Serving how);
  ~Running() { stop({}); }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;

  unsigned short port() const { return port_; }
  detail::EngineImpl& engine() { return *engine_; }
  server::HttpServer& http() { return http_; }
  server::Auth auth() { return *desk_.credentials().in_force(); }
  void replace_auth(server::Auth auth) { desk_.credentials().replace(std::move(auth)); }

  // Polls are answered at once; what is under way has that long.
  void stop(std::chrono::seconds patience);

 private:
  server::HeldTasksOf held_tasks();
  server::SystemDeskParts system_parts(std::string store);
  server::ObservedParts observation(const Serving& how);
  server::Readings readings();

  const SystemClock clock_;
  SeededRandom control_random_{system_seed()};
  SeededRandom worker_random_{system_seed()};
  SeededRandom query_random_{system_seed()};
  SeededRandom storage_random_{system_seed()};
  SeededRandom validation_random_{system_seed()};
  SeededRandom activity_random_{system_seed()};
  SeededRandom schedule_random_{system_seed()};
  SeededRandom calendar_random_{system_seed()};
  // These hear of every answer, the last of which an engine gives while it stops.
  server::Metrics metrics_{DW_VERSION};
  const server::AccessLog access_log_;
  dispatch::ThreadExecutor aside_;
  dispatch::ThreadExecutor polls_;
  dispatch::ThreadExecutor patient_;  // for disks and networks that are not the store's
  // What people look at is read here, so that no list or export holds up the engine's own reading.
  dispatch::ThreadExecutor views_;
  dispatch::ThreadExecutor probes_;  // health and readiness
  server::Matching matching_;
  server::Workers workers_;
  server::QueryTasks queries_;
  server::DeclaredValidators validators_{workers_};
  server::UpdateValidations validations_;
  std::shared_ptr<detail::EngineImpl> engine_;
  server::TableSearch table_search_;
  server::Namespaces namespaces_;
  server::Calendars calendars_;
  server::Rollouts rollouts_;
  server::PayloadStorage storage_;
  server::TaskQueues task_queues_;
  server::SystemDesk system_;
  server::ResultWaits results_;
  server::HistoryWaits histories_;
  server::SearchAttributes attributes_;
  server::StandaloneActivities activities_;
  server::DebugDesk debug_;
  server::Schedules schedules_;
  server::UpdateAdmission admission_;
  server::ControlPlane control_plane_;
  server::WorkerPlane worker_plane_;
  server::FrontDesk desk_;
  server::Observed observed_;
  server::HttpServer http_;
  unsigned short port_ = 0;
};

}  // namespace dw::app
