#include "state/redis_client.hpp"

#include "state/redis_find.hpp"
#include "sys/log.hpp"

#include <boost/asio/post.hpp>

namespace sluice::state {

using base::result;

namespace {

double seconds_since(aio::instant since) {
    return std::chrono::duration<double>(aio::clock::now() - since).count();
}

std::size_t size_of(const redis_command& command) {
    auto size = sizeof(command) + command.key.size();
    for (const auto& word : command.words)
        size += sizeof(std::string) + word.size();
    return size;
}

} // namespace

redis_client::redis_client(redis_surroundings& around, sys::meters* meters)
    : around_(around), meters_(meters),
      find_(around.settings.sentinels.empty() ? find_always(around) : find_master(around)) {
    redis_node::reports tell{
        [this](redis_command command, result<wire::resp_reply> reply) {
            answered(std::move(command), std::move(reply));
        },
        [this](const base::fault* why) { changed("commands", why); }
    };
    if (around.settings.cluster) {
        cluster_ = std::make_unique<redis_cluster>(around, std::move(tell));
        find_ = cluster_->find_any();
    } else {
        node_ = std::make_unique<redis_node>(around, find_, std::move(tell));
    }
    ear_ = std::make_unique<redis_ear>(
        around,
        find_,
        [this](const base::fault* why) { changed("subscription", why); },
        [this] { release(); }
    );
}

redis_client::~redis_client() = default;

void redis_client::start() {
    if (node_) node_->start();
    if (cluster_) cluster_->start();
    ear_->start();
}

aio::task<> redis_client::shut_down() {
    co_await ear_->shut_down();
    release();
    if (node_) co_await node_->shut_down();
    if (cluster_) co_await cluster_->shut_down();
}

std::optional<base::fault> redis_client::pass_on(redis_command& command) {
    if (cluster_) return cluster_->submit(command);
    return node_->submit(command);
}

health redis_client::how() const {
    auto commands = cluster_ ? cluster_->how() : node_->how();
    auto hearing = ear_->how();
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
    base::fault full(base::errc::unreachable, "too many commands wait for the store");
    auto size = size_of(command);
    if (bytes_ > 0 && bytes_ + size > around_.settings.max_queue_bytes)
        return refuse(std::move(command), std::move(full));
    command.bytes = size;
    bytes_ += size;
    // Whoever begins to listen and then reads must miss nothing that is published after the read.
    if (ear_->settled() && held_.empty()) return route(std::move(command));
    if (held_.size() < around_.settings.max_queue) return held_.push_back(std::move(command));
    refuse(std::move(command), std::move(full));
}

void redis_client::release() {
    for (auto& command : std::exchange(held_, {}))
        route(std::move(command));
}

void redis_client::route(redis_command command) {
    auto why = pass_on(command);
    if (why) refuse(std::move(command), std::move(*why));
}

void redis_client::refuse(redis_command command, base::fault why) {
    auto tell = [this,
                 alive = std::weak_ptr(alive_),
                 command = std::make_shared<redis_command>(std::move(command)),
                 why = std::move(why)]() mutable {
        if (alive.lock()) finish(*command, std::move(why));
    };
    boost::asio::post(around_.loop, std::move(tell));
}

void redis_client::answered(redis_command command, result<wire::resp_reply> reply) {
    bool unknown = reply && reply->is_error() && reply->text.find("NOSCRIPT") == 0;
    if (unknown && command.script != nullptr && !command.whole_script) {
        command.whole_script = true;
        route(std::move(command));
        return;
    }
    if (cluster_ && reply && reply->is_error() && cluster_->follow(command, *reply)) return;
    finish(command, std::move(reply));
}

void redis_client::finish(const redis_command& command, result<wire::resp_reply> reply) {
    bytes_ -= command.bytes;
    if (reply && reply->is_error()) reply = fault_of(*reply);
    if (meters_ != nullptr && command.done) { // a ping is nobody's command
        auto outcome = reply ? std::string_view("ok") : base::name_of(reply.error().code);
        meters_->store_command(command.op, outcome, seconds_since(command.since));
    }
    if (command.done) command.done(std::move(reply));
}

} // namespace sluice::state
