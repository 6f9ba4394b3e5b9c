#include "state/redis_client.hpp"

#include "sys/log.hpp"

#include <boost/asio/post.hpp>

namespace sluice::state {

using base::result;

namespace {

aio::task<result<redis_address>> always(redis_address at) {
    co_return at;
}

double seconds_since(aio::instant since) {
    return std::chrono::duration<double>(aio::clock::now() - since).count();
}

} // namespace

redis_client::redis_client(redis_surroundings& around, sys::meters* meters)
    : around_(around), meters_(meters),
      node_(
          around,
          finder(),
          {[this](redis_command command, result<wire::resp_reply> reply) {
               answered(std::move(command), std::move(reply));
           },
           [this](const base::fault* why) { changed("commands", why); }}
      ),
      ear_(around, finder(), [this](const base::fault* why) { changed("subscription", why); }) {}

redis_client::~redis_client() = default;

redis_finder redis_client::finder() {
    return [this](aio::instant) { return always(around_.settings.at); };
}

void redis_client::start() {
    node_.start();
    ear_.start();
}

aio::task<> redis_client::shut_down() {
    co_await ear_.shut_down();
    co_await node_.shut_down();
}

health redis_client::how() const {
    auto commands = node_.how();
    auto hearing = ear_.how();
    if (commands.up != hearing.up) return commands.up ? hearing : commands;
    return {commands.up, std::max(commands.since, hearing.since)};
}

void redis_client::changed(std::string_view which, const base::fault* why) {
    if (why == nullptr) {
        sys::log_line(sys::log_level::info, "store").field("state", "up").field("for", which);
    } else {
        sys::log_line(sys::log_level::warn, "store")
            .field("state", "down")
            .field("for", which)
            .field("why", why->message);
    }
    if (why == nullptr && meters_ != nullptr) meters_->store_connected();
}

void redis_client::submit(redis_command command) {
    auto why = node_.submit(command);
    if (why) refuse(std::move(command), std::move(*why));
}

void redis_client::refuse(redis_command command, base::fault why) {
    auto tell = [this,
                 alive = std::weak_ptr(alive_),
                 command = std::make_shared<redis_command>(std::move(command)),
                 why = std::move(why)]() mutable {
        if (alive.lock()) finish(std::move(*command), std::move(why));
    };
    boost::asio::post(around_.loop, std::move(tell));
}

void redis_client::answered(redis_command command, result<wire::resp_reply> reply) {
    bool unknown = reply && reply->is_error() && reply->text.find("NOSCRIPT") == 0;
    if (unknown && command.script != nullptr && !command.whole_script) {
        command.whole_script = true;
        submit(std::move(command));
        return;
    }
    finish(std::move(command), std::move(reply));
}

void redis_client::finish(redis_command command, result<wire::resp_reply> reply) {
    if (reply && reply->is_error()) reply = fault_of(*reply);
    if (meters_ != nullptr) {
        auto outcome = reply ? std::string_view("ok") : base::name_of(reply.error().code);
        meters_->store_command(command.op, outcome, seconds_since(command.since));
    }
    if (command.done) command.done(std::move(reply));
}

} // namespace sluice::state
