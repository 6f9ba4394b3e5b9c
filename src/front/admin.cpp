#include "front/admin.hpp"

namespace sluice::front {

aio::task<> admin::serve(net::exchange& http) {
    net::response out;
    out.headers.add("Content-Type", "text/plain; charset=utf-8");
    auto path = http.head().path();
    if (http.head().method != "GET" && http.head().method != "HEAD") {
        out.status = 405;
        out.headers.add("Allow", "GET, HEAD");
        out.body = "only GET\n";
    } else if (path == "/metrics") {
        out.headers.set("Content-Type", "text/plain; version=0.0.4; charset=utf-8");
        out.body = meters_.render();
    } else if (path == "/healthz") {
        out.body = "ok\n";
    } else if (path == "/readyz") {
        auto reason = ready_();
        out.status = reason.empty() ? 200 : 503;
        out.body = (reason.empty() ? "ready" : reason) + "\n";
    } else {
        out.status = 404;
        out.body = "here are /metrics, /healthz and /readyz\n";
    }
    [[maybe_unused]] auto written = co_await http.respond(std::move(out));
}

} // namespace sluice::front
