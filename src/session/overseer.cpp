#include "session/overseer.hpp"

#include "base/text.hpp"
#include "session/record_names.hpp"
#include "sys/digest.hpp"

#include <algorithm>
#include <utility>

namespace sluice::session {

namespace {

seen_session seen(identity who, aio::duration idle) {
    seen_session out;
    out.digest = base::hex(sys::sha256(who.key)).substr(0, 16);
    out.who = std::move(who);
    out.idle = std::chrono::duration_cast<std::chrono::milliseconds>(idle);
    return out;
}

} // namespace

overseer::by_key overseer::look_here() const {
    by_key found;
    for (const auto& s : all_.all()) {
        bool has_id = !s->who().key.empty();
        if (!has_id || s->is_ending()) continue;
        auto idle = s->is_busy() ? aio::duration::zero() : aio::clock::now() - s->last_used();
        found.emplace(s->who().key, seen(s->who(), idle));
    }
    return found;
}

aio::task<base::result<void>> overseer::look_in_store(std::string principal, by_key& found) {
    auto& store = all_.kept()->store();
    auto keys = co_await store.members(roster_of(principal));
    if (!keys) co_return keys.error();
    for (const auto& key : *keys) {
        auto record = records::record_key(key);
        auto left = co_await store.time_left(record);
        if (!left) co_return left.error();
        auto who = co_await all_.kept()->find_by_key(key);
        if (!who) co_return who.error();
        if (!*left || !*who) continue; // ended meanwhile
        auto life = all_.bounds().idle_ttl + record_margin;
        auto idle = std::max<aio::duration>(life - **left, aio::duration::zero());
        auto [it, fresh] = found.emplace(key, seen(std::move(**who), idle));
        auto there = std::chrono::duration_cast<std::chrono::milliseconds>(idle);
        if (!fresh) it->second.idle = std::min(it->second.idle, there);
    }
    co_return base::result<void>();
}

aio::task<base::result<std::vector<seen_session>>> overseer::look() {
    auto found = look_here();
    auto whose = principals_();
    for (const auto& [key, one] : found)
        whose.try_emplace(one.who.principal); // also of a key that is no longer configured
    for (const auto& [principal, name] : whose) {
        if (!all_.shared()) break;
        auto looked = co_await look_in_store(principal, found);
        if (!looked) co_return looked.error();
    }
    std::vector<seen_session> out;
    out.reserve(found.size());
    for (auto& [key, one] : found) {
        one.key_name = whose[one.who.principal];
        out.push_back(std::move(one));
    }
    co_return out;
}

aio::task<base::result<std::size_t>> overseer::end(std::function<bool(const seen_session&)> which) {
    auto all = co_await look();
    if (!all) co_return all.error();
    std::size_t ended = 0;
    for (auto& one : *all) {
        if (!which(one)) continue;
        auto done = co_await all_.end(std::move(one.who));
        if (!done) co_return done.error();
        ++ended;
    }
    co_return ended;
}

} // namespace sluice::session
