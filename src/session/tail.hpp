// Copies the log that another replica writes into a stream of this one, as it grows, so that a host
// that comes back here reads on. Made by gateway, which also looks whether the writer still lives.
#pragma once

#include "aio/channel.hpp"
#include "aio/task.hpp"
#include "base/result.hpp"
#include "session/records.hpp"
#include "session/stream.hpp"
#include "state/store.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace sluice::session {

class tail {
public:
    tail(aio::executor ex, records& kept, std::string key);
    tail(const tail&) = delete;
    tail& operator=(const tail&) = delete;
    ~tail();

    // Reads the first of it into `into`, which is empty: what comes after `position` (ahead of the
    // log = from its end). False when there is no such log.
    aio::task<base::result<bool>> begin(std::shared_ptr<stream> into, std::uint64_t position);
    // Waits for more until `until` and reads it; no fault when nothing came. errc::not_found when
    // the log is gone.
    aio::task<base::result<void>> pull(aio::instant until);

    // What the log's record said when it was read last.
    std::string_view fact(std::string_view name) const;
    const std::string& owner() const { return owner_; }
    std::uint64_t epoch() const { return epoch_; }
    bool has_ended() const { return ended_; }
    const std::string& key() const { return key_; }

private:
    aio::task<base::result<bool>> read();

    records& kept_;
    std::string key_;
    std::shared_ptr<stream> into_;
    aio::signal_flag grown_;
    std::uint64_t position_ = 0;
    std::uint64_t epoch_ = 0;
    std::string owner_;
    state::fields facts_;
    bool ended_ = false;
};

} // namespace sluice::session
