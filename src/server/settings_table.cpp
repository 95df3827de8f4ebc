#include "server/settings.hpp"

#include <algorithm>

namespace dw::server {
namespace {

// In the order in which the documentation shows them.
constexpr Setting setting_table[] = {
    {"config", "DW_CONFIG", "--config", SettingKind::text, "", "FILE",
     "A TOML file with these settings", false},

    {"server.listen", "DW_LISTEN", "--listen", SettingKind::text, "127.0.0.1:8080", "HOST:PORT",
     "Address and port; one that others can reach needs credentials"},
    {"server.threads", "DW_THREADS", "--threads", SettingKind::number, "1", "1..64",
     "Threads for sockets"},
    {"server.stay_awake_us", "DW_STAY_AWAKE_US", "", SettingKind::number, "500", "0..100000",
     "Threads without work look for more for so long before they sleep, if that has paid lately"},
    {"server.max_connections", "DW_MAX_CONNECTIONS", "", SettingKind::number, "20000", "1..1000000",
     "Clients beyond it are told to come back"},
    {"server.max_body_bytes", "DW_MAX_BODY_BYTES", "", SettingKind::number, "2097152",
     "1024..1073741824", "A longer request is refused"},
    {"server.compression", "DW_COMPRESSION_ENABLED", "", SettingKind::on_off, "true", "",
     "Compress long answers for clients that ask for it"},
    {"server.namespace", "DW_DEFAULT_NAMESPACE", "--namespace", SettingKind::text, "default",
     "NAME", "The namespace of requests that name none"},
    {"server.lenient_run_closed", "DW_LENIENT_RUN_CLOSED", "", SettingKind::on_off, "false", "",
     "Tell workers that a closed run took their result, instead of 409"},
    {"server.shutdown_timeout", "DW_SHUTDOWN_TIMEOUT", "--shutdown-timeout", SettingKind::number,
     "30", "0..3600", "Seconds for open requests to end"},
    {"server.pid_file", "DW_PID_FILE", "--pid-file", SettingKind::text, "", "FILE",
     "Holds the process id while the server runs"},
    {"server.ready_fd", "DW_READY_FD", "--ready-fd", SettingKind::number, "", "1..1048575",
     "The ready line is written to this descriptor, too, which is then closed", false},

    {"store.data_dir", "DW_DATA_DIR", "--data-dir", SettingKind::text, "./dw-data", "DIR",
     "Where the store is kept"},
    {"store.location", "DW_STORE", "--store", SettingKind::text, "", "STORE",
     "sqlite:FILE; without it dw.db in the data directory"},

    {"tls.certificate", "DW_TLS_CERT", "--tls-cert", SettingKind::text, "", "FILE",
     "Certificate chain, PEM; needs tls.key"},
    {"tls.key", "DW_TLS_KEY", "--tls-key", SettingKind::text, "", "FILE", "Its key, PEM"},

    {"auth.driver", "DW_AUTH_DRIVER", "", SettingKind::choice, "token", "none|token|signature",
     "How callers prove who they are"},
    {"auth.admin_token_file", "DW_ADMIN_TOKEN_FILE", "--admin-token-file", SettingKind::text, "",
     "FILE", "Holds the admin's token, or with signatures the key"},
    {"auth.operator_token_file", "DW_OPERATOR_TOKEN_FILE", "--operator-token-file",
     SettingKind::text, "", "FILE", "The same for operators"},
    {"auth.worker_token_file", "DW_WORKER_TOKEN_FILE", "--worker-token-file", SettingKind::text, "",
     "FILE", "The same for workers"},
    {"auth.admin_token", "DW_ADMIN_TOKEN", "", SettingKind::secret, "", "", "The admin's token",
     false},
    {"auth.operator_token", "DW_OPERATOR_TOKEN", "", SettingKind::secret, "", "",
     "The operators' token", false},
    {"auth.worker_token", "DW_WORKER_TOKEN", "", SettingKind::secret, "", "", "The workers' token",
     false},
    {"auth.token", "DW_AUTH_TOKEN", "", SettingKind::secret, "", "",
     "Opens everything while no role has a secret of its own, and is an admin's from then on",
     false},
    {"auth.admin_signature_key", "DW_ADMIN_SIGNATURE_KEY", "", SettingKind::secret, "", "",
     "The key of the admin's signatures", false},
    {"auth.operator_signature_key", "DW_OPERATOR_SIGNATURE_KEY", "", SettingKind::secret, "", "",
     "The key of operators' signatures", false},
    {"auth.worker_signature_key", "DW_WORKER_SIGNATURE_KEY", "", SettingKind::secret, "", "",
     "The key of workers' signatures", false},
    {"auth.signature_key", "DW_SIGNATURE_KEY", "", SettingKind::secret, "", "",
     "What DW_AUTH_TOKEN is among tokens", false},
    {"auth.backward_compatible", "DW_AUTH_BACKWARD_COMPATIBLE", "", SettingKind::on_off, "true", "",
     "Whether DW_AUTH_TOKEN and DW_SIGNATURE_KEY count"},

    {"log.level", "DW_LOG_LEVEL", "--log-level", SettingKind::choice, "info",
     "trace|debug|info|warn|error|off", "The least that is worth a line"},
    {"log.format", "DW_LOG_FORMAT", "--log-format", SettingKind::choice, "text", "text|json",
     "Lines for people or for machines; also of the ready line and the access log"},
    {"log.access", "DW_ACCESS_LOG", "--access-log", SettingKind::choice, "errors", "off|errors|all",
     "A line for each request: none, those that failed or took a second, all"},
    {"log.access_file", "DW_ACCESS_LOG_FILE", "--access-log-file", SettingKind::text, "", "FILE",
     "Where these lines go; without it beside the others, to standard error"},
    {"metrics.open", "DW_METRICS_OPEN", "", SettingKind::on_off, "false", "",
     "Anybody may read /metrics; otherwise whoever has a token, of any role"},

    {"admission.workflow_task_max_active_leases_per_queue",
     "DW_WORKFLOW_TASK_MAX_ACTIVE_LEASES_PER_QUEUE", "", SettingKind::number, "", "1..1000000000",
     "Workflow tasks of a queue that workers hold at a time; without it any number"},
    {"admission.workflow_task_max_active_leases_per_namespace",
     "DW_WORKFLOW_TASK_MAX_ACTIVE_LEASES_PER_NAMESPACE", "", SettingKind::number, "",
     "1..1000000000", "The same for all queues of a namespace together"},
    {"admission.workflow_task_max_dispatches_per_minute",
     "DW_WORKFLOW_TASK_MAX_DISPATCHES_PER_MINUTE", "", SettingKind::number, "", "1..1000000000",
     "Workflow tasks of a queue that go out in a minute; without it any number"},
    {"admission.workflow_task_max_dispatches_per_minute_per_namespace",
     "DW_WORKFLOW_TASK_MAX_DISPATCHES_PER_MINUTE_PER_NAMESPACE", "", SettingKind::number, "",
     "1..1000000000", "The same for all queues of a namespace together"},
    {"admission.activity_task_max_active_leases_per_queue",
     "DW_ACTIVITY_TASK_MAX_ACTIVE_LEASES_PER_QUEUE", "", SettingKind::number, "", "1..1000000000",
     "Activity tasks of a queue that workers hold at a time; without it any number"},
    {"admission.activity_task_max_active_leases_per_namespace",
     "DW_ACTIVITY_TASK_MAX_ACTIVE_LEASES_PER_NAMESPACE", "", SettingKind::number, "",
     "1..1000000000", "The same for all queues of a namespace together"},
    {"admission.activity_task_max_dispatches_per_minute",
     "DW_ACTIVITY_TASK_MAX_DISPATCHES_PER_MINUTE", "", SettingKind::number, "", "1..1000000000",
     "Activity tasks of a queue that go out in a minute; without it any number"},
    {"admission.activity_task_max_dispatches_per_minute_per_namespace",
     "DW_ACTIVITY_TASK_MAX_DISPATCHES_PER_MINUTE_PER_NAMESPACE", "", SettingKind::number, "",
     "1..1000000000", "The same for all queues of a namespace together"},
    {"admission.query_task_max_pending_per_queue", "DW_QUERY_TASK_MAX_PENDING_PER_QUEUE", "",
     SettingKind::number, "1024", "1..10000",
     "Queries that wait for the workers of a queue; one more is refused"},
    {"admission.overrides", "DW_TASK_QUEUE_ADMISSION_OVERRIDES", "", SettingKind::text, "", "JSON",
     "Other limits for some queues, and budget groups (below)"},

    {"retention.enabled", "DW_RETENTION_ENABLED", "", SettingKind::on_off, "true", "",
     "Every hour, let go of runs that ended longer ago than their namespace keeps them"},
    {"updates.behind_pending_signal", "DW_UPDATES_BEHIND_PENDING_SIGNAL", "", SettingKind::choice,
     "reject", "reject|queue",
     "An update sent before an earlier signal is applied: refused, or applied after it"},

    {"schedules.action_log_retention", "DW_SCHEDULES_ACTION_LOG_RETENTION", "", SettingKind::number,
     "30", "0..36500",
     "Days for which schedules remember what they did not start, and why; 0: for ever"},

    {"history_export.signing_key", "DW_V2_HISTORY_EXPORT_SIGNING_KEY", "", SettingKind::secret, "",
     "", "Exported histories are signed with it", false},
    {"history_export.signing_key_id", "DW_V2_HISTORY_EXPORT_SIGNING_KEY_ID", "", SettingKind::text,
     "", "ID", "What a signed export calls that key"},

    {"audit.strict", "DW_ENV_AUDIT_STRICT", "", SettingKind::on_off, "false", "",
     "Refuse to start when a DW_ or WATERLINE_ variable is not known", false},
};

}  // namespace

std::span<const Setting> settings() {
  return setting_table;
}

const Setting* find_setting(std::string_view name) {
  const auto found = std::ranges::find(setting_table, name, &Setting::name);
  return found == std::end(setting_table) ? nullptr : found;
}

std::string settings_in_markdown() {
  std::string text =
      "| In the file | In the environment | On the command line | Values | Default | |\n"
      "|---|---|---|---|---|---|\n";
  const auto code = [](std::string_view word) {
    return word.empty() ? std::string{} : "`" + std::string{word} + "`";
  };
  for (const Setting& setting : settings()) {
    std::string values{setting.values};
    if (setting.kind == SettingKind::on_off) values = "true or false";
    if (setting.kind == SettingKind::secret) values = "secret";
    // A bar would end the column.
    for (auto at = values.find('|'); at != std::string::npos; at = values.find('|', at + 2)) {
      values.replace(at, 1, ", ");
    }
    text += "| " + code(setting.in_file ? setting.name : "") + " | " + code(setting.variable) +
            " | " + code(setting.flag) + " | " + values + " | " + code(setting.fallback) + " | " +
            std::string{setting.help} + " |\n";
  }
  return text;
}

}  // namespace dw::server
