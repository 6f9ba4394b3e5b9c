#include "upstream/related_task.hpp"

namespace sluice::upstream {

namespace {

constexpr std::string_view key = "io.modelcontextprotocol/related-task";

std::string task_id_in(std::string_view object) {
    auto id = wire::object_view(object).find("taskId");
    bool text = id && wire::kind_of(*id) == wire::kind::string;
    return text ? wire::unescape(*id) : std::string();
}

} // namespace

std::optional<std::string> related_task(const wire::message& request) {
    if (!request.meta.present()) return std::nullopt;
    auto named = wire::object_view(request.view(request.meta)).find(key);
    if (!named) return std::nullopt;
    return task_id_in(*named);
}

bool is_about_task(const wire::message& call, const std::string& task) {
    if (task.empty()) return false;
    if (related_task(call) == task) return true;
    return call.method_is("tasks/result") && task_id_in(call.view(call.params)) == task;
}

} // namespace sluice::upstream
