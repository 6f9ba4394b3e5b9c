// A server that is a local process: one shared by all sessions, restarted when it has died, or one
// per session. Starting waits out a jittered, growing pause when the last one died young.
#pragma once

#include "aio/latch.hpp"
#include "upstream/server.hpp"
#include "upstream/stdio_process.hpp"

#include <memory>
#include <vector>

namespace sluice::upstream {

class stdio_server final : public server {
public:
    stdio_server(std::shared_ptr<core> shared, stdio_settings settings);

    const server_settings& settings() const override { return core_->settings; }
    aio::task<base::result<std::shared_ptr<link>>> open(open_request request) override;
    bool is_bound_here() const override { return core_->settings.isolation_per_session; }
    server_status status() const override;
    aio::task<> shut_down() override;

private:
    using opened = base::result<std::shared_ptr<link>>;
    aio::task<opened> open_shared(open_request request);
    aio::task<opened> start_one(open_request request, bool isolated);
    aio::task<base::result<void>> wait_turn(aio::instant until);

    std::shared_ptr<core> core_;
    stdio_settings stdio_;
    std::shared_ptr<stdio_process> shared_;
    std::vector<std::weak_ptr<stdio_process>> running_; // every one, for shut_down
    bool starting_ = false;
    aio::latch started_;
    base::fault last_;
    std::uint32_t early_deaths_ = 0;
    aio::instant not_before_{};
};

} // namespace sluice::upstream
