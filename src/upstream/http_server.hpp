// A server reached by HTTP: Streamable HTTP, or the older HTTP+SSE when so configured or when the
// server turns out to speak only that (spec: backwards compatibility).
#pragma once

#include "net/http_client.hpp"
#include "upstream/core.hpp"
#include "upstream/http_session.hpp"
#include "upstream/sse_session.hpp"

#include <memory>
#include <vector>

namespace sluice::upstream {

class http_server final : public server {
public:
    http_server(std::shared_ptr<core> shared, std::shared_ptr<net::http_pool> pool);

    const server_settings& settings() const override { return core_->settings; }
    aio::task<base::result<std::shared_ptr<link>>> open(open_request request) override;
    bool is_bound_here() const override {
        return core_->settings.kind == transport::sse || speaks_sse_;
    }
    server_status status() const override;
    aio::task<> shut_down() override;

private:
    using opened = base::result<std::shared_ptr<link>>;
    aio::task<opened> open_either(open_request request);
    aio::task<opened> open_sse(open_request request);

    std::shared_ptr<core> core_;
    std::shared_ptr<net::http_pool> pool_;
    std::vector<std::weak_ptr<sse_session>> streams_; // for shut_down
    aio::instant only_sse_until_{};                   // what the last try has shown
    bool speaks_sse_ = false;                         // the last session that was opened does
};

} // namespace sluice::upstream
