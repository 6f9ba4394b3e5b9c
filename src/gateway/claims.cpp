#include "gateway/claims.hpp"

#include "gateway/replicas.hpp"

namespace sluice::gateway {

namespace {
constexpr int attempts = 8;
}

aio::task<base::result<claimed>>
claim(const grounds& in, const session::session& host, std::string field, bool from_anyone) {
    auto& store = host.kept()->store();
    auto record = session::records::record_key(host.who().key);
    in.replicas.claims_again(record, field);
    claimed out;
    // Who has it may let go between the look and the taking: then it is looked at once more.
    for (int attempt = 0; attempt < attempts && !out.mine; ++attempt) {
        auto other = co_await store.set_new(record, field, in.replicas.self());
        if (!other) co_return other.error();
        out.mine = !*other || in.replicas.is_me(**other);
        if (out.mine) break;
        out.holder = **other;
        bool free = from_anyone;
        if (!free) free = co_await in.replicas.may_take_over(out.holder);
        if (!free) break;
        auto taken = co_await store.set_if(record, field, out.holder, in.replicas.self());
        if (!taken) co_return taken.error();
        out.mine = *taken;
        out.from_dead = *taken && !from_anyone;
    }
    if (out.mine) out.holder.clear();
    co_return out;
}

void unclaim(const grounds& in, const session::session& host, std::string field) {
    in.replicas.give_back(session::records::record_key(host.who().key), std::move(field));
}

} // namespace sluice::gateway
